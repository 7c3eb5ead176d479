"""Bound the time between two boundaries of a row of modules, by an assignment programme: see ``last_ends``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.bounded import BoxProgramme, minimise_relaxed, minimise_whole

__all__ = ["Stretch", "StretchAnswer", "StretchProgramme"]

LEVELS = 4
"""Heads, and tails, at which windows begin and end: quantiles of those that there are. With more it takes longer."""
UNITS = 100.0
"""What the longest path becomes, about: HiGHS has absolute tolerances."""
SLACK = 1e-6
"""Relative to the length: what a bound that rests on HiGHS is lowered by."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """What may run in an interval of time, between two moments.

    Attributes:
        nodes: their numbers, tails before heads.
        time: [s, k] on every device; ``inf`` where it may not run.
        tails, heads: [e] edges among them.
        whole: [s] whether it runs wholly in the interval; of others, any part may.
        after: [s] whether it starts at the first moment at the earliest.
        within: [s] whether it ends by the second moment at the latest.
        worth: [s] what a node counts that runs here, in time; a part of a node counts as much of it.
    """

    nodes: Ints
    time: Floats
    tails: Ints
    heads: Ints
    whole: Bools
    after: Bools
    within: Bools
    worth: Floats


@dataclass(frozen=True, eq=False)
class StretchAnswer:
    """No interval is shorter than *least* and the worth of what runs in it; [s] the *share* of each node that did."""

    least: float
    share: Floats


class StretchProgramme:
    """Minimise the length D of the interval less the worth of what runs in it.

    Columns are x[v, d], the share of node v that runs on device d in the interval; S[v], when it starts there, counted
    from the first moment; and D. The *head* of a node is the longest path to it among nodes that start after the first
    moment, and the *tail* the longest path behind it among nodes that end by the second. Rows:

    * whole nodes have shares that add up to 1, others to 1 at most;
    * ``S[v] >= S[u] + sum of time[u, d] x[u, d]`` for every edge, and D is at least this sum for every node, with the
      tail behind whole nodes. What starts before the interval counts as starting with it, and what starts later as
      starting at D with a share of 0; the rows hold for these, too;
    * loads: S[v] is at least what runs on a device of all that comes before v, and D at least the end of v and what
      runs there of all that comes behind;
    * windows: parts of nodes with a head of at least h and a tail of at least t run one at a time on a device, between
      h and D - t: ``D >= h + t + their work``. A window with h + t above the longest path through a whole node is left
      out: it would count where it is empty.

    Shares of whole nodes are whole numbers in every schedule; without that, it is a linear programme.
    """

    def __init__(self, stretch: Stretch) -> None:
        self.stretch = stretch
        s, k = stretch.time.shape
        fastest = stretch.time.min(axis=1)
        head, tail = np.zeros(s), np.zeros(s)
        edges = list(zip(stretch.tails.tolist(), stretch.heads.tolist(), strict=True))
        for u, v in sorted(edges, key=lambda edge: edge[1]):
            if stretch.after[u] and stretch.after[v]:
                head[v] = max(head[v], head[u] + fastest[u])
        for u, v in sorted(edges, reverse=True):
            if stretch.within[u] and stretch.within[v]:
                tail[u] = max(tail[u], tail[v] + fastest[v])
        whole = stretch.whole
        self._head, self._tail = head, tail
        self.length = float((head + fastest + tail)[whole].max(initial=0.0))
        self._longest = float(fastest.sum()) + self.length  # all one after another: to be longer is of no use
        self._unit = UNITS / (self.length or float(fastest.max(initial=0.0)) or 1.0)
        self._row: list[int] = []
        self._column: list[int] = []
        self._value: list[float] = []
        self._least: list[float] = []
        self._x, self._start, self._end = np.arange(s * k).reshape(s, k), s * k + np.arange(s), s * k + s
        self._time = np.where(np.isfinite(stretch.time), stretch.time, 0.0)
        self._shares()
        self._paths(edges)
        self._windows()
        self._loads(edges)
        self._programme = self._boxed()

    def relaxed(self, seconds: float) -> StretchAnswer:
        """Return what the linear programme proves, if it is solved in time; the bound is added up from its duals."""
        answer = minimise_relaxed(replace(self._programme, integer=np.zeros(self._end + 1, np.bool_)), seconds)
        return self._answer(answer.bound, answer.values)

    def bound(self, nodes: int, gap: float, seconds: float, stopped: Callable[[], bool]) -> StretchAnswer:
        """Return what the programme proves with so many nodes of branch and bound, at most."""
        answer = minimise_whole(self._programme, seconds, stopped, gap=gap, nodes=nodes)
        return self._answer(answer.bound - SLACK * UNITS, answer.values)

    def _answer(self, bound: float, values: Floats | None) -> StretchAnswer:
        """Return the answer in units of the stretch; there is always a solution, so that no bound is infinite."""
        bound = bound if bound < inf else -inf
        whole, worth = self.stretch.whole, self.stretch.worth
        share = whole.astype(np.float64) if values is None else np.where(whole, 1.0, values[self._x].sum(axis=1))
        return StretchAnswer(bound / self._unit - float(worth[whole].sum()), share)

    def _add(self, columns: list[int], values: list[float], least: float) -> None:
        self._row += [len(self._least)] * len(columns)
        self._column += columns
        self._value += values
        self._least.append(least)

    def _shares(self) -> None:
        k = self._x.shape[1]
        for v, whole in enumerate(self.stretch.whole.tolist()):
            sign = 1.0 if whole else -1.0
            self._add(self._x[v].tolist(), [sign] * k, sign)

    def _paths(self, edges: list[tuple[int, int]]) -> None:
        """Add the rows of starts."""
        columns, starts = self._x.tolist(), self._start.tolist()
        runs = (-self._time * self._unit).tolist()
        for u, v in edges:
            self._add([starts[v], starts[u], *columns[u]], [1.0, -1.0, *runs[u]], 0.0)
        rest = np.where(self.stretch.whole, self._tail, 0.0) * self._unit
        for v in range(len(rest)):
            self._add([self._end, starts[v], *columns[v]], [1.0, -1.0, *runs[v]], float(rest[v]))

    def _windows(self) -> None:
        head, tail, seen = self._head, self._tail, set[bytes]()
        for h in _levels(head):
            for t in _levels(tail):
                inside = np.flatnonzero((head >= h) & (tail >= t))
                if not len(inside) or inside.tobytes() in seen:
                    continue
                seen.add(inside.tobytes())
                since = float(head[inside].min() + tail[inside].min())
                if since > self.length:
                    continue
                for d in range(self._x.shape[1]):
                    work = (-self._time[inside, d] * self._unit).tolist()
                    self._add([self._end, *self._x[inside, d].tolist()], [1.0, *work], since * self._unit)

    def _loads(self, edges: list[tuple[int, int]]) -> None:
        """Add the rows of what runs on a device before a node, and behind it."""
        s, k = self._x.shape
        before = np.zeros((s, s), np.bool_)  # [v, u]: whether u comes before v
        for u, v in sorted(edges, key=lambda edge: edge[1]):
            before[v] |= before[u]
            before[v, u] = True
        runs = -self._time * self._unit
        for v, start in enumerate(self._start.tolist()):
            own, ahead, behind = self._x[v].tolist(), np.flatnonzero(before[v]), np.flatnonzero(before[:, v])
            for d in range(k):
                if len(ahead) > 1:
                    self._add([start, *self._x[ahead, d].tolist()], [1.0, *runs[ahead, d].tolist()], 0.0)
                if len(behind) > 1:
                    columns = [self._end, start, *own, *self._x[behind, d].tolist()]
                    self._add(columns, [1.0, -1.0, *runs[v].tolist(), *runs[behind, d].tolist()], 0.0)

    def _boxed(self) -> BoxProgramme:
        stretch, columns = self.stretch, self._end + 1
        low, high = np.zeros(columns), np.full(columns, self._longest * self._unit)
        high[self._x] = np.isfinite(stretch.time)
        low[self._start] = np.where(stretch.whole, self._head, np.minimum(self._head, self.length)) * self._unit
        low[self._end] = self.length * self._unit
        cost, integer = np.zeros(columns), np.zeros(columns, np.bool_)
        cost[self._end] = 1.0
        cost[self._x] = np.where(stretch.whole, 0.0, -stretch.worth * self._unit)[:, None]
        integer[self._x] = stretch.whole[:, None]
        return BoxProgramme(
            cost, low, high, integer, np.array(self._row), np.array(self._column), np.array(self._value),
            np.array(self._least)
        )  # fmt: skip


def _levels(values: Floats) -> list[float]:
    """Return at most :data:`LEVELS` of the values."""
    levels = np.unique(values)
    places = np.unique(np.linspace(0, len(levels) - 1, LEVELS).astype(np.int64))
    return [float(level) for level in levels[places]] if len(levels) else []
