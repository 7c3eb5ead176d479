"""Turn schedules of groups of nodes into schedules of the nodes, with exact times for every node and edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks, Linear
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import compressed
from mtpp_dsl.solvers.reductions.parallel import Bundles

__all__ = ["unfolded"]


def unfolded(
    problem: Problem, paths: Sequence[Sequence[int]], cluster: Ints, bundles: Bundles
) -> Callable[[Plan], Plan]:
    """Return a function that turns schedules of groups into schedules of *problem* that end no later.

    The nodes of a group run one after another in its time. Edges that were one are sent together, or with exclusive
    links one after another. Then everything starts as early as that order allows, unless a labelled
    constraint might ask for a later start.

    Args:
        problem: on links.
        paths: the nodes of each group, in order.
        cluster: [n] the group of each node.
        bundles: the edges between groups.
    """
    graph = problem.graph
    exclusive = any(problem.of(ExclusiveLinks))
    follows = np.concatenate([np.asarray(path, np.int64) for path in paths]) if paths else np.empty(0, np.int64)
    first = np.cumsum([0, *(len(path) for path in paths)])[:-1]

    def lift(plan: Plan) -> Plan:
        coarse = plan.schedule
        assert coarse is not None
        device = plan.assignment[cluster]
        takes = problem.time[np.arange(graph.n), device]
        start = np.empty(graph.n)
        start[follows] = coarse.start[cluster[follows]] + _before(takes[follows], first)
        sent, arrived = np.full(graph.m, np.nan), np.full(graph.m, np.nan)
        tails, heads = device[graph.tails], device[graph.heads]
        moved = np.flatnonzero(tails != heads)
        carry = problem.transfers.along(moved, tails[moved], heads[moved])
        sent[moved] = coarse.sent[bundles.of[moved]]
        if exclusive:
            order = np.argsort(bundles.of[moved], kind="stable")
            new = np.flatnonzero(np.diff(bundles.of[moved][order], prepend=-1))
            sent[moved[order]] += _before(carry[order], new)
        arrived[moved] = sent[moved] + carry
        schedule = Schedule.create(graph, start, start + takes, sent, arrived)
        fine = Plan.create(problem, device, schedule=schedule)
        return fine if any(problem.of(Linear)) else compressed(ScheduleInstance.of(problem), fine)

    return lift


def _before(lengths: Floats, first: Ints) -> Floats:
    """Return for each of *lengths* the sum of those before it in its run; runs begin at the indices *first*."""
    total = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
    if not len(lengths):
        return total
    runs = np.repeat(total[first], np.diff(np.append(first, len(lengths))))
    before: Floats = total - runs
    return before
