"""Many solves in one time limit: each has a fair share of what is left, and what it leaves is the others'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.errors import MtppError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.drivers.stage import Stage

LEAST_SECONDS = 0.1
"""With a smaller share a problem is not solved at all."""
STOPPED, NO_TIME = "the search was stopped before its turn", "there was no time left for it"


class BudgetTask(NamedTuple):
    """One problem that is to be solved.

    Attributes:
        name: what is shown while it is solved.
        problem: one without a target, as altered problems are.
        start: a plan to start from, dropped where it is none of this problem; None for none.
    """

    name: str
    problem: Problem
    start: Plan | None = None


class SolvedTask(NamedTuple):
    """What came of a task.

    Attributes:
        task: the task.
        result: with a plan, a bound, both, or why there is no plan; None where there is no result.
        why: why there is no result; "" where there is one.
    """

    task: BudgetTask
    result: Result | None
    why: str = ""


def solved(
    question: Question,
    tasks: Sequence[BudgetTask],
    seconds: float,
    report: Callable[[SolvedTask], None] = lambda _: None,
) -> list[SolvedTask]:
    """Solve problems in their order in *seconds* together, and return what came of each, in the same order.

    Where somebody asks to stop, what the running solve has found counts, and the rest is left out, with the reason.

    Args:
        question: says by which method, and is asked whether to stop.
        tasks: to be solved.
        seconds: for all of them.
        report: is told what came of each task at once.
    """
    end = monotonic() + seconds
    done: list[SolvedTask] = []
    for number, task in enumerate(tasks):
        share = max(0.0, end - monotonic()) / (len(tasks) - number)
        done.append(_one(question, task, share))
        report(done[-1])
    return done


def _one(question: Question, task: BudgetTask, share: float) -> SolvedTask:
    if question.progress.stopped:
        return SolvedTask(task, None, STOPPED)
    if share < LEAST_SECONDS:
        return SolvedTask(task, None, NO_TIME)
    try:
        start = task.start if task.start is not None and not verify(task.problem, task.start) else None
        result = solve(
            task.problem,
            question.method,
            solver=question.solver,
            time_limit=share,
            threads=question.threads,
            seed=question.seed,
            start=start,
            progress=Stage(question.progress, task.problem.objective, task.name),
        )
    except VerificationError:
        raise
    except MtppError as error:
        return SolvedTask(task, None, str(error))
    if result.plan is None and result.bound is None and result.infeasibility is None:
        return SolvedTask(task, None, "nothing was found in the time")
    return SolvedTask(task, result)
