"""States to start from, on devices in an order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.device_order import Arcs, order_of
from mtpp_dsl.solvers.partition.annealing.whole_nets import Instance
from mtpp_dsl.solvers.runtime.reduced import Aside

__all__ = ["starts"]

SECONDS = 5.0
SHARE = 0.2
MOST_FOR_IDEALS = 5_000


def starts(
    problem: Problem,
    instance: Instance,
    arcs: Arcs,
    group: Ints,
    limits: Limits,
    progress: Progress,
    ideals: Method,
    slices: Method,
) -> Iterator[tuple[Ints, Plan | None]]:
    """Yield the devices of classes of nodes in an order, and the plan they were taken from, if they are one's.

    First slices of a few topological orders; where there are none that fit the classes, what the dynamic programme over
    ideals finds without the constraints it cannot honour; and all on one device.
    """
    methods = [slices, ideals] if problem.graph.n <= MOST_FOR_IDEALS else [slices]
    first = np.unique(group, return_index=True)[1]
    for method in methods:
        kept = [c for c in problem.constraints if method.accepts(problem.with_constraints([c])) is None]
        asked = problem.with_constraints(kept)
        if method.accepts(asked) is not None:
            continue
        plan = method.solve(
            asked, limits.within(min(SECONDS, SHARE * limits.remaining), start=None), Aside(progress)
        ).plan
        if plan is not None and _stands(instance, arcs, plan.assignment[first]):
            yield plan.assignment[first], plan
    for d in np.flatnonzero(instance.allowed.all(axis=0)).tolist():
        yield np.full(len(first), d, np.int64), None


def _stands(instance: Instance, arcs: Arcs, device: Ints) -> bool:
    """Whether every class may be where it is, and the devices have an order."""
    n, k = instance.time.shape
    return bool(instance.allowed[np.arange(n), device].all()) and order_of(arcs, device, k) is not None
