"""Timing as kernels do it, against the definition, edge by edge."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import SWEEP, TIME, KernelTimes, arrays, compressed, timed


def linked(seed: int, n: int = 8, k: int = 3, *, exclusive: bool = False, whole: bool = False) -> Problem:
    """Return a random makespan problem on links: unequal times, zero times and sizes, ties where numbers are whole."""
    random = np.random.default_rng(seed)
    relabel = random.permutation(n)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < min(1.0, 4.0 / n)]
    times = random.choice([0.0, 1.0, 2.0, 5.0], (k, n)) * (1 if whole else random.random((k, n)))
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        [(int(relabel[u]), int(relabel[v])) for u, v in pairs],
        output=random.choice([0.0, 1.0, 3.0], n),
        memory=random.choice([0.0, 1.0, 2.0], n),
        times={f"d{d}": times[d] for d in range(k)},
    )
    latency = random.choice([0.0, 0.5, 1.0], (k, k))
    links = Links(random.choice([0.5, 1.0, 2.0], (k, k)), latency)
    constraints = [ExclusiveLinks()] if exclusive else []
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan"), constraints)


def reference(instance: ScheduleInstance, device: list[int], priority: list[float], sending: list[float]) -> Schedule:
    """Return the schedule that the docstring of ``timed`` describes, by a queue of what may come next."""
    graph, n = instance.graph, instance.n
    place = {v: i for i, v in enumerate(graph.topological_order.tolist())}
    start, end = [0.0] * n, [0.0] * n
    sent, arrived = [np.nan] * graph.m, [np.nan] * graph.m
    missing = {v: {e for e in range(graph.m) if graph.heads[e] == v} for v in range(n)}
    ready = [0.0] * n
    free: dict[tuple[str, int], float] = {}
    queue: list[tuple[float, int, int]] = []

    def arrive(e: int, at: float) -> None:
        v = int(graph.heads[e])
        ready[v] = max(ready[v], at)
        missing[v].discard(e)
        if not missing[v]:
            heappush(queue, (priority[v], place[v], v))

    for v in range(n):
        if not missing[v]:
            heappush(queue, (priority[v], place[v], v))
    while queue:
        _, _, item = heappop(queue)
        if item >= n:
            e = item - n
            u, v = int(graph.tails[e]), int(graph.heads[e])
            ends = ("out", device[u]), ("in", device[v])
            sent[e] = max(end[u], *(free.get(x, 0.0) for x in ends))
            arrived[e] = sent[e] + instance.transfers.time(e, device[u], device[v])
            free.update(dict.fromkeys(ends, arrived[e]))
            arrive(e, arrived[e])
            continue
        d = device[item]
        takes = float(instance.time[item, d])
        start[item] = max(ready[item], free.get(("run", d), 0.0)) if takes > 0 else ready[item]
        end[item] = start[item] + takes
        if takes > 0:
            free["run", d] = end[item]
        for e in range(graph.m):
            if graph.tails[e] == item:
                v = int(graph.heads[e])
                carry = instance.transfers.time(e, d, device[v])
                if instance.exclusive and carry > 0:
                    heappush(queue, (sending[e], place[v], n + e))
                    continue
                if device[v] != d:
                    sent[e], arrived[e] = end[item], end[item] + carry
                arrive(e, end[item] + carry)
    return Schedule.create(graph, start, end, sent, arrived)


def assert_equal(one: Schedule, other: Schedule) -> None:
    for name in ("start", "end", "sent", "arrived"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_timed_as_defined(seed: int, exclusive: bool, whole: bool) -> None:
    """Timing gives what the definition gives, to the last bit, and a plan; compressing never makes it longer."""
    random = np.random.default_rng(seed)
    problem = linked(seed, int(random.integers(1, 12)), int(random.integers(1, 4)), exclusive=exclusive, whole=whole)
    instance = ScheduleInstance.of(problem)
    device = random.integers(0, problem.k, instance.n)
    priority = random.integers(0, 5, instance.n) * 1.0
    sending = random.integers(0, 5, instance.m) * 1.0
    plan = timed(instance, device, priority, sending)
    assert plan.schedule is not None
    assert_equal(plan.schedule, reference(instance, device.tolist(), priority.tolist(), sending.tolist()))
    assert verify(problem, plan) == []
    again = compressed(instance, plan)
    assert verify(problem, again) == []
    assert cost_of(problem, again) <= cost_of(problem, plan)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_sweep_is_timing_in_an_order(exclusive: bool, compiled: bool) -> None:
    """A sweep along a topological order is timing with the places in it as priorities; compiled or not, the same."""
    run = SWEEP.compiled() if compiled else SWEEP.plain
    for seed in range(30):
        random = np.random.default_rng(seed)
        problem = linked(seed, 12, 3, exclusive=exclusive, whole=seed % 2 == 0)
        instance = ScheduleInstance.of(problem)
        device = random.integers(0, problem.k, instance.n)
        place = np.empty(instance.n)
        place[instance.graph.topological_order] = np.arange(instance.n)
        times, free = KernelTimes.empty(instance.n, instance.m), np.empty(3 * problem.k)
        makespan = run(arrays(instance), instance.graph.topological_order, device, times, free)
        plan = timed(instance, device, place)
        assert plan.schedule is not None
        assert makespan == plan.schedule.makespan
        np.testing.assert_array_equal(times.start, plan.schedule.start)
        moved = ~np.isnan(plan.schedule.sent)
        np.testing.assert_array_equal(times.arrived[moved], plan.schedule.arrived[moved])


@pytest.mark.long
def test_compiled_timing_is_the_same() -> None:
    """Compiled timing gives the bits of the plain one."""
    instance = ScheduleInstance.of(linked(3, 60, 4, exclusive=True))
    random = np.random.default_rng(0)
    device, priority = random.integers(0, 4, 60), random.random(60)
    plain = timed(instance, device, priority)
    TIME.compiled()
    compiled = timed(instance, device, priority)
    assert plain.schedule is not None
    assert compiled.schedule is not None
    assert_equal(plain.schedule, compiled.schedule)


def test_impossible_places_have_no_times() -> None:
    """Nodes where they cannot run, and transfers that nothing carries, are refused."""
    graph = Graph.create("ab", [(0, 1)], times={"d0": [1.0, np.inf], "d1": [1.0, 1.0]})
    links = Links(np.zeros((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("d0"), Device("d1")], links, Objective("makespan"))
    for device in ([0, 0], [0, 1]):
        with pytest.raises(UsageError, match="no schedule"):
            timed(ScheduleInstance.of(problem), device, [0, 1])
    assert timed(ScheduleInstance.of(problem), [1, 1], [0, 1]).schedule is not None
