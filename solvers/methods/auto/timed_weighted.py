"""One run of method ``auto`` for a linear objective of plans with a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mtpp_dsl.core.constraints import Constraint, Forbid, Linear
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.solvers.algorithms.device_sets import cheapest_sets
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

__all__ = ["TimedWeightedRun"]

SETS_SHARE, SET_SECONDS, FIRST_SECONDS = 0.3, 1.0, 3.0
"""For short schedules over sets of devices, for one of them, and for the first, over all."""
SMALL_SHARE, SMALL_SECONDS, SMALL_NODES = 0.4, 15.0, 12
"""What the model has to itself in graphs of so few nodes, which it closes in a moment as a rule."""


class TimedWeightedRun(AutoSteps):
    """One call for a linear objective over ``start``, ``finish``, ``makespan`` or on ``links``.

    Short schedules come first: over all devices, and over the sets of them that are cheapest to use. Then a search over
    placements is beside the mixed-integer programme.
    """

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        if self.problem.graph.n <= SMALL_NODES:
            for method in self.model():
                self.run(LaneTask(method, SMALL_SHARE, SMALL_SECONDS))
        self.short()
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits)))
        self.insist()
        return self.answer()

    def short(self) -> None:
        """Look for short schedules, without the labelled rows; keep those that satisfy these."""
        if self.closed or self.tells("heft"):
            return
        self._shorten(range(self.problem.k), FIRST_SECONDS)
        until = (1 - SETS_SHARE) * self.limits.remaining
        for devices, price in cheapest_sets(self.problem):
            cost = self.progress.cost
            if self.closed or self.limits.remaining < until or (cost is not None and price >= cost):
                break
            self._shorten(devices, SET_SECONDS)

    def _shorten(self, devices: Sequence[int], seconds: float) -> None:
        """Look for short schedules on some devices."""
        problem = self.problem
        kept: list[Constraint] = [c for c in problem.constraints if not isinstance(c, Linear)]
        others = tuple(sorted(set(range(problem.k)) - set(devices)))
        if others:
            kept.append(Forbid(nodes=tuple(range(problem.graph.n)), devices=others))
        relaxed = problem.asking(replace(Objective("makespan"), penalised=False), kept)
        if not relaxed.allowed.any(axis=1).all():
            return
        self.progress.say(f"shortening schedules on {len(devices)} devices")
        listener = Reduced(problem, relaxed, identity, self.progress).listener(problem)
        limits = self.limits.within(min(seconds, 0.1 * self.limits.remaining), start=None)
        for method in (load(METHODS, "heft")(), Annealing(2)):
            if method.accepts(relaxed) is None and limits.remaining > 0:
                method.solve(relaxed, limits, listener)

    def lanes(self, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: the search, the model, and the search with other seeds."""
        model = [LaneTask(method) for method in self.model()]
        if count == 1:
            return [[LaneTask(Annealing(), 0.5 if model else 1.0), *model]]
        lanes = [[LaneTask(Annealing())], model, *([LaneTask(Annealing(), seed=seed)] for seed in range(1, count - 1))]
        return [lane for lane in lanes if lane][:count]

    def searches(self) -> Iterator[Method]:
        """Yield the search for placements."""
        yield Annealing()

    def models(self) -> Iterator[Method]:
        """Yield the mixed-integer programme with its solver."""
        formulation = load(FORMULATIONS, "moirai")()
        yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, self.limits.solver, apart=True)
