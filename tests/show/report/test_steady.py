"""The steady state of pipelines, against what their plans cost and what their graphs say."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.pipeline import iteration_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Activity
from mtpp_dsl.show.report.steady import Steady, steady
from tests.networks import random_problem
from tests.staging import random_groups, random_stages
from tests.strategies import memory_problems


def held(found: Steady) -> None:
    """Nothing overlaps on a track, every edge of the graph is kept, and what is named as waited for has ended."""
    exact = 1e-9 * max(found.makespan, 1.0)
    for activities in found.on.values():
        for one, other in pairwise(activities):
            assert one.end <= other.start + exact
    by_microbatch: dict[int | None, list[Activity]] = defaultdict(list)
    for activity in found.activities:
        assert activity.start >= -exact
        assert all(found.activities[i].end <= activity.start + exact for i in activity.needs)
        if activity.kind != "exchange":
            by_microbatch[activity.microbatch].append(activity)
    graph, where = found.problem.graph, found.plan.assignment
    names = [device.name for device in found.problem.devices]
    for activities in by_microbatch.values():
        run = {v: activity for activity in activities if activity.kind == "node" for v in activity.nodes}
        assert sorted(run) == list(range(graph.n))
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            assert run[u] is run[v] or run[u].end <= run[v].start + exact
            carried = [a for a in activities if a.number == u and a.kind in ("read", "write", "transfer")]
            if where[u] != where[v]:
                reads = [a for a in carried if a.kind == "read" and a.track.startswith(names[where[v]])]
                assert all(run[u].end <= a.start + exact for a in carried)
                assert all(a.end <= run[v].start + exact for a in reads)


def busy(found: Steady) -> dict[str, float]:
    """Return for how long each track is busy for one microbatch, on average over all."""
    return {
        track: sum(a.end - a.start for a in activities) / found.microbatches for track, activities in found.on.items()
    }


def repeats(found: Steady, period: float) -> None:
    """Every job starts one period later for the next microbatch."""
    starts = defaultdict(list)
    for a in found.activities:
        if a.kind != "exchange":
            starts[a.kind, a.name, a.track].append((a.microbatch, a.start))
    for times in starts.values():
        for (m, one), (n, other) in pairwise(sorted(set(times))):
            assert other - one == pytest.approx((n - m) * period)


@given(memory_problems(most=6), st.data())
@settings(max_examples=30, deadline=None)
def test_pipelines_on_one_channel(problem: Problem, data: st.DataObject) -> None:
    """Any split has one, cyclic or not: devices are as busy as their loads, and the period is the bottleneck."""
    some = st.integers(0, problem.k - 1)
    plan = Plan.create(problem, data.draw(st.lists(some, min_size=problem.graph.n, max_size=problem.graph.n)))
    cost = evaluate(problem, plan)
    if cost.bottleneck == 0:
        with pytest.raises(UsageError, match="nothing takes any time"):
            steady(problem, plan, cost)
        return
    found = steady(problem, plan, cost)
    held(found)
    repeats(found, cost.bottleneck)
    assert [busy(found)[device.name] for device in problem.devices] == pytest.approx(cost.load.tolist())
    assert found.period == cost.bottleneck


@pytest.mark.parametrize("seed", range(15))
def test_pipelines_on_networks(seed: int) -> None:
    """Devices and channels are as busy as their loads, in their work, their sending and their receiving."""
    rng = random.Random(seed)
    problem = random_problem(rng)
    plan = Plan.create(problem, [rng.randrange(problem.k) for _ in range(problem.graph.n)])
    cost = evaluate(problem, plan)
    if not 0 < cost.bottleneck < np.inf:
        return
    found = steady(problem, plan, cost, 6)
    held(found)
    repeats(found, cost.bottleneck)
    times = busy(found)
    for d, device in enumerate(problem.devices):
        each = [times.get(track, 0.0) for track in (device.name, f"{device.name} sends", f"{device.name} receives")]
        assert (max(each) if problem.network.overlap == "full" else sum(each)) == pytest.approx(cost.load[d])
    for channel, load in zip(problem.network.channels, cost.channels.tolist(), strict=True):
        assert times.get(channel, 0.0) == pytest.approx(load)


def test_no_route_is_refused() -> None:
    """Where something is sent and no route leads, no time is enough."""
    links = Links(np.zeros((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(Graph.create(["a", "b"], [(0, 1)], output=1.0), [Device("x"), Device("y")], links)
    plan = Plan.create(problem, [0, 1])
    with pytest.raises(UsageError, match="no time is enough"):
        steady(problem, plan, evaluate(problem, plan))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
def test_pipelines_of_replicas_and_shards(seed: int) -> None:
    """Replicas take turns, shards run together, weights are exchanged; each is as busy as its load."""
    problem = random_groups(seed)
    found = next(iter(plans(problem)), None)
    if found is None:
        return
    for plan in list(plans(problem))[::17]:
        cost = evaluate(problem, plan)
        state = steady(problem, plan, cost, 6)
        held(state)
        times = busy(state)
        for d, device in enumerate(problem.devices):
            assert max(times[device.name], times.get(f"{device.name} exchanges", 0.0)) == pytest.approx(cost.load[d])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
def test_iterations(seed: int) -> None:
    """The passes of an iteration end when it says; without one, what is computed again is in the loads."""
    problem = random_stages(seed)
    for plan in list(plans(problem))[::11]:
        cost = evaluate(problem, plan)
        if not cost.bottleneck:
            continue
        state = steady(problem, plan, cost)
        if problem.objective.is_iteration:
            assert state.makespan == pytest.approx(iteration_of(problem, plan, cost).simulated)
            assert state.microbatches == problem.objective.microbatches
            with pytest.raises(UsageError, match="the iteration has"):
                steady(problem, plan, cost, 77)
        else:
            held(state)
            assert [busy(state)[device.name] for device in problem.devices] == pytest.approx(cost.load.tolist())


def separate() -> tuple[Problem, Plan, Evaluation]:
    graph = Graph.create(
        ["a", "b", "c", "d"], [(0, 1), (1, 2), (2, 3)], work=[3.0, 1.0, 2.0, 4.0], backward=[0, 0, 1, 1], output=1.0
    )
    objective = Objective("bottleneck", parts="separate")
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), objective, [Acyclic()])
    plan = Plan.create(problem, [0, 1, 1, 0])
    return problem, plan, evaluate(problem, plan)


def test_separate_parts() -> None:
    """All forward passes come first: with M microbatches each part takes M - 1 periods of its own beside its stages."""
    problem, plan, cost = separate()
    state = steady(problem, plan, cost, 10)
    for activities in state.on.values():
        for one, other in pairwise(activities):
            assert one.end <= other.start + 1e-9
    slowest = float(cost.forward.max() + cost.backward.max())
    assert state.makespan == pytest.approx(9 * slowest + cost.load.sum())
    for a in state.activities:
        assert all(state.activities[i].end <= a.start + 1e-9 for i in a.needs)


def test_too_many_are_refused() -> None:
    """A trace that no viewer would open is refused, with the number."""
    problem, plan, cost = separate()
    with pytest.raises(UsageError, match="more than"):
        steady(problem, plan, cost, 10**6)
    plain = Problem.create(problem.graph, list(problem.devices), problem.interconnect)
    with pytest.raises(UsageError, match="ask for fewer"):
        steady(plain, plan, evaluate(plain, plan), 10**6)
