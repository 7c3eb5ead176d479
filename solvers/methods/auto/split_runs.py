"""Run method ``auto`` for splits with copies, on links and trees, and in stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.registry import METHODS, built_in, load
from mtpp_dsl.solvers.algorithms.stages.outside import iteration_of, staged_bounds
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.policy import SHORT
from mtpp_dsl.solvers.methods.auto.sizes import LAST_HOPE_ROWS, MAX_ROWS, formulation, mip
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.bounds import Anchor, Count, Node, Simple
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask


class CopiesRun(AutoSteps):
    """One call under ``constraint copies``: the method of that name, which finds plans and bounds."""

    minor = frozenset({SingleDevice.name})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        self.one_pipeline()
        for method in self.searches():
            self.run(LaneTask(method))
        return self.answer()

    def one_pipeline(self) -> None:
        """Report a good single pipeline of a chain, also where the time is over."""
        if self.told is None and self.open(list(map(LaneTask, self.searches()))):
            plan = built_in("mtpp_dsl.solvers.partition.copies.single:first_pipeline")(self.problem)
            if plan is not None and not verify(self.problem, plan):
                self.progress.report_plan(plan, evaluate(self.problem, plan).cost)

    def searches(self) -> Iterator[Method]:
        """Yield the search for routes."""
        yield load(METHODS, "copies")()


IDEALS_SHARE, ANCHOR_SHARE, ANNEALING_SHARE = 0.6, 0.2, 0.5
"""Of the time left, what ideals get, which end early where they prove the optimum; then cuts; and then moves."""
SHORT_SHARE = 0.15
"""What moves get before these where time is short."""


class NetworkSteps(AutoSteps):
    """One call.

    1. everything on one device, and the bound that costs next to nothing;
    2. ``ideals``, which proves what it finds where the devices are in an order, chains at once;
    3. ``anchor``, for a bound where that has not proved enough;
    4. ``annealing``, from the best plan;
    5. the exact model from there, where it accepts the problem and is not too large.

    Where time is short, ``annealing`` has a turn before ``ideals``, too.
    """

    minor = frozenset({SingleDevice.name, Simple.name, Anchor.name})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        self.first_split()
        self.run(LaneTask(Simple()))
        short = self.limits.remaining < SHORT
        if short:
            self.run(LaneTask(Annealing(), SHORT_SHARE))
        self.run(LaneTask(Ideals(), IDEALS_SHARE))
        self.run(LaneTask(Anchor(), ANCHOR_SHARE))
        self.run(LaneTask(Annealing(), ANNEALING_SHARE, seed=1 if short else 0))
        if self.rows <= (MAX_ROWS if self.searched else LAST_HOPE_ROWS):
            for method in self.model():
                self.run(LaneTask(method))
        self.insist()
        return self.answer()

    @property
    def rows(self) -> int:
        """About how many rows the exact model has."""
        graph, k = self.problem.graph, self.problem.k
        return (graph.n + (2 + k) * graph.m) * k

    def searches(self) -> Iterator[Method]:
        """Yield the searches for splits."""
        yield from (Ideals(), Annealing())

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield mip(formulation("exact"))


FIRST: tuple[type[Method], ...] = (Simple,)
QUICK: tuple[type[Method], ...] = (Node, Anchor, Count)
QUICK_SHARE, QUICK_SECONDS = 0.05, 2.0
"""Bounds that cost next to nothing, and how long each may take in large graphs all the same."""
AT_ONCE_SHARE = 0.7
"""Of the time, what the ideals get before other bounds and the exact model; where they are few they need far less."""


class StagesSteps(AutoSteps):
    """One call.

    1. everything on one device, and the bound that costs next to nothing;
    2. ``ideals``, which proves what it finds where there is room for the ideals;
    3. else bounds on the bottleneck, for an iteration with the sum of the loads;
    4. the exact model, where it accepts the problem and is not too large.
    """

    minor = frozenset({SingleDevice.name, *(bound().name for bound in (*FIRST, *QUICK))})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        self.first_split()
        self.run(LaneTask(Simple()))
        self.run(LaneTask(Ideals(), AT_ONCE_SHARE))
        self.bounds()
        if self.rows <= (MAX_ROWS if self.searched else LAST_HOPE_ROWS):
            for method in self.model():
                self.run(LaneTask(method))
        self.insist()
        return self.answer()

    def bounds(self) -> None:
        """Bound a bottleneck, and with it an iteration: the other microbatches take as long each, and the first W."""
        if self.closed or self.told is not None:
            return
        iteration = self.problem.objective.is_iteration
        problem = self.problem.asking(Objective("bottleneck"), self.problem.constraints) if iteration else self.problem
        for bound in QUICK:
            method = bound()
            if self.closed or method.accepts(problem) is not None:
                continue
            limits = self.limits.within(min(QUICK_SECONDS, QUICK_SHARE * self.limits.remaining), start=None)
            if not iteration:
                self.take(method.solve(problem, limits, self.progress))
                continue
            partial = method.solve(problem, limits, Progress()).bound
            if partial is not None:
                cost = iteration_of(self.problem, partial.cost, staged_bounds(self.problem)[1])
                detail = f"{partial.detail}; for every microbatch but one, and the sum of all least times for that"
                self.progress.report_bound(replace(partial, cost=cost, detail=detail, certificate=None))

    @property
    def rows(self) -> int:
        """About how many rows the exact model has."""
        graph, k = self.problem.graph, self.problem.k
        return (graph.n + (2 + k) * graph.m) * k

    def searches(self) -> Iterator[Method]:
        """Yield the search for chains of stages."""
        yield Ideals()

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield mip(formulation("exact"))
