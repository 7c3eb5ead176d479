"""Everything on one device: what any split is measured against."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.plans.schedule import Schedule
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.uniform_split import alike, alone, parted
from mtpp_dsl.views.batch_tasks import BatchInstance
from mtpp_dsl.views.symmetry import interchangeable

__all__ = ["single_device"]

NAME = "single-device"


def single_device(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return everything on the fastest device that can hold it, or no plan, with what keeps everything off each."""
    incumbent = Incumbent(NAME, problem, limits, progress)
    if problem.objective.batch is not None:
        return _of_a_batch(problem, incumbent)
    for group in interchangeable(problem):
        d = group[0]
        if not incumbent.take(_all_on(problem, d)):
            more = f" (and {len(group) - 1} more like it)" if len(group) > 1 else ""
            incumbent.note(f"not everything on {problem.devices[d].name}{more}: {incumbent.broken}")
    return incumbent.result()


def _of_a_batch(problem: Problem, incumbent: Incumbent) -> Result:
    """Return the best plan with all inputs on one device, or without such a plan the best with one spread for all."""
    instance = BatchInstance.of(problem)
    for d in alone(instance):
        if not incumbent.take(alike(instance, np.full(instance.chunks, d))):
            incumbent.note(f"not everything on {problem.devices[d].name}: {incumbent.broken}")
    row = parted(instance) if incumbent.plan is None else None
    if row is not None and incumbent.take(alike(instance, row)):
        sizes = np.bincount(row, minlength=problem.k) * instance.batching.chunk
        shown = ", ".join(f"{problem.devices[d].name} {sizes[d]}" for d in np.flatnonzero(sizes).tolist())
        incumbent.note(f"no device can run all inputs at once: they are parted, {shown}")
    elif incumbent.plan is None:
        why = "sizes and memory leave none" if row is None else incumbent.broken
        incumbent.note(f"no way was found to run every node on the same devices: {why}")
    return incumbent.result()


def _all_on(problem: Problem, d: int) -> Plan:
    """Return the plan with everything on device *d*; for a makespan, one node after another."""
    device = np.full(problem.graph.n, d)
    if problem.objective.quantity != "makespan" or not np.isfinite(problem.time[:, d]).all():
        return Plan.create(problem, device)
    order = problem.graph.topological_order
    end = np.empty(problem.graph.n)
    end[order] = np.cumsum(problem.time[order, d])
    start = np.empty(problem.graph.n)
    start[order] = np.append(0.0, end[order[:-1]])
    return Plan.create(problem, device, schedule=Schedule.create(problem.graph, start, end))
