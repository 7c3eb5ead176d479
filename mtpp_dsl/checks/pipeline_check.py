"""The passes of an iteration counted again, for the independent check: as longest paths among passes."""

from __future__ import annotations

from graphlib import TopologicalSorter

from mtpp_dsl.checks.stage_check import passes_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["iteration_times"]

MOST_PASSES = 400_000

Pass = tuple[str, int, int]
"""Forward ("f") or backward ("b"), stage, microbatch."""


def iteration_times(problem: Problem, plan: Plan) -> tuple[float | None, float]:
    """Return when the last pass of an iteration ends, None of too many, and what no order of passes is faster than."""
    stages = passes_of(problem, plan)
    many = problem.objective.microbatches or 1
    bound = sum(load for _, _, load in stages)
    waited = 0.0
    for _, _, load in stages:
        bound = max(bound, waited + many * load)
        waited += load
    return None if 2 * many * len(stages) > MOST_PASSES else _last_end(problem, stages, many), bound


def _last_end(problem: Problem, stages: list[tuple[float, float, float]], many: int) -> float:
    """Return the longest path among the passes."""
    schedule = problem.objective.schedule
    takes = {
        (way, s, m): stage[0] if way == "f" else stage[1]
        for s, stage in enumerate(stages)
        for m in range(many)
        for way in "fb"
    }
    after: dict[Pass, set[Pass]] = {each: set() for each in takes}
    last = len(stages) - 1
    for s in range(len(stages)):
        ahead = many if schedule == "gpipe" else last - s + 1
        for m in range(many):
            if s:
                after["f", s, m].add(("f", s - 1, m))
            after["b", s, m].add(("b", s + 1, m) if s < last else ("f", s, m))
            if m:
                after["f", s, m].add(("f", s, m - 1))
                after["b", s, m].add(("b", s, m - 1))
            if m >= ahead:
                after["f", s, m].add(("b", s, m - ahead))
            after["b", s, m].add(("f", s, min(m + ahead, many) - 1))
    ends: dict[Pass, float] = {}
    for each in TopologicalSorter(after).static_order():
        ends[each] = max((ends[other] for other in after[each]), default=0.0) + takes[each]
    return max(ends.values(), default=0.0)
