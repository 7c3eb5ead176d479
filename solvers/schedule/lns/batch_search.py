"""The search on batches: windows of the best schedule are made anew, several at once, until that has not helped."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem.graph import Bools
from mtpp_dsl.solvers.backends.cpsat.batch_problem import WholeBatches
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchSolution
from mtpp_dsl.solvers.backends.cpsat.engine import Pool
from mtpp_dsl.solvers.backends.cpsat.request import Effort, Reply
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.lns.batch_timeline import BatchTimeline
from mtpp_dsl.solvers.schedule.lns.batch_window import BatchWindow

__all__ = ["search_batches"]

WORK = 0.25
"""CP-SAT's own measure of time for one window; see :mod:`mtpp_dsl.solvers.schedule.lns.sample_search`."""
PATIENCE = 150
"""Windows that have not helped, one after another, after which the search ends."""
FIRST, LEAST, MOST = 6.0, 2.0, 40.0
"""Nodes that are free in a window: at first, at least, at most."""
GROW, SHRINK = 1.1, 0.95
SCATTERED = 0.5
"""How often free nodes are drawn from a window several times as long, and not all of a shorter one."""
WIDER = 3.0


@dataclass
class _Asked:
    window: BatchWindow
    answer: Future[Reply[BatchSolution]] | None


def search_batches(
    whole: WholeBatches, plan: Plan, pool: Pool, incumbent: Incumbent, limits: Limits, progress: Progress
) -> None:
    """Make windows of *plan* anew, and hand what is better to *incumbent*.

    Each round asks for as many windows of one schedule as there are processes, and takes the best of the answers: how
    fast they come makes no difference. Windows grow while CP-SAT settles them, and shrink where it does not.

    Args:
        whole: the problem in whole numbers.
        plan: to start from.
        pool: the processes.
        incumbent: takes the plans.
        limits: when to stop, and the seed.
        progress: when to stop.
    """
    random = np.random.default_rng(limits.seed)
    problem, size, failures = whole.instance.problem, FIRST, 0
    cost = evaluate(problem, plan).cost
    line = BatchTimeline.of(whole, plan)
    while failures < PATIENCE and not incumbent.closed():
        incumbent.pause()
        round_ = [_ask(_window(whole, line, size, random), pool, limits, progress, random) for _ in range(pool.size)]
        best: Plan | None = None
        for asked in round_:
            reply = None if asked.answer is None else asked.answer.result()
            settled = reply is None or reply.status in ("optimal", "infeasible")
            size = min(MOST, max(LEAST, size * (GROW if settled else SHRINK)))
            if asked.window.everything and reply is not None and reply.status == "infeasible":
                return
            for found in [] if reply is None else _plans(whole, asked.window, reply):
                if incumbent.take(found) and evaluate(problem, found).cost < cost:
                    best, cost = found, evaluate(problem, found).cost
        failures = failures + len(round_) if best is None else 0
        if best is not None:
            line = BatchTimeline.of(whole, best)


def _window(whole: WholeBatches, line: BatchTimeline, size: float, random: np.random.Generator) -> BatchWindow:
    """Return a window around some batch: all nodes of a short one may move, or some of a longer one."""
    scattered = bool(random.random() < SCATTERED)
    wanted = size * (WIDER if scattered else 1.0)
    batches = int(line.rank.max(initial=0)) + 1
    middle, reach = int(random.integers(batches)), round(wanted * batches / len(line.rank) / 2)
    first, last = middle - reach, middle + reach
    here = line.there & (line.rank >= first) & (line.rank <= last)
    free: Bools = np.asarray(here.any(axis=1), np.bool_)
    if scattered:
        free &= random.random(len(free)) < 1 / WIDER
    return BatchWindow.of(whole, line, first, last, free)


def _ask(window: BatchWindow, pool: Pool, limits: Limits, progress: Progress, random: np.random.Generator) -> _Asked:
    request = window.request()
    if request is None:
        return _Asked(window, None)
    options = {"max_deterministic_time": WORK, "interleave_search": False, **limits.solver_options}
    effort = Effort(limits.remaining, 1, int(random.integers(2**31)), 0.0, options)
    return _Asked(window, pool.submit(request, effort, stopped=lambda: progress.stopped))


def _plans(whole: WholeBatches, window: BatchWindow, reply: Reply[BatchSolution]) -> list[Plan]:
    """Return the plan with what was found put in, in exact times; none if nothing was found."""
    if reply.solution is None or reply.value is None:
        return []
    return whole.plans(window.schedule(reply.solution, reply.value))
