"""One call of ``solve`` for several objectives: the same arguments for the solve of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import why_not
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan, plan_of
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.checkpoint import Whole, kept
from mtpp_dsl.solving.drivers.lexicographic import solve_in_order, stages
from mtpp_dsl.solving.finding import instead
from mtpp_dsl.solving.one_problem import SolveArguments
from mtpp_dsl.solving.plugins.honoured import refuse_scheduler


@dataclass(frozen=True)
class Several:
    """Solves problems of one objective each, as one call of :func:`mtpp_dsl.solving.api.solve` asks for.

    Attributes:
        call: its arguments; what they say of one solve is that of each.
        executor: where processes run; None for this machine.
    """

    call: SolveArguments
    executor: Executor | None = None

    def refuse(self, problem: Problem) -> None:
        """Refuse a problem of several objectives if the method cannot take one of them after those before it.

        Raises:
            Refused: with the reason, and methods that can.
            UsageError: no row can speak of an objective that others come after.
        """
        for objective, asked in zip(problem.objectives, stages(problem), strict=True):
            reason = why_not(self.call.method, asked)
            if reason is not None:
                raise Refused(
                    f"method {self.call.method.name!r} cannot solve this: for objective {objective.shown!r}, {reason}"
                    f"{instead(asked, self.call.method)}"
                )

    def in_order(self, problem: Problem) -> Result:
        """Return the answer for the objectives of *problem*, one after the other."""
        began, call = monotonic(), self.call
        self.refuse(problem)
        plan = None if call.start is None else plan_of(problem, call.start).of(None)
        result = solve_in_order(problem, self, call.progress or Progress(), call.time_limit, plan)
        result = replace(result, time={**result.time, "total": monotonic() - began}).of(problem)
        with kept(call.checkpoint, problem, call.method.name, call.seed, Progress()) as keep:
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
        call = replace(
            self.call, began=monotonic(), time_limit=time_limit, start=start, progress=progress, checkpoint=None
        )
        if self.executor is not None:
            refuse_scheduler(problem, call.method, None)
        checkpoint = self.call.checkpoint if whole else None
        with kept(checkpoint, problem, call.method.name, call.seed, progress, whole) as keep:
            return keep(call.solve(problem, self.executor))
