"""Search plans of stricter problems, which every search knows, where few methods know what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Forbid
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.solvers.runtime.reduced import Aside

SHARE, LONG_SHARE = 0.15, 0.6
"""Of the time left, what the search takes before the exact model, and where that model is too large."""
MAX_TRIES = 8
"""Kinds of devices of which one is tried as the only one with room for the largest workspace."""


def stricter(problem: Problem) -> Iterator[Problem]:
    """Yield problems each of whose plans is a plan of *problem* that costs no more in it.

    * Every device keeps the largest workspace free, whatever its nodes need. Where no plan is left, one device alone
      does, and the others keep the next smaller one free and have no node that needs more.
    * Parameters are streamed after the work and not during it: the sum of two times is no less than the longer.

    Yields nothing where neither is of use.
    """
    interconnect = problem.interconnect
    if problem.prefetches and isinstance(interconnect, (Shared, Host)) and not problem.phases:
        problem = replace(problem, interconnect=replace(interconnect, prefetch=False))
    elif not problem.uneven_workspace:
        return
    if not problem.uneven_workspace:
        yield problem
        return
    needed = np.unique(problem.graph.workspace)[::-1].tolist()
    yield _with_workspace(problem, needed[0])
    much = np.flatnonzero(problem.graph.workspace > needed[1]).tolist()
    less = _with_workspace(problem, needed[1])
    kinds = [members[0] for members in interchangeable(problem)]
    for d in sorted(kinds, key=lambda d: -problem.room_limit[d])[:MAX_TRIES]:
        room = problem.devices[d]
        if room.memory is None:
            continue
        devices = list(less.devices)
        devices[d] = replace(room, reserve=room.reserve + needed[0] - needed[1])
        others = tuple(e for e in range(problem.k) if e != d)
        rule = Forbid(nodes=tuple(much), devices=others) if others else None
        yield replace(less, devices=tuple(devices), constraints=(*less.constraints, *([rule] if rule else [])))


def left_out(problem: Problem) -> str:
    """Return which plans of *problem* no stricter one has, in words."""
    said = []
    if problem.uneven_workspace:
        said.append("keep the largest workspace free, on every device or on one")
    if problem.prefetches:
        said.append("pay for streaming after the work")
    return f"only plans were searched that {' and '.join(said)}"


def _with_workspace(problem: Problem, workspace: float) -> Problem:
    """Return the problem with the same workspace for all nodes."""
    graph = problem.graph
    return replace(problem, graph=replace(graph, workspace=np.full(graph.n, workspace)))


class PlansAlone(Aside):
    """Passes on plans that are plans of the problem asked; bounds say nothing of it."""

    def __init__(self, problem: Problem, outer: Progress) -> None:
        super().__init__(outer)
        self._problem = problem

    def report_plan(self, plan: Plan, cost: float) -> None:
        super().report_plan(plan, cost)
        if not verify(self._problem, plan):
            self._outer.report_plan(plan, evaluate(self._problem, plan).cost)


def search_stricter(
    problem: Problem,
    limits: Limits,
    progress: Progress,
    run: Callable[[Problem, Limits, Progress], Result],
    first: float = 0.5,
) -> None:
    """Have *run* search stricter problems until one of them has a plan, within *limits*, of which one takes *first*."""
    for number, strict in enumerate(stricter_ones(problem)):
        if number and (progress.plan is not None or limits.remaining <= 0 or progress.stopped):
            return
        share = 1.0 if number else first
        run(strict, limits.within(share * limits.remaining, start=None), PlansAlone(problem, progress))


def stricter_ones(problem: Problem) -> Iterator[Problem]:
    """Yield those stricter problems that can be made."""
    try:
        yield from stricter(problem)
    except (Refused, UsageError):  # as where a node that is pinned may not be there any more
        return
