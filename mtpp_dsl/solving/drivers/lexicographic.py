"""Several objectives in the order of their importance: each is optimised over the plans that those before it leave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol

import numpy as np

from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import Refused, SolverError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import LogEntry, Reached, Result, Termination, Turn
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.checkpoint import Whole
from mtpp_dsl.solving.drivers.rows import keeping, worded
from mtpp_dsl.solving.drivers.stage import Stage

SHARE = 0.5
"""Of the time left, what an objective may take while others wait for their turn."""
NEEDLESS = 1e-7
"""By which share of its best cost an objective may be worse without being optimised once more."""


class SolveOnce(Protocol):
    """Solves a problem of one objective, with all else that the user has asked for."""

    def __call__(
        self,
        problem: Problem,
        time_limit: float | None,
        start: Plan | None,
        progress: Progress,
        whole: Whole | None = None,
    ) -> Result:
        """Return the result; *whole* makes what a checkpoint holds of an answer to *problem*."""
        ...


def stages(problem: Problem) -> list[Problem]:
    """Return the problem of each objective, under rows on those before it that hardly any plan breaks.

    They are what a method is asked about before anything is solved.

    Raises:
        UsageError: no row can speak of an objective that others come after.
    """
    rows: list[Linear] = []
    problems = []
    for number, objective in enumerate(problem.objectives):
        problems.append(problem.asking(objective, [*problem.constraints, *rows]))
        if number < len(problem.later):
            rows.append(keeping(problem, objective, _far(problem, objective)))
    return problems


def _far(problem: Problem, objective: Objective) -> float:
    """Return a cost as large as that of a poor plan, about."""
    time = float(np.where(np.isfinite(problem.time), problem.time, 0.0).max(axis=1, initial=0.0).sum())
    terms, constant = objective.cost_terms
    return abs(constant) + max((abs(a) for _, a in terms), default=1.0) * (time or 1.0)


@dataclass
class _Run:
    """One call: what is known so far.

    Attributes:
        rows, words: what holds the next objective to those before it.
        reached: of every objective.
        last: the result of the objective that had its turn last.
    """

    problem: Problem
    solve: SolveOnce
    progress: Progress
    end: float | None
    rows: list[Linear] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    log: tuple[LogEntry, ...] = ()
    turns: tuple[Turn, ...] = ()
    times: dict[str, float] = field(default_factory=dict)
    ended: list[Termination] = field(default_factory=list)
    last: Result = field(default_factory=lambda: Result("complete"))

    def __post_init__(self) -> None:
        self.reached = [Reached(objective) for objective in self.problem.objectives]

    @property
    def left(self) -> float | None:
        """The seconds that are left; None without a limit."""
        return None if self.end is None else max(0.0, self.end - monotonic())

    def turn(self, number: int, start: Plan | None) -> None:
        """Optimise one objective under the rows on those before it, and keep what comes of it.

        It may take half of the time left, where others wait, and the rest too where it has found no plan by then.
        """
        objective = self.problem.objectives[number]
        asked = self.problem.asking(objective, [*self.problem.constraints, *self.rows])
        heading = f"{objective.shown} ({number + 1} of {len(self.reached)})"
        running = lambda result: (self.problem, self.whole(number, replace(result, termination="running")))  # noqa: E731
        waiting = number < len(self.problem.later)
        for share in (SHARE, 1.0) if waiting else (1.0,):
            stage = Stage(self.progress, objective, heading, self._adopt)
            limit = None if self.left is None else share * self.left
            result = self.solve(asked, limit, start, stage, running)
            without = result.plan is None and result.infeasibility is None and result.termination == "time_limit"
            if not without or self.progress.stopped or not self.left:
                break
        whole = self.whole(number, result)
        self.last = result
        self.reached = list(whole.objectives) or self.reached
        self.log = self.log or result.log
        self.turns += result.turns
        self.ended.append(result.termination)
        self.times = {name: self.times.get(name, 0.0) + seconds for name, seconds in result.time.items()}
        self.notes += [f"{objective.shown}: {note}" for note in result.notes]
        if result.cost is not None and number < len(self.problem.later):
            self._hold(number, result.cost)

    def recover(self, number: int, plan: Plan) -> Plan:
        """Optimise an objective again where later ones used up its tolerance, with all others held at what they cost.

        Return the better plan, or *plan* where none is found in the time left.
        """
        objective, before = self.problem.objectives[number], evaluate(self.problem, plan).costs
        best = self.reached[number].best
        if best is None or before[number] <= best + NEEDLESS * max(abs(best), 1e-300) or self.left == 0:
            return plan
        others = [
            keeping(self.problem, other, cost)
            for other, cost in zip(self.problem.objectives, before, strict=True)
            if other is not objective
        ]
        asked = self.problem.asking(objective, [*self.problem.constraints, *others])
        stage = Stage(self.progress, objective, f"{objective.shown} again, with the other objectives held")
        recovered = self.solve(asked, self.left, plan, stage)
        if recovered.plan is None or recovered.cost is None or recovered.cost >= before[number]:
            return plan
        was, now = (self.problem.valued(cost, objective) for cost in (before[number], recovered.cost))
        self.notes.append(f"{objective.shown} was {was} after the last objective, and {now} with all others as good")
        return recovered.plan

    def _hold(self, number: int, cost: float) -> None:
        """Hold later objectives to what one has reached."""
        objective = self.problem.objectives[number]
        most = objective.allowed_cost(cost)
        self.rows.append(keeping(self.problem, objective, most))
        self.words.append(worded(self.problem, objective, most))
        if not self.reached[number].proved:
            self.notes.append(
                f"{objective.shown} is not proved to be the best: the bounds of later objectives hold for plans with "
                f"{self.words[-1]}"
            )

    def _adopt(self, plan: Plan) -> None:
        """Let whoever watches the whole run see the plan of the objective whose turn it is."""
        cost = evaluate(self.problem, plan).cost
        self.progress.adopt(plan, cost, self.reached[0].bound)

    def whole(self, number: int, result: Result) -> Result:
        """Return the answer for all objectives where *found* is that of objective *number*."""
        if result.infeasibility is not None:
            return result
        reached = list(self.reached)
        reached[number] = replace(
            reached[number],
            best=result.cost,
            bound=result.bound,
            gap=result.gap,
            under=" and ".join(self.words[:number]),
        )
        evaluation = None if result.plan is None else evaluate(self.problem, result.plan)
        if evaluation is not None:
            reached = [replace(one, cost=cost) for one, cost in zip(reached, evaluation.costs, strict=True)]
        return replace(
            result,
            evaluation=evaluation,
            bound=reached[0].bound,
            objectives=tuple(reached),
            log=self.log or result.log,
            turns=self.turns + result.turns,
        )

    def result(self) -> Result:
        """Return the answer after the last turn."""
        if self.last.infeasibility is not None:
            return self.last
        plan, reached = self.last.plan, self.reached
        if plan is not None and self.problem.later and not self.progress.stopped and "error" not in self.ended:
            for number in range(len(self.problem.later)):
                plan = self.recover(number, plan)
            costs = evaluate(self.problem, plan).costs
            reached = [replace(one, cost=cost) for one, cost in zip(reached, costs, strict=True)]
        ended: tuple[Termination, ...] = ("interrupted", "error", "time_limit", "limit", "complete")
        return replace(
            self.last,
            plan=plan,
            termination=next((why for why in ended if why in self.ended), "gap"),
            evaluation=None if plan is None else evaluate(self.problem, plan),
            bound=self.reached[0].bound,
            objectives=tuple(reached),
            notes=tuple(dict.fromkeys(self.notes)),
            log=self.log,
            turns=self.turns,
            time=self.times,
        )


def solve_in_order(
    problem: Problem, solve: SolveOnce, progress: Progress, time_limit: float | None, start: Plan | None
) -> Result:
    """Optimise the objectives of *problem* one after the other; return the last plan, with a bound for each of them.

    Each is optimised over the plans that keep those before it within their tolerance of the best that was found. While
    others wait it may take half of the time left, and the rest too if it finds no plan in that. In the end, if time is
    left, each one whose tolerance was used is optimised again with all others held at what they cost: so no tolerance
    is used needlessly. What each is proved for is in
    :class:`~mtpp_dsl.core.plans.result.Reached`. A method that fails after the first objective leaves the later ones as
    they are, with a note.

    Args:
        problem: of several objectives.
        solve: solves one.
        progress: of the whole run.
        time_limit: seconds for all of them, None for no limit.
        start: a plan to start from.
    """
    run = _Run(problem, solve, progress, None if time_limit is None else monotonic() + time_limit)
    for number, objective in enumerate(problem.objectives):
        if progress.stopped and number:
            run.ended.append("interrupted")
            run.notes.append(f"{objective.shown} had no turn: the run was stopped")
            continue
        try:
            run.turn(number, start)
        except (Refused, SolverError) as error:
            if not number:
                raise
            run.ended.append("error")
            run.notes.append(f"{objective.shown} was not optimised: {error}")
            break
        start = run.last.plan
        if start is None:
            break
    return run.result()
