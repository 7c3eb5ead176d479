"""One call of ``solve`` for several objectives: the same arguments for the solve of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method, why_not
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan, plan_of
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import instead, solve
from mtpp_dsl.solving.checkpoint import Whole, kept
from mtpp_dsl.solving.drivers.lexicographic import solve_in_order, stages

__all__ = ["Several"]


@dataclass(frozen=True)
class Several:
    """Solves problems of one objective each, with the arguments of one call of :func:`mtpp_dsl.solving.api.solve`."""

    method: Method
    solver: str
    gap: float
    threads: int | None
    seed: int
    solver_options: Mapping[str, Any] | None
    checkpoint: Path | str | None
    scheduler: Executor | None = None

    def refuse(self, problem: Problem) -> None:
        """Refuse a problem of several objectives if the method cannot take one of them after those before it.

        Raises:
            Refused: with the reason, and methods that can.
            UsageError: no row can speak of an objective that others come after.
        """
        for objective, asked in zip(problem.objectives, stages(problem), strict=True):
            reason = why_not(self.method, asked)
            if reason is not None:
                raise Refused(
                    f"method {self.method.name!r} cannot solve this: for objective {objective.shown!r}, {reason}"
                    f"{instead(asked, self.method)}"
                )

    def in_order(
        self,
        problem: Problem,
        time_limit: float | None,
        start: Plan | Mapping[str, object] | None,
        progress: Progress,
    ) -> Result:
        """Return the answer for the objectives of *problem*, one after the other."""
        began = monotonic()
        self.refuse(problem)
        plan = None if start is None else plan_of(problem, start).of(None)
        result = solve_in_order(problem, self, progress, time_limit, plan)
        result = replace(result, time={**result.time, "total": monotonic() - began}).of(problem)
        with kept(self.checkpoint, problem, self.method.name, self.seed, Progress()) as keep:
            return keep(result)

    def __call__(
        self,
        problem: Problem,
        time_limit: float | None,
        start: Plan | None,
        progress: Progress,
        whole: Whole | None = None,
    ) -> Result:
        """Return the result for one objective; see :class:`mtpp_dsl.solving.drivers.lexicographic.SolveOnce`."""
        with kept(self.checkpoint if whole else None, problem, self.method.name, self.seed, progress, whole) as keep:
            return keep(
                solve(
                    problem,
                    self.method,
                    solver=self.solver,
                    time_limit=time_limit,
                    gap=self.gap,
                    threads=self.threads,
                    seed=self.seed,
                    scheduler=self.scheduler,
                    start=start,
                    solver_options=self.solver_options,
                    progress=progress,
                )
            )
