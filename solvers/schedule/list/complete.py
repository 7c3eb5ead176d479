"""A schedule for a plan that says where nodes run and not when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["complete", "scheduled"]


def complete(problem: Problem, plan: Plan) -> Plan:
    """Return the assignment of *plan* with a schedule, for a makespan on links; see :func:`scheduled`."""
    return scheduled(ScheduleInstance.of(problem), plan.assignment)


def scheduled(instance: ScheduleInstance, assignment: ArrayLike, priority: ArrayLike | None = None) -> Plan:
    """Return a plan for an *assignment*: nodes by priority, each as early as it can be, in gaps too.

    Args:
        instance: the problem.
        assignment: [n] device of every node; the memory that it takes is not looked at.
        priority: [n] of the nodes whose predecessors have been placed, the largest comes first; None: the longest path
            from each to the end, by the times of this assignment (so, by latest starts).

    Raises:
        UsageError: a node on a device that cannot run it, or a transfer between devices that nothing joins.
    """
    graph = instance.graph
    device = np.asarray(assignment, np.int64)
    takes = instance.time[np.arange(instance.n), device]
    tails, heads = device[graph.tails], device[graph.heads]
    carry = np.where(tails == heads, 0.0, instance.transfers.along(np.arange(instance.m), tails, heads))
    if not (np.isfinite(takes).all() and np.isfinite(carry).all()):
        raise UsageError("no schedule: a node is where it cannot run, or two devices have no link")
    rank = upward(graph, takes, carry) if priority is None else np.asarray(priority, np.float64)
    return Lister.fixed(instance, device).in_turn(in_order(graph, rank))
