"""An order of the devices that edges respect, kept while nodes move: one for each part that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.plans.plan import quotient_order
from mtpp_dsl.core.problem.colocation import ordered_edges
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem


class QuotientArcs(NamedTuple):
    """The edges between supernodes, by part, each pair of supernodes once.

    Attributes:
        before_at: [parts, n + 1] row pointers into ``before``.
        before: the supernodes that each supernode reads from.
        after_at: [parts, n + 1] row pointers into ``after``.
        after: the supernodes that read from each supernode.
    """

    before_at: Ints
    before: Ints
    after_at: Ints
    after: Ints


class OrderOfDevices(NamedTuple):
    """An order of the devices for every part, and the quotient graph that it is a topological order of.

    Attributes:
        quotient: [parts, k, k] how many arcs lead from each device to each other.
        line: [parts, k] the devices, first to last.
        rank: [parts, k] where each stands.
    """

    quotient: Ints
    line: Ints
    rank: Ints


def arcs_of(problem: Problem, group: Ints) -> QuotientArcs:
    """Return the arcs between supernodes, given the supernode of every node."""
    n = int(group.max(initial=-1)) + 1
    tails, heads = [], []
    for part_tails, part_heads in ordered_edges(problem):
        a, b = group[part_tails], group[part_heads]
        pairs = np.unique(np.stack([a[a != b], b[a != b]], axis=1), axis=0)
        tails.append(pairs[:, 0])
        heads.append(pairs[:, 1])
    before_at, before = _rows(heads, tails, n)
    after_at, after = _rows(tails, heads, n)
    return QuotientArcs(before_at, before, after_at, after)


def order_of(arcs: QuotientArcs, device: Ints, k: int) -> OrderOfDevices | None:
    """Return an order of the *k* devices for supernodes on *device*, [n], or None if there is none."""
    parts = len(arcs.after_at)
    order = OrderOfDevices(*(np.zeros(shape, np.int64) for shape in ((parts, k, k), (parts, k), (parts, k))))
    for p, at in enumerate(arcs.after_at):
        tails = device[np.repeat(np.arange(len(device)), np.diff(at))]
        heads = device[arcs.after[at[0] : at[-1]]]
        line = quotient_order(np.arange(k), tails, heads, k)
        if line is None:
            return None
        apart = tails != heads
        np.add.at(order.quotient[p], (tails[apart], heads[apart]), 1)
        order.line[p] = line
        order.rank[p, order.line[p]] = np.arange(k)
    return order


def _rows(keys: Sequence[Ints], values: Sequence[Ints], n: int) -> tuple[Ints, Ints]:
    """Return [parts, n + 1] row pointers into, and the *values* of all parts, sorted by their *keys*."""
    at = np.zeros((len(keys), n + 1), np.int64)
    entries: list[Ints] = [np.zeros(0, np.int64)]
    begin = 0
    for p, (key, value) in enumerate(zip(keys, values, strict=True)):
        at[p] = begin + np.concatenate(([0], np.cumsum(np.bincount(key, minlength=n))))
        entries.append(value[np.argsort(key, kind="stable")])
        begin += len(key)
    return at, np.concatenate(entries).astype(np.int64)
