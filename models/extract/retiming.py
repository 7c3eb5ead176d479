"""A plan from what a solver decided: where, and in which order; the times are worked out again, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, ExclusiveLinks, Finish, Load, On
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.facts.times import lags

__all__ = ["ItemOrder", "SolverDecisions", "earliest", "retimed"]


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

    asked: list[_Arc] = []
    for lag in lags(problem, value):
        before = {None: -1, -1: end}.get(lag.before, lag.before)
        assert before is not None
        asked.append((before, lag.after, lag.by))
    last: list[_Arc] = [(v, end, time) for v, time in enumerate(takes.tolist())]
    return earliest(ItemOrder([*order.items, end], [*order.arcs, *last]), asked)


# The earliest times of everything in given orders: exact, whatever a solver's tolerances were.

_Arc = tuple[int, int, float]
"""The second item starts no sooner than the first's start and this much later; -1 for the beginning of all."""

ROUNDS = 1000
CLOSE = 1e-13
"""A start that is later by less than this share of the longest is the same: cycles of lags end."""


class ItemOrder:
    """Items 0..count-1 (nodes, then transfers as n + edge) in an order that precedence and devices allow.

    Attributes:
        arcs: what starts after what, each from an earlier item of ``items`` to a later one.
        items: all items.
    """

    def __init__(self, items: Sequence[int], arcs: Sequence[_Arc]) -> None:
        self.items, self.arcs = items, arcs


def order_of(graph: Graph, takes: Floats, carry: Floats, uses: Sequence[Sequence[int]], middle: Floats) -> ItemOrder:
    """Return the order in which the items follow each other where they want the same.

    Of the items whose predecessors are behind, the one whose middle is first comes next: middles of two that do not
    overlap, to a solver's tolerance, tell which is first however short one is.

    Args:
        graph: n nodes, m edges.
        takes: [n] running times.
        carry: [m] times of transfers.
        uses: [n + m] what each item has for itself while it runs; numbers.
        middle: [n + m] the middle of each item in the solution.
    """
    n, count = graph.n, graph.n + graph.m
    waiting = np.concatenate([np.diff(graph.offsets_in), np.ones(graph.m, np.int64)])
    length = np.concatenate([takes, carry])
    place = np.empty(n, np.int64)
    place[graph.topological_order] = np.arange(n)
    queue: list[tuple[float, int, int]] = []
    items: list[int] = []
    arcs: list[_Arc] = []
    last: dict[int, int] = {}

    def free(item: int) -> None:
        waiting[item] -= 1
        if waiting[item] <= 0:
            heappush(queue, (float(middle[item]), int(place[item if item < n else graph.heads[item - n]]), item))

    for v in np.flatnonzero(waiting[:n] == 0).tolist():
        free(v)
    while len(items) < count:
        _, _, item = heappop(queue)
        items.append(item)
        for thing in uses[item]:
            if thing in last:
                arcs.append((last[thing], item, float(length[last[thing]])))
            last[thing] = item
        after = (
            [int(graph.heads[item - n])]
            if item >= n
            else range(n + int(graph.offsets[item]), n + int(graph.offsets[item + 1]))
        )
        for other in after:
            arcs.append((item, other, float(length[item])))
            free(other)
    return ItemOrder(items, arcs)


def earliest(order: ItemOrder, lags: Sequence[_Arc] = ()) -> Floats | None:
    """Return the earliest start of every item; None if lags go round in a circle.

    One pass over the order is enough without *lags*; they may lead back, and passes are repeated until nothing moves.
    """
    start = np.zeros(len(order.items))
    into: list[list[tuple[int, float]]] = [[] for _ in order.items]
    for before, after, by in [*order.arcs, *lags]:
        into[after].append((before, by))
    for _ in range(ROUNDS if lags else 1):
        moved = False
        for item in order.items:
            sooner = max([0.0, *(by + (0.0 if u < 0 else float(start[u])) for u, by in into[item])])
            if sooner > start[item] * (1 + CLOSE):
                start[item], moved = sooner, True
        if not moved:
            return start
    return None if lags else start
