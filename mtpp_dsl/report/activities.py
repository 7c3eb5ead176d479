"""A schedule as activities on tracks, and the chain of them that makes it as long as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Literal

from mtpp_dsl.constraints import ExclusiveLinks
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem

__all__ = ["Activity", "Step", "Timeline"]

Kind = Literal["node", "transfer"]
Reason = Literal["first", "data", "device", "link", "nothing"]
SLACK = 1e-9
"""Two times of a schedule that differ by no more than this share of the makespan are one."""


@dataclass(frozen=True)
class Activity:
    """One bar of the picture.

    Attributes:
        kind: a node that runs, or a transfer.
        name: of the node, or ``source -> target``.
        track: the device's name, or ``from -> to``.
        start, end: in the problem's unit of time.
        needs: numbers of the activities whose data it waits for.
        uses: names of what it keeps others from: its device; of exclusive transfers, sender and receiver.
        number: of the node or the edge.
    """

    kind: Kind
    name: str
    track: str
    start: float
    end: float
    needs: tuple[int, ...]
    uses: tuple[str, ...]
    number: int


@dataclass(frozen=True)
class Step:
    """An activity of the critical path, and what it waited for before it started."""

    activity: Activity
    waited: Reason


class Timeline:
    """The activities of a plan with a schedule.

    Attributes:
        activities: nodes by number, then transfers by edge.
        makespan: when the last one ends.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        assert plan.schedule is not None
        self.problem, self.plan = problem, plan
        self.makespan = plan.schedule.makespan
        self.activities = _activities(problem, plan)

    @property
    def devices(self) -> list[str]:
        """The names of all devices."""
        return [device.name for device in self.problem.devices]

    @cached_property
    def links(self) -> list[str]:
        """The pairs of devices that something is sent between, busiest first."""
        busy: dict[str, float] = defaultdict(float)
        for activity in self.activities:
            if activity.kind == "transfer":
                busy[activity.track] += activity.end - activity.start
        return sorted(busy, key=lambda track: -busy[track])

    @cached_property
    def on(self) -> dict[str, list[Activity]]:
        """The activities of every track, by start."""
        tracks: dict[str, list[Activity]] = {name: [] for name in (*self.devices, *self.links)}
        for activity in sorted(self.activities, key=lambda a: (a.start, a.end)):
            tracks[activity.track].append(activity)
        return tracks

    @cached_property
    def critical(self) -> list[Step]:
        """The critical path: the last activity to end, what kept it from starting earlier, and so on to the start.

        Data are preferred to devices and links as the reason, and long activities to short ones.
        """
        slack = SLACK * self.makespan
        users: dict[str, list[int]] = defaultdict(list)
        for i, activity in enumerate(self.activities):
            for resource in activity.uses:
                users[resource].append(i)
        steps: list[Step] = []
        current = max(range(len(self.activities)), key=lambda i: self.activities[i].end, default=None)
        seen: set[int] = set()
        while current is not None:
            seen.add(current)
            activity = self.activities[current]
            blocker, reason = self._blocker(current, users, seen, slack)
            steps.append(Step(activity, reason))
            current = blocker
        return steps[::-1]

    def _blocker(
        self, current: int, users: dict[str, list[int]], seen: set[int], slack: float
    ) -> tuple[int | None, Reason]:
        """Return what ended just when *current* started, and why that let it start; None where nothing did."""
        activity = self.activities[current]
        if activity.start <= slack:
            return None, "first"

        def just_before(candidates: Sequence[int]) -> int | None:
            found = [i for i in candidates if i not in seen and abs(self.activities[i].end - activity.start) <= slack]
            return max(found, key=lambda i: self.activities[i].end - self.activities[i].start, default=None)

        data = just_before(activity.needs)
        if data is not None:
            return data, "data"
        for resource in activity.uses:
            other = just_before(users[resource])
            if other is not None:
                return other, "device" if activity.kind == "node" else "link"
        return None, "nothing"


def _activities(problem: Problem, plan: Plan) -> list[Activity]:
    schedule = plan.schedule
    assert schedule is not None
    graph, names = problem.graph, problem.graph.names
    where = [problem.devices[d].name for d in plan.assignment]
    exclusive = any(problem.of(ExclusiveLinks))
    needs: list[list[int]] = [[] for _ in range(graph.n)]
    moves: list[Activity] = []
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        if isnan(schedule.sent[e]):
            needs[v].append(u)
            continue
        needs[v].append(graph.n + len(moves))
        moves.append(
            Activity(
                kind="transfer",
                name=f"{names[u]} -> {names[v]}",
                track=f"{where[u]} -> {where[v]}",
                start=float(schedule.sent[e]),
                end=float(schedule.arrived[e]),
                needs=(u,),
                uses=(f"out of {where[u]}", f"into {where[v]}") if exclusive else (),
                number=e,
            )
        )
    nodes = [
        Activity(
            "node", name, where[v], float(schedule.start[v]), float(schedule.end[v]), tuple(needs[v]), (where[v],), v
        )
        for v, name in enumerate(names)
    ]
    return nodes + moves
