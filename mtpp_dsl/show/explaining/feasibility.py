"""Tell whether a problem with some of its items has a plan: what is known is used again, the rest is solved."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from time import monotonic

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.errors import MtppError, Refused, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.budget import BudgetTask, solved
from mtpp_dsl.show.explaining.items import ProblemItems
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.drivers.stage import Stage

EACH = 0.4
"""Of the time that is left, what one question takes at most."""
LEAST = 0.2
"""Seconds of a question; with less left, none is asked."""
NO_GAP = 0.999
MOST_BETTER = 3.0
"""Seconds in which a plan is made better that only shows what it breaks."""


class Feasibility:
    """Answers whether there is a plan with some items of a problem.

    A plan that was found says yes of all sets without an item that it breaks; a set that has no plan says no of all
    that hold it. Yes is said for plans that were verified alone, no for what was proved alone.

    Attributes:
        items: of the problem.
        why: why there is no plan, by the set of items.
        plans: those found, each with the numbers of the items that it breaks.
    """

    def __init__(self, items: ProblemItems, question: Question, seconds: float) -> None:
        self.items, self.question = items, question
        self.end = monotonic() + seconds
        self.why: dict[frozenset[int], Infeasibility] = {}
        self.plans: list[tuple[Plan, frozenset[int]]] = []
        self.unknown: set[frozenset[int]] = set()

    @property
    def over(self) -> bool:
        """Whether there is no time left, or somebody asked to stop."""
        return self.question.progress.stopped or self.end - monotonic() < LEAST

    def known(self, chosen: frozenset[int]) -> bool | None:
        """Return what follows from earlier answers; None if nothing does."""
        if any(none <= chosen for none in self.why):
            return False
        return True if self.witness(chosen) is not None else None

    def witness(self, chosen: Collection[int]) -> Plan | None:
        """Return a plan that keeps these items together, if one was found."""
        wanted = frozenset(chosen)
        kept = (plan for plan, broken in self.plans if not broken & wanted)
        return next((plan for plan in kept if not self.broken(plan, wanted)), None)

    def use(self, plans: Iterable[Plan]) -> None:
        """Note plans that were found elsewhere."""
        for plan in plans:
            self._note(plan)

    def best(self, chosen: Collection[int], seconds: float) -> Plan | None:
        """Return a plan that keeps these items together, made as good as can be in some seconds."""
        first = self.witness(chosen)
        if first is None or seconds < LEAST or self.question.progress.stopped:
            return first
        try:
            problem = self.items.problem_of(chosen)
            answer = solved(self.question, [BudgetTask("what clashes", problem, first)], min(seconds, MOST_BETTER))[
                0
            ].result
        except MtppError:
            return first
        return first if answer is None or answer.plan is None else answer.plan.of(None)

    def take(self, chosen: frozenset[int], why: Infeasibility) -> None:
        """Note that there is no plan with these items."""
        self.why[chosen] = why

    def ask(self, chosen: frozenset[int]) -> bool | None:
        """Return whether there is a plan with these items; None if that was not found out in the time."""
        answer = self.known(chosen)
        if answer is not None:
            return answer
        if chosen in self.unknown:
            return None
        try:
            problem = self.items.problem_of(chosen)
            why = quick(problem)
        except MtppError:  # such a problem cannot be asked
            self.unknown.add(chosen)
            return None
        if why is not None:
            self.take(chosen, why)
            return False
        return None if self.over else self._solved(problem, chosen)

    def _solved(self, problem: Problem, chosen: frozenset[int]) -> bool | None:
        question = self.question
        stage = Stage(question.progress, problem.objective, "what clashes", lambda _: stage.stop())
        left = self.end - monotonic()
        try:
            result = solve(
                problem,
                question.method,
                solver=question.solver,
                time_limit=max(LEAST, EACH * left),
                gap=NO_GAP,
                threads=question.threads,
                seed=question.seed,
                progress=stage,
            )
        except VerificationError:
            raise
        except MtppError:
            self.unknown.add(chosen)
            return None
        if result.infeasibility is not None:
            self.take(chosen, result.infeasibility)
            return False
        if result.plan is None:
            self.unknown.add(chosen)
            return None
        self._note(result.plan.of(None))
        return True

    def _note(self, plan: Plan) -> None:
        """Note a plan, with every item that it breaks."""
        broken = frozenset(number for number in range(len(self.items.items)) if self.broken(plan, [number]))
        if not broken and not self.broken(plan, range(len(self.items.items))):
            raise Refused("the answer says that there is no plan, and one was found: solve it again")
        self.plans.append((plan, broken))

    def broken(self, plan: Plan, chosen: Collection[int]) -> list[str]:
        """Return what a plan breaks of these items, in words."""
        try:
            return [violation.message for violation in verify(self.items.problem_of(chosen), plan)]
        except MtppError as error:  # then nothing is known of it: it may break all of them
            return [str(error)]
