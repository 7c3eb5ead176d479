"""Method ``single-device``: what the whole pipeline is measured against."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import Refused, UsageError
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.plans.schedule import Schedule
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.uniform_split import alike, alone, parted
from mtpp_dsl.views.batch_tasks import BatchInstance
from mtpp_dsl.views.symmetry import interchangeable

__all__ = ["SingleDevice", "cannot_check"]


class SingleDevice:
    """Method ``single-device``: everything on the one device that may hold it and is fastest.

    For the throughput of a batch, where no device can run all inputs of every node as one batch, the inputs are parted
    among devices, in the same way for all nodes, so that the device that has most to do ends first.
    """

    name = "single-device"
    gives: Gives = "plan"
    baseline = True
    summary = "everything on the fastest device that can hold it"

    def accepts(self, problem: Problem) -> str | None:
        """Return why such a plan could not be checked or scheduled, or None."""
        if problem.objective.quantity == "makespan" and not isinstance(problem.interconnect, Links):
            return f"{self.name} schedules on links, not on a {problem.interconnect.keyword} interconnect"
        return cannot_check(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, or none, with what keeps everything off each device."""
        incumbent = Incumbent(self.name, problem, limits, progress)
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


def cannot_check(problem: Problem, name: str) -> str | None:
    """Return why method *name* cannot check and evaluate plans of *problem* in this version, or None."""
    plan = Plan.create(problem, np.zeros(problem.graph.n, np.int64))
    try:
        verify(problem, plan)
        evaluate(problem, plan)
    except Refused as error:
        return f"{name} can only give what can be checked: {error}"
    except UsageError:  # it has no schedule; one that has can be evaluated
        return None
    return None
