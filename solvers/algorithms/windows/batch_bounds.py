"""Bound the makespan of a batch: by paths of one input, and by the work of all inputs."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import BatchSizes, Colocate, Forbid, Pin, PinChunks, Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, one_input
from mtpp_dsl.solvers.algorithms.windows.batch_work import BatchWork, closed, most_work
from mtpp_dsl.solvers.algorithms.windows.climbing import ROUNDING, Search, climb, no_way
from mtpp_dsl.solvers.algorithms.windows.tighten import Tightening, TimeUp

__all__ = ["batch_bound"]


def batch_bound(problem: Problem, name: str, search: Search, limits: Limits, progress: Progress) -> Result:
    """Return the larger of two bounds, or why there is no plan.

    The longest path of one input, every node in its shortest batch (:mod:`mtpp_dsl.core.views.tasks`), and the
    share of the work of all batches, or of those in the middle, that some device must do
    (:mod:`mtpp_dsl.solvers.algorithms.windows.batch_work`).

    Args:
        problem: a batched throughput.
        name: of the method.
        search: for paths, whether targets above the longest one are tried; "none": neither is the work between a head
            and a tail looked at.
        limits: when to stop.
        progress: told of bounds.
    """
    single, instance = one_input(problem), closed(BatchInstance.of(problem))
    impossible = quick(single)
    if impossible is not None:
        return progress.result(name, limits, "infeasible", infeasibility=impossible)

    def stopped() -> bool:
        return progress.stopped or limits.remaining <= 0

    best = Bound(0.0, name, "checked", "mtpp", "no time is negative")
    termination: Termination = "complete"
    head = tail = np.zeros(instance.n)
    try:
        tightening = Tightening(single, 0, progress.say, stopped)
        shortest = instance.time[:, :, 1:].min(axis=2)
        sides = [tightening.side(net, shortest).times for net in (tightening.net, tightening.back)]
        head, tail = (side.min(axis=1) for side in sides)
        if not np.isfinite(head + tail).all():
            return no_way(problem, name, limits, progress)
    except TimeUp:
        termination = "interrupted" if progress.stopped else "time_limit"
    if search == "none":
        head = tail = np.zeros(instance.n)
    work = most_work(instance, head, tail, stopped)
    if work is None:
        return progress.result(name, limits, "infeasible", infeasibility=_no_spread(problem, instance))
    if work.cost > 0:
        best = _by_work(problem, name, work)
        progress.report_bound(best)
    if termination == "complete":
        found = climb(single, name, "", [(0, search)], limits, Progress())
        termination = found.termination
        if found.infeasibility is not None:
            return no_way(problem, name, limits, progress)
        longer = _by_path(found.bound, name)
        if longer is not None and longer.cost > best.cost:
            best = longer
            progress.report_bound(best)
    return progress.result(name, limits, termination, bound=best)


def _by_work(problem: Problem, name: str, work: BatchWork) -> Bound:
    """Return the bound that weights of devices prove, less the possible rounding error of sums."""
    weights = {d.name: y for d, y in zip(problem.devices, work.weights.tolist(), strict=True) if y > 0}
    prices = {d.name: m for d, m in zip(problem.devices, work.prices.tolist(), strict=True) if m > 0}
    data = {"weights": weights, "prices": prices, "head": work.head, "tail": work.tail, "rates": work.rates}
    why = "some device takes its share of the work of all batches"
    if work.head + work.tail > 0:
        why += " that run neither in the first nor in the last part of a schedule"
    if prices:
        why = "some device takes its share of the work of all batches, in spreads that memory has room for"
    cost = work.cost * (1 - ROUNDING * (1 + problem.graph.n / 1e3))
    return Bound(cost, name, "checked", "mtpp", why, Certificate("batches", {"work": data}))


def _no_spread(problem: Problem, instance: BatchInstance) -> Infeasibility:
    """Return, in words, that some node, or colocated ones, cannot have batches that add up to all inputs."""
    group = instance.together
    for c in range(int(group.max(initial=-1)) + 1):
        able = np.isfinite(instance.time[group == c]).all(axis=0)
        reached = np.zeros(instance.chunks + 1, np.bool_)
        reached[0] = True
        for menu in able:
            sums = [reached[: len(reached) - p] for p in np.flatnonzero(menu).tolist()]
            reached = np.logical_or.reduce([np.pad(row, (len(reached) - len(row), 0)) for row in sums])
        if not reached[-1]:
            names = [problem.graph.names[v] for v in np.flatnonzero(group == c).tolist()]
            kinds = (BatchSizes, Colocate, Forbid, Pin, PinChunks, Repeat)
            clash = tuple(dict.fromkeys(str(rule) for rule in problem.constraints if isinstance(rule, kinds)))
            most = "one" if problem.batching.slots == 1 else f"at most {problem.batching.slots}"
            inputs = problem.batching.inputs
            reason = f"no batches of {', '.join(names)}, {most} on each device, add up to {inputs} inputs"
            return Infeasibility(reason, clash)
    raise AssertionError("every class has a spread")


def _by_path(found: Bound | None, name: str) -> Bound | None:
    """Return the bound of the longest path of one input as one of the batch, or None where none was proved."""
    if found is None or found.certificate is None:
        return None
    why = "the longest path of one input, every node in its shortest batch, with the transfers that this takes"
    path = Certificate("batches", {"path": dict(found.certificate.data)})
    return Bound(found.cost, name, "checked", "mtpp", why, path)
