"""Sweeps with few open tensors, held against all sets and all splits of two devices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mtpp_dsl.solvers.algorithms.frontier.coarse_units import fitting_unit
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import few_open, frontier, narrowest
from mtpp_dsl.solvers.algorithms.frontier.frontier_sweep import NONE, Sweep


def drawn(random: np.random.Generator) -> tuple[int, list[list[int]]]:
    """Return how many supernodes there are, and some tensors, of one pin each or more."""
    n = int(random.integers(1, 8))
    sizes = random.integers(1, n + 1, int(random.integers(0, 7)))
    return n, [sorted(random.choice(n, int(size), replace=False).tolist()) for size in sizes]


@pytest.mark.parametrize("seed", range(60))
def test_the_heaviest_set_is_found_for_each_load(seed: int) -> None:
    """A set pays for its supernodes and for the tensors it cuts; ties, zeros and loads above the capacity."""
    random = np.random.default_rng(seed)
    n, nets = drawn(random)
    work, weights = random.integers(0, 6, n), random.integers(0, 5, n)
    cost = random.integers(0, 4, len(nets))
    states = narrowest(n, tuple(map(tuple, nets)), 10_000)
    assert states is not None
    capacity = int(random.integers(0, 25))
    load = work[states.placed()] * states.on_one + states.costs(cost)[0]
    sweep = Sweep(states, load, capacity)
    sweep.least(weights[states.placed()])  # of other values, asked before
    heaviest = -sweep.least(-weights[states.placed()] * states.on_one)

    def load_of(held: np.ndarray) -> int:
        cut = [c for pins, c in zip(nets, cost.tolist(), strict=True) if 0 < held[pins].sum() < len(pins)]
        return int(work[held].sum()) + sum(cut)

    sets = [np.array(held) for held in product([False, True], repeat=n)]
    for most in range(capacity + 1):
        assert heaviest[most] == max(weights[held].sum() for held in sets if load_of(held) <= most)
        held = np.zeros(n, np.bool_)
        held[states.order[sweep.split(most)]] = True
        assert load_of(held) <= most
        assert weights[held].sum() == heaviest[most]


@pytest.mark.parametrize("seed", range(60))
def test_two_devices_share_what_they_hold_in_the_best_way(seed: int) -> None:
    """What is elsewhere stays, and makes both devices pay for its tensors."""
    random = np.random.default_rng(seed)
    n, nets = drawn(random)
    device, cost = random.integers(0, 3, n), random.integers(0, 4, len(nets))
    work = random.integers(0, 6, (n, 2))
    here = np.flatnonzero(device < 2)
    elsewhere = {e for e, pins in enumerate(nets) if (device[pins] == 2).any()}
    states = frontier(random.permutation(here).tolist(), nets, 10_000, elsewhere)
    assert states is not None
    one, other = states.costs(cost)
    placed, capacity = states.placed(), int(random.integers(0, 25))
    sweep = Sweep(states, one + work[placed, 0] * states.on_one, capacity)
    least = sweep.least(other + work[placed, 1] * ~states.on_one)

    def loads(split: np.ndarray) -> list[int]:
        cut = [
            [c for pins, c in zip(nets, cost.tolist(), strict=True) if 0 < (split[pins] == d).sum() < len(pins)]
            for d in (0, 1)
        ]
        return [int(work[split == d, d].sum()) + sum(cut[d]) for d in (0, 1)]

    splits = []
    for sides in product([0, 1], repeat=len(here)):
        split = device.copy()
        split[here] = sides
        splits.append(split)
    for most in range(capacity + 1):
        best = min((loads(split)[1] for split in splits if loads(split)[0] <= most), default=NONE)
        assert least[most] == best or least[most] >= NONE // 2 <= best
        if best < NONE:
            split = device.copy()
            split[states.order] = np.where(sweep.split(most), 0, 1)
            assert loads(split)[0] <= most
            assert loads(split)[1] == best


def test_chains_have_two_states_and_wide_graphs_none() -> None:
    n = 40
    chain = narrowest(n, tuple((v, v + 1) for v in range(n - 1)), 4 * n)
    assert chain is not None
    assert chain.states.max() == 2
    every = tuple((b, a) for a in range(n) for b in range(a))
    assert narrowest(n, every, 4 * n) is None
    assert sorted(few_open(n, every, np.random.default_rng(0))) == list(range(n))


@pytest.mark.parametrize("target", [33.2973, 1e-9, 4.7e12, 1.0])
def test_units_are_decimals_where_times_are(target: float) -> None:
    """A target has at most as many units as asked; decimal fractions, and halves, lose nothing."""
    scale = 10.0 ** np.floor(np.log10(target / 2**15) + 1)
    for unit in (scale, 2.0 ** np.floor(np.log2(target / 2**15))):
        times = np.array([0.0, 3.0, 170.0, 2221.0, np.inf]) * unit
        best = fitting_unit(times, target, 2**16)
        assert target / 2**16 * (1 - 1e-8) <= best <= target / 2**15
        lost = times[:4] - np.floor(times[:4] / best) * best
        assert lost.max() <= 1e-5 * unit
