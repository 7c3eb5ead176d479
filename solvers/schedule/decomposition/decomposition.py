"""Solve the graph in parts, modules between cut nodes or along a chain of anchors, and report what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule, modules
from mtpp_dsl.solvers.backends.cpsat.conflict import clash
from mtpp_dsl.solvers.backends.cpsat.effort import check
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, by
from mtpp_dsl.solvers.backends.cpsat.request import Solution
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample, lower, timetable
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, completions
from mtpp_dsl.solvers.schedule.decomposition.module_answers import EqualModules, Pair, grouped
from mtpp_dsl.solvers.schedule.decomposition.solve_modules import Settling
from mtpp_dsl.solvers.schedule.modules.piece import piece_of

__all__ = ["DecompositionRun", "SolvedParts", "by_parts", "whole_parts"]


@dataclass(frozen=True, eq=False)
class SolvedParts:
    """The parts of a graph that are solved.

    Attributes:
        modules: in their order.
        kept: [n] whether a node is in one of them.
        words: what they are, for the detail of the bound.
    """

    modules: list[CutModule]
    kept: Bools
    words: str


def by_modules(parts: SolvedParts, settling: Settling) -> str:
    """Return, in words, why the bound of the modules holds."""
    count, different = len(settling.classes.members), len(settling.classes.pieces)
    detail = (
        f"{parts.words}; the shortest way through {count} modules ({different} of them different) over the devices "
    )
    detail += "of the nodes between them, by longest paths"
    if settling.trusted:
        detail += f" and {settling.solves} solves by CP-SAT, on whose word it rests"
    return detail


def by_parts(
    name: str,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    begin: Callable[[], DecompositionRun],
) -> Result:
    """Return the best plan and the best bound found by solving parts of the problem in a run that *begin* begins.

    Raises:
        Refused: another solver than CP-SAT, or a file for a model, is asked for.
        SolverError: ortools is missing, or a process of it died.
        UsageError: an option that CP-SAT does not have.
    """
    if limits.solver not in ("highs", "cp-sat"):
        raise Refused(f"{name} solves its modules by cp-sat, not by {limits.solver}")
    check(limits)
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(name, limits, "infeasible", infeasibility=impossible)
    return begin().solve()


def whole_parts(problem: Problem) -> SolvedParts:
    """Return the whole graph, in modules between cut nodes."""
    bound = [c.nodes for c in problem.of(Colocate)] + [c.nodes for c in problem.of(Separate)]
    parts = modules(problem.graph, bound=bound)
    cuts = sum(module.exit != NONE for module in parts)
    words = f"nothing is left out between {cuts} cut nodes" if cuts else "no cut node, so that the whole is one module"
    return SolvedParts(parts, np.ones(problem.graph.n, np.bool_), words)


# Solve the modules, and report the bounds and plans that follow.

CLOSER = 0.9
"""Share of the gap that is asked of modules: the rest is for rounding."""
WORTH = 0.005
"""Completions are made while modules are solved when the relaxed schedule has become shorter by this share."""
FEW_TRIES = 2
"""How often one pair is tried before there is something better to do."""


class DecompositionRun:
    """One call of a method.

    Args:
        name: of the method.
        problem, limits, progress: as for :meth:`mtpp_dsl.core.contracts.protocols.Method.solve`.
        parts: what is solved.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress, parts: SolvedParts) -> None:
        self._name, self._problem, self._limits, self._progress = name, problem, limits, progress
        self._parts = parts
        self._whole = self._lowered()
        self._best = inf
        self._incumbent = Incumbent(name, problem, limits, progress, shared=True, misfit=self._misfit)

    def solve(self) -> Result:
        """Solve the modules, first without exclusive links where there are such, and report bounds and plans."""
        exclusive, limits = self._whole.instance.exclusive, self._limits
        with ProcessPool(cores(limits), limits.executor) as pool:
            settling = self._settling(pool, self._classes(exclusive=False))
            if exclusive:
                before = settling
                self._settle(before, limits.within(limits.remaining / 3), tries=FEW_TRIES, plans=False)
                settling = self._settling(pool, self._classes(exclusive=True), lower=before.lower, warm=before.found)
                settling.trusted = before.trusted
            self._settle(settling, limits)
        return self._ended(settling)

    def _ended(self, settling: Settling) -> Result:
        """Return the result after the last question."""
        if settling.bound == inf:  # there is no plan of the modules by themselves
            return self._result(clash(self._problem, self._limits, self._progress))
        self._finish(settling)
        return self._result()

    def _lowered(self) -> WholeSample:
        """Return the problem in whole numbers, which are as large as a module allows where no sum is of more than one.

        The better plan of somebody else makes them larger still: no longer schedule is of interest.
        """
        cost = self._progress.cost
        modules = ((list(module.members), list(module.edges)) for module in self._parts.modules)
        return lower(self._problem, within=inf if cost is None else cost, parts=modules)

    def _misfit(self, plan: Plan) -> str | None:
        used = np.bincount(plan.assignment, self._problem.graph.memory, self._problem.k)
        over = bool((used > self._problem.memory_limit * (1 + 1e-12)).any())
        return "a memory is exceeded, within the tolerance of the check" if over else None

    def _settling(
        self,
        pool: ProcessPool,
        classes: EqualModules,
        *,
        lower: Sequence[Floats] | None = None,
        warm: dict[Pair, Arrangement] | None = None,
    ) -> Settling:
        """Return the solver of the modules; *lower* are bounds known before, *warm* schedules to try first."""
        return Settling(
            classes,
            pool,
            seed=self._limits.seed,
            options=self._limits.solver_options,
            known=self._known,
            gap=self._limits.gap * CLOSER,
            lower=lower,
            warm=warm,
        )

    def _classes(self, *, exclusive: bool) -> EqualModules:
        return grouped([piece_of(self._whole, module, exclusive=exclusive) for module in self._parts.modules])

    def _settle(self, settling: Settling, limits: Limits, *, tries: float = inf, plans: bool = True) -> None:
        settling.run(
            lambda: limits.remaining,
            lambda: self._progress.stopped or self._incumbent.closed(),
            lambda: self._report(settling, plans=plans),
            tries=tries,
        )
        self._report(settling, plans=plans)

    def _known(self) -> float:
        """Return the cost of the best plan known in units, rounded up."""
        cost = self._progress.cost
        return inf if cost is None else float(ceil(cost / self._whole.scale.unit * (1 + 1e-12)))

    def _report(self, settling: Settling, *, plans: bool) -> None:
        """Report a better bound and, if *plans*, a better plan."""
        units = min(settling.bound, settling.value)
        if units < inf:
            self._prove(int(units), by_modules(self._parts, settling), trusted=settling.trusted)
        if plans and self._parts.kept.all() and settling.value < self._best:
            self._take(self._joined(settling))
            self._best = settling.value
        elif plans and settling.value < self._best * (1 - WORTH):
            self._complete(settling)
            self._best = settling.value

    def _prove(self, units: int, detail: str, *, trusted: bool) -> None:
        """Report a bound if it is better."""
        cost, detail = self._whole.scale.cost(units), f"{detail}; {self._whole.scale}"
        if trusted:
            self._incumbent.prove(Bound(cost, self._name, "trusted", by(), detail))
        else:
            self._incumbent.prove(Bound(cost, self._name, "checked", "mtpp", detail))

    def _joined(self, settling: Settling) -> Solution:
        """Return the schedules of the best path, one after another; zeros for tasks in no module."""
        graph = self._whole.instance.graph
        device, start, sent = np.zeros(graph.n), np.zeros(graph.n), np.zeros(graph.m)
        for j, arrangement, began in settling.best():
            member = settling.classes.members[j]
            own = slice(int(settling.classes.pieces[member.of].entry), None)  # the entry is the exit of the one before
            nodes = member.nodes[own]
            device[nodes], start[nodes] = arrangement.device[own], arrangement.start[own] + began
            sent[member.edges] = arrangement.sent + began
        return Solution(device.astype(np.int64), start.astype(np.int64), sent.astype(np.int64))

    def _take(self, solution: Solution) -> bool:
        """Take the plan of *solution*; return whether it is feasible."""
        return self._incumbent.take(timetable(self._whole.instance, self._whole.request, solution))

    def _finish(self, settling: Settling) -> None:
        """Make plans at the end: complete the schedules of the modules to schedules of all tasks."""
        if settling.value == inf or (self._parts.kept.all() and self._take(self._joined(settling))):
            return
        if self._incumbent.broken or not self._incumbent.closed():
            self._complete(settling)

    def _complete(self, settling: Settling) -> None:
        """Add the tasks that the modules leave out, in several ways, and report the plans."""
        graph, solution = self._problem.graph, self._joined(settling)
        everything = CutModule(NONE, NONE, tuple(graph.topological_order.tolist()), tuple(range(graph.m)))
        whole = piece_of(self._whole, everything, exclusive=self._whole.instance.exclusive)
        order = whole.nodes
        kept, given = self._parts.kept[order], solution.start[order].astype(np.float64)
        for arrangement in completions(whole, kept, solution.device[order], given):
            device, start = np.empty_like(solution.device), np.empty_like(solution.start)
            device[order], start[order] = arrangement.device, arrangement.start.astype(np.int64)
            self._take(Solution(device, start, arrangement.sent.astype(np.int64)))
            if self._progress.stopped or (self._limits.remaining <= 0 and self._progress.plan is not None):
                break

    def _result(self, infeasibility: Infeasibility | None = None) -> Result:
        incumbent = self._incumbent
        if incumbent.plan is None and incumbent.broken:
            incumbent.note(f"the last plan was dropped: {incumbent.broken}")
        return incumbent.result(solver="cp-sat", infeasibility=infeasibility)
