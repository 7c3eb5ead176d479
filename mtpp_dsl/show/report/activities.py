"""A schedule as activities on tracks, and the chain of them that makes it as long as it is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Literal

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.plans.batches import Batches, shipments
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.subgraphs import paying, traffic
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem

Kind = Literal["node", "transfer", "read", "write", "stream", "reserve", "exchange", "forward", "backward"]
Reason = Literal["first", "data", "device", "link", "nothing"]
SLACK = 1e-9
"""Two times of a schedule that differ by no more than this share of the makespan are one."""
MAX_PASSES = 16
"""So often the latest ends of activities are computed anew: chains of those that take no time may need it."""


@dataclass(frozen=True)
class Activity:
    """One bar of the picture.

    Attributes:
        kind: a node that runs, a transfer, or what a subgraph reads or writes. In a pipeline over several microbatches
            "node" is all that a stage runs; beside it there are parameters that are streamed, time in reserve for nodes
            that take longer, exchanges of weights, and forward and backward passes.
        name: of the node, ``source -> target``, or of the subgraph.
        track: the device's name, or ``from -> to``.
        start, end: in the problem's unit of time.
        needs: numbers of the activities whose data it waits for.
        uses: names of what it keeps others from: its device; of exclusive transfers, sender and receiver. What takes no
            time delays nothing, except within subgraphs.
        number: of the node, the edge or the subgraph; in a pipeline, of the device of a stage, or the node of a tensor.
        microbatch: in a pipeline, which one it is for, from 0; of an exchange, the round.
        nodes: in a pipeline, those that run.
    """

    kind: Kind
    name: str
    track: str
    start: float
    end: float
    needs: tuple[int, ...]
    uses: tuple[str, ...]
    number: int
    microbatch: int | None = None
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """An activity of the critical path, and what it waited for before it started."""

    activity: Activity
    waited: Reason


class Tracks:
    """Activities on tracks: when every device, link and channel does what.

    Attributes:
        problem, plan: what was asked, and the answer.
        activities: in any order.
        makespan: when the last one ends.
        runs: what a device runs, in one word.
    """

    def __init__(self, problem: Problem, plan: Plan, activities: list[Activity], makespan: float, runs: str) -> None:
        self.problem, self.plan, self.activities = problem, plan, activities
        self.makespan, self.runs = makespan, runs

    @property
    def devices(self) -> list[str]:
        """The names of all devices."""
        return [device.name for device in self.problem.devices]

    @cached_property
    def links(self) -> list[str]:
        """The other tracks, busiest first: links and channels, and what devices send or receive beside their work."""
        busy: dict[str, float] = defaultdict(float)
        devices = set(self.devices)
        for activity in self.activities:
            if activity.track not in devices:
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
        """The critical path; empty where none is known."""
        return []


class Timeline(Tracks):
    """The activities of a plan that says when everything runs.

    They are nodes by number, then transfers by edge; of a batch, batches by start, then transfers.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        if plan.batches is not None:
            activities, makespan, runs = _of_batches(problem, plan.batches), plan.batches.makespan, "batch"
        else:
            assert plan.schedule is not None
            activities, makespan, runs = _activities(problem, plan, plan.schedule), plan.schedule.makespan, "node"
        super().__init__(problem, plan, activities, makespan, runs)

    @cached_property
    def critical(self) -> list[Step]:
        """The critical path: the last activity to end, what kept it from starting earlier, and so on to the start.

        Data are preferred to devices and links as the reason, and long activities to short ones.
        """
        slack = SLACK * self.makespan
        users: dict[str, list[int]] = defaultdict(list)
        for i in sorted(range(len(self.activities)), key=lambda i: self.activities[i].end):
            for resource in self.activities[i].uses:
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

    @cached_property
    def slack(self) -> list[float]:
        """By how much later every activity could end without a longer makespan.

        All others may move too, but on devices and exclusive links they keep their order. What is less than the
        rounding of times is 0.
        """
        every = self.activities
        order = sorted(range(len(every)), key=lambda i: (every[i].start, every[i].end))
        before: list[set[int]] = [set(activity.needs) for activity in every]
        last: dict[str, int] = {}
        for i in order:
            for resource in every[i].uses:
                if resource in last:
                    before[i].add(last[resource])
                last[resource] = i
        latest = [self.makespan] * len(every)
        for _ in range(MAX_PASSES):
            before_pass = list(latest)
            for i in reversed(order):
                start = latest[i] - (every[i].end - every[i].start)
                for j in before[i]:
                    latest[j] = min(latest[j], start)
            if before_pass == latest:  # once is enough but for activities that take no time
                break
        room = (late - activity.end for late, activity in zip(latest, every, strict=True))
        return [slack if slack > SLACK * self.makespan else 0.0 for slack in room]

    def _blocker(
        self, current: int, users: dict[str, list[int]], seen: set[int], slack: float
    ) -> tuple[int | None, Reason]:
        """Return what ended just when *current* started, and why that let it start; None where nothing did.

        *users* are those of each resource, by rising ends: only the few that end about then are looked at.
        """
        activity = self.activities[current]
        if activity.start <= slack:
            return None, "first"

        def just_before(candidates: Sequence[int]) -> int | None:
            ended = [i for i in candidates if i not in seen and abs(self.activities[i].end - activity.start) <= slack]
            return max(ended, key=lambda i: self.activities[i].end - self.activities[i].start, default=None)

        data = just_before(activity.needs)
        if data is not None:
            return data, "data"
        for resource in activity.uses:
            by_end = users[resource]
            first = bisect_left(by_end, activity.start - 2 * slack, key=lambda i: self.activities[i].end)
            behind = bisect_right(by_end, activity.start + 2 * slack, key=lambda i: self.activities[i].end)
            other = just_before(sorted(by_end[first:behind]))
            if other is not None:
                return other, "link" if activity.kind == "transfer" else "device"
        return None, "nothing"


def _activities(problem: Problem, plan: Plan, schedule: Schedule) -> list[Activity]:
    """Return nodes by number, then transfers by edge, or what subgraphs read and write."""
    if schedule.piece is None:
        return _by_edges(problem, plan, schedule)
    return _by_subgraphs(problem, plan, schedule, schedule.piece)


def _of_batches(problem: Problem, batches: Batches) -> list[Activity]:
    """Return batches by start, then what is sent between them."""
    graph, names, where = problem.graph, problem.graph.names, [device.name for device in problem.devices]
    every = list(batches)
    slots, lane = batches.slots, batches.lane
    place = {(batch.node, batch.device * slots + batch.slot): i for i, batch in enumerate(every)}
    needs: list[list[int]] = [[] for _ in every]
    moves: list[Activity] = []
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        same = batches.device[u] == batches.device[v]
        for one, other in sorted(set(zip(lane[u][same].tolist(), lane[v][same].tolist(), strict=True))):
            needs[place[v, other]].append(place[u, one])
    for move in shipments(problem, batches):
        u, v = int(graph.tails[move.edge]), int(graph.heads[move.edge])
        one, other = (d * slots + q for d, q in zip((move.source, move.target), move.slots, strict=True))
        needs[place[v, other]].append(len(every) + len(moves))
        name, track = f"{names[u]} -> {names[v]} x{move.size}", f"{where[move.source]} -> {where[move.target]}"
        before = (place[u, one],)
        moves.append(Activity("transfer", name, track, move.start, move.end, before, (), move.edge))
    runs = [
        Activity(
            kind="node",
            name=f"{names[batch.node]} x{batch.size}",
            track=where[batch.device],
            start=batch.start,
            end=batch.end,
            needs=tuple(needs[i]),
            uses=(where[batch.device],) if batch.end > batch.start else (),
            number=batch.node,
        )
        for i, batch in enumerate(every)
    ]
    return [*runs, *moves]


def _by_edges(problem: Problem, plan: Plan, schedule: Schedule) -> list[Activity]:
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
        takes = schedule.arrived[e] > schedule.sent[e]
        moves.append(
            Activity(
                kind="transfer",
                name=f"{names[u]} -> {names[v]}",
                track=f"{where[u]} -> {where[v]}",
                start=float(schedule.sent[e]),
                end=float(schedule.arrived[e]),
                needs=(u,),
                uses=(f"out of {where[u]}", f"into {where[v]}") if exclusive and takes else (),
                number=e,
            )
        )
    return [*_nodes(problem, plan, schedule, needs), *moves]


def _nodes(
    problem: Problem,
    plan: Plan,
    schedule: Schedule,
    needs: Sequence[Sequence[int]],
    single: Sequence[bool] | None = None,
) -> Iterator[Activity]:
    """Yield the nodes; those of subgraphs that are not *single*, else those that take time, keep their device busy."""
    for v, (name, d) in enumerate(zip(problem.graph.names, plan.assignment, strict=True)):
        device = problem.devices[d].name
        start, end = float(schedule.start[v]), float(schedule.end[v])
        uses = () if (single[v] if single is not None else end == start) else (device,)
        yield Activity("node", name, device, start, end, tuple(needs[v]), uses, v)


def _by_subgraphs(problem: Problem, plan: Plan, schedule: Schedule, piece: Ints) -> list[Activity]:
    """Return nodes, and for every subgraph one activity that reads and one that writes, where it does."""
    graph, devices = problem.graph, problem.devices
    home, reads, writes = traffic(problem, plan.assignment, piece)
    members = [np.flatnonzero(home == block) for block in range(len(reads))]
    single = ~paying(problem)[plan.assignment]
    crossing = home[graph.tails] != home[graph.heads]  # a subgraph waits for all it reads, whatever that takes
    reading = np.unique(home[graph.heads[crossing & ~single[graph.heads]]]).tolist()
    writing = np.unique(home[graph.tails[crossing & ~single[graph.tails]]]).tolist()
    read_by = {block: graph.n + i for i, block in enumerate(reading)}
    written_by = {block: graph.n + len(reading) + i for i, block in enumerate(writing)}
    there = [written_by.get(int(home[u]), u) for u in range(graph.n)]  # what makes the tensor of u readable
    needs: list[list[int]] = [[] for _ in range(graph.n)]
    outside: dict[int, set[int]] = {block: set() for block in read_by}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        block = int(home[v])
        needs[v].append(u if home[u] == block else read_by.get(block, there[u]))
        if home[u] != block and block in outside:
            outside[block].add(there[u])

    def io(kind: Kind, block: int, start: float, end: float, before: Iterable[int]) -> Activity:
        device = devices[plan.assignment[members[block][0]]].name
        name = f"{kind} of subgraph {piece[members[block][0]]}"
        return Activity(kind, name, device, start, end, tuple(before), (device,), block)

    moves = []
    for block in read_by:
        begin = float(schedule.start[members[block]].min())
        moves.append(io("read", block, begin - float(reads[block]), begin, outside[block]))
    for block in written_by:
        over = float(schedule.end[members[block]].max())
        moves.append(io("write", block, over, over + float(writes[block]), members[block].tolist()))
    return [*_nodes(problem, plan, schedule, needs, single.tolist()), *moves]
