"""A plan from what a solver decided: where, and in which order; the times are worked out again, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, ExclusiveLinks, Finish, Load, On
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.extract.earliest import Arc, ItemOrder, earliest, order_of
from mtpp_dsl.models.facts.lags import lags

__all__ = ["SolverDecisions", "retimed"]


@dataclass(frozen=True, eq=False)
class SolverDecisions:
    """What a solver decided.

    Attributes:
        where: [n] device of every node.
        middle: [n] of the running times. flown: [m] of the transfers; in any unit, only their order counts.
    """

    where: Ints
    middle: Floats
    flown: Floats


def retimed(problem: Problem, solution: SolverDecisions, otherwise: Floats) -> Plan:
    """Return the plan in which everything is as early as the order of *solution* and the labelled constraints allow.

    *otherwise*, [n] starts, stand where there are no such times: the solver has used its tolerances, and whoever
    verifies the plan will see it.
    """
    graph, where, k = problem.graph, solution.where, problem.k
    nodes, edges = np.arange(graph.n), np.arange(graph.m)
    takes = problem.time[nodes, where]
    tails, heads = where[graph.tails], where[graph.heads]
    moved = tails != heads
    carry = np.where(moved, problem.transfers.along(edges, tails, heads), 0.0)
    if not (np.isfinite(takes).all() and np.isfinite(carry).all()):
        return Plan.create(problem, where)
    alone = any(problem.of(ExclusiveLinks))
    uses = [[d] if time > 0 else [] for d, time in zip(where.tolist(), takes.tolist(), strict=True)]
    for d, f, time in zip(tails.tolist(), heads.tolist(), carry.tolist(), strict=True):
        uses.append([k + d, 2 * k + f] if alone and time > 0 else [])
    order = order_of(graph, takes, carry, uses, np.concatenate([solution.middle, solution.flown]))
    start = _times(problem, order, where, takes)
    starts = otherwise if start is None else start[: graph.n]
    ends = starts + takes
    sent = ends[graph.tails] if start is None else start[graph.n : graph.n + graph.m]
    schedule = Schedule.create(
        graph, starts, ends, np.where(moved, sent, np.nan), np.where(moved, sent + carry, np.nan)
    )
    return Plan.create(problem, where, schedule=schedule)


def _times(problem: Problem, order: ItemOrder, where: Ints, takes: Floats) -> Floats | None:
    """Return the earliest starts of nodes and transfers, with the lags of labelled constraints."""
    end = problem.graph.n + problem.graph.m
    work = np.bincount(where, takes, problem.k)

    def value(decision: Decision) -> float:
        match decision:
            case On(node, device):
                return float(where[node] == device)
            case Load(device):
                return float(work[device])
            case Bottleneck():
                return float(work.max())
            case Finish(node):
                return float(takes[node])
            case _:
                raise TypeError(f"{decision} is a time")

    asked: list[Arc] = []
    for lag in lags(problem, value):
        before = {None: -1, -1: end}.get(lag.before, lag.before)
        assert before is not None
        asked.append((before, lag.after, lag.by))
    last: list[Arc] = [(v, end, time) for v, time in enumerate(takes.tolist())]
    return earliest(ItemOrder([*order.items, end], [*order.arcs, *last]), asked)
