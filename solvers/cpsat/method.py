"""A makespan by one CP-SAT model of the whole problem."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.constraints import Linear
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import Refused
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.infeasible import quick
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Bound, Infeasibility, Result, Termination, relative_gap
from mtpp_dsl.solvers.cpsat.clash import clash
from mtpp_dsl.solvers.cpsat.engine import Engine, by
from mtpp_dsl.solvers.cpsat.limits import check, effort
from mtpp_dsl.solvers.cpsat.request import Answer, Solution
from mtpp_dsl.solvers.cpsat.starts import known
from mtpp_dsl.solvers.cpsat.whole import Whole, lower
from mtpp_dsl.solvers.scheduling.instance import HONOURS, why_not
from mtpp_dsl.verification import verify

__all__ = ["Scheduling"]


class Scheduling:
    """Solve what formulation *name* formulates by optional intervals in place of big-Ms.

    A task is an interval on each device that it can be on, of which one is there, and those on one device do not
    overlap; a transfer is an indicator of two places, which delays its head, and where links are exclusive an interval
    at its sender and its receiver (zhang2023, eq. 4-8, without their M).
    """

    uses_solver = True
    engines = ("cp-sat",)
    gives: Gives = "plan and bound"
    summary = "the schedule as optional intervals, by CP-SAT"

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        return why_not(problem, f"the model of cp-sat for {self.name}", (*HONOURS, Linear))

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found and the best bound.

        Raises:
            Refused: the model cannot honour the problem, or a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        check(limits)
        run = _Run(self.name, problem, limits, progress)
        impossible = quick(problem)
        return run.result("infeasible", impossible) if impossible is not None else run.solve()


class _Run:
    """One call of :meth:`Scheduling.solve`."""

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._name, self._problem, self._limits, self._progress = name, problem, limits, progress
        self._bound: Bound | None = None
        self._notes: list[str] = []
        self._dropped = ""
        self._unit = 0.0

    def solve(self) -> Result:
        """Ask; again in smaller units where the first were too large, and strictly where a plan uses a tolerance."""
        with Engine() as engine:
            termination, impossible = self._ask(engine, strict=False)
            while termination == "gap" and not self._closed():
                if self._dropped:
                    termination, _ = self._ask(engine, strict=True)
                    break
                unit = self._unit
                termination, impossible = self._ask(engine, strict=False, below=unit)
                if self._unit >= unit:
                    break
        if termination == "infeasible" and impossible is None:
            self._notes.append("CP-SAT finds no plan that keeps every limit and row without the tolerance of the check")
            termination = "complete"
        return self.result(termination, impossible)

    def _ask(
        self, engine: Engine, *, strict: bool, below: float = float("inf")
    ) -> tuple[Termination, Infeasibility | None]:
        """Ask in whole numbers, if these have a unit *below* one that was tried."""
        plan = known(self._problem, self._limits, self._progress)
        given = self._progress.bound
        whole = lower(self._problem, plan, strict=strict, at_least=0.0 if given is None else given.cost)
        self._unit, self._dropped = whole.scale.unit, ""
        if self._unit >= below:
            return "gap", None

        def news(_: int | None, solution: Solution | None, bound: int | None) -> None:
            if solution is not None:
                self._take(whole, solution, strict=strict)
            if bound is not None and not strict:
                self._prove(whole, bound, given)

        answer = engine.solve(
            whole.request,
            effort(self._limits),
            stopped=lambda: self._progress.stopped or self._closed(),
            news=news,
            log=self._progress.solver_says if self._progress.wants_solver_log else None,
        )
        if answer.solution is not None:
            self._take(whole, answer.solution, strict=strict)
        if answer.status == "infeasible":
            return self._none(whole, plan, strict=strict)
        if not strict:
            self._prove(whole, answer.bound, given)
        return self._ended(answer), None

    def _ended(self, answer: Answer) -> Termination:
        if self._progress.stopped:
            return "interrupted"
        if answer.status == "optimal" or self._closed():
            return "gap"
        return "limit" if self._limits.remaining > 0 else "time_limit"

    def _closed(self) -> bool:
        plan, bound = self._progress.cost, self._progress.bound
        return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= self._limits.gap

    def _none(self, whole: Whole, plan: Plan | None, *, strict: bool) -> tuple[Termination, Infeasibility | None]:
        """Say what it means that nothing ends by the cutoff."""
        if strict:
            return "infeasible", None
        if plan is not None:
            self._notes.append("CP-SAT finds no plan where one is known: a failure of ours or its own")
            return "error", None
        if whole.complete:
            return "infeasible", clash(self._problem, self._limits, self._progress)
        self._prove(whole, whole.request.cutoff + 1, None)
        self._notes.append(
            "labelled constraints on times can be met late or never: CP-SAT shows that not before the bound"
        )
        return "complete", None

    def _take(self, whole: Whole, solution: Solution, *, strict: bool) -> None:
        """Report the plan that *solution* means, if it breaks nothing in exact times."""
        for plan in whole.plans(solution):
            broken = verify(self._problem, plan)
            over = not strict and self._over(plan)
            if not broken and not over:
                self._progress.report_plan(plan, evaluate(self._problem, plan).cost)
                return
            self._dropped = str(broken[0]) if broken else "a memory is exceeded, within the tolerance of the check"

    def _over(self, plan: Plan) -> bool:
        used = np.bincount(plan.assignment, self._problem.graph.memory, self._problem.k)
        return bool((used > self._problem.memory_limit * (1 + 1e-12)).any())

    def _prove(self, whole: Whole, units: int, given: Bound | None) -> None:
        cost = whole.scale.cost(units)
        if self._bound is not None and cost <= self._bound.cost:
            return
        detail = (
            f"the dual bound of CP-SAT's model of the whole problem, {units} units: {whole.scale}. It rests on the "
            "solver's word"
        )
        if whole.request.hint is not None:
            detail += "; the model leaves out plans that cost more than one that is known"
        if given is not None and whole.request.at_least > 0:
            detail += f"; it was told that no plan costs less than {given.cost:.9g}, by {given.method!r}"
        self._bound = Bound(cost, self._name, "trusted", by(), detail)
        self._progress.report_bound(self._bound)

    def result(self, termination: Termination, infeasibility: Infeasibility | None = None) -> Result:
        """Return the result with the best plan reported."""
        plan = None if infeasibility is not None else self._progress.plan
        if plan is None and self._dropped:
            self._notes.append(f"the last plan was dropped: in exact times, {self._dropped}")
        return Result(
            termination=termination,
            plan=plan,
            bound=None if infeasibility is not None else self._bound,
            evaluation=None if plan is None else evaluate(self._problem, plan),
            method=self._name,
            solver="cp-sat",
            seed=self._limits.seed,
            time={"total": self._progress.elapsed},
            log=tuple(self._progress.log),
            infeasibility=infeasibility,
            notes=tuple(self._notes),
        )
