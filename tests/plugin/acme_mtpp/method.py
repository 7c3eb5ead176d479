"""A method: the nodes in topological order, each on the first device that keeps below its share."""

from __future__ import annotations

from mtpp_dsl.constraints import Acyclic
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.problem import Links, Problem


class FirstFit:
    """Fill device after device, so that the quotient graph is acyclic."""

    name = "acme-first-fit"
    gives: Gives = "plan"
    summary = "fill device after device up to an even share of the work"

    def accepts(self, problem: Problem) -> str | None:
        if problem.objective.quantity != "bottleneck" or isinstance(problem.interconnect, Links):
            return "acme-first-fit knows bottlenecks on shared and host interconnects only; try auto"
        if any(type(constraint) is not Acyclic for constraint in problem.constraints):
            return "acme-first-fit honours acyclic and nothing else; exact honours more"
        return None if problem.allowed.all() else "acme-first-fit needs devices that run every node"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        share = problem.time[:, 0].sum() / problem.k
        assignment, device, filled = [0] * problem.graph.n, 0, 0.0
        for v in problem.graph.topological_order:
            if filled >= share and device < problem.k - 1:
                device, filled = device + 1, 0.0
            assignment[v], filled = device, filled + problem.time[v, 0]
        plan = Plan.create(problem, assignment)
        evaluation = evaluate(problem, plan)
        progress.report_plan(plan, evaluation.cost)
        return Result("complete", plan, evaluation=evaluation, method=self.name, log=tuple(progress.log))
