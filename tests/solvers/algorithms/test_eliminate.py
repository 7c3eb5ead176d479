"""Groups that may be anywhere: what is left in their place costs no device more than they would."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.solvers.algorithms.ideals.changing_nets import ChangingNets
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ancestors, eliminate, shares
from tests.solvers.partition.test_ideals import published, solve

NEAR = 1e-9
N = 6
"""Groups, of which the first is taken out."""


@pytest.mark.parametrize("seed", range(80))
def test_shares_cost_no_set_of_neighbours_more(seed: int) -> None:
    """Parts and cut nets are at most what is paid without the group and with it; for all neighbours, its time."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 9))
    weights = random.choice([1.0, 4.0, 7.0], count) * (random.random(count) if seed % 2 else 1.0)
    time = float(random.choice([0.0, 0.3, 3.0, np.inf])) * float(random.random() + 0.1)
    before = np.triu(random.random((count, count)) < 0.4, 1)
    part, joint = shares(weights, time, before)
    assert (part >= 0).all()
    assert (joint >= 0).all()
    assert np.array_equal(joint, joint.T)
    total = weights.sum()
    for chosen in product([False, True], repeat=count):
        inside = np.array(chosen)
        held = weights[inside].sum()
        charged = part[inside].sum() + joint[np.ix_(inside, ~inside)].sum()
        assert charged <= min(held, min(time, total) + total - held) * (1 + NEAR) + 1e-12
    assert part.sum() == pytest.approx(min(time, total), abs=1e-7 * total)


def random_groups(seed: int) -> tuple[ChangingNets, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    nets = [
        (random.choice(N, 2 if random.random() < 0.8 else 3, replace=False).tolist(), float(random.integers(1, 9)))
        for _ in range(int(random.integers(1, 8)))
    ]
    time = random.choice([0.0, 0.5, 2.0], (N, 2)) * random.random((N, 2))
    return ChangingNets(nets), time, np.array([True, bool(random.random() < 0.5)])


def load(nets: ChangingNets, time: np.ndarray, pays: np.ndarray, kind: int, inside: set[int]) -> float:
    cut = sum(weight for pins, weight in nets.items() if inside & set(pins) and set(pins) - inside)
    return float(time[list(inside), kind].sum()) + (cut if pays[kind] else 0.0)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(120))
def test_a_group_taken_out_spares_every_split(seed: int) -> None:
    """Every split of all groups becomes one of the others of no larger bottleneck, wherever the group was."""
    nets, time, pays = random_groups(seed)
    left, charged, _ = random_groups(seed)
    charged = time.copy()
    eliminate(0, left, charged, pays, [0] * N)
    assert all(0 not in pins for pins, _ in left.items())
    kinds = [0, 0, 1]
    for devices in product(range(3), repeat=N - 1):
        rest = [{v + 1 for v in range(N - 1) if devices[v] == d} for d in range(3)]
        after = max(load(left, charged, pays, kinds[d], rest[d]) for d in range(3))
        before = min(
            max(load(nets, time, pays, kinds[d], rest[d] | ({0} if d == home else set())) for d in range(3))
            for home in range(3)
        )
        assert after <= before * (1 + NEAR) + 1e-12


def test_ancestors() -> None:
    """Those of a, b, c in a row, and of what comes after two."""
    assert ancestors(5, [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)]) == [0, 0b1, 0b11, 0b1, 0b1111]


@pytest.mark.long
def test_published_training_graph_with_free_groups_is_closed(data: Path) -> None:
    """BERT-12: the value of tarnawski2020's programme, which ties the free groups, is the optimum without that."""
    path = data / "dnn-partitioning" / "throughput" / "OperatorGraphs" / "bert_L-12_training.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    result = solve(published(path, Acyclic(parts="forward")))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(437.997638, rel=1e-6)
