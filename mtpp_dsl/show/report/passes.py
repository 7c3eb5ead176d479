"""The forward and backward passes of a pipeline's microbatches: of an iteration, and of parts that count separately.

What a stage reads and writes is in its passes, as it is in their times.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.pipeline import MOST_PASSES, pass_ends, stages_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Activity, Kind

__all__ = ["passes"]

WAYS: tuple[Kind, Kind] = ("forward", "backward")
MORE = 4
"""Microbatches beside one for each stage, where nobody says how many."""


def passes(
    problem: Problem, plan: Plan, found: Evaluation, microbatches: int | None
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
        load, forward = found.load[stages], found.forward[stages]
        backward = np.maximum(found.backward[stages], load - forward)
        ends = pass_ends(forward.tolist(), backward.tolist(), own, objective.schedule or "gpipe")
        starts = [[[end - takes for end in row] for row, takes in zip(way, times, strict=True)]
                  for way, times in zip(ends, (forward.tolist(), backward.tolist()), strict=True)]  # fmt: skip
        chain = [
            {s: {s - 1} - {-1} for s in range(len(stages))},
            {s: {s + 1} - {len(stages)} for s in range(len(stages))},
        ]
        return _activities(problem, plan, stages, starts, (forward.tolist(), backward.tolist()), chain), own, "pass"
    many = len(stages) + MORE if microbatches is None else microbatches
    _check_number(many, len(stages))
    before = _stages_before(problem, plan, stages)
    times = (found.forward[stages].tolist(), found.backward[stages].tolist())
    starts, begin = [], 0.0
    for way, takes in enumerate(times):
        offset = [0.0] * len(stages)
        for s in TopologicalSorter(before[way]).static_order():
            offset[s] = max((offset[r] + takes[r] for r in before[way][s]), default=0.0)
        starts.append([[begin + at + m * max(takes) for m in range(many)] for at in offset])
        begin = max(row[-1] + each for row, each in zip(starts[-1], takes, strict=True))
    return _activities(problem, plan, stages, starts, times, before), many, "pass"


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
    found: dict[int, set[int]] = {s: set() for s in range(len(stages))}
    inside = part[graph.tails] & part[graph.heads]
    tails, heads = plan.assignment[graph.tails[inside]], plan.assignment[graph.heads[inside]]
    for d, e in set(zip(tails.tolist(), heads.tolist(), strict=True)):
        if d != e:
            found[place[e]].add(place[d])
    try:
        TopologicalSorter(found).prepare()
    except CycleError:
        raise UsageError("one part of the graph goes from a device to others and back: it has no passes") from None
    return found


def _activities(
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
