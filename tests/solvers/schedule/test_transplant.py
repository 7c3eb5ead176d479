"""Method ``transplant``: orders of modules that a graph repeats, and plans that they make shorter."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Colocate, ExclusiveLinks, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import modules
from mtpp_dsl.solvers.methods.list_schedules import Heft
from mtpp_dsl.solvers.methods.modules import Transplant
from mtpp_dsl.solvers.schedule.lifted import module_families as module_families_file
from mtpp_dsl.solvers.schedule.lifted.module_families import ModuleFamily, module_families
from tests.amount import part


def forks(seed: int, count: int, *, uneven: bool, exclusive: bool = True) -> Problem:
    """Return modules of four equal branches of two nodes, one after another, relabelled, with times that may differ."""
    random = np.random.default_rng(seed)
    edges, at, n = [], 0, 1
    for _ in range(count):
        for branch in range(4):
            first = n + 2 * branch
            edges += [(at, first), (first, first + 1), (first + 1, n + 8)]
        at, n = n + 8, n + 9
    label = np.append(0, 1 + random.permutation(n - 1))
    work = np.tile([3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 1.0], count)
    work = np.insert(work * (random.uniform(0.9, 1.1, len(work)) if uneven else 1.0), 0, 1.0)
    times = np.empty(n)
    times[label] = work
    pairs = [(int(label[u]), int(label[v])) for u, v in edges]
    graph = Graph.create(
        [f"v{v}" for v in range(n)], pairs, output=0.5, memory=1.0, times={"d0": times, "d1": 1.5 * times}
    )
    rules = [ExclusiveLinks()] if exclusive else []
    devices = [Device("d0", memory=float(n)), Device("d1", memory=float(n))]
    return Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), Objective("makespan"), rules)


def family_of(problem: Problem) -> ModuleFamily:
    """Return the only family of a graph's modules."""
    (family,) = module_families(problem, modules(problem.graph), lambda _: None, lambda: False, 0)
    return family


@pytest.mark.parametrize("seed", range(part(6, 2)))
def test_an_order_is_the_same_in_every_equal_module(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one search finds, all modules have, whatever their numbers: without a search schedules are as long there."""
    monkeypatch.setattr(module_families_file, "FIRST", 0)
    monkeypatch.setattr(module_families_file, "SHORT", 0)
    problem = forks(seed, 4, uneven=False)
    family = family_of(problem)
    assert [len(member.tasks) for member in family.members] == [10] * 4
    ends = [(0, 0)] * 4
    for i, member in enumerate(family.members):
        family.know(i, ends[i], np.zeros(10, np.int64), np.arange(10.0))
        assert member.best[0, 0].length == pytest.approx(21.0)
    assert family.turn(ends) == [0, 1, 2, 3]
    lengths = [member.best[0, 0].length for member in family.members]
    assert lengths[0] < 21.0
    assert max(lengths) <= lengths[0] * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "exclusive"), [(0, True), (1, True), (2, False)])
def test_plans_get_shorter(seed: int, exclusive: bool) -> None:
    """From everything on one device a plan comes about that uses both, and from a list schedule none that is longer."""
    problem = forks(seed, 3, uneven=True, exclusive=exclusive)
    start = Heft().solve(problem, Limits(), Progress())
    result = Transplant().solve(problem, Limits(time=4, start=start.plan), Progress())
    check_result(problem, result)
    assert result.cost is not None
    assert start.cost is not None
    assert result.cost <= start.cost
    assert result.cost < 0.95 * problem.time[:, 0].sum()


def test_memory_is_kept() -> None:
    """Where the second device has no room, nothing goes there."""
    problem = forks(0, 3, uneven=True)
    small = [problem.devices[0], Device("d1", memory=0.5)]
    limited = Problem.create(
        problem.graph, small, problem.interconnect, problem.objective, [ExclusiveLinks(), Memory()]
    )
    result = Transplant().solve(limited, Limits(time=2), Progress())
    check_result(limited, result)
    assert result.plan is not None
    assert not result.plan.assignment.any()


def test_results_have_the_name_of_a_subclass() -> None:
    class Renamed(Transplant):
        name = "renamed"

    assert Renamed().solve(forks(0, 2, uneven=False), Limits(time=0.3), Progress()).method == "renamed"


def test_it_says_why_it_does_nothing() -> None:
    """Without two modules of one graph, and with nodes that share a device, it ends with the plan to start from."""
    one = Transplant().solve(forks(0, 1, uneven=True), Limits(), Progress())
    assert any("no two modules" in note for note in one.notes)
    problem = forks(0, 3, uneven=True).with_constraints([ExclusiveLinks(), Colocate(nodes=(1, 2))])
    held = Transplant().solve(problem, Limits(), Progress())
    check_result(problem, held)
    assert any("share a device" in note for note in held.notes)
