"""Method ``split-bound``: what no schedule gets around, module by module (ghannane2023, 3.3.2)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import monotonic

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.constraints import Colocate, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import Refused
from mtpp_dsl.plans.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.algorithms.module_rows import WANTED, Split, split
from mtpp_dsl.solvers.backends.cpsat.engine import Pool, availability, by
from mtpp_dsl.solvers.backends.cpsat.unsupported import check, effort
from mtpp_dsl.solvers.bounds.modules.part_bounds import Asking
from mtpp_dsl.solvers.bounds.modules.rounds import Best, Rounds, joined
from mtpp_dsl.solvers.bounds.modules.whole_problem import wanted
from mtpp_dsl.solvers.bounds.schedule.critical_path import makespan_refusal
from mtpp_dsl.solvers.bounds.schedule.shortest import shortest
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.views.batch_tasks import HONOURS as BATCHED
from mtpp_dsl.views.batch_tasks import why_not as why_no_batch

__all__ = ["SplitBound", "bound"]

SECONDS = 10.0
"""For a part, where there is no limit of time."""


class SplitBound:
    """Method ``split-bound``: a graph in modules along few channels, and bounds on its parts put together.

    From the last module to the first it is bounded how long before the end of everything the head of every channel
    starts, for each device: the optimum of what depends on it in its module, every node followed by what was found of
    the modules behind; from the first to the last how soon its tail ends. Then every module is solved with both on
    either side. That is as strong as the inequalities of ghannane2023, 3.3.2, over every set of channels, as the last
    of the nodes that lead to them to end is followed by what depends on one of them, and stronger as it knows devices.
    Then parts of two modules are solved in place of one, and so on.

    Of a batch, these parts are of one chunk; what all chunks take between them is bounded by the work of devices, by
    the thesis's recursion over numbers of chunks (:mod:`mtpp_dsl.solvers.bounds.modules.recursion`), and by modules
    solved for all chunks.

    Args:
        channels: tensors across a boundary, at most; None for the fewest that give useful modules.
    """

    name = "split-bound"
    summary = "combines bounds on modules that few tensors join (ghannane2023, 3.3.2, corrected)"
    gives: Gives = "bound"
    uses_solver = True
    engines = ("cp-sat",)
    options = ("channels",)

    def __init__(self, channels: int | None = None) -> None:
        self.channels = channels

    def accepts(self, problem: Problem) -> str | None:
        """Return why there is no bound for the problem, or None."""
        if problem.objective.batch is None:
            return makespan_refusal(self.name, problem)
        return why_no_batch(problem, self.name, BATCHED)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best bound found.

        Raises:
            Refused: there is no bound for the problem, or a model is to be written.
            SolverError: the process of CP-SAT died.
            UsageError: an option that CP-SAT does not have, fewer than one channel.
        """
        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        impossible = quick(problem)
        if impossible is not None:
            return Result("infeasible", method=self.name, infeasibility=impossible, seed=limits.seed)
        first: Bound | None = None
        if problem.objective.batch is None:
            path = shortest(problem, self.name, limits, progress)
            if path.infeasibility is not None:
                return path
            first = path.bound
        run = _run(problem, split(problem.graph, self.channels), limits, progress)
        if run.impossible:
            return replace(self._result(None, limits, progress), termination="infeasible", infeasibility=_none(problem))
        return self._result(
            max((one for one in (first, run.best) if one is not None), key=lambda one: one.cost), limits, progress
        )

    def _result(self, best: Bound | None, limits: Limits, progress: Progress) -> Result:
        return Result(
            termination=_ended(best, limits, progress),
            bound=best,
            method=self.name,
            solver=None if best is not None and best.by == "mtpp" else "cp-sat",
            seed=limits.seed,
            time={"total": progress.elapsed},
            log=tuple(progress.log),
        )


def bound(problem: Problem, split: Split, limits: Limits, progress: Progress, pool: Pool | None = None) -> Bound:
    """Return a bound from the modules of *split*; without CP-SAT from paths and work alone.

    Stopped early, the best so far; every better one is reported. Of a problem without plans it may be anything.

    Args:
        problem: a makespan on links, or a batched throughput.
        split: of its graph.
        limits: time, seed, and options of CP-SAT.
        progress: told of bounds.
        pool: of processes to use; None for one of its own.
    """
    return _run(problem, split, limits, progress, pool).best


def _run(problem: Problem, split: Split, limits: Limits, progress: Progress, pool: Pool | None = None) -> _Run:
    if pool is None and availability().ok:
        check(limits)
        with Pool(cores(limits)) as own:
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
        impossible: whether it is more than everything takes one after another: then there is no plan.
    """

    def __init__(self, problem: Problem, split: Split, limits: Limits, progress: Progress) -> None:
        self._limits, self._progress, self._split = limits, progress, split
        self._whole = wanted(problem)
        self.best = Bound(0.0, SplitBound.name, "trusted", "mtpp", "no time is negative")
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
        """Look for bounds, with what solves parts or without."""

        def found(one: Best) -> None:
            if one.units > self._whole.single.cutoff:
                self.impossible = True
                return
            asked = 0 if asking is None else asking.asked
            parts = "" if asking is None else f"; {asked} parts solved, {asking.open} of them not to the end"
            self.best = Bound(
                self._whole.scale.cost(one.units),
                SplitBound.name,
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
    """Return what it means that nothing ends by the time that everything takes one after another."""
    kinds = (Colocate, Forbid, Memory, Pin, PinChunks, Separate)
    clash = tuple(dict.fromkeys(str(c) for c in problem.constraints if isinstance(c, kinds)))
    return Infeasibility("some nodes of a module and its neighbours have no devices that these leave them", clash)
