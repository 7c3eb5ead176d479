"""The dynamic programmes over chains, against all splits of small chains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain, typed
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck

SEEDS = range(40)


def random_chain(seed: int) -> NodeChain:
    """Return a chain of up to five nodes on up to three devices: ties, zeros, pairs out of reach, links of one way."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(1, 6), rng.integers(1, 4)
    time = rng.integers(0, 5, (n, 1)) * rng.integers(1, 3, k).astype(float)
    if seed % 3 == 0:
        time = rng.integers(0, 5, (n, k)).astype(float)
    time[rng.random((n, k)) < 0.1] = np.inf
    rate = rng.integers(1, 3, (k, k)).astype(float) if seed % 4 else np.ones((k, k))
    if seed % 5 == 0:
        rate[rng.random((k, k)) < 0.3] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(rate == 0, np.inf, rng.integers(0, 4, n)[:, None, None] / rate)
    memory = rng.integers(0, 3, n).astype(float)
    room = rng.choice([np.inf, 2.0, 3.0, 4.0], k)
    received = moved + rng.integers(0, 2, (k, k)) if seed % 7 == 0 else moved
    return NodeChain(time, memory, room, moved, received, overlap=seed % 2 == 1, half=rng.random(k) < 0.5)


def splits(chain: NodeChain) -> list[Ints]:
    """Return all splits in which each device holds one range of nodes, of which all may be, and fit."""
    found = []
    for choice in product(range(chain.k), repeat=chain.n):
        device = np.array(choice)
        runs = 1 + int((device[1:] != device[:-1]).sum())
        held = np.bincount(device, weights=chain.memory, minlength=chain.k)
        if runs == len(set(choice)) and (held <= chain.room).all() and np.isfinite(chain.loads(device)).all():
            found.append(device)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_bottleneck_is_the_least_of_all_splits(seed: int) -> None:
    chain = random_chain(seed)
    best = min((chain.loads(device).max() for device in splits(chain)), default=np.inf)
    found = least_bottleneck(chain)
    assert found.value == pytest.approx(best)
    assert found.lower <= best
    assert found.lower >= best * (1 - 1e-9)
    if found.device is None:
        assert best == np.inf
        return
    assert chain.loads(found.device).max() == found.value
    below = least_bottleneck(chain, upper=best)
    assert below.device is None
    assert best * (1 - 1e-9) <= below.lower <= best
    above = least_bottleneck(chain, upper=best + 1.0, gap=0.0)
    assert above.value == pytest.approx(best)
    assert above.lower <= best


def test_equal_devices_are_one_type_and_those_of_other_servers_another() -> None:
    rate = np.array([[0, 9, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0.0]])
    with np.errstate(divide="ignore"):
        moved = np.ones((3, 1, 1)) / rate
    chain = NodeChain(np.ones((3, 4)), np.zeros(3), np.full(4, np.inf), moved, moved)
    assert typed(chain).members == ((0, 1), (2, 3))


def test_a_plan_far_too_dear_to_begin_with_costs_no_precision() -> None:
    time = np.full((40, 2), 1e-9)
    moved = np.full((40, 2, 2), 1e9)
    moved[19] = 1e-9 / 3
    found = least_bottleneck(NodeChain(time, np.zeros(40), np.full(2, np.inf), moved, moved))
    assert found.value == pytest.approx(20e-9 + 1e-9 / 3)
    assert found.lower == pytest.approx(found.value, rel=1e-9)
