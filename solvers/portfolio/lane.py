"""A lane of a portfolio: methods on one problem, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Result, relative_gap

__all__ = ["Task", "closed", "run_lane"]


@dataclass(frozen=True)
class Task:
    """One method of a lane.

    Attributes:
        method: what to run; left out where it does not accept the problem.
        share: of the time left when its turn comes.
        seconds: and no more than these.
        seed: added to that of the limits.
    """

    method: Method
    share: float = 1.0
    seconds: float = float("inf")
    seed: int = 0


def closed(progress: Progress, limits: Limits) -> bool:
    """Return whether plan and bound are as close as asked, or somebody or the clock says stop."""
    if progress.stopped or limits.remaining <= 0:
        return True
    plan, bound = progress.cost, progress.bound
    return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= limits.gap


def run_lane(problem: Problem, tasks: Sequence[Task], limits: Limits, progress: Progress) -> list[Result]:
    """Run the tasks until plan and bound meet, and return what each said at its end.

    Every task starts from the best plan known when its turn comes, whoever has found it. One that proves that there is
    no plan is the last.
    """
    results: list[Result] = []
    for task in tasks:
        if closed(progress, limits):
            break
        if task.method.accepts(problem) is not None:
            continue
        start = progress.plan or limits.start
        own = limits.within(min(task.seconds, task.share * limits.remaining), start=start)
        progress.say(f"running {task.method.name}")
        results.append(task.method.solve(problem, replace(own, seed=limits.seed + task.seed), progress))
        if results[-1].infeasibility is not None:
            break
    return results
