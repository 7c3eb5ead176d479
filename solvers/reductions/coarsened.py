"""Solve a coarsened problem by any method, and map its plans back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives, Method
from mtpp_dsl.core.contracts.traits import MethodBase, method_traits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.fusion_rules import Rules, read_rules
from mtpp_dsl.solvers.reductions.gcof import Gcof
from mtpp_dsl.solvers.runtime.reduced import Aside


def coarsened(method: Method, rules: str | Path) -> Coarse:
    """Return a method that coarsens the graph by fusion rules (:func:`read_rules`) and solves it by *method*.

    Raises:
        UsageError: there are no such rules.
    """
    return Coarse(method, read_rules(rules))


class Coarse(MethodBase):
    """A method that solves the coarsened problem by another method, and returns plans of the problem itself.

    It returns no bound, since a bound on the coarse problem may be above the optimum of the problem. If the coarse
    problem has no plan, the problem may still have one.

    Args:
        method: what to solve it by.
        rules: which operators to fuse.
    """

    gives: Gives = "plan"
    custom_constraints = True  # the reduction refuses them

    def __init__(self, method: Method, rules: Rules) -> None:
        self.method, self.reduction = method, Gcof(rules)
        self.name, self.summary = method.name, f"{method.summary}, on a coarsened graph"
        self.traits = traits = method_traits(method)
        self.may_need_none, self.seeded = traits.may_need_none, traits.seeded
        self.uses_solver, self.writes_model = traits.uses_solver, traits.writes_model
        self.spreads = traits.spreads
        self.engines, self.backends = traits.engines, traits.backends

    def accepts(self, problem: Problem) -> str | None:
        """Return why the problem cannot be coarsened, or the method cannot honour what is then left, or None."""
        reason = self._refusal(problem)
        return self.method.accepts(self.reduction.apply(problem)[0]) if reason is None else reason

    def _refusal(self, problem: Problem) -> str | None:
        """Return why the method cannot be used on a coarsened problem, whatever its size, or None."""
        reason = self.reduction.accepts(problem)
        if reason is not None:
            return f"{reason} (leave out --coarsen)"
        if "plan" not in self.method.gives:
            reason = f"{self.name} gives no plan, and bounds of a coarsened graph are none of the graph"
        if reason is None and self.traits.own_rows:
            reason = f"{self.name} has rows of its own, and what they ask of operators may not hold of fused ones"
        if reason is None and self.traits.needs_start:
            reason = f"{self.name} works on a given plan, which may have apart what is fused"
        return reason

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Solve the coarse problem; return its best plan as a plan of *problem*.

        Raises:
            Refused: the problem cannot be coarsened, or the method cannot honour it.
        """
        reason = self._refusal(problem)
        if reason is not None:
            raise Refused(reason)
        smaller, lift = self.reduction.apply(problem)
        note = f"coarsened: {problem.graph.n} operators became {smaller.graph.n}; bounds are of the graph itself"
        listener = _Lifting(problem, lift, progress)
        result = self.method.solve(smaller, replace(limits, start=None), listener)
        if result.plan is not None:
            listener.report_plan(result.plan, evaluate(smaller, result.plan).cost)
        notes = (*result.notes, note)
        if result.infeasibility is not None:
            notes = (*notes, f"the coarse graph has no plan ({result.infeasibility.reason}); the graph itself may have")
        plan = progress.plan
        complete = result.termination in ("gap", "infeasible")
        return replace(
            result,
            termination="complete" if complete else result.termination,
            plan=plan,
            evaluation=None if plan is None else evaluate(problem, plan),
            bound=None,
            infeasibility=None,
            log=tuple(progress.log),
            notes=notes,
        )


class _Lifting(Aside):
    """Progress that maps reported plans back to the problem itself and passes them on; bounds are dropped."""

    def __init__(self, problem: Problem, lift: Callable[[Plan], Plan], outer: Progress) -> None:
        super().__init__(outer)
        self._problem, self._lift, self._to = problem, lift, outer

    def report_plan(self, plan: Plan, cost: float) -> None:
        better = self.cost is None or cost < self.cost
        super().report_plan(plan, cost)
        if better:
            fine = self._lift(plan)
            self._to.report_plan(fine, evaluate(self._problem, fine).cost)

    def report_model(self, path: Path) -> None:
        self._to.report_model(path)

    @property
    def wants_solver_log(self) -> bool:
        return self._to.wants_solver_log

    def solver_says(self, line: str) -> None:
        self._to.solver_says(line)
