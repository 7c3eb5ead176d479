"""Bound makespans module by module: method ``split-bound`` (ghannane2023, 3.3.2)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import monotonic

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.module_rows import WANTED, ModuleRow, split
from mtpp_dsl.solvers.algorithms.windows.shortest import shortest
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability, by
from mtpp_dsl.solvers.backends.cpsat.unsupported import check, effort
from mtpp_dsl.solvers.bounds.modules.part_bounds import Asking
from mtpp_dsl.solvers.bounds.modules.rounds import BestBound, Rounds, joined
from mtpp_dsl.solvers.bounds.modules.whole_problem import wanted
from mtpp_dsl.solvers.runtime.portfolio.race import cores

__all__ = ["bound", "split_bound"]

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
        with Asking(pool, effort(limits), run.stopped) as asking:
            run.bound(asking)
    return run


class _Run:
    """One call of :func:`bound`.

    Attributes:
        best: the best bound.
        impossible: whether it is more than everything takes one after another, which means that there is no plan.
    """

    def __init__(self, problem: Problem, split: ModuleRow, limits: Limits, progress: Progress) -> None:
        self._limits, self._progress, self._split = limits, progress, split
        self._whole = wanted(problem)
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

    def bound(self, asking: Asking | None) -> None:
        """Search for bounds, with a solver of parts or without."""

        def found(one: BestBound) -> None:
            if one.units > self._whole.single.cutoff:
                self.impossible = True
                return
            asked = 0 if asking is None else asking.asked
            parts = "" if asking is None else f"; {asked} parts solved, {asking.open} of them not to the end"
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
        Rounds(self._whole, module, asking, found, self.stopped).run(until, SECONDS)


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
