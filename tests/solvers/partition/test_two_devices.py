"""Splits in which two devices share what they hold anew: plans as good as any exchange between two devices makes."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.annealing.split_state import WholeInstance, broken, instance_of, loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.two_devices import TwoDevices
from tests.solvers.bounds.test_narrow import residual
from tests.split_problems import split_problem


def peak(instance: WholeInstance, device: Ints) -> float:
    """Return the largest load of a split, in the unit of the problem; ``inf`` where it is no plan."""
    state = state_of(instance, device)
    allowed = instance.allowed[np.arange(len(device)), device].all()
    return float(loads_of(instance, state).max()) * instance.unit if allowed and not broken(instance, state) else np.inf


def improved(problem: Problem, device: Ints, cells: int, seed: int) -> tuple[Ints, list[Ints]]:
    """Return the best split reported, and all that were."""
    reported = [device]
    search = TwoDevices(instance_of(problem))
    if search.able:
        search.improve(
            device, cells, np.random.default_rng(seed), lambda split, load: reported.append(split.copy()), lambda: False
        )
    return reported[-1], reported


@pytest.mark.parametrize("seed", range(40))
def test_no_two_devices_can_share_better(seed: int) -> None:
    """Each split reported is a plan and better than the one before; the last one cannot be divided better by a pair."""
    problem = split_problem(seed, 6).with_constraints([])
    instance = instance_of(problem)
    n, k = instance.time.shape
    device = np.random.default_rng(seed).integers(0, k, n)
    if instance.stream.any():
        return
    best, reported = improved(problem, device, 3_000_000, seed)
    peaks = [peak(instance, split) for split in reported]
    assert all(after < before for before, after in pairwise(peaks))
    for pair in combinations(range(k), 2):
        here = np.flatnonzero(np.isin(best, pair))
        for sides in product(pair, repeat=len(here)):
            other = best.copy()
            other[here] = sides
            assert peak(instance, other) >= peaks[-1] * (1 - 1e-3)


def test_equal_seeds_give_equal_splits() -> None:
    problem = residual(32)
    device = np.arange(129) * 4 // 129
    first, again = (improved(problem, device, 20_000_000, 7)[0] for _ in range(2))
    assert (first == again).all()
    instance = instance_of(problem)
    assert peak(instance, first) < 0.9 * peak(instance, device)
