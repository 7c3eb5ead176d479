"""Collect the windows of a module's devices and ports, and price them by a linear programme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import MatrixRows, priced
from mtpp_dsl.solvers.schedule.decomposition.module_choices import ModuleChoices

__all__ = ["DEVICE", "INTO", "OUT", "ModuleWindow", "OpenItems", "module_windows", "prices_of"]

DEVICE, OUT, INTO = 0, 1, 2
"""What a window is of: a device, its sending, its receiving."""
LEVELS = 14
"""Heads, and tails, of windows: the quantiles of those that there are."""
UNITS = 1_000.0
"""What the length of a module becomes, about: a solver's absolute tolerance of 1e-6 is then 1e-9 of it."""
ITERATIONS = 20_000
"""Of the simplex method, for one module."""


class ModuleWindow(NamedTuple):
    """What runs on one device or port no earlier than a head, with a tail behind it at least.

    Attributes:
        kind: what it is of. device: which.
        head, tail: the least of those of its items.
        items: [i] numbers, ascending. work: [i] how long each takes.
    """

    kind: int
    device: int
    head: float
    tail: float
    items: Ints
    work: Floats


class OpenItems:
    """Nodes on devices, and edges between two, that are not closed; those of nodes are numbered first.

    Args:
        choices: of a module.

    Attributes:
        nodes: [s, k] whether open. edges: [e, k, k].
        number: [s k + e k k] of those that are open, from 0, in that order.
    """

    def __init__(self, choices: ModuleChoices) -> None:
        self.choices = choices
        self.nodes = np.isfinite(choices.end + choices.rest)
        self.edges = np.isfinite(choices.through)
        self.number = np.cumsum(np.append(self.nodes.ravel(), self.edges.ravel())) - 1

    @property
    def count(self) -> int:
        """How many are open."""
        return int(self.number[-1]) + 1 if len(self.number) else 0

    def costs(self, cost: Floats) -> tuple[Floats, Floats]:
        """Return [items] costs as those of [s, k] nodes and [e, k, k] edges, ``inf`` where closed."""
        nodes, edges = np.full(self.nodes.shape, np.inf), np.full(self.edges.shape, np.inf)
        many = int(self.nodes.sum())
        nodes[self.nodes], edges[self.edges] = cost[:many], cost[many:]
        return nodes, edges


def module_windows(items: OpenItems, least: float) -> Iterator[ModuleWindow]:
    """Yield the windows of a module whose schedules take no less than *least*.

    Of heads and tails that are more than that together only some are taken: their windows are rarely of use.
    """
    choices = items.choices
    piece, k = choices.piece, choices.piece.k
    v, d = np.nonzero(items.nodes & (choices.time > 0))
    number, work = items.number[v * k + d], choices.time[v, d]
    head, tail = choices.end[v, d] - work, choices.rest[v, d]
    for device in range(k):
        yield from _of(DEVICE, device, d == device, number, head, tail, work, least)
    if piece.exclusive:
        e, d, f = np.nonzero(items.edges & (choices.carry > 0) & ~np.eye(k, dtype=np.bool_))
        number, work = items.number[items.nodes.size + (e * k + d) * k + f], choices.carry[e, d, f]
        head, tail = choices.end[piece.tails[e], d], (choices.time + choices.rest)[piece.heads[e], f]
        for device in range(k):
            yield from _of(OUT, device, d == device, number, head, tail, work, least)
            yield from _of(INTO, device, f == device, number, head, tail, work, least)


def _of(
    kind: int, device: int, own: Bools, number: Ints, head: Floats, tail: Floats, work: Floats, least: float
) -> Iterator[ModuleWindow]:
    """Yield the windows of one device or port, whose items are *own*."""
    number, head, tail, work = number[own], head[own], tail[own], work[own]
    if not len(number):
        return
    seen = set[bytes]()
    followed = [(t, tail >= t) for t in _levels(tail)]
    for h in _levels(head):
        after = head >= h
        for t, before in followed:
            if h + t > least:
                break
            inside = np.flatnonzero(after & before)
            if not len(inside):
                break
            if (key := inside.tobytes()) in seen:
                continue
            seen.add(key)
            since, until = float(head[inside].min()), float(tail[inside].min())
            yield ModuleWindow(kind, device, since, until, number[inside], work[inside])


def _levels(values: Floats) -> list[float]:
    """Return zero and at most :data:`LEVELS` of the *values*, or so."""
    levels = np.unique(np.append(values, 0.0))
    if len(levels) > LEVELS:
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, LEVELS).astype(np.int64))]
    return [float(level) for level in levels]


def prices_of(windows: list[ModuleWindow], items: OpenItems, least: float) -> Floats:
    """Return [windows] the prices, together 1, by which the least mean of all windows is largest.

    They are the duals of the programme that minimises T over shares x of nodes on devices and y of edges between two,
    with ``T >= head + tail + work`` for every window. Zeros where it was not solved.
    """
    scale = UNITS / max(least, max(float(window.work.sum()) for window in windows) / len(windows), 1e-300)
    rows = MatrixRows()
    for window in windows:
        since = min(window.head + window.tail, least) * scale
        rows.add([0, *(1 + window.items).tolist()], [1.0, *(-scale * window.work).tolist()], since)
    _assign(rows, items)
    count = 1 + items.count
    upper = np.ones(count)
    upper[0] = np.inf
    objective = np.zeros(count)
    objective[0] = 1.0
    duals = priced(objective, (np.zeros(count), upper), rows, iterations=ITERATIONS)
    prices = np.zeros(len(windows)) if duals is None else np.maximum(duals[: len(windows)], 0.0)
    total = float(prices.sum())
    return prices / total if total > 0 else prices


def _assign(rows: MatrixRows, items: OpenItems) -> None:
    """Add that every node is somewhere, and that edges lead from where their tails are to where their heads are."""
    piece, k = items.choices.piece, items.choices.piece.k
    column, many = 1 + items.number, items.nodes.size
    for v in range(piece.size):
        own = column[v * k : v * k + k][items.nodes[v]].tolist()
        rows.add(own, [1.0] * len(own), 1.0, 1.0)
    at = column[many:].reshape(items.edges.shape)
    for e, ends in enumerate(zip(piece.tails.tolist(), piece.heads.tolist(), strict=True)):
        for v, here, is_open in zip(ends, (at[e], at[e].T), (items.edges[e], items.edges[e].T), strict=True):
            for d in np.flatnonzero(items.nodes[v]).tolist():
                own = here[d][is_open[d]].tolist()
                rows.add([*own, int(column[v * k + d])], [1.0] * len(own) + [-1.0], 0.0, 0.0)
