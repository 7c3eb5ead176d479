"""Solve many small problems by a pool of processes, with questions and answers in the problem's own costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
from mtpp_dsl.solvers.backends.cpsat.request import CpSatRequest, Reply
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import Whole

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class CpSatFinding:
    """What CP-SAT found out about a problem.

    Attributes:
        plan: the best plan found, verified; None without one.
        cost: of the plan; ``inf`` without one.
        bound: no plan costs less, in exact times. Where there is no plan, or none within the cost asked for, it is
            above that cost.
        settled: whether CP-SAT has proved that no better plan exists within the cost and the gap asked for.
    """

    plan: Plan | None
    cost: float
    bound: float
    settled: bool


@dataclass(frozen=True, eq=False)
class CpSatQuestion(Generic[S]):
    """A problem for a pool: ``pool.submit(ask.request, effort)``, then :meth:`found` of its result.

    Attributes:
        problem: the problem itself.
        whole: the problem in whole numbers.
    """

    problem: Problem
    whole: Whole[S]

    @property
    def request(self) -> CpSatRequest[S]:
        """The request for CP-SAT."""
        return self.whole.request

    def found(self, answer: Reply[S]) -> CpSatFinding:
        """Translate the reply to :attr:`request` into plan, cost and bound of the problem."""
        best: Plan | None = None
        cost = inf
        for plan in [] if answer.solution is None else self.whole.plans(answer.solution):
            if not verify(self.problem, plan) and not self.whole.over(plan):
                value = evaluate(self.problem, plan).cost
                if value < cost:
                    best, cost = plan, value
        settled = answer.status == "infeasible" or (answer.status == "optimal" and best is not None)
        impossible = answer.status == "infeasible" and self.whole.complete
        return CpSatFinding(best, cost, inf if impossible else self.whole.scale.cost(answer.bound), settled)


def ask(
    problem: Problem, plan: Plan | None = None, *, within: float = inf, at_least: float = 0.0
) -> CpSatQuestion[Any]:
    """Prepare *problem* for a pool.

    Args:
        problem: a makespan on links or a batched throughput that the models of CP-SAT accept.
        plan: a known plan; plans that cost more are excluded, and the search starts from it.
        within: plans that cost more are excluded.
        at_least: a lower bound on the cost of every plan.
    """
    makes = lower if problem.objective.batch is None else lower_batches
    return CpSatQuestion(problem, makes(problem, plan, within=within, at_least=at_least))
