"""Run a lane of a portfolio: methods on one problem, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method, refusal
from mtpp_dsl.core.errors import Refused, SolverError
from mtpp_dsl.core.plans.result import Result, relative_gap
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["LaneTask", "attempt", "closed", "run_lane"]


@dataclass(frozen=True)
class LaneTask:
    """One method of a lane.

    Attributes:
        method: what to run; skipped where it does not accept the problem, or is not installed.
        share: of the time that is left when its turn comes.
        seconds: at most so many, whatever the share is.
        seed: added to that of the limits.
    """

    method: Method
    share: float = 1.0
    seconds: float = float("inf")
    seed: int = 0


def closed(progress: Progress, limits: Limits) -> bool:
    """Return whether the gap is closed, the time is up, or somebody asked to stop."""
    if progress.stopped or limits.remaining <= 0:
        return True
    plan, bound = progress.cost, progress.bound
    return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= limits.gap


def attempt(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Solve by *method*; return a result "error" with a note if it refuses after all or its solver fails."""
    try:
        return method.solve(problem, limits, progress)
    except (Refused, SolverError) as error:
        return Result("error", method=method.name, seed=limits.seed, notes=(f"{method.name!r} failed: {error}",))


def run_lane(
    problem: Problem,
    tasks: Sequence[LaneTask],
    limits: Limits,
    progress: Progress,
    began: Callable[[int], None] = lambda _: None,
) -> list[Result]:
    """Run the tasks until plan and bound meet, and return their results.

    Every task starts from the best plan known when its turn comes, whoever found it. The lane ends after a task that
    proves that there is no plan, or that runs to its end with a proof. A method that has ended by itself is not run
    again
    with the same seed. One that refuses after all, or whose solver fails, has the termination "error" and a note that
    says why.

    Args:
        problem: the problem.
        tasks: in order.
        limits: of all of them.
        progress: receives plans and bounds.
        began: called with the number of every task that begins.
    """
    results: list[Result] = []
    finished: set[tuple[int, int]] = set()
    for number, task in enumerate(tasks):
        if closed(progress, limits):
            break
        turn = id(task.method), task.seed
        if turn in finished or refusal(task.method, problem) is not None:
            continue
        start = progress.plan or limits.start
        own = limits.within(min(task.seconds, task.share * limits.remaining), start=start)
        progress.say(f"running {task.method.name}")
        began(number)
        results.append(attempt(task.method, problem, replace(own, seed=limits.seed + task.seed), progress))
        if results[-1].infeasibility is not None or results[-1].settled:
            break
        if results[-1].finished:
            finished.add(turn)
    return results
