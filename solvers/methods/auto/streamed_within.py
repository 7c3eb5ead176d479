"""Bracket the least bottleneck of parameters that are streamed during the work, by problems that have room for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.auto.stricter import PlansAlone

PLACES = (Acyclic, Colocate, Contiguous, Forbid, InOrder, Pin, Separate)
"""Constraints that say nothing of loads and memories."""
SHARE, LEAST_SECONDS = 0.3, 0.5
"""Of the time left, what one cost gets; and with less time none is tried."""
NEAR = 1e-4
"""Relative: what is closer to the bound is not tried."""
ROUNDING = 1e-9
"""Relative: by how much rooms are larger, and bounds smaller, than what is computed."""


def with_room(problem: Problem, cost: float) -> Problem | None:
    """Return a problem of which every plan of *problem* that costs at most *cost* is a plan, and costs no more there.

    Within *cost* a device streams no more than that allows, so that it has no more parameters than fit into its memory
    and this. The problem has such memories, and streams nothing. None where constraints speak of more than places.
    """
    link = problem.interconnect
    told = [c for c in problem.constraints if not isinstance(c, BreakSymmetry)]
    if not problem.prefetches or problem.phases or not isinstance(link, (Shared, Host)) or problem.hierarchical:
        return None
    if problem.objective.quantity != "bottleneck" or not all(isinstance(c, PLACES) for c in told):
        return None
    rooms = (problem.overflow_limit + link.bandwidth * cost) * (1 + ROUNDING)
    devices = [
        replace(device, memory=float(room) if np.isfinite(room) else None, reserve=0.0)
        for device, room in zip(problem.devices, rooms, strict=True)
    ]
    nothing = np.zeros(problem.graph.n)
    graph = replace(problem.graph, memory=problem.graph.params, cache=nothing, workspace=nothing)
    return replace(
        problem,
        graph=graph,
        devices=tuple(devices),
        interconnect=replace(link, overflow=False, prefetch=False),
        constraints=(*told, Memory()),
    )


class _Until(PlansAlone):
    """Passes plans on, and stops as soon as it is known whether there is one of at most a cost."""

    def __init__(self, problem: Problem, outer: Progress, target: float) -> None:
        super().__init__(problem, outer)
        self.target = target

    @property
    def stopped(self) -> bool:
        below = self.cost is not None and self.cost <= self.target
        above = self.bound is not None and self.bound.cost > self.target
        return super().stopped or below or above


def bracket(
    problem: Problem, limits: Limits, progress: Progress, run: Callable[[Problem, Limits, Progress], Result]
) -> None:
    """Have *run* look for plans of at most a cost in problems with room, and report what it finds; halve, and go on.

    Where such a problem has none, no plan of *problem* costs that little.
    """
    low, high = (0.0 if progress.bound is None else progress.bound.cost), progress.cost
    if high is None or with_room(problem, high) is None:
        return
    while high - low > NEAR * high and limits.remaining > LEAST_SECONDS and not progress.stopped:
        target = (low + high) / 2
        wider = with_room(problem, target)
        assert wider is not None
        progress.say(f"looking for a plan of {target:.6g}, with room for what is streamed meanwhile")
        own = _Until(problem, progress, target)
        result = run(wider, limits.within(SHARE * limits.remaining, start=None), own)
        if result.termination == "infeasible" or (own.bound is not None and own.bound.cost > target):
            low = target
            detail = "with room for all that is streamed within it, no plan costs as little"
            progress.report_bound(Bound(target * (1 - ROUNDING), "streamed", "trusted", "mtpp", detail))
        elif own.cost is not None and own.cost <= target:
            high = target  # from here on problems with room know no better
        else:
            return
