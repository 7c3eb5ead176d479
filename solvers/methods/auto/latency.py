"""One run of method ``auto`` for the latency of one sample by subgraphs (tarnawski2020)."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores

__all__ = ["LatencyRun"]

FIRST_SHARE, FIRST_SECONDS = 0.3, 10.0
"""What the search has to itself before the programme, which needs a good plan, is beside it."""
MODEL_SIZE = 20_000
"""The programme has rows for edges times subgraphs; beyond so many it does not get through its root."""


class LatencyRun(AutoSteps):
    """One call for a makespan on ``host`` or ``shared``: a bound along a path, then a search beside the programme."""

    minor = frozenset({"published-greedy", "simple"})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(load(METHODS, "published-greedy")())
        for name in ("simple", "path-hull"):
            self.run(LaneTask(load(METHODS, name)(), FIRST_SHARE, FIRST_SECONDS))
        search = load(METHODS, "latency-search")()
        self.run(LaneTask(search, FIRST_SHARE, FIRST_SECONDS))
        if not self.closed:
            self.at_once(self.lanes(search, cores(self.limits)))
        self.insist()
        return self.answer()

    def lanes(self, search: Method, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: the search, the programme, and the search with other seeds."""
        programme = self.programme()
        if not self.searched:
            return [[LaneTask(method) for method in programme]]
        if count == 1:
            return [[LaneTask(search, 0.5 if programme else 1.0, seed=1), *map(LaneTask, programme)]]
        lanes = [[LaneTask(search, seed=1)], [*map(LaneTask, programme)]]
        lanes += [[LaneTask(search, seed=seed)] for seed in range(2, count + 1)]
        return [lane for lane in lanes if lane][:count]

    def searches(self) -> Iterator[Method]:
        """Yield the search for subgraphs."""
        yield load(METHODS, "latency-search")()

    def models(self) -> Iterator[Method]:
        """Yield the integer programme with its solver."""
        if self.limits.solver != "cp-sat":
            formulation = load(FORMULATIONS, "latency")()
            yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, self.limits.solver)

    def programme(self) -> list[Method]:
        """Return the integer programme, where it is not too large, or no search accepts the problem."""
        small = self.problem.graph.m * self.problem.k <= MODEL_SIZE
        return self.model() if small or not self.searched else []
