"""Bound makespans module by module, in rounds with longer parts, for ``split-bound``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.time_windows import ordered, tails
from mtpp_dsl.solvers.backends.mip.matrix import by as highs
from mtpp_dsl.solvers.bounds.schedule.last_ends import LastEnds
from mtpp_dsl.solvers.bounds.schedule.module_heads import HeadsSide, PrecedingPart, WholeProblem, reverse
from mtpp_dsl.solvers.bounds.schedule.part_bounds import PartSolver
from mtpp_dsl.solvers.bounds.schedule.part_work import STEPS, PartWork, interval, monotone, spread
from mtpp_dsl.solvers.bounds.schedule.recursion import Recursion

__all__ = ["BestBound", "Rounds"]

LEAST = 0.02
"""Seconds for a part, however little time there is."""
GENEROUS = 3.0
"""How many times its share of the time a part may take."""
SHARE = 0.5
"""Of the time that is left, for one round."""
HELPS = 1e-3
"""A round that raises the bound by more, as a share, is followed by one of the same width."""
PRICES, FIRST_PRICES, WHOLE = 0.3, 0.5, 0.9
"""Of the time that is left: for prices of nodes between last ends, for the first prices, and for whole numbers."""


@dataclass(frozen=True)
class BestBound:
    """A lower bound on the makespan in units, the reason for it, and the solver on whose word it is, if not CP-SAT."""

    units: int
    why: str
    by: str | None = None


class Rounds:
    """Bounds the makespan by modules.

    Args:
        whole: the problem.
        module: [n] the number of every node's module; edges lead to the same one or a later one.
        wide: [n] the same for larger modules.
        solver: solves parts; None to do without.
        report: called with every bound that improves on those before.
        stopped: returns whether to stop.
    """

    def __init__(
        self,
        whole: WholeProblem,
        module: Ints,
        wide: Ints,
        solver: PartSolver | None,
        report: Callable[[BestBound], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._whole, self._module, self._wide, self._solver = whole, module, wide, solver
        self._report, self._stopped = report, stopped
        self.count = int(module.max(initial=0)) + 1
        self._forward = HeadsSide(whole.single, module)
        self._backward = HeadsSide(reverse(whole.single), self.count - 1 - module)
        duration = whole.duration
        work = PartWork(duration, stopped)
        self._work, self._chunk = work.least, np.zeros(len(module))
        self._recursion: Recursion | None = None
        if duration.size * duration.shape[2] <= STEPS:
            table = spread(monotone(duration), work.weights).cost
            self._chunk = np.minimum(table[:, 1], INF)
            self._recursion = Recursion(self._forward, self._backward, table)
        self._best = -1

    def run(self, until: float, most: float) -> None:
        """Bound until a moment, or until longer parts, each given *most* seconds, no longer help."""
        self._glance()
        for side in (self._backward, self._forward):
            for i in range(self.count):
                side.advance(i)
                for part in side.parts(i, i):
                    side.learn(part, self._least(part))
        self._glance()
        self._ends(until)
        width = 1
        while self._solver is not None and width <= self.count:
            left, before = until - monotonic(), self._best
            if self._stopped() or left <= 0:
                return
            self._round(width, self._solver, inf if until == inf else monotonic() + SHARE * left, most)
            if until == inf and width > 1 and self._best <= before and self._solver.open:
                return
            if until == inf or self._best <= before * (1 + HELPS):
                width += 1

    def _glance(self) -> None:
        """Bound without a solver: by paths, work, and the recursion over both."""
        self._advance()
        if self._recursion is not None:
            self._better(
                self._recursion.units(),
                "the recursion of ghannane2023, 3.3.2, its premises mended, over work and paths",
            )
            self._advance()
        forward, backward = self._forward, self._backward
        through = (forward.head + np.minimum(backward.end, INF)).min(axis=1)
        self._better(int(np.minimum(through, INF).max(initial=0)), "the longest path, through optima of parts")
        self._better(
            interval(forward.earliest, backward.earliest, self._work), "what devices have to do between such paths"
        )

    def _ends(self, until: float) -> None:
        """Bound one sample between the last ends at boundaries; programmes of whole numbers only where that is best."""
        if self._whole.batches is not None:
            return
        ends = LastEnds(self._whole.single, self._wide, self._work)

        def share(part: float) -> float:
            return inf if until == inf else monotonic() + part * (until - monotonic())

        def report(units: int, by: str) -> None:
            self._better(units, "the time between last ends at boundaries", by)

        limits = share(PRICES), share(FIRST_PRICES)
        if not (ends.useful and ends.price_nodes(*limits, self._stopped, lambda units: report(units, "mtpp"))):
            return
        if ends.units() >= self._best:
            workers = 1 if self._solver is None else self._solver.pool.size
            ends.solve(share(WHOLE), workers, self._stopped, lambda units: report(units, highs()))

    def _advance(self) -> None:
        for i in range(self.count):
            self._forward.advance(i)
            self._backward.advance(i)

    def _round(self, width: int, solver: PartSolver, until: float, most: float) -> None:
        """Solve parts of so many modules: after every channel, before every channel, and between all."""
        sides = self._backward, self._forward
        left = [sum(side.count(i) for i in range(self.count)) for side in sides] + [self.count - width + 1]
        for number, side in enumerate(sides):
            if left[number]:
                share = left[number] / sum(left[number:])
                self._sweep(side, width, solver, monotonic() + share * (until - monotonic()), most)
            self._glance()
            if self._stopped() or monotonic() > until:
                return
            self._between([0] if number == 0 else range(self.count - width + 1), width, solver, until, most)

    def _sweep(self, side: HeadsSide, width: int, solver: PartSolver, until: float, most: float) -> None:
        """Solve parts of so many modules before every channel, from the first module to the last."""
        left = sum(side.count(i) for i in range(self.count))
        for i in range(self.count):
            side.advance(i)
            parts = list(side.parts(i, i - width + 1))
            limit = _seconds(until, most, left, solver)
            answers = [solver.submit(replace(part.request, at_least=self._least(part)), limit) for part in parts]
            for part, answer in zip(parts, answers, strict=True):
                side.learn(part, answer())
            left -= len(parts)
            if self._stopped() or monotonic() > until:
                return

    def _least(self, part: PrecedingPart) -> int:
        """Return a lower bound on a part in units, by paths and work alone."""
        asked = part.request
        far = np.where(asked.duration < INF, tails(asked, ordered(asked.n, asked.tails, asked.heads)), INF)
        near = np.where(asked.duration < INF, asked.head, INF)
        work = interval(near.min(axis=1), far.min(axis=1), self._chunk[part.nodes])
        return min(max(asked.at_least, work), asked.cutoff)

    def _between(self, firsts: Sequence[int], width: int, solver: PartSolver, until: float, most: float) -> None:
        """Solve so many consecutive modules, between bounds on what is before and after them."""
        limit = _seconds(until, most, len(firsts), solver)
        for answer in [solver.submit(self._window(first, width), limit) for first in firsts]:
            self._better(answer(), f"{_modules(width)} between bounds on what is before and behind")

    def _window(self, first: int, width: int) -> Any:
        nodes = np.flatnonzero((self._module >= first) & (self._module < first + width))
        window = self._whole.window(nodes, self._forward.head[nodes], self._backward.head[nodes])
        return replace(window, at_least=min(window.cutoff, self._best))

    def _better(self, units: int, why: str, by: str | None = None) -> None:
        if units > self._best:
            self._best = units
            self._report(BestBound(units, why, by))


def _seconds(until: float, most: float, parts: int, solver: PartSolver) -> float:
    """Return how long each of so many parts may take; few of them use all of it."""
    left = until - monotonic()
    return min(most, left, max(LEAST, GENEROUS * left * solver.pool.size / max(1, parts)))


def _modules(width: int) -> str:
    return "a module" if width == 1 else f"{width} modules"
