"""The search: parts of the best schedule are made anew, several at once, until that has not helped for long."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.solvers.backends.cpsat.engine import Pool
from mtpp_dsl.solvers.backends.cpsat.request import Answer, Effort
from mtpp_dsl.solvers.backends.cpsat.sample_problem import Whole, timetable
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.lns.choice import Choice, Chooser
from mtpp_dsl.solvers.schedule.lns.sample_timeline import Timeline

__all__ = ["search"]

WORK = 0.25
"""CP-SAT's own measure of time for one part: the same on every machine, and roughly its seconds on a fast one."""
SIDEWAYS = 0.4
"""How often another schedule that is as short is looked for, and taken."""
PATIENCE = 150
"""Parts that have not helped, one after another, after which the search ends."""


@dataclass
class _Asked:
    choice: Choice
    sideways: bool
    answer: Future[Answer] | None


def search(whole: Whole, plan: Plan, pool: Pool, incumbent: Incumbent, limits: Limits, progress: Progress) -> bool:
    """Make parts of *plan* anew, and hand what is better to *incumbent*; return whether nothing better exists.

    Each round asks for as many parts of one schedule as there are processes, and takes the best of the answers: how
    fast they come makes no difference.

    Args:
        whole: the problem in whole numbers.
        plan: to start from.
        pool: the processes.
        incumbent: takes the plans.
        limits: when to stop, and the seed.
        progress: when to stop.
    """
    random = np.random.default_rng(limits.seed)
    chooser = Chooser(whole, random)
    line, cost, failures = Timeline.of(whole, plan), evaluate(whole.instance.problem, plan).cost, 0
    while failures < PATIENCE and not incumbent.closed():
        incumbent.pause()
        round_ = [_ask(chooser.choose(line), line, pool, limits, progress, random) for _ in range(pool.size)]
        best: Plan | None = None
        for asked in round_:
            answer = Answer("infeasible", None, 0, None) if asked.answer is None else asked.answer.result()
            if asked.choice.everything and answer.status == "infeasible" and not asked.sideways:
                return True
            found = _plan(whole, asked.choice, answer, incumbent)
            asked.choice.kind.learn(answer.status, found is not None and _cost(whole, found) < cost)
            if found is not None and _cost(whole, found) <= (cost if best is None else _cost(whole, best)):
                best = found
        failures += len(round_)
        if best is not None:
            failures = 0 if _cost(whole, best) < cost else failures
            line, cost = Timeline.of(whole, best), _cost(whole, best)
    return False


def _ask(
    choice: Choice, line: Timeline, pool: Pool, limits: Limits, progress: Progress, random: np.random.Generator
) -> _Asked:
    """Ask for a part that makes the schedule shorter, or sometimes for another that makes it no longer."""
    sideways = bool(random.random() < SIDEWAYS) and not choice.everything
    asked = choice.window.request(line.makespan - (not sideways), hint=False)
    if asked.at_least > asked.cutoff:
        return _Asked(choice, sideways, None)
    options = {"max_deterministic_time": WORK, **limits.solver_options}
    effort = Effort(limits.remaining, 1, int(random.integers(2**31)), 0.0, options)
    return _Asked(choice, sideways, pool.submit(asked, effort, stopped=lambda: progress.stopped))


def _plan(whole: Whole, choice: Choice, answer: Answer, incumbent: Incumbent) -> Plan | None:
    """Return the plan with what was found put in, in exact times; None if nothing was found."""
    if answer.solution is None or answer.value is None:
        return None
    plan = timetable(whole.instance, whole.request, choice.window.schedule(answer.solution, answer.value))
    return plan if incumbent.take(plan) else None


def _cost(whole: Whole, plan: Plan) -> float:
    return evaluate(whole.instance.problem, plan).cost
