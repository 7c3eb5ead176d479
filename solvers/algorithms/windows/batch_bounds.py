"""Bound the makespan of a batch of samples, by windows and by the work of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import BatchSizes, Colocate, Forbid, Pin, PinChunks, Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, one_input
from mtpp_dsl.solvers.algorithms.windows.climbing import ROUNDING, Search, climb, no_way
from mtpp_dsl.solvers.algorithms.windows.tighten import Tightening, TimeUp

__all__ = ["batch_bound", "closed"]


def batch_bound(problem: Problem, name: str, search: Search, limits: Limits, progress: Progress) -> Result:
    """Return the larger of two bounds, or why there is no plan.

    The longest path of one input, every node in its shortest batch (:mod:`mtpp_dsl.core.views.tasks`), and the
    share of the work of all batches, or of those in the middle, that some device must do
    (:mod:`mtpp_dsl.solvers.algorithms.windows.batch_bounds`).

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
        result = climb(single, name, "", [(0, search)], limits, Progress())
        termination = result.termination
        if result.infeasibility is not None:
            return no_way(problem, name, limits, progress)
        longer = _by_path(result.bound, name)
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


def _by_path(bound: Bound | None, name: str) -> Bound | None:
    """Return the bound of the longest path of one input as one of the batch, or None where none was proved."""
    if bound is None or bound.certificate is None:
        return None
    why = "the longest path of one input, every node in its shortest batch, with the transfers that this takes"
    path = Certificate("batches", {"path": dict(bound.certificate.data)})
    return Bound(bound.cost, name, "checked", "mtpp", why, path)


# Bound the weighted work that devices have to do for a batch, over all splits of its inputs.

TUNINGS = 60
PRICINGS = 120
"""Tries of prices of memory."""
LEAST_ROOM = 1e-9
"""Of what a node needs at most: a device that holds less is priced as if it held that."""
MAX_CELLS = 2e7
"""Steps of one look at all spreads, beyond which the least time per input counts instead."""
MAX_HEADS = 200
SAFE = 1e-12
"""Relative: heads and tails are taken to be so much less, so that other code, rounding otherwise, finds them."""


def closed(instance: BatchInstance) -> BatchInstance:
    """Return *instance* with the least time of so many chunks in any batches in place of that of one batch.

    Formula: ``c(v,d,n)`` is the least ``sum_i time(v,d,p_i)`` over all ``p_1 + p_2 + … = n`` of at most as many
    summands as ``constraint repeat`` lets device d run batches of a node; without it, ``time`` itself. Source: Potts &
    Kovalyov (2000); the table of single batches is no bound where several are cheaper.
    """
    if instance.batching.slots == 1:
        return instance
    time = np.array(instance.time)
    for d, most in enumerate(instance.batching.repeat):
        single, best = instance.time[:, d], instance.time[:, d].copy()
        for _ in range(min(most, instance.chunks) - 1):
            further = best.copy()
            for p in range(1, instance.chunks + 1):
                if np.isfinite(single[:, p]).any():
                    added = best[:, : instance.chunks + 1 - p] + single[:, p, None]
                    further[:, p:] = np.minimum(further[:, p:], added)
            if (further == best).all():
                break
            best = further
        time[:, d] = best
    return replace(instance, time=frozen(time, np.float64))


@dataclass(frozen=True, eq=False)
class BatchWork:
    """Weights of devices, and the nodes whose work they weigh.

    Attributes:
        cost: the lower bound on the makespan.
        weights: [k] of the devices.
        head, tail: the nodes counted are those whose batches start at *head* at the earliest, and end at least *tail*
            before the makespan.
        rates: whether the least time per chunk was used in place of the best split.
        prices: [k] of memory, in time.
    """

    cost: float
    weights: Floats
    head: float
    tail: float
    rates: bool
    prices: Floats


def most_work(
    instance: BatchInstance, head: Floats, tail: Floats, stopped: Callable[[], bool] = lambda: False
) -> BatchWork | None:
    """Return the largest bound by work that is found; None if a node has no split of its inputs at all.

    For weights y >= 0 of devices, no makespan is below ``head + tail + sum over v of min over splits p of
    sum over d of y[d] time[v, d, p[d]] / sum of y``, summed over nodes of which every batch runs between *head* and
    *tail* before the end, since no device runs for longer than that interval. Colocated nodes have one split.
    The weights of devices with more than their share of the work grow; any weights give a bound.

    Where the best splits take more memory than there is, memory has prices m >= 0: the memory of a split counts with
    its time, and the memory of all devices, m times their limits, is subtracted from the sum (Lagrange).

    Args:
        instance: the problem.
        head: [n] before which no batch of a node starts.
        tail: [n] how long before the makespan each batch ends at least.
        stopped: returns whether to stop tuning.
    """
    group = instance.together
    cost = _class_times(instance)
    many = cost.size * max(1, int(np.isfinite(cost[:, :, 1:]).any(axis=0).sum(axis=1).max(initial=0)))
    rates = many > MAX_CELLS
    weigh = _by_rate if rates else _by_spread
    least = weigh(cost, np.ones(instance.k))[0]
    if not np.isfinite(least).all():
        return None
    first, last = np.full((2, len(cost)), inf)
    np.minimum.at(first, group, head * (1 - SAFE))
    np.minimum.at(last, group, tail * (1 - SAFE))
    everything = np.ones(len(cost), np.bool_)
    none = np.zeros(instance.k)
    value, y = _tuned(cost, weigh, stopped)
    best = BatchWork(value, y, 0.0, 0.0, rates, none)
    least = weigh(cost, y)[0]
    after, before = _window(least / y.sum(), first, last)
    inside = (first >= after) & (last >= before)
    if inside.any() and not (inside == everything).all() and not stopped():
        value, y = _tuned(cost[inside], weigh, stopped)
        if value + after + before > best.cost:
            best = BatchWork(value + after + before, y, after, before, rates, none)
    elif after + before > 0 and inside.all() and value + after + before > best.cost:
        best = BatchWork(value + after + before, y, after, before, rates, none)
    if np.isfinite(instance.limit).any() and not stopped():
        priced = _priced(instance, cost, weigh, best.weights, stopped)
        if priced is not None and priced[0] > best.cost:
            best = BatchWork(priced[0], priced[1], 0.0, 0.0, rates, priced[2])
    return best


def _priced(
    instance: BatchInstance,
    cost: Floats,
    weigh: Callable[[Floats, Floats], tuple[Floats, Floats, Ints]],
    y: Floats,
    stopped: Callable[[], bool],
) -> tuple[float, Floats, Floats] | None:
    """Return the largest bound with prices of memory, the weights and the prices; None if memory does not bind."""
    k = instance.k
    weights = instance.supernodes.total(instance.batching.weights)
    share = instance.supernodes.total(instance.batching.share)
    chunks = np.arange(instance.chunks + 1)
    need = np.where(chunks > 0, weights[:, None] + share[:, None] * chunks, 0.0)[:, None, :]
    hard = np.isfinite(instance.limit)
    limit = np.where(hard, instance.limit * (1 + TOLERANCE * (1 + 1e-6)), 0.0)
    prices, best = np.zeros(k), None
    y = y / y.sum()
    known, serial = 0.0, 2 * float(np.where(np.isfinite(cost), cost, 0.0).max(axis=2).sum())
    for trial in range(PRICINGS):
        with np.errstate(invalid="ignore"):
            total = np.where(np.isfinite(cost), y[:, None] * cost + prices[:, None] * need, inf)
        least, _, sizes = weigh(total, np.ones(k))
        work, paid = float(least.sum()), float((prices * limit).sum())
        value = work - paid - SAFE * (1 + len(cost) / 1e3) * (work + paid)
        if value > known and trial > 0:
            known, best = value, (value, y, prices)
        if known > serial:  # no shares of spreads fit: prices would grow without end
            break
        load = np.take_along_axis(np.where(np.isfinite(cost), cost, 0.0), sizes[:, :, None], axis=2)[:, :, 0].sum(
            axis=0
        )
        used = np.where(sizes > 0, weights[:, None] + share[:, None] * sizes, 0.0).sum(axis=0)
        if trial == 0 and (used <= limit)[hard].all():
            return None
        pace = 1.0 / (1.0 + 0.1 * trial)
        room = np.where(hard, np.maximum(limit, LEAST_ROOM * need.max()), 1.0)
        unit = max(work, 1e-300) / room
        prices = np.where(hard, np.maximum(0.0, prices + 0.3 * pace * unit * (used - limit) / room), 0.0)
        y = y * np.exp(pace * (load / max(load.max(), 1e-300) - 1.0))
        prices, y = prices / y.sum(), y / y.sum()
        if stopped():
            break
    return best


def _class_times(instance: BatchInstance) -> Floats:
    """Return [classes, k, chunks + 1] the time of the batches of all nodes of a colocation class together."""
    return instance.supernodes.total(instance.time)


def _tuned(
    cost: Floats, weigh: Callable[[Floats, Floats], tuple[Floats, Floats, Ints]], stopped: Callable[[], bool]
) -> tuple[float, Floats]:
    """Return the largest weighted share of the work found, and the weights behind it."""
    y = np.ones(cost.shape[1])
    best, chosen = 0.0, y
    for trial in range(TUNINGS):
        least, load, _ = weigh(cost, y)
        share = float(least.sum() / y.sum())
        if share > best:
            best, chosen = share, y
        if load.max(initial=0.0) == 0 or (trial > 0 and stopped()):
            break
        y = y * np.exp((load / load.max() - 1.0) / (1.0 + 0.3 * trial))
        y = y / y.max()
    return best, chosen


def _by_spread(cost: Floats, y: Floats) -> tuple[Floats, Floats, Ints]:
    """Return [classes] the least weighted time of a split, [k] the devices' work with it, [classes, k] the splits."""
    classes, k, most = cost.shape
    best = np.full((classes, most), inf)
    best[:, 0] = 0.0
    taken = np.zeros((k, classes, most), np.int64)
    for d in range(k):
        fresh = best.copy()
        for p in range(1, most):
            if np.isfinite(cost[:, d, p]).any():
                weighted = np.where(np.isfinite(cost[:, d, p]), y[d] * cost[:, d, p], inf)
                value = best[:, : most - p] + weighted[:, None]
                better = value < fresh[:, p:]
                fresh[:, p:] = np.where(better, value, fresh[:, p:])
                taken[d, :, p:] = np.where(better, p, taken[d, :, p:])
        best = fresh
    left = np.full(classes, most - 1)
    load, sizes = np.zeros(k), np.zeros((classes, k), np.int64)
    rows = np.arange(classes)
    able = np.isfinite(best[:, -1])
    for d in range(k - 1, -1, -1):
        size: Ints = taken[d, rows, left]
        load[d] = cost[rows[able], d, size[able]].sum()
        sizes[:, d] = size
        left = left - size
    return best[:, -1], load, sizes


def _by_rate(cost: Floats, y: Floats) -> tuple[Floats, Floats, Ints]:
    """Return as :func:`_by_spread` a lower bound: every chunk runs at the least weighted time per chunk.

    All chunks are on the device of that time, as if it could run them at once.
    """
    classes, k, most = cost.shape
    if most == 1 or not classes:
        return np.zeros(classes), np.zeros(k), np.zeros((classes, k), np.int64)
    finite = np.isfinite(cost[:, :, 1:])
    per = np.where(finite, cost[:, :, 1:], 0.0) / np.arange(1, most)
    rate = np.where(finite, per * y[:, None], inf).reshape(classes, -1)
    pick = rate.argmin(axis=1)
    own = per.reshape(classes, -1)[np.arange(classes), pick] * (most - 1)
    load: Floats = np.bincount(pick // (most - 1), weights=own, minlength=k).astype(np.float64)
    sizes = np.zeros((classes, k), np.int64)
    sizes[np.arange(classes), pick // (most - 1)] = most - 1
    return rate.min(axis=1) * (most - 1), load, sizes


def _window(least: Floats, first: Floats, last: Floats) -> tuple[float, float]:
    """Return the head and the tail between which the work of classes gives the largest bound."""
    best, chosen = 0.0, (0.0, 0.0)
    heads = np.unique(first)
    heads = heads[np.unique(np.linspace(0, len(heads) - 1, MAX_HEADS).astype(np.int64))] if len(heads) else heads
    for after in heads.tolist():
        inside = np.flatnonzero(first >= after)
        order = inside[np.argsort(-last[inside], kind="stable")]
        total = after + last[order] + np.cumsum(least[order])
        i = int(total.argmax())
        if total[i] > best:
            best, chosen = float(total[i]), (after, float(last[order[i]]))
    return chosen
