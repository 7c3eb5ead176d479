"""A pipeline over several microbatches: what every device and channel does when, in the steady state of its plan.

The period is the bottleneck: every device begins the same jobs again after so long, for the next microbatch (see
:mod:`mtpp_dsl.show.report.steady_jobs` for the jobs). Each job has a place in the period of its resource, no two
overlap, and it starts with the first microbatch at the first such place after everything that it waits for.
Microbatches start one period apart. The replicas of a stage take microbatches in turn, each for as many periods as
there are replicas, and exchange their weights after each round. Iterations and forward and backward parts that count
separately run pass by
pass: see :mod:`mtpp_dsl.show.report.steady`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from math import ceil, floor, isfinite

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.pipeline import MOST_PASSES, pass_ends, stages_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Activity, Kind, Tracks
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.steady_jobs import Job, JobKind, Resource, jobs_of

MOST_ACTIVITIES = 200_000
"""More than these are not listed: a trace of them opens in no viewer."""
MORE, MOST_UNASKED = 4, 64
"""Microbatches after the pipeline is full, by default; and as many at most."""
EXACT = 1e-9
"""Two times that differ by no more than this share of the period are one."""
_CARRIED: dict[JobKind, Kind] = {
    "read": "read",
    "receive": "read",
    "write": "write",
    "send": "write",
    "transfer": "transfer",
}


class Steady(Tracks):
    """The activities of a pipeline over several microbatches, by microbatch.

    "node" is the kind of what a stage runs; its ``number`` is the device of the stage. There is no critical path: what
    holds a pipeline back is a resource that is always busy.

    Attributes:
        microbatches: how many.
        period: the time between two microbatches, where it is the same for all; None where passes are simulated.
    """

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        activities: list[Activity],
        microbatches: int,
        period: float | None,
        runs: str = "run",
    ) -> None:
        super().__init__(problem, plan, activities, max((one.end for one in activities), default=0.0), runs)
        self.microbatches, self.period = microbatches, period

    @property
    def devices(self) -> list[str]:
        """The names of all devices, those with stages in the plan's order first."""
        order = self.plan.order or range(self.problem.k)
        return [self.problem.devices[d].name for d in order]


def steady(problem: Problem, plan: Plan, evaluation: Evaluation, microbatches: int | None = None) -> Steady:
    """Return when every device and channel does what, over so many microbatches.

    Args:
        problem: whose plans are splits.
        plan: without a schedule.
        evaluation: what the plan costs.
        microbatches: how many; None for those of an iteration, or else for as many as fill the pipeline and four more.

    Raises:
        UsageError: the plan has no steady state of one period, or there would be too many activities.
    """
    if plan.timed:
        raise UsageError("the plan says when everything runs: it has a schedule, and no steady state")
    if plan.routes:
        raise UsageError("several routes share the inputs: there is no period after which each does the same again")
    if problem.objective.is_iteration or problem.objective.parts == "separate":
        from mtpp_dsl.show.report.steady import passes

        activities, many, runs = passes(problem, plan, evaluation, microbatches)
        return Steady(problem, plan, activities, many, None, runs)
    period = evaluation.bottleneck
    if not (isfinite(period) and period > 0):
        raise UsageError("nothing takes any time, or no time is enough: there is no period")
    jobs = jobs_of(problem, plan, evaluation)
    rounds = {d: _rounds(plan, d) for d in range(problem.k)}
    starts = placed(jobs, {resource: period * rounds.get(_device(resource), 1) for resource in _resources(jobs)})
    if microbatches is None:
        last = max((start + job.length for start, job in zip(starts, jobs, strict=True)), default=0.0)
        microbatches = min(MOST_UNASKED, max(ceil(last / period - EXACT) + MORE, 2 * max(rounds.values())))
    if microbatches * len(jobs) > MOST_ACTIVITIES:
        raise UsageError(
            f"{microbatches} microbatches of {len(jobs)} activities are more than {MOST_ACTIVITIES:,}: ask for fewer"
        )
    return Steady(
        problem, plan, _activities(problem, plan, evaluation, jobs, starts, microbatches), microbatches, period
    )


def _rounds(plan: Plan, d: int) -> int:
    """Return how many groups of devices share the inputs of the stage of *d*."""
    return len(plan.replicas.get(d, (d,))) // plan.shards.get(d, 1)


def _device(resource: Resource) -> int:
    return resource[1] if resource[0] == "device" else -1


def _resources(jobs: Sequence[Job]) -> set[Resource]:
    return {job.resource for job in jobs}


def placed(jobs: Sequence[Job], period: dict[Resource, float]) -> list[float]:
    """Return when each job starts for the first microbatch, if every resource repeats its jobs after its period.

    Jobs take their places in a period in the order in which they are listed, with idle time between two of them where
    the rest still fits behind it: so a place is found for all if what a resource has to do fits into its period.

    >>> jobs = [Job("run", ("device", d), 2.0, ((d - 1, 0.0),) if d else ()) for d in (0, 1)]
    >>> placed([*jobs, Job("run", ("device", 0), 1.0, ((1, 0.0),))], {("device", 0): 3.0, ("device", 1): 3.0})
    [0.0, 2.0, 5.0]
    """
    left: dict[Resource, float] = defaultdict(float)
    for job in jobs:
        left[job.resource] += job.length
    anchor: dict[Resource, float] = {}
    taken: dict[Resource, float] = defaultdict(float)
    starts: list[float] = []
    for job in jobs:
        ready = max((starts[i] + jobs[i].length + delay for i, delay in job.needs), default=0.0)
        every, resource = period[job.resource], job.resource
        begin = anchor.setdefault(resource, ready)
        exact = EXACT * every
        turn = floor((ready - begin + exact) / every)
        place = max(taken[resource], ready - begin - turn * every)
        if place + left[resource] > every + exact:
            place = taken[resource]
            turn += int(begin + turn * every + place < ready - exact)
        starts.append(begin + turn * every + place)
        taken[resource] = place + job.length
        left[resource] -= job.length
    return starts


def _activities(
    problem: Problem, plan: Plan, evaluation: Evaluation, jobs: list[Job], starts: list[float], microbatches: int
) -> list[Activity]:
    """Return the activities of all microbatches, then exchanges of weights."""
    names, period = [device.name for device in problem.devices], evaluation.bottleneck
    activities: list[Activity] = []
    here: dict[int, list[int]] = {}
    done: dict[int, list[int]] = defaultdict(list)
    for m in range(microbatches):
        here.clear()
        for i, (job, start) in enumerate(zip(jobs, starts, strict=True)):
            needs = tuple(number for before, _ in job.needs for number in here[before])
            here[i] = []
            for track in _tracks(problem, plan, job, m, names):
                here[i].append(len(activities))
                begin = start + m * period
                uses = (track,)
                kind, name = _kind_and_name(problem, job, names)
                number = job.resource[1] if kind == "node" else job.node
                activities.append(
                    Activity(kind, name, track, begin, begin + job.length, needs, uses, number, m, job.nodes)
                )
            if job.resource[0] == "device":
                done[job.resource[1]] += here[i]
    return activities + _exchanges(plan, evaluation, activities, done, microbatches, names)


def _tracks(problem: Problem, plan: Plan, job: Job, m: int, names: list[str]) -> list[str]:
    """Return the tracks on which a job of a microbatch is seen: those of all shards of the replica whose turn it is."""
    what, number = job.resource
    if what == "channel":
        return [problem.network.channels[number]]
    if what != "device":
        return [f"{names[number]} {what}"]
    members, shards = plan.replicas.get(number, (number,)), plan.shards.get(number, 1)
    turn = m % (len(members) // shards)
    return [names[d] for d in members[turn * shards : (turn + 1) * shards]]


def _kind_and_name(problem: Problem, job: Job, names: list[str]) -> tuple[Kind, str]:
    """Return the kind and the name of an activity."""
    nodes = problem.graph.names
    if job.kind == "run":
        return "node", fold_names([nodes[v] for v in job.nodes], 4)
    if job.kind == "stream":
        return "stream", "stream parameters"
    if job.kind == "reserve":
        return "reserve", "time in reserve"
    to = "" if job.target < 0 or job.kind in ("read", "receive") else f" -> {names[job.target]}"
    return _CARRIED[job.kind], f"{job.kind} {nodes[job.node]}{to}"


def _exchanges(
    plan: Plan,
    evaluation: Evaluation,
    activities: list[Activity],
    done: dict[int, list[int]],
    microbatches: int,
    names: list[str],
) -> list[Activity]:
    """Return the exchanges of weights among the replicas of each stage, after each round of microbatches."""
    exchanges = []
    for lead, members in plan.replicas.items():
        rounds, takes = _rounds(plan, lead), float(evaluation.sync[lead])
        if takes <= 0:
            continue
        of_round: dict[int, list[int]] = defaultdict(list)
        for i in done[lead]:
            microbatch = activities[i].microbatch
            assert microbatch is not None
            of_round[microbatch // rounds].append(i)
        for turn in range(microbatches // rounds):
            needs = tuple(of_round[turn])
            begin = max(activities[i].end for i in needs)
            for d in members:
                track = f"{names[d]} exchanges"
                exchanges.append(
                    Activity("exchange", "weights", track, begin, begin + takes * rounds, needs, (track,), lead, turn)
                )
    return exchanges


# The forward and backward passes of microbatches: of an iteration, and of parts that count separately.

WAYS: tuple[Kind, Kind] = ("forward", "backward")
MORE_PASSES = 4
"""Microbatches beside one for each stage, by default."""


def passes(
    problem: Problem, plan: Plan, evaluation: Evaluation, microbatches: int | None
) -> tuple[list[Activity], int, str]:
    """Return the passes of all microbatches, how many microbatches there are, and what a device runs in one word.

    Raises:
        UsageError: there are too many passes; the iteration has another number of microbatches; one part of the graph
            goes from a device to others and back.
    """
    stages = stages_of(problem, plan)
    objective = problem.objective
    if objective.is_iteration:
        own = objective.microbatches or 1
        if microbatches not in (None, own):
            raise UsageError(f"the iteration has {own} microbatches: {microbatches} cannot be shown")
        _check_number(own, len(stages))
        load, forward = evaluation.load[stages], evaluation.forward[stages]
        backward = np.maximum(evaluation.backward[stages], load - forward)
        ends = pass_ends(forward.tolist(), backward.tolist(), own, objective.schedule or "gpipe")
        starts = [[[end - takes for end in row] for row, takes in zip(way, times, strict=True)]
                  for way, times in zip(ends, (forward.tolist(), backward.tolist()), strict=True)]  # fmt: skip
        chain = [
            {s: {s - 1} - {-1} for s in range(len(stages))},
            {s: {s + 1} - {len(stages)} for s in range(len(stages))},
        ]
        return _passes(problem, plan, stages, starts, (forward.tolist(), backward.tolist()), chain), own, "pass"
    many = len(stages) + MORE_PASSES if microbatches is None else microbatches
    _check_number(many, len(stages))
    before = _stages_before(problem, plan, stages)
    times = (evaluation.forward[stages].tolist(), evaluation.backward[stages].tolist())
    starts, begin = [], 0.0
    for way, takes in enumerate(times):
        offset = [0.0] * len(stages)
        for s in TopologicalSorter(before[way]).static_order():
            offset[s] = max((offset[r] + takes[r] for r in before[way][s]), default=0.0)
        starts.append([[begin + at + m * max(takes) for m in range(many)] for at in offset])
        begin = max(row[-1] + takes_one for row, takes_one in zip(starts[-1], takes, strict=True))
    return _passes(problem, plan, stages, starts, times, before), many, "pass"


def _check_number(microbatches: int, stages: int) -> None:
    if 2 * microbatches * stages > MOST_PASSES:
        raise UsageError(f"{microbatches} microbatches of {stages} stages are more than {MOST_PASSES:,} passes")


def _stages_before(problem: Problem, plan: Plan, stages: list[int]) -> list[dict[int, set[int]]]:
    """Return [forward, backward] which stages come just before each.

    Where no node is in the backward part of the graph, each does its backward pass too, and tensors go back the way
    they came.
    """
    graph = problem.graph
    first = _before(problem, plan, stages, ~graph.backward)
    if graph.backward.any():
        return [first, _before(problem, plan, stages, graph.backward)]
    return [first, {s: {r for r in first if s in first[r]} for s in first}]


def _before(problem: Problem, plan: Plan, stages: list[int], part: Bools) -> dict[int, set[int]]:
    """Return which stages come before each in one part of the graph."""
    graph, place = problem.graph, {d: s for s, d in enumerate(stages)}
    before: dict[int, set[int]] = {s: set() for s in range(len(stages))}
    inside = part[graph.tails] & part[graph.heads]
    tails, heads = plan.assignment[graph.tails[inside]], plan.assignment[graph.heads[inside]]
    for d, e in set(zip(tails.tolist(), heads.tolist(), strict=True)):
        if d != e:
            before[place[e]].add(place[d])
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        raise UsageError("one part of the graph goes from a device to others and back: it has no passes") from None
    return before


def _passes(
    problem: Problem,
    plan: Plan,
    stages: list[int],
    starts: list[list[list[float]]],
    times: tuple[list[float], list[float]],
    before: list[dict[int, set[int]]],
) -> list[Activity]:
    """Return the passes, each on all devices of its stage, by way and microbatch."""
    activities: list[Activity] = []
    number: dict[tuple[int, int, int], int] = {}
    for way, kind in enumerate(WAYS):
        for m in range(len(starts[way][0]) if stages else 0):
            for s in TopologicalSorter(before[way]).static_order():
                d, start = stages[s], starts[way][s][m]
                needs = [number[way, r, m] for r in sorted(before[way][s])]
                needs += [number[0, s, m]] if way else []
                number[way, s, m] = len(activities)
                for e in plan.replicas.get(d, (d,)):
                    track = problem.devices[e].name
                    end = start + times[way][s]
                    activities.append(
                        Activity(kind, f"{kind} {m + 1}", track, start, end, tuple(needs), (track,), d, m)
                    )
    return activities
