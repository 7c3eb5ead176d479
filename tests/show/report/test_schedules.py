"""A schedule as a chart, a picture and a trace."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.subgraphs import scheduled
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Activity, Timeline
from mtpp_dsl.show.report.terminal import summary
from mtpp_dsl.show.report.trace import trace
from tests.core.plans.test_schedule import fork, split
from tests.latency_cases import latency_problem
from tests.strategies import link_problems


def shown(problem: Problem, plan: Plan) -> str:
    result = Result("complete", plan=plan, evaluation=evaluate(problem, plan))
    return "\n".join(line.plain for line in summary(problem, result, 120))


def test_chart() -> None:
    """Every device and every link in use has a row with its share of busy time; the critical path is named."""
    text = shown(fork(), split(fork()))
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert "53 %" in rows["x"]
    assert "20 %" in rows["y"]
    assert "40 %" in rows["x -> y"]
    assert "running 3.5 (47 %); sending 4 (53 %)" in text
    assert "a (x) -> c (y) -> d (x)" in text


def test_critical_path_by_hand() -> None:
    """It goes from the last end back to a start at zero, by data, device or link."""
    path = Timeline(fork(), split(fork())).critical
    assert [step.activity.name for step in path] == ["a", "a -> c", "c", "c -> d", "d"]
    assert [step.waited for step in path] == ["first", "data", "data", "data", "data"]


@given(link_problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_critical_path_leaves_no_gap(problem: Problem, data: st.DataObject) -> None:
    """In a schedule in which nothing could start earlier the path has no gap, and is as long as the makespan."""
    found = [plan for _, plan in zip(range(20), plans(problem), strict=False)]
    if not found:
        return
    plan = data.draw(st.sampled_from(found))
    assert plan.schedule is not None
    path = Timeline(problem, plan).critical
    assert path[0].waited == "first"
    assert sum(step.activity.end - step.activity.start for step in path) == pytest.approx(plan.schedule.makespan)
    for before, after in pairwise(path):
        assert before.activity.end == pytest.approx(after.activity.start)


def pushed(timeline: Timeline, late: int, by: float) -> float:
    """Return the makespan where one activity is late, and all others wait for what they waited for, in their order."""
    every = timeline.activities
    ends = [activity.end for activity in every]
    order = sorted(range(len(every)), key=lambda i: (every[i].start, every[i].end))
    for _ in every:
        free: dict[str, float] = {}
        moved = list(ends)
        for i in order:
            activity = every[i]
            waits = [ends[j] for j in activity.needs] + [free[name] for name in activity.uses if name in free]
            start = max([activity.start + (by if i == late else 0.0), *waits])
            moved[i] = max(moved[i], start + activity.end - activity.start)
            free.update(dict.fromkeys(activity.uses, moved[i]))
        if moved == ends:
            break
        ends = moved
    return max(ends)


@given(link_problems(), st.data())
@settings(max_examples=40, deadline=None)
def test_slack(problem: Problem, data: st.DataObject) -> None:
    """An activity may be late by its slack and by no more; the critical path has none."""
    found = [plan for _, plan in zip(range(10), plans(problem), strict=False)]
    if not found:
        return
    timeline = Timeline(problem, data.draw(st.sampled_from(found)))
    number = {id(activity): i for i, activity in enumerate(timeline.activities)}
    assert all(timeline.slack[number[id(step.activity)]] == 0 for step in timeline.critical)
    late = data.draw(st.integers(0, len(timeline.activities) - 1))
    slack = timeline.slack[late]
    assert pushed(timeline, late, slack) == pytest.approx(timeline.makespan)
    more = timeline.makespan / 8 or 1.0
    assert pushed(timeline, late, slack + more) == pytest.approx(timeline.makespan + more)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_critical_path_of_subgraphs(seed: int) -> None:
    """What a subgraph reads and writes is on the path, too: it has no gap, and everything on it can be shown."""
    problem = latency_problem(seed)
    random = np.random.default_rng(seed)
    try:
        plan = scheduled(problem, random.integers(0, problem.k, problem.graph.n), np.zeros(problem.graph.n, np.int64))
    except UsageError:
        return
    assert plan.schedule is not None
    path = Timeline(problem, plan).critical
    assert path[0].waited == "first"
    assert sum(step.activity.end - step.activity.start for step in path) == pytest.approx(plan.schedule.makespan)
    assert "critical path" in shown(problem, plan)
    json.dumps(trace(problem, Timeline(problem, plan)))


@given(link_problems())
@settings(max_examples=40, deadline=None)
def test_trace(problem: Problem) -> None:
    """A trace has every node and transfer once, on tracks where nothing overlaps, and arrows with both ends."""
    plan = next(plans(problem), None)
    if plan is None:
        return
    assert plan.schedule is not None
    written = json.loads(json.dumps(trace(problem, Timeline(problem, plan))))
    events = written["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    moved = sum(plan.assignment[problem.graph.tails] != plan.assignment[problem.graph.heads])
    assert len(bars) == problem.graph.n + moved
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    tracks = defaultdict(list)
    for bar in bars:
        tracks[bar["pid"], bar["tid"]].append((bar["ts"], bar["ts"] + bar["dur"]))
    assert set(tracks) <= named
    for track in tracks.values():
        track.sort()
        assert all(b[0] >= a[1] - 1e-3 for a, b in pairwise(track))
    arrows = sorted(event["ph"] for event in events if event["name"] == "tensor")
    assert arrows == [phase for phase in "fst" for _ in range(moved)]


def test_critical_paths_look_at_few_activities() -> None:
    """Of 2,000 nodes that wait for one device, each is followed by looking at those that end when it starts."""
    n = 2_000
    graph = Graph.create([f"v{v}" for v in range(n)], [], work=1.0)
    problem = Problem.create(graph, [Device("x")], Links(np.zeros((1, 1)), np.zeros((1, 1))), Objective("makespan"))
    plan = Plan.create(problem, [0] * n, schedule=Schedule.create(graph, np.arange(n), np.arange(1, n + 1)))
    timeline = Timeline(problem, plan)
    looked = 0

    class Counted(list[Activity]):
        def __getitem__(self, i: Any) -> Any:
            nonlocal looked
            looked += 1
            return super().__getitem__(i)

    timeline.activities = Counted(timeline.activities)
    assert [step.activity.start for step in timeline.critical] == [float(v) for v in range(n)]
    assert looked < 40 * n
