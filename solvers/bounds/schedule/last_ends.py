"""Bound a makespan between the last ends at the boundaries of a row of modules.

For boundary j between two modules let B_j be the nodes before it that something behind it reads, and L_j the moment at
which the last of them ends. Boundaries are left out until every node of B_j leads to one of B_j+1 or is one, so that
L_j <= L_j+1; with L = 0 before the first and the makespan behind the last boundary, the makespan is the sum of the
intervals between them. Let s be the node of B_j that ends last, and t that of B_j+1. In the interval between L_j and
L_j+1,

* nodes that lead to B_j, or are in it, have ended;
* what depends on s starts after L_j;
* what leads to B_j+1, or is in it, ends before L_j+1;
* what depends on t has not started.

So a node that depends on s and leads to B_j+1 runs wholly in the interval. Of a node that does not depend on s (or on
t) parts may run in this interval and in the one before (or behind). Let every such node v have a price w(v) >= 0, and
every part of it a share of this. If c(j, s, t) is no more than the length of any such interval less the prices of what
runs in it, then

    makespan >= sum of w + min over s_1, s_2, ... of the sum of c(j, s_j, s_j+1),

as all of v runs in some of the intervals. That is a shortest path over the nodes that end last; programmes give c
(:mod:`mtpp_dsl.solvers.bounds.schedule.stretch`). If several nodes of B_j end at L_j, let s be one on which no other of
these depends. The prices may be any: they begin as the least work of v, at the prices of the devices that share the
work of the whole graph out best, and rise where too little of v runs on the shortest path, and fall where too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import floor, inf
from time import monotonic
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request
from mtpp_dsl.solvers.backends.cpsat.time_windows import lists, ordered
from mtpp_dsl.solvers.bounds.schedule.stretch import Stretch, StretchProgramme

__all__ = ["LastEnds"]

MOST = 4
"""Nodes of a boundary: each pair at two boundaries is a case."""
LARGEST = 800
"""Nodes of a module times devices, at the most: larger programmes take longer than moments."""
SWEEPS, STEP, SHRINK = 12, 0.3, 0.7
"""Changes of the prices, by what share of the work at first, and by how much less after one that did not help."""
NODES, GAP = 2_000, 5e-4
"""Nodes of branch and bound of a programme, at the most, and its relative gap."""

Case: TypeAlias = tuple[int, int, int]
"""An interval, and the nodes that end last before and in it; -1 at the beginning and at the end."""


class LastEnds:
    """The boundaries, and what is known of the intervals between them.

    Args:
        asked: the problem; one sample.
        module: [n] the number of every node's module; edges lead to the same one or a later one.
        work: [n] the least work of every node, at prices of the devices that add up to 1.

    Attributes:
        writers: the nodes of every boundary that are read behind it.
        price: [n].
    """

    def __init__(self, asked: Request, module: Ints, work: Floats) -> None:
        self._asked, self._module, self._work = asked, module, work
        self._time = np.where(asked.duration < INF, asked.duration, np.inf).astype(np.float64)
        self._into, self._from = lists(asked.n, asked.heads), lists(asked.n, asked.tails)
        order = ordered(asked.n, asked.tails, asked.heads)
        self._rank = dict(zip(order, range(asked.n), strict=True))
        self._at: list[int] = []
        self.writers: list[list[int]] = []
        self._own: list[list[int]] = []
        self._choose()
        last = int(module.max(initial=-1))
        ends = [*self._at[1:], last, last]
        self._behind = [
            {u: self._reached(u, ends[j + 1]) for u in writers} for j, writers in enumerate(self.writers)
        ]  # fmt: skip
        self.price = self._priced()
        self._known: dict[Case, float] = {}
        self._share: dict[Case, dict[int, float]] = {}

    @property
    def useful(self) -> bool:
        """Whether there is a boundary, and programmes are not too large."""
        somewhere = bool(np.isfinite(self._time).any(axis=1).all())
        return somewhere and bool(self._at) and max(map(len, self._own)) * self._asked.k <= LARGEST

    def units(self) -> int:
        """Return the bound in units; every case has to have been asked about."""
        value = self._path()[0] + float(self.price.sum())
        return floor(value) if value > 0 else 0

    def price_nodes(
        self, until: float, latest: float, stopped: Callable[[], bool], report: Callable[[int], None]
    ) -> bool:
        """Ask linear programmes about all cases, again and again with better prices, and keep the best prices.

        Returns whether there was time to ask about all of them.

        Args:
            until: what is asked again and again ends by then, nearly.
            latest: when to give up if not all cases were asked about.
            stopped: returns whether to stop.
            report: called with better bounds in units.
        """
        best, kept, step, began = -inf, (self.price, self._known), STEP, monotonic()
        priced = self.price > 0
        for sweep in range(1, SWEEPS + 1):
            if not self._sweep(latest if sweep == 1 else until, stopped):
                break
            cost, path = self._path()
            value = cost + float(self.price.sum())
            if value > best:
                best, kept = value, (self.price, self._known)
                report(self.units())
            else:
                step *= SHRINK
            if monotonic() + (monotonic() - began) / sweep > until:
                break
            missing = np.where(priced, 1.0, 0.0)
            for case in path:
                for v, share in self._share[case].items():
                    missing[v] -= share
            self.price = np.where(priced, np.maximum(self.price + step * missing * self._work, 0.0), 0.0)
        self.price, self._known = kept
        return best > -inf

    def solve(self, until: float, workers: int, stopped: Callable[[], bool], report: Callable[[int], None]) -> None:
        """Ask programmes of whole numbers about the cases on the shortest path, until all on it have been asked."""
        asked: set[Case] = set()

        def ask(case: Case) -> float:
            left = until - monotonic()
            return -inf if left <= 0 or stopped() else self.programme(case).bound(NODES, GAP, left, stopped).least

        with ThreadPoolExecutor(workers) as threads:
            while not stopped() and monotonic() < until:
                todo = [case for case in self._path()[1] if case not in asked][: 8 * workers]
                if not todo:
                    return
                for case, least in zip(todo, threads.map(ask, todo), strict=True):
                    self._known[case] = max(self._known[case], least)
                asked.update(todo)
                report(self.units())

    def _choose(self) -> None:
        """Choose the boundaries, and find the nodes between them that lead to the next one."""
        asked, module = self._asked, self._module
        tail, head = module[asked.tails], module[asked.heads]
        since, before = -1, set[int]()
        for i in range(int(module.max(initial=0))):
            writers = np.unique(asked.tails[(tail <= i) & (head > i)]).tolist()
            own, seen = self._leading(writers, since)
            if 0 < len(writers) <= MOST and before <= seen:
                self._at.append(i)
                self.writers.append(writers)
                self._own.append(own)
                since, before = i, set(writers)
        self._own.append(np.flatnonzero(module > since).tolist())

    def _leading(self, writers: Sequence[int], since: int) -> tuple[list[int], set[int]]:
        """Return the nodes of modules after *since* that lead to *writers*, and these and all that they read."""
        seen, waiting = set(writers), list(writers)
        while waiting:
            v = waiting.pop()
            if self._module[v] > since:
                for u in self._asked.tails[self._into[v]].tolist():
                    if u not in seen:
                        seen.add(u)
                        waiting.append(u)
        return sorted(v for v in seen if self._module[v] > since), seen

    def _reached(self, u: int, last: int) -> set[int]:
        """Return the nodes that depend on *u* in modules up to *last*."""
        seen, waiting = set[int](), [u]
        while waiting:
            for v in self._asked.heads[self._from[waiting.pop()]].tolist():
                if v not in seen and self._module[v] <= last:
                    seen.add(v)
                    waiting.append(v)
        return seen

    def _priced(self) -> Floats:
        """Return [n] prices: of nodes that may run in part in two intervals, and in no other."""
        price = np.zeros(self._asked.n)
        for j, behind in enumerate(self._behind):
            own = set(self._own[j + 1])
            always = _common(behind)
            if j:
                own &= _common(self._behind[j - 1])
            for v in own - always:
                price[v] = self._work[v]
        return price

    def _cases(self) -> list[Case]:
        sides = [[-1], *self.writers, [-1]]
        return [(j, s, t) for j in range(len(sides) - 1) for s, t in product(sides[j], sides[j + 1])]

    def _path(self) -> tuple[float, list[Case]]:
        """Return the least sum over the nodes that end last, and the cases on the way."""
        best: dict[int, tuple[float, list[Case]]] = {-1: (0.0, [])}
        sides = [*self.writers, [-1]]
        for j, side in enumerate(sides):
            best = {
                t: min(
                    ((cost + self._known[j, s, t], [*way, (j, s, t)]) for s, (cost, way) in best.items()),
                    key=lambda one: one[0],
                )
                for t in side
            }
        return best[-1]

    def _sweep(self, until: float, stopped: Callable[[], bool]) -> bool:
        """Ask about all cases at these prices; return whether there was time for it."""
        known: dict[Case, float] = {}
        for case in self._cases():
            if stopped() or monotonic() > until:
                return False
            programme = self.programme(case)
            answer = programme.relaxed(until - monotonic())
            known[case] = answer.least
            nodes = programme.stretch.nodes.tolist()
            self._share[case] = dict(zip(nodes, answer.share.tolist(), strict=True))
        self._known = known
        return True

    def programme(self, case: Case) -> StretchProgramme:
        """Return the programme of the interval of a case."""
        j, s, t = case
        own = set(self._own[j])
        after = own if s < 0 else self._behind[j - 1][s]
        whole = own & after
        parts = own - after
        if t >= 0:
            parts = parts | (set(self._own[j + 1]) - self._behind[j][t])
        nodes = sorted(whole | {v for v in parts if self.price[v] > 0}, key=self._rank.__getitem__)
        return StretchProgramme(self._stretch(nodes, whole, after if s >= 0 else set(nodes), own))

    def _stretch(self, nodes: list[int], whole: set[int], after: set[int], own: set[int]) -> Stretch:
        place = {v: i for i, v in enumerate(nodes)}
        edges = [
            (place[u], i)
            for v, i in place.items()
            for u in self._asked.tails[self._into[v]].tolist()
            if u in place
        ]  # fmt: skip
        tails, heads = np.array(edges, np.int64).reshape(-1, 2).T
        return Stretch(
            np.array(nodes, np.int64),
            self._time[nodes],
            tails,
            heads,
            whole=_among(nodes, whole),
            after=_among(nodes, after),
            within=_among(nodes, own),
            worth=self.price[nodes],
        )


def _common(behind: dict[int, set[int]]) -> set[int]:
    """Return what depends on all nodes of a boundary."""
    return set[int]().union(*behind.values()).intersection(*behind.values())


def _among(nodes: list[int], them: set[int]) -> Bools:
    return np.array([v in them for v in nodes], np.bool_)
