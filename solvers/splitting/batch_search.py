"""Large neighbourhoods of batches: spans of time are made anew by CP-SAT, several at once."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.errors import UsageError
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.graph import Bools
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import relative_gap
from mtpp_dsl.solvers.baselines.common import Taker
from mtpp_dsl.solvers.cpsat.batch_request import BatchSolution
from mtpp_dsl.solvers.cpsat.batches import WholeBatches, lower_batches
from mtpp_dsl.solvers.cpsat.engine import Pool
from mtpp_dsl.solvers.cpsat.request import Effort, Reply
from mtpp_dsl.solvers.splitting.batch_line import Line
from mtpp_dsl.solvers.splitting.batch_window import Window

__all__ = ["search_batches"]

WORK = 0.5
"""CP-SAT's own measure of time for one part: the same on every machine, and roughly its seconds on a fast one."""
FIRST, FEWEST = 8.0, 3.0
"""Nodes of a part at first, and at the least."""
GROWN, SHRUNK = 1.1, 0.9
PATIENCE = 100
"""Parts that have not helped, one after another, after which the search ends."""


def search_batches(problem: Problem, plan: Plan, pool: Pool, taker: Taker, limits: Limits, progress: Progress) -> None:
    """Make parts of *plan* anew, reporting what is better to *taker*, until that has not helped for long.

    Each round asks for as many parts of one schedule as there are processes, and takes the best of the answers: how
    fast they come makes no difference. Parts grow as long as they are solved to the end.

    Args:
        problem: a batched throughput.
        plan: to start from.
        pool: the processes.
        taker: checks plans and keeps the best.
        limits: when to stop, and the seed.
        progress: when to stop.
    """
    random = np.random.default_rng(limits.seed)
    whole = lower_batches(problem, plan, strict=True)
    fixed = _held(whole)
    cost, line, failures, wanted = evaluate(problem, plan).cost, Line.of(whole, plan), 0, FIRST
    while failures < PATIENCE and not _closed(limits, progress):
        taker.pause()
        windows = [_window(whole, line, wanted, fixed, random) for _ in range(pool.size)]
        jobs: list[Future[Reply[BatchSolution]]] = []
        for window in windows:
            options = {"max_deterministic_time": WORK, **limits.solver_options}
            effort = Effort(limits.remaining, 1, int(random.integers(2**31)), 0.0, options)
            jobs.append(pool.submit(window.request(line.makespan), effort, stopped=lambda: progress.stopped))
        failures += len(jobs)
        best = cost
        for window, job in zip(windows, jobs, strict=True):
            answer = job.result()
            done = answer.status in ("optimal", "infeasible")
            wanted = min(max(wanted * (GROWN if done else SHRUNK), FEWEST), float(whole.instance.n))
            found = None if answer.solution is None else _plan(window, answer.solution)
            if found is not None and taker.take(found) and evaluate(problem, found).cost <= best:
                best, plan = evaluate(problem, found).cost, found
        if best < cost:
            failures = 0
        cost, line = best, Line.of(whole, plan)


def _held(whole: WholeBatches) -> Bools:
    """Return [n] the nodes that constraints tie to others: they stay where they are."""
    held = np.bincount(whole.instance.together)[whole.instance.together] > 1
    for group in whole.instance.apart:
        held[list(group)] = True
    return np.asarray(held, np.bool_)


def _window(whole: WholeBatches, line: Line, wanted: float, fixed: Bools, random: np.random.Generator) -> Window:
    """Return a window about a random moment with about as many free nodes as wanted."""
    there = line.count > 0
    first = np.where(there, line.start, np.iinfo(np.int64).max).min(axis=1)
    last = np.where(there, line.end, 0).max(axis=1)
    middle = int(random.integers(line.makespan + 1))
    reach = np.maximum(np.abs(first - middle), np.abs(last - middle))
    reach[fixed] = np.iinfo(np.int64).max
    width = int(np.sort(reach)[min(round(wanted), whole.instance.n) - 1])
    width = min(width, line.makespan)
    return Window(whole, line, middle - width, middle + width + 1, fixed)


def _plan(window: Window, solution: BatchSolution) -> Plan | None:
    """Return the plan with a solution put in, or None if exact times leave no such order."""
    try:
        return window.plan(solution)
    except UsageError:
        return None


def _closed(limits: Limits, progress: Progress) -> bool:
    plan, bound = progress.cost, progress.bound
    return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= limits.gap
