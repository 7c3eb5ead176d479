"""Bound makespans module by module, in rounds with longer parts: method ``split-bound`` (ghannane2023, 3.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.module_rows import WANTED, ModuleRow, split
from mtpp_dsl.solvers.algorithms.windows.climbing import shortest
from mtpp_dsl.solvers.backends.cpsat.effort import check, effort
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability, by
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.time_windows import ordered, tails
from mtpp_dsl.solvers.bounds.schedule.module_heads import HeadsSide, PrecedingPart, WholeProblem, reverse, whole_problem
from mtpp_dsl.solvers.bounds.schedule.part_bounds import PartSolver
from mtpp_dsl.solvers.bounds.schedule.part_work import STEPS, PartWork, interval, monotone, spread
from mtpp_dsl.solvers.bounds.schedule.recursion import Recursion
from mtpp_dsl.solvers.runtime.portfolio.race import cores

__all__ = ["bound", "joined", "split_bound"]

LEAST = 0.02
"""Seconds for a part, however little time there is."""
GENEROUS = 3.0
"""How many times its share of the time a part may take."""
SHARE = 0.5
"""Of the time that is left, for one round."""
HELPS = 1e-3
"""A round that raises the bound by more, as a share, is followed by one of the same width."""


@dataclass(frozen=True)
class BestBound:
    """A lower bound on the makespan in units, and the reason for it."""

    units: int
    why: str


class Rounds:
    """Bounds the makespan by modules.

    Args:
        whole: the problem.
        module: [n] the number of every node's module; edges lead to the same one or a later one.
        solver: solves parts; None to do without.
        report: called with every bound that improves on those before.
        stopped: returns whether to stop.
    """

    def __init__(
        self,
        whole: WholeProblem,
        module: Ints,
        solver: PartSolver | None,
        report: Callable[[BestBound], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._whole, self._module, self._solver, self._report, self._stopped = whole, module, solver, report, stopped
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

    def _better(self, units: int, why: str) -> None:
        if units > self._best:
            self._best = units
            self._report(BestBound(units, why))


def _seconds(until: float, most: float, parts: int, solver: PartSolver) -> float:
    """Return how long each of so many parts may take; few of them use all of it."""
    left = until - monotonic()
    return min(most, left, max(LEAST, GENEROUS * left * solver.pool.size / max(1, parts)))


def joined(module: Ints, wanted: int) -> Ints:
    """Return modules in which neighbours are joined while they have no more than *wanted* nodes together."""
    sizes = np.bincount(module)
    new, total = np.zeros(len(sizes), np.int64), 0
    for i, size in enumerate(sizes.tolist()):
        fits = i == 0 or total + size <= wanted
        total = total + size if fits else size
        new[i] = new[i - 1] + (not fits) if i else 0
    return new[module]


def _modules(width: int) -> str:
    return "a module" if width == 1 else f"{width} modules"


NAME = "split-bound"

SECONDS = 10.0
"""For a part, where there is no limit of time."""


def split_bound(problem: Problem, limits: Limits, progress: Progress, channels: int | None) -> Result:
    """Return the best bound found.

    Raises:
        Refused: a model is to be written.
        SolverError: the process of CP-SAT died.
        UsageError: an option that CP-SAT does not have, fewer than one channel.
    """
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=impossible)
    first: Bound | None = None
    if problem.objective.batch is None:
        path = shortest(problem, NAME, limits, progress)
        if path.infeasibility is not None:
            return path
        first = path.bound
    run = _run(problem, split(problem.graph, channels), limits, progress)
    if run.impossible:
        return replace(_result(None, limits, progress), termination="infeasible", infeasibility=_none(problem))
    return _result(
        max((one for one in (first, run.best) if one is not None), key=lambda one: one.cost), limits, progress
    )


def _result(best: Bound | None, limits: Limits, progress: Progress) -> Result:
    return progress.result(
        NAME,
        limits,
        _ended(best, limits, progress),
        bound=best,
        solver=None if best is not None and best.by == "mtpp" else "cp-sat",
    )


def bound(
    problem: Problem, split: ModuleRow, limits: Limits, progress: Progress, pool: ProcessPool | None = None
) -> Bound:
    """Return a bound from the modules of *split*; without CP-SAT from paths and work alone.

    Every better bound is reported on the way; if stopped early, the best so far is returned. If the problem has no
    plan, the bound may have any value.

    Args:
        problem: a makespan on links, or a batched throughput.
        split: of its graph.
        limits: time, seed, and options of CP-SAT.
        progress: receives bounds.
        pool: of processes to use; None for one of its own.
    """
    return _run(problem, split, limits, progress, pool).best


def _run(
    problem: Problem, split: ModuleRow, limits: Limits, progress: Progress, pool: ProcessPool | None = None
) -> _Run:
    if pool is None and availability().ok:
        check(limits)
        with ProcessPool(cores(limits), limits.executor) as own:
            return _run(problem, split, limits, progress, own)
    run = _Run(problem, split, limits, progress)
    if pool is None:
        run.bound(None)
    else:
        with closing(PartSolver(pool, effort(limits), run.stopped)) as solver:
            run.bound(solver)
    return run


class _Run:
    """One call of :func:`bound`.

    Attributes:
        best: the best bound.
        impossible: whether it is more than everything takes one after another, which means that there is no plan.
    """

    def __init__(self, problem: Problem, split: ModuleRow, limits: Limits, progress: Progress) -> None:
        self._limits, self._progress, self._split = limits, progress, split
        self._whole = whole_problem(problem)
        self.best = Bound(0.0, NAME, "trusted", "mtpp", "no time is negative")
        self.impossible = False

    def stopped(self) -> bool:
        """Return whether to stop."""
        return (
            self._progress.stopped
            or self._limits.remaining <= 0
            or self.impossible
            or _closed(self.best, self._limits, self._progress)
        )

    def bound(self, solver: PartSolver | None) -> None:
        """Search for bounds, with a solver of parts or without."""

        def report(one: BestBound) -> None:
            if one.units > self._whole.single.cutoff:
                self.impossible = True
                return
            asked = 0 if solver is None else solver.asked
            parts = "" if solver is None else f"; {asked} parts solved, {solver.open} of them not to the end"
            self.best = Bound(
                self._whole.scale.cost(one.units),
                NAME,
                "trusted",
                by() if asked else "mtpp",
                f"{one.why}, over {self._split}{parts} (after ghannane2023, 3.3.2). {self._whole.scale}",
            )
            self._progress.report_bound(self.best)

        until = inf if self._limits.time is None else monotonic() + self._limits.remaining
        module = joined(self._split.of, WANTED)
        Rounds(self._whole, module, solver, report, self.stopped).run(until, SECONDS)


def _closed(best: Bound, limits: Limits, progress: Progress) -> bool:
    cost = progress.incumbent
    return cost is not None and relative_gap(cost, best.cost) <= limits.gap


def _ended(best: Bound | None, limits: Limits, progress: Progress) -> Termination:
    if progress.stopped:
        return "interrupted"
    if best is not None and _closed(best, limits, progress):
        return "gap"
    return "complete" if limits.remaining > 0 else "time_limit"


def _none(problem: Problem) -> Infeasibility:
    """Return the result that nothing ends within the time that everything takes one after another: there is no plan."""
    kinds = (Colocate, Forbid, Memory, Pin, PinChunks, Separate)
    clash = tuple(dict.fromkeys(str(c) for c in problem.constraints if isinstance(c, kinds)))
    return Infeasibility("some nodes of a module and its neighbours have no devices that these leave them", clash)
