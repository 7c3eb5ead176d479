"""The exact programme of memory by stage and iterations, against all plans of small problems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Acyclic, Memory, Shard, StageMemory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solving.api import find_method
from tests.staging import group_problem, random_groups, random_stages, references, stage_problem

NAMES = ("count the stages", "gpipe keeps all", "stash", "few microbatches", "many microbatches", "recompute")


def solved(problem: Problem) -> float | None:
    """Return the cost that ``exact`` proves optimal; None where it proves that there is no plan."""
    found = find_method("exact").solve(problem, Limits(gap=0.0), Progress())
    if found.plan is None:
        assert found.infeasibility is not None
        return None
    assert verify(problem, found.plan) == []
    assert found.bound is not None
    cost = cost_of(problem, found.plan)
    assert found.bound.cost <= cost * (1 + 1e-6)
    assert found.bound.cost >= cost * (1 - 1e-4)
    return cost


@pytest.mark.parametrize("name", NAMES)
def test_the_references(name: str) -> None:
    """The optimum is that which is known by hand."""
    case = references(4)[name]
    problem = stage_problem(case["data"])
    if Exact().accepts(problem) is None:
        assert solved(problem) == pytest.approx(case["optimum"])


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_all_plans(seed: int) -> None:
    """The optimum is that of all plans, or there is none in either."""
    problem = random_stages(seed, n=4)
    least = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    if Exact().accepts(problem) is not None:
        assert problem.objective.quantity == "separate iteration"
        return
    assert solved(problem) == (None if least is None else pytest.approx(least))


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.booleans())
def test_unequal_devices(seed: int, keeps: bool) -> None:
    """With GPipe all stages keep the same, so that devices may differ; an iteration of any devices is exact too."""
    drawn = random_stages(seed, n=4)
    devices = [Device("d0", memory=18.0, speed=2.0), Device("d1", memory=30.0), Device("d2", memory=24.0)]
    rules = [Acyclic(), StageMemory(schedule="gpipe", microbatches=2, recompute="free")] if keeps else [Acyclic()]
    objective = Objective("bottleneck") if keeps else Objective("iteration", microbatches=3, schedule="1f1b")
    problem = Problem.create(drawn.graph, devices, Shared(1.0), objective, rules)
    least = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    assert solved(problem) == (None if least is None else pytest.approx(least))


def test_other_devices_are_refused() -> None:
    """Where the number of stages after a device matters, devices have to be alike."""
    problem = stage_problem(references(4)["count the stages"]["data"])
    faster = replace(problem.devices[0], speed=2.0)
    unequal = Problem.create(
        problem.graph, [faster, *problem.devices[1:]], problem.interconnect, None, problem.constraints
    )
    reason = Exact().accepts(unequal)
    assert reason is not None
    assert "all alike" in reason


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([(), (1.0, 1.8), (1.0, 2.4)]), st.sampled_from([6.0, 9.0, 14.0, 99.0]))
def test_shards(seed: int, speedup: tuple[float, ...], memory: float) -> None:
    """Of equal devices, cuts and groups are chosen together, with memory by stage or not."""
    drawn = random_groups(seed, n=4)
    devices = [replace(drawn.devices[0], name=f"d{i}", memory=memory) for i in range(3)]
    kept = StageMemory(schedule="1f1b", microbatches=3)
    objective = Objective("iteration" if seed % 3 == 2 else "bottleneck")
    rules = [Acyclic(), Shard(by=(1, 2), speedup=speedup), kept if seed % 3 else Memory()]
    problem = Problem.create(drawn.graph, devices, Shared(2.0), objective, rules)
    least = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    assert solved(problem) == (None if least is None else pytest.approx(least))


def test_shards_of_unequal_devices_are_refused() -> None:
    """Groups of several types, and replicas of groups, are left to ideals."""
    reason = Exact().accepts(group_problem(references(6)["rule A at t = 1"]["data"]))
    assert reason is None
    problem = random_groups(3)
    assert Exact().accepts(problem) is not None
