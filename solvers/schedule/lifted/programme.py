"""Bound the length of a module by an assignment programme over its classes, with windows on devices and ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.matrix import MatrixRows, minimise
from mtpp_dsl.solvers.schedule.lifted.classes import ClassGraph
from mtpp_dsl.solvers.schedule.lifted.paths import MARGIN, OpenChoices, open_choices

__all__ = ["ClassCounts", "LiftedProgramme", "ModuleBound"]

LEVELS = 14
"""Heads, and tails, at which windows begin and end: the quantiles of those that there are."""
UNITS = 1_000.0
"""What the length of a module becomes, about: a solver's absolute tolerance of 1e-6 is then 1e-9 of it."""
SLACK = 1e-6
"""Relative, of what HiGHS says: its tolerances, and where it calls values equal."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How many members of each class are on each device: [classes, k], and [edge classes, k, k] of edges."""

    nodes: Ints
    edges: Ints


@dataclass(frozen=True, eq=False)
class ModuleBound:
    """What a programme proves of a module.

    Attributes:
        length: no schedule is shorter.
        counts: those of the best whole solution found, or None.
    """

    length: float
    counts: ClassCounts | None


class LiftedProgramme:
    """Minimise the length T of a module over how many members of each class are on each device.

    With x[U, d] members of class U on device d, and y[E, d, f] edges of class E from d to f: as every node of U has
    equally many edges of E, ``sum over f of y[E, d, f] = edges / members x[U, d]``, and likewise at the heads. All
    members of a class have the same heads (what paths say of their earliest starts on a device) and tails (of what
    follows their end). Rows:

    * windows: what has a head of at least h and a tail of at least t on one device, one sending or one receiving port,
      runs there one at a time between h and T - t: ``T >= h + t + sum of its work``;
    * mean ends C[U] of the members: at least their mean heads, at least those of the classes before plus the mean time
      in between, and T is at least C[U] plus the mean tail. Each member of both classes occurs equally often among the
      edges of a class, so that means of the members are means over the edges.

    Every schedule of length T that does nothing that is closed gives a solution, with whole x and y. So the optimum,
    over whole or real numbers, is a bound (lifted linear programmes; energetic reasoning of Erschler and Lopez).

    Args:
        graph: classes of the module.
        first, last: devices of the entry and of the exit; None where there is none.
        limit: choices that only schedules above it make are closed; ``inf`` for no limit.
    """

    def __init__(self, graph: ClassGraph, first: int | None, last: int | None, limit: float) -> None:
        self.graph, self.limit = graph, limit
        self.choices = open_choices(graph, first, last, limit)

    def bound(self, *, whole: bool, nodes: int, gap: float, seconds: float, stopped: Callable[[], bool]) -> ModuleBound:
        """Return what the programme proves; no more than the limit, if there is one.

        Args:
            whole: whether counts are whole numbers.
            nodes: of branch and bound, at most.
            gap: relative, at which to stop.
            seconds: after which to give up.
            stopped: says whether to give up.
        """
        path, limit = self.choices.length, self.limit
        if not path <= limit * (1 + MARGIN):
            return ModuleBound(limit, None)
        if path == inf:
            return ModuleBound(inf, None)
        rows = self._rows
        integer = np.zeros(rows.columns, np.bool_)
        if whole:
            integer[1 : 1 + rows.counted] = True
        objective = np.zeros(rows.columns)
        objective[0] = 1.0
        answer = minimise(
            objective, rows.box, integer, rows.rows, nodes=nodes, gap=gap, seconds=seconds, stopped=stopped
        )
        proved = answer.bound / rows.unit * (1 - SLACK)
        length = min(limit, max(path * (1 - MARGIN), proved))
        counts = rows.counts(answer.values) if whole and answer.values is not None else None
        return ModuleBound(length, counts)

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows(self.graph, self.choices, self.limit)


class _Rows:
    """Columns and rows of a programme: T, then x, y and C of what is open.

    Attributes:
        rows, box: of the programme.
        columns, counted: how many columns there are, and how many of them are counts.
        unit: of the programme's time, for one second.
    """

    def __init__(self, graph: ClassGraph, choices: OpenChoices, limit: float) -> None:
        self._graph, self._choices = graph, choices
        self.unit = UNITS / _typical(graph, choices, limit)
        self.rows = MatrixRows()
        end, rest, time, carry = choices.end, choices.rest, choices.time, choices.carry
        self._class, self._device = np.nonzero(np.isfinite(end + rest))
        through = end[graph.tail][:, :, None] + carry + (time + rest)[graph.head][:, None, :]
        self._edge, self._from, self._to = np.nonzero(np.isfinite(through))
        n, m = len(self._class), len(self._edge)
        self._x, self._y = 1 + np.arange(n), 1 + n + np.arange(m)
        self._mean = 1 + n + m + np.arange(len(graph.count))
        self.counted, self.columns = n + m, 1 + n + m + len(graph.count)
        lower, upper = np.zeros(self.columns), np.full(self.columns, inf)
        lower[0] = choices.length * (1 - MARGIN) * self.unit
        if limit < inf:
            upper[0] = max(lower[0], limit * (1 + SLACK) * self.unit)
        upper[self._x], upper[self._y] = graph.count[self._class], graph.edges[self._edge]
        self.box = lower, upper
        self._assign()
        self._means()
        self._windows()

    def counts(self, values: Floats) -> ClassCounts:
        """Return the counts of a solution."""
        graph = self._graph
        nodes = np.zeros((len(graph.count), graph.k), np.int64)
        edges = np.zeros((len(graph.edges), graph.k, graph.k), np.int64)
        nodes[self._class, self._device] = np.rint(values[self._x])
        edges[self._edge, self._from, self._to] = np.rint(values[self._y])
        return ClassCounts(nodes, edges)

    def _add(self, columns: Ints, values: Floats, low: float, high: float = inf) -> None:
        self.rows.add(columns.tolist(), values.tolist(), low, high)

    def _assign(self) -> None:
        """Add the rows of counts: every member is somewhere, and edges are where their ends are."""
        graph = self._graph
        for u, count in enumerate(graph.count.tolist()):
            own = self._x[self._class == u]
            self._add(own, np.ones(len(own)), count, count)
        for q, edges in enumerate(graph.edges.tolist()):
            of = self._edge == q
            for place, ends in ((self._from, graph.tail), (self._to, graph.head)):
                u = int(ends[q])
                for i in np.flatnonzero(self._class == u).tolist():
                    own = self._y[of & (place == self._device[i])]
                    values = np.append(np.ones(len(own)), -edges / graph.count[u])
                    self._add(np.append(own, self._x[i]), values, 0.0, 0.0)

    def _means(self) -> None:
        """Add the rows of mean ends."""
        graph, choices, unit = self._graph, self._choices, self.unit
        for u, count in enumerate(graph.count.tolist()):
            of = self._class == u
            at = u, self._device[of]
            own = np.insert(self._x[of], 0, self._mean[u])
            self._add(own, np.insert(-choices.end[at] * unit / count, 0, 1.0), 0.0)
            self._add(np.insert(own, 0, 0), np.concatenate(([1.0, -1.0], -choices.rest[at] * unit / count)), 0.0)
        for q, edges in enumerate(graph.edges.tolist()):
            of = self._edge == q
            at = self._from[of], self._to[of]
            takes = (choices.carry[q][at] + choices.time[graph.head[q], at[1]]) * unit / edges
            ends = self._mean[[graph.head[q], graph.tail[q]]]
            self._add(np.append(ends, self._y[of]), np.concatenate(([1.0, -1.0], -takes)), 0.0)

    def _windows(self) -> None:
        """Add the windows of all devices, and with exclusive links of all ports."""
        graph, choices = self._graph, self._choices
        at = self._class, self._device
        work, end, rest = choices.time[at], choices.end[at], choices.rest[at]
        for d in range(graph.k):
            self._resource((self._device == d) & (work > 0), self._x, work, end - work, rest)
        if graph.exclusive:
            takes = choices.carry[self._edge, self._from, self._to]
            ready = choices.end[graph.tail[self._edge], self._from]
            behind = (choices.time + choices.rest)[graph.head[self._edge], self._to]
            for place in (self._from, self._to):
                for d in range(graph.k):
                    of = (place == d) & (self._from != self._to) & (takes > 0)
                    self._resource(of, self._y, takes, ready, behind)

    def _resource(self, of: Bools, columns: Ints, work: Floats, head: Floats, tail: Floats) -> None:
        """Add the windows of one device or port, on which the *columns* that are chosen by *of* may have work.

        A window of which the head and the tail are more than the longest path holds only if anything is in it, so that
        it is left out; heads and tails are first raised to the least of what the window holds.
        """
        columns, work, head, tail = columns[of], work[of], head[of], tail[of]
        if not len(columns):
            return
        length, seen = self._choices.length, set[bytes]()
        for h in _levels(head):
            for t in _levels(tail):
                inside = (head >= h) & (tail >= t)
                if h + t > length or not inside.any() or inside.tobytes() in seen:
                    continue
                seen.add(inside.tobytes())
                raised = float(head[inside].min() + tail[inside].min())
                since = raised if raised <= length else h + t
                values = np.insert(-work[inside] * self.unit, 0, 1.0)
                self._add(np.insert(columns[inside], 0, 0), values, since * self.unit * (1 - MARGIN))


def _levels(values: Floats) -> list[float]:
    """Return at most :data:`LEVELS` of the *values* and zero."""
    levels = np.unique(np.append(values, 0.0))
    if len(levels) > LEVELS:
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, LEVELS).astype(np.int64))]
    return [float(level) for level in levels]


def _typical(graph: ClassGraph, choices: OpenChoices, limit: float) -> float:
    """Return a length that a module may have: its longest path, or its work shared out if that is more."""
    time = np.where(np.isfinite(choices.time), choices.time, inf).min(axis=1)
    work = float((graph.count * time).sum()) / graph.k
    length = max(choices.length, min(limit, work))
    if length <= 0:
        length = limit if 0 < limit < inf else 1.0
    return length
