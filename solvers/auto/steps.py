"""What the runs of ``auto`` share: what is known, when to stop, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Bound, Result, Termination, relative_gap
from mtpp_dsl.solvers.portfolio.lane import Task, run_lane
from mtpp_dsl.solvers.portfolio.run import MARGIN, run_together

__all__ = ["Steps"]


@dataclass
class Steps:
    """One call: each step reports to ``progress`` and leaves if nothing is open.

    Attributes:
        ended: what the method said that has settled the problem, or was the last to try.
        failed: whether a method, or the process that it ran in, has failed: what it would have found is missing.
        notes: for the user.
        used: whether a solver was used.
    """

    problem: Problem
    limits: Limits
    progress: Progress

    def __post_init__(self) -> None:
        self.ended: Result | None = None
        self.failed = False
        self.notes: list[str] = []
        self.used = False

    @property
    def closed(self) -> bool:
        """Whether plan and bound are close enough, or there is nothing more to try."""
        progress = self.progress
        if progress.stopped or self.limits.remaining <= 0 or self.ended is not None:
            return True
        return progress.bound is not None and self.closed_by(progress.bound)

    def closed_by(self, bound: Bound) -> bool:
        """Whether the best plan is close enough to *bound*."""
        cost = self.progress.cost
        return cost is not None and relative_gap(cost, bound.cost) <= self.limits.gap

    def take(self, found: Result) -> None:
        """Remember what a method said at its end."""
        self.used |= found.solver is not None
        if found.infeasibility is not None or found.settled:
            self.ended = found
        elif found.termination == "error":
            self.failed = True
            self.notes += found.notes

    def first(self, method: Method) -> None:
        """Take the plan of a method that has it at once, also where the time is over before anything has begun."""
        if self.progress.plan is None and method.accepts(self.problem) is None:
            self.take(method.solve(self.problem, replace(self.limits, time=None), self.progress))

    def run(self, task: Task) -> None:
        """Run one method from the best plan there is, if it accepts the problem and anything is open."""
        if self.closed:
            return
        limits = self.limits.within(self.limits.remaining, start=self.progress.plan or self.limits.start)
        for found in run_lane(self.problem, [task], limits, self.progress):
            self.take(found)

    def at_once(self, lanes: Sequence[Sequence[Task]]) -> None:
        """Run lanes at the same time, or the only one here, until plan and bound meet."""
        if len(lanes) == 1:
            results = run_lane(self.problem, lanes[0], self.limits, self.progress)
        else:
            results, notes = run_together(self.problem, lanes, self.limits, self.progress)
            self.notes += notes
        for found in results:
            self.take(found)

    def answer(self) -> Result:
        """Return the best of what the steps found."""
        progress, ended = self.progress, self.ended
        if self.limits.solver != Limits().solver and not self.used:
            self.notes.append(f"--solver {self.limits.solver} was not used: no model had to be solved")
        plan, bound = progress.plan, progress.bound
        if ended is not None and ended.bound is not None and (bound is None or ended.bound.cost >= bound.cost):
            bound = ended.bound
        return Result(
            termination=self.termination(plan, bound),
            plan=plan,
            bound=bound,
            evaluation=None if plan is None else evaluate(self.problem, plan),
            method="auto",
            solver=ended.solver if ended is not None else None,
            seed=self.limits.seed,
            time={**(ended.time if ended is not None else {}), "total": progress.elapsed},
            log=tuple(progress.log),
            infeasibility=ended.infeasibility if ended is not None else None,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def termination(self, plan: Plan | None, bound: Bound | None) -> Termination:
        if self.ended is not None and self.ended.infeasibility is not None:
            return "infeasible"
        if self.progress.stopped:
            return "interrupted"
        if plan is not None and bound is not None and self.closed_by(bound):
            return "gap"
        if self.ended is not None:
            return self.ended.termination
        if self.limits.remaining <= MARGIN:  # processes end so much earlier
            return "time_limit"
        return "error" if self.failed else "complete"
