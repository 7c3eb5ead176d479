"""Tests of slack, by delaying what has it; and of what a critical path and idle times are made of."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.critical import Critical, critical
from mtpp_dsl.show.explaining.question import question_of
from tests.amount import part
from tests.makespans import makespan_problem
from tests.show.explaining.mixed import every_plan
from tests.tree import ROOT


def asked(problem: Problem, plan: Plan) -> Critical:
    found = critical(question_of(problem, plan))
    assert found is not None
    return found


def ends_with(problem: Problem, plan: Plan, delayed: tuple[str, int], by: float) -> float:
    """Return the makespan where one node or transfer starts later, and all after it as late as they then have to.

    Read off the schedule by itself: what runs before what on a device or an exclusive link stays so.
    """
    graph, when = problem.graph, plan.schedule
    assert when is not None
    device = plan.assignment.tolist()
    begin = {("node", v): when.start[v] for v in range(graph.n)}
    end = {("node", v): when.end[v] for v in range(graph.n)}
    uses = {("node", v): {f"on {device[v]}"} for v in range(graph.n)}
    after: dict[tuple[str, int], set[tuple[str, int]]] = {key: set() for key in begin}
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        if np.isnan(when.sent[e]):
            after["node", v].add(("node", u))
            continue
        key = ("edge", e)
        begin[key], end[key] = when.sent[e], when.arrived[e]
        after[key], uses[key] = {("node", u)}, set()
        after["node", v].add(key)
        if any(problem.of(ExclusiveLinks)):
            uses[key] = {f"out of {device[u]}", f"into {device[v]}"}
    for one in begin:
        for other in begin:
            if (
                one != other
                and uses[one] & uses[other]
                and end[other] <= begin[one] + 1e-12
                and end[other] > begin[other]
                and end[one] > begin[one]
            ):
                after[one].add(other)
    new = dict(begin)
    for _ in range(2 * len(begin) + 1):
        for key in begin:
            early = begin[key] + (by if key == delayed else 0.0)
            new[key] = max([early, *(new[other] + end[other] - begin[other] for other in after[key])])
    return max((new["node", v] + when.end[v] - when.start[v] for v in range(graph.n)), default=0.0)


def test_slack_is_what_may_be_lost() -> None:
    """Delayed by its slack, nothing makes the makespan longer; delayed by more, it does."""
    seen = 0
    for seed in range(part(60)):
        problem = makespan_problem(seed, n=5, k=3)
        for plan in every_plan(problem, 3):
            found = asked(problem, plan)
            last = found.timeline.makespan
            for activity, slack in zip(found.timeline.activities, found.timeline.slack, strict=True):
                if last == 0:
                    continue
                key = ("node" if activity.kind == "node" else "edge", activity.number)
                assert ends_with(problem, plan, key, slack) == pytest.approx(last, rel=1e-9), (seed, activity)
                assert ends_with(problem, plan, key, slack + 0.01 * last) > last * (1 + 1e-6), (seed, activity)
                seen += 1
    assert seen > 60


def test_says_the_path_the_slack_and_the_waits() -> None:
    problem = mtpp_dsl.load(ROOT / "examples" / "unequal.mtpp")
    result = mtpp_dsl.solve(problem, "heft")
    assert result.plan is not None
    found = asked(problem, result.plan)
    data = found.to_json()
    assert data["path"][0]["start"] == 0
    assert data["path"][-1]["end"] == data["makespan"]
    assert sum(each["kind"] == "node" for each in data["activities"]) == problem.graph.n
    assert max(each["slack"] for each in data["activities"]) > 0
    words = "\n".join(found.words())
    assert "critical path: 11 steps that take 51.556 ms one after the other" in words
    assert "  0 s to 12 ms: read, crop on cpu" in words
    assert "edge_box is idle for 1.5048 ms before left[1], which waits for transfer left[0] -> left[1]" in words


def test_idle_times_and_work_fill_a_device() -> None:
    """What a device runs and what it waits add up to when it is done."""
    for seed in range(10):
        problem = makespan_problem(seed)
        for plan in every_plan(problem, 2):
            found = asked(problem, plan)
            for device in found.timeline.devices:
                on = found.timeline.on[device]
                idle = sum(each.end - each.start for each in found.idle if each.device == device)
                busy = sum(activity.end - activity.start for activity in on)
                done = max((activity.end for activity in on), default=0.0)
                assert idle + busy == pytest.approx(done, rel=1e-6, abs=1e-15)
