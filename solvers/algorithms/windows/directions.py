"""A graph on links in both directions, as the bounds on its makespan take it, and where its nodes may be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["DirectedNet", "class_time", "net_of", "reversed_net"]


class DirectedNet(NamedTuple):
    """A graph on links as kernels take it, in either direction: reversed, "before" is after.

    Attributes:
        order, place: [n] the nodes in a topological order, and where each is in it.
        before_at, before: the edges ``before[before_at[v]:before_at[v + 1]]`` reach v; ``after`` likewise leave it.
        tail, head: [m] of every edge.
        group: [n] class of every node: nodes of one are on one device.
        latency, inverse, size, row, table: as of :class:`mtpp_dsl.core.problem.transfers.Transfers`.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
    """

    order: Ints
    place: Ints
    before_at: Ints
    before: Ints
    after_at: Ints
    after: Ints
    tail: Ints
    head: Ints
    group: Ints
    latency: Floats
    inverse: Floats
    size: Floats
    row: Ints
    table: Floats
    exclusive: bool


def net_of(problem: Problem) -> DirectedNet:
    """Return the graph of a makespan problem on links."""
    graph, carried = problem.graph, problem.transfers
    place = np.empty(graph.n, np.int64)
    place[graph.topological_order] = np.arange(graph.n)
    return inputs(
        DirectedNet(
            order=graph.topological_order,
            place=place,
            before_at=graph.offsets_in,
            before=graph.by_head,
            after_at=graph.offsets,
            after=frozen(np.arange(graph.m), np.int64),
            tail=graph.tails,
            head=graph.heads,
            group=colocated(problem),
            latency=carried.latency,
            inverse=carried.inverse,
            size=carried.size,
            row=carried.row,
            table=carried.table,
            exclusive=any(problem.of(ExclusiveLinks)),
        )
    )


def reversed_net(net: DirectedNet) -> DirectedNet:
    """Return the same graph with every edge, and time itself, turned around."""
    return inputs(
        DirectedNet(
            order=np.ascontiguousarray(net.order[::-1]),
            place=len(net.order) - 1 - net.place,
            before_at=net.after_at,
            before=net.after,
            after_at=net.before_at,
            after=net.before,
            tail=net.head,
            head=net.tail,
            group=net.group,
            latency=np.ascontiguousarray(net.latency.T),
            inverse=np.ascontiguousarray(net.inverse.T),
            size=net.size,
            row=net.row,
            table=np.ascontiguousarray(net.table.transpose(0, 2, 1)),
            exclusive=net.exclusive,
        )
    )


def class_time(problem: Problem) -> Floats:
    """Return [n, devices] running times; ``inf`` where a node's class may not be: by support, pins or its memory.

    Memories count as large as the independent check of plans lets them be.
    """
    group = colocated(problem)
    classes = int(group.max(initial=-1)) + 1
    closed = np.zeros((classes, problem.k), np.bool_)
    np.logical_or.at(closed, group, ~problem.allowed)
    size = np.bincount(group, weights=problem.graph.memory, minlength=classes)
    closed |= size[:, None] * (1 - 1e-12) > problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6))
    time: Floats = np.where(closed[group], np.inf, problem.time)
    return time
