"""One run of method ``auto`` for the latency of one sample by subgraphs (tarnawski2020)."""

from __future__ import annotations

from mtpp_dsl.contracts import Formulation, Method
from mtpp_dsl.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.auto.steps import Steps
from mtpp_dsl.solvers.portfolio.lane import Task
from mtpp_dsl.solvers.portfolio.run import cores

__all__ = ["LatencyRun"]

FIRST_SHARE, FIRST_SECONDS = 0.3, 10.0
"""What the search has to itself before the programme, which needs a good plan, is beside it."""
MODEL_SIZE = 20_000
"""The programme has rows for edges times subgraphs; beyond so many it does not get through its root."""


class LatencyRun(Steps):
    """One call for a makespan on ``host`` or ``shared``: a bound along a path, then a search beside the programme."""

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(load(METHODS, "published-greedy")())
        for name in ("simple", "path-hull"):
            self.run(Task(load(METHODS, name)(), FIRST_SHARE, FIRST_SECONDS))
        search = load(METHODS, "latency-search")()
        self.run(Task(search, FIRST_SHARE, FIRST_SECONDS))
        if not self.closed:
            lanes = [[Task(search, seed=1)], [Task(method) for method in self.programme()]]
            count = cores(self.limits)
            lanes += [[Task(search, seed=seed)] for seed in range(2, count + 1)]
            lanes = [lane for lane in lanes if lane]
            one = [[*(Task(task.method, 0.5, seed=task.seed) for task in lanes[0]), *lanes[1]]]
            self.at_once(lanes[:count] if count > 1 else one)
        return self.answer()

    def programme(self) -> list[Method]:
        """Return the integer programme with its solver, where it is not too large."""
        formulation: Formulation = load(FORMULATIONS, "latency")()
        if self.problem.graph.m * self.problem.k > MODEL_SIZE or formulation.accepts(self.problem) is not None:
            return []
        method: Method = built_in("mtpp_dsl.solvers.mip.method:MipMethod")(formulation, self.limits.solver)
        return [method]
