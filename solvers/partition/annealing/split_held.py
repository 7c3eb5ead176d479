"""What a run of method ``annealing`` holds: the best plan, and when there is no more to do."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result, Termination, relative_gap
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.least_load import least_load

__all__ = ["FEWEST", "NO_LOAD", "Holding"]

FEWEST, MOST_AT_FIRST = 1_000, 500_000
"""Moves that an annealing tries: at least, and at most in the first round."""
NO_LOAD = np.iinfo(np.int64).max
NONE_FOUND = "no split that was tried is a plan; this does not prove that there is none"


class Holding:
    """The best plan of a run.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        group: [n] class of every node; those of a class move together.
        moves: of each annealing of the first round, per class and device.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, group: Ints, moves: int) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._group = group
        self._first = np.unique(group, return_index=True)[1]
        self._steps = min(MOST_AT_FIRST, max(FEWEST, moves * len(self._first) * problem.k))
        self._plan: Plan | None = None
        self._cost = float("inf")
        self._notes: list[str] = []
        proved = least_load(problem, Limits(), Progress()).bound
        self._simple = 0.0 if proved is None else proved.cost

    def _answer(self) -> Result:
        """Return the best plan, and why the run ended."""
        plan = self._plan
        return Result(
            termination="gap" if self._closed(self._cost) else self._ended or "complete",
            plan=plan,
            evaluation=None if plan is None else evaluate(self._problem, plan),
            method="annealing",
            seed=self._limits.seed,
            time={"total": self._progress.elapsed},
            log=tuple(self._progress.log),
            notes=tuple(self._notes if plan is not None else [*self._notes, NONE_FOUND]),
        )

    def _take_start(self) -> None:
        """Keep the plan to start from; drop it, with a note, if it is none."""
        start = self._limits.start
        if start is None:
            return
        faults = verify(self._problem, start)
        if faults:
            self._notes.append(f"the start was dropped, it is no plan: {faults[0]}")
        else:
            self._keep(start)

    def _keep(self, plan: Plan) -> None:
        cost = evaluate(self._problem, plan).cost
        if cost < self._cost:
            self._plan, self._cost = plan, cost
            self._progress.report_plan(plan, cost)

    def _closed(self, cost: float) -> bool:
        """Return whether a cost is close enough to the bound known."""
        proved = self._progress.bound
        bound = max(self._simple, 0.0 if proved is None else proved.cost)
        return relative_gap(cost, bound) <= self._limits.gap

    @property
    def _ended(self) -> Termination | None:
        """Why there is no more time, if there is none."""
        if self._progress.stopped:
            return "interrupted"
        return "time_limit" if self._limits.remaining <= 0 else None
