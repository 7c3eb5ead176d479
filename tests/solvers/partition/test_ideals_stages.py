"""Method ``ideals`` on stages: memory by place, iterations, shards and replicas, against brute force and references."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl import solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Forbid, Replicate, Shard, StageMemory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.stages.outside import staged_bounds
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.partition.ideals import stages_run
from tests.oracle import optimum
from tests.staging import group_problem, random_group_rules, random_groups, random_stages, references, stage_problem
from tests.staging_mixed import random_mixed

KINDS = {"stages": random_stages, "groups": random_groups, "mixed": random_mixed}


@pytest.mark.parametrize("feature", [4, 6])
def test_references(feature: int) -> None:
    """The optima of the notes, among them those that a shortcut misses: counting stages, rule A at one shard, W / k."""
    for name, case in references(feature).items():
        problem = stage_problem(case["data"]) if feature == 4 else group_problem(case["data"])
        result = solve(problem, method="ideals")
        assert (result.status, result.cost) == ("optimal", pytest.approx(case["optimum"])), name
        bound = solve(problem, method="simple").bound
        assert bound is not None
        assert bound.cost <= case["optimum"] * (1 + 1e-9), name


@given(st.integers(0, 10**6), st.sampled_from(["stages", "groups", "mixed", "mixed", "mixed"]))
@settings(max_examples=40)
def test_optimal_against_brute_force(seed: int, kind: str) -> None:
    problem = KINDS[kind](seed)
    best = min((evaluate(problem, plan).cost for plan in plans(problem)), default=inf)
    for method in ("ideals", "auto"):
        result = solve(problem, method=method)
        if best == inf:
            assert result.status == "infeasible", result
            continue
        assert result.status == "optimal", result
        assert result.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert result.bound is not None
        assert result.plan is not None
        assert result.bound.cost <= best * (1 + 1e-9)
        assert not verify(problem, result.plan)
    sliced = solve(problem, method="slicegraph") if SliceGraph().accepts(problem) is None else None
    assert sliced is None or sliced.cost is None or sliced.cost >= best * (1 - 1e-9)
    bound = solve(problem, method="simple").bound
    assert bound is None or best == inf or bound.cost <= best * (1 + 1e-9)


def chain(n: int, **given: object) -> Graph:
    names = [f"v{i}" for i in range(n)]
    return Graph.create(names, [(i, i + 1) for i in range(n - 1)], **given)  # type: ignore[arg-type]


def test_memory_to_equality_at_the_last_stage() -> None:
    """The first stage keeps two microbatches, the last one: 2 * 3 = 6 before 6 of the last."""
    graph = chain(3, work=[3.0, 2.0, 2.0], output=0.0, saved=[3.0, 2.0, 4.0])
    rules = [Acyclic(), StageMemory(schedule="1f1b", microbatches=4)]
    for room, status in ((6.0, "optimal"), (5.9, "infeasible")):
        devices = [Device(f"d{i}", memory=room) for i in range(2)]
        assert solve(Problem.create(graph, devices, Shared(1.0), constraints=rules), method="ideals").status == status


@pytest.mark.parametrize("microbatches", [1, 5])
@pytest.mark.parametrize("count", [1, 3])
def test_trivial_sizes(microbatches: int, count: int) -> None:
    """One microbatch, one device, one shard, and nodes that take no time."""
    graph = chain(3, work=0.0, output=[1.0, 0.0, 0.0])
    devices = [Device(f"d{i}", memory=8.0) for i in range(count)]
    memory = StageMemory(schedule="gpipe", microbatches=microbatches, recompute="free")
    objective = Objective("iteration", microbatches=microbatches, schedule="gpipe")
    problem = Problem.create(graph, devices, Shared(1.0), objective, [Acyclic(), memory, Shard(by=(1,))])
    result = solve(problem, method="ideals")
    assert (result.status, result.cost) == ("optimal", 0.0)


def test_alpas_choice_of_cuts_and_groups() -> None:
    """Alpa's programme: for chains, the least (M - 1) max + sum over cuts and sizes of groups, by enumeration."""
    r = np.random.default_rng(3)
    work, cut = r.integers(1, 9, 7).astype(float), r.integers(0, 3, 7).astype(float)
    faster, devices, m = {1: 1.0, 2: 1.7, 4: 2.8}, 6, 4

    def least(at: int, left: int, top: float, total: float) -> float:
        if at == len(work):
            return (m - 1) * top + total
        best = inf
        for end in range(at + 1, len(work) + 1):
            for t in (t for t in faster if t <= left):
                load = work[at:end].sum() / faster[t] + (cut[at - 1] if at else 0) + (cut[end - 1] if end < 7 else 0)
                best = min(best, least(end, left - t, max(top, load), total + load))
        return best

    problem = Problem.create(
        chain(7, work=work, output=cut),
        [Device(f"d{i}") for i in range(devices)],
        Shared(1.0),
        Objective("iteration", microbatches=m, schedule="1f1b"),
        [Acyclic(), Shard(by=tuple(faster), speedup=tuple(faster.values()))],
    )
    assert solve(problem, method="ideals").cost == pytest.approx(least(0, devices, 0.0, 0.0))


def test_pipedreams_choice_of_cuts_and_replicas() -> None:
    """PipeDream's programme on a chain: the least bottleneck over cuts and replicas, with weights that are stashed."""
    r = np.random.default_rng(5)
    work, params, saved = r.integers(1, 9, 6).astype(float), r.integers(0, 4, 6).astype(float), 1.0
    devices, room = 4, 14.0

    def least(end: int, left: int, after: int) -> float:
        if end == 0:
            return 0.0
        best = inf
        for at in range(end):
            held = params[at:end].sum()
            if (after + 1) * (held + saved * (end - at)) > room:
                continue
            for m in range(1, left + 1):
                load = max(work[at:end].sum() / m, 2 * (m - 1) / m * held)
                best = min(best, max(load, least(at, left - m, after + 1)))
        return best

    problem = Problem.create(
        chain(6, work=work, params=params, output=0.0, saved=saved),
        [Device(f"d{i}", memory=room) for i in range(devices)],
        Shared(1.0),
        Objective("bottleneck"),
        [Acyclic(), StageMemory(schedule="pipedream"), Replicate(most=devices, sync="weights")],
    )
    assert solve(problem, method="ideals").cost == pytest.approx(least(6, devices, 0))


def test_too_many_ideals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for the ideals, orders give plans, and the bound is one that needs no search."""
    problem = next(p for p in map(random_stages, range(99)) if solve(p, method="ideals").status == "optimal")
    monkeypatch.setattr(stages_run, "PATIENCE", 2)
    best = solve(problem, method="ideals")
    result = Ideals(most_bytes=1.0).solve(problem, Limits(), Progress())
    assert result.plan is not None
    assert best.cost is not None
    assert result.cost is not None
    assert result.cost >= best.cost * (1 - 1e-9)
    assert result.bound is None or result.bound.cost <= best.cost * (1 + 1e-9)
    assert any("take more than" in note for note in result.notes)


def test_refuses_devices_that_a_constraint_tells_apart() -> None:
    """A group of two devices is allowed by the check though one of them may not have a node of its own."""
    devices = [Device(f"d{i}") for i in range(2)]
    rules = [Acyclic(), Shard(by=(1, 2)), Forbid(nodes=(0,), devices=(1,))]
    problem = Problem.create(chain(2, work=1.0), devices, Shared(1.0), constraints=rules)
    with pytest.raises(Refused, match="tell d0 and d1"):
        solve(problem, method="ideals")


def test_bounds_where_rules_about_groups_are_about_some_of_equal_devices() -> None:
    """A group takes devices under one rule and under both, and devices that pins and forbids tell apart."""
    for seed in range(24):
        problem = random_group_rules(seed)
        best = optimum(problem)
        assert best is None or staged_bounds(problem)[0] <= best * (1 + 1e-9), seed


def test_gpt3_with_memory_by_place() -> None:
    """96 layers over 16 stages that keep 1 to 16 microbatches: proved, with stages that recompute first."""
    layers, room = 96, 60.0
    graph = chain(layers, work=2.0 + 0.03 * (np.arange(layers) % 3), output=0.1, params=1.0, state=3.0, saved=1.0)
    devices = [Device(f"s{i}", memory=room) for i in range(16)]
    memory = StageMemory(schedule="1f1b", microbatches=64, recompute="free")
    objective = Objective("iteration", microbatches=64, schedule="1f1b")
    result = solve(Problem.create(graph, devices, Shared(1.0), objective, [Acyclic(), memory]), method="ideals")
    assert result.status == "optimal"
    assert result.plan is not None
    assert result.plan.recomputed
