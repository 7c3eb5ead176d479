"""Run one method that solves by CP-SAT: ask, report what is found, and turn what is proved into a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.conflict import clash
from mtpp_dsl.solvers.backends.cpsat.effort import effort
from mtpp_dsl.solvers.backends.cpsat.engine import by, solve_request, start_ahead
from mtpp_dsl.solvers.backends.cpsat.request import Reply
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import Lower, Whole
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

S = TypeVar("S")
EARLY, EARLY_WITH_OPTIONS = 0.5, 0.2
"""CP-SAT ends with up to half of its time left where its next step would take longer. With options of the user,
which may be limits of their own, an end as early as that is more likely one of these."""


class CpSatRun(Generic[S]):
    """One call of a method.

    Args:
        name: of the method.
        problem: what is asked.
        limits, progress: of the call.
        lower: makes the requests.
        known: finds a plan to start from.
        restricted: "" if every plan is one of the model, else what its plans are: a bound on these is none on all.
    """

    def __init__(
        self,
        name: str,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        lower: Lower[S],
        known: Callable[[Problem, Limits, Progress], Plan | None],
        restricted: str = "",
    ) -> None:
        self._name, self._problem, self._limits, self._progress = name, problem, limits, progress
        self._lower, self._known, self._restricted = lower, known, restricted
        self._over: Callable[[Plan], bool] = lambda _: False
        self._incumbent = Incumbent(name, problem, limits, progress, shared=not restricted, misfit=self._misfit)
        self._unit = 0.0

    def solve(self) -> Result:
        """Ask; again in smaller units where the first were too large, and strictly where a plan uses a tolerance."""
        impossible = quick(self._problem)
        if impossible is not None:
            return self._result("infeasible", impossible)
        start_ahead()
        termination, impossible = self._ask(strict=False)
        while termination == "gap" and not self._incumbent.closed():
            if self._incumbent.broken:
                termination, _ = self._ask(strict=True)
                break
            unit = self._unit
            termination, impossible = self._ask(strict=False, below=unit)
            if self._unit >= unit:
                break
        if termination == "infeasible" and impossible is None:
            note = "CP-SAT finds no plan that keeps every limit and row without the tolerance of the check"
            self._incumbent.note(note)
            termination = "complete"
        return self._result(termination, impossible)

    def _misfit(self, plan: Plan) -> str | None:
        return "a memory is exceeded, within the tolerance of the check" if self._over(plan) else None

    def _ask(self, *, strict: bool, below: float = float("inf")) -> tuple[Termination, Infeasibility | None]:
        """Ask in whole numbers, if these have a unit *below* one that was tried."""
        plan = self._start()
        given = self._progress.bound
        whole = self._lower(self._problem, plan, strict=strict, at_least=0.0 if given is None else given.cost)
        self._unit, self._incumbent.broken = whole.scale.unit, ""
        if self._unit >= below:
            return "gap", None
        self._over = (lambda _: False) if strict else whole.over

        def news(_: int | None, solution: S | None, bound: int | None) -> None:
            if solution is not None:
                self._take(whole, solution)
            if bound is not None and not strict:
                self._prove(whole, bound, given)

        answer: Reply[S] = solve_request(
            whole.request,
            effort(self._limits),
            stopped=lambda: self._progress.stopped or self._incumbent.closed(),
            news=news,
            log=self._progress.solver_says if self._progress.wants_solver_log else None,
        )
        if answer.solution is not None:
            self._take(whole, answer.solution)
        if answer.status == "infeasible":
            return self._none(whole, plan, strict=strict)
        if not strict:
            self._prove(whole, answer.bound, given)
        return self._ended(answer), None

    def _start(self) -> Plan | None:
        """Return a plan to start from: of a restricted model the best of its own, as others may be none of its."""
        if self._restricted and self._incumbent.plan is not None:
            return self._incumbent.plan
        return self._known(self._problem, self._limits, self._progress)

    def _ended(self, answer: Reply[S]) -> Termination:
        if self._progress.stopped:
            return "interrupted"
        if answer.status == "optimal" or self._incumbent.closed():
            return "gap"
        early = EARLY_WITH_OPTIONS if self._limits.solver_options else EARLY
        return "limit" if self._limits.remaining > early * (self._limits.time or 0.0) else "time_limit"

    def _none(self, whole: Whole[S], plan: Plan | None, *, strict: bool) -> tuple[Termination, Infeasibility | None]:
        """Say what it means that nothing ends by the cutoff."""
        if strict:
            return "infeasible", None
        if plan is not None:
            self._incumbent.note("CP-SAT finds no plan where one is known: a failure of ours or its own")
            return "error", None
        if whole.complete:
            return "infeasible", clash(self._problem, self._limits, self._progress, self._lower)
        self._prove(whole, whole.request.cutoff + 1, None)
        self._incumbent.note(
            "labelled constraints on times can be met late or never: CP-SAT shows that not before the bound"
        )
        return "complete", None

    def _take(self, whole: Whole[S], solution: S) -> None:
        """Take the plan that *solution* means, the first of some that is feasible in exact times."""
        any(map(self._incumbent.take, whole.plans(solution)))

    def _prove(self, whole: Whole[S], units: int, given: Bound | None) -> None:
        cost = whole.scale.cost(units)
        if self._restricted:
            return
        detail = (
            f"the dual bound of CP-SAT's model of the whole problem, {units} units: {whole.scale}. It rests on the "
            "solver's word"
        )
        if whole.request.hint is not None:
            detail += "; the model leaves out plans that cost more than one that is known"
        if given is not None and whole.request.at_least > 0:
            detail += f"; it was told that no plan costs less than {given.cost:.9g}, by {given.method!r}"
        self._incumbent.prove(Bound(cost, self._name, "trusted", by(), detail))

    def _result(self, termination: Termination, infeasibility: Infeasibility | None) -> Result:
        """Return the result with the best plan."""
        incumbent = self._incumbent
        if incumbent.plan is None and incumbent.broken:
            incumbent.note(f"the last plan was dropped: in exact times, {incumbent.broken}")
        if self._restricted and termination == "gap":
            termination = "complete"
            incumbent.note(f"CP-SAT finds nothing better {self._restricted}; that bounds no other plan")
        return incumbent.result(termination, solver="cp-sat", infeasibility=infeasibility)
