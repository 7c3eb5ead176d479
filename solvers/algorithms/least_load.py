"""Bound by the least load of some device, with or without an order of the devices."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Forbid, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

NAME = "simple"
ROUNDING = 1e-12


def least_load(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound ``simple`` on a bottleneck, or a sum of them; or the node that no device may take."""
    impossible = nowhere(problem, limits, progress)
    if impossible is not None:
        return impossible
    cost, why, data = simple_bound(problem)
    bound = Bound(
        cost,
        method=NAME,
        proof="checked",
        by="mtpp",
        detail=f"archer2024, Lemma 3.3: {why}",
        certificate=Certificate("shares", data) if data and not any(problem.of(Replicate)) else None,
    )
    progress.report_bound(bound)
    return progress.result(NAME, limits, "complete", bound=bound)


def nowhere(problem: Problem, limits: Limits, progress: Progress) -> Result | None:
    """Return that there is no plan, as some node may be on no device, or None."""
    lost = np.flatnonzero(~problem.allowed.any(axis=1))
    if not lost.size:
        return None
    name = problem.graph.names[lost[0]]
    clash = tuple(str(c) for c in problem.constraints if isinstance(c, (Pin, Forbid)) and lost[0] in c.nodes)
    return progress.result(
        NAME, limits, "infeasible", infeasibility=Infeasibility(f"no device may take node {name!r}", clash)
    )


def simple_bound(problem: Problem) -> tuple[float, str, dict[str, Any]]:
    """Return a number that no plan's bottleneck is below, why, and the data of a certificate ``shares``.

    Every node runs somewhere, so one load is at least the node's time on its fastest device. And if
    all loads are at most T then, for any weights ``p >= 0`` of the devices that may take a node at all, the sum
    over nodes of ``min_d p_d * time[v, d]`` is at most ``sum_d p_d * load_d <= T * sum_d p_d``. Equal weights give the
    paper's ``total / k``; speeds give the total work over the total speed. The largest of the three counts; sums
    are lowered by a relative 1e-12 for their rounding. Where times differ between devices, the linear programme of
    unrelated machines counts as well, with the pairs closed that are too long
    (:mod:`mtpp_dsl.solvers.algorithms.least_load`).

    Where parameters are streamed, a node's own beyond what a device keeps count with its time, and those of all nodes
    beyond what all devices keep count with the least p, as each is streamed somewhere.

    Where a stage may run on r devices, the first is divided by r; the other two hold as they are, since each of those
    devices takes its share of the time of a node. Streams are not counted there.

    Every node must be allowed on some device.
    """
    allowed = problem.allowed
    time = np.where(allowed, problem.time, 0.0)
    fastest = np.where(allowed, time, inf).min(axis=1)
    alone, streams = _streams(problem)
    alone = np.where(allowed, time / _copies(problem) + alone, inf).min(axis=1)
    best, why, data = 0.0, "no work at all", dict[str, Any]()
    if alone.max(initial=0.0) > 0:
        v = int(alone.argmax())
        best, why = float(alone[v]), f"node {problem.graph.names[v]!r} has to run somewhere"
        data = {"node": problem.graph.names[v]}
    useful = allowed.any(axis=0)
    speeds = _speeds(time, np.where(allowed, fastest[:, None], 0.0))
    for weights, what in (
        (np.where(useful, 1.0, 0.0), "an equal share"),
        (np.where(useful, speeds, 0.0), "a share by its speed"),
    ):
        if weights.sum() > 0:
            least = np.where(allowed, time * weights, inf).min(axis=1).sum()
            share = float((least + streams * weights.min()) / weights.sum()) * (1 - ROUNDING)
            if share > best:
                best, why = share, f"some device takes {what} of the work"
                names = [device.name for device in problem.devices]
                data = {"shares": {name: p for name, p in zip(names, weights.tolist(), strict=True) if p > 0}}
    if problem.is_split and not any(c.enlarges for c in problem.constraints):
        value, shares, closed = closed_shares(problem)
        if value > best * (1 + ROUNDING):
            best, data = value, {"shares": shares, **({"closed": closed} if np.isfinite(closed) else {})}
            why = "some device takes a share of the work"
            if np.isfinite(closed):
                why += ", with no node where it alone would take longer than this"
    return best, why, data


def _streams(problem: Problem) -> tuple[Floats, float]:
    """Return [n, devices] how long the parameters of each node alone are streamed for, and those of all nodes.

    Sums may be rounded in other ways elsewhere: a relative 1e-12 of what is compared is taken off.
    """
    limit, params = problem.overflow_limit, problem.graph.params
    if isinstance(problem.interconnect, (Links, Tree)) or np.isinf(limit).all() or any(problem.of(Replicate)):
        return np.zeros((problem.graph.n, problem.k)), 0.0
    kept = np.where(np.isinf(limit), 0.0, np.abs(limit) * ROUNDING) + limit
    alone = np.maximum(params[:, None] * (1 - ROUNDING) - kept, 0.0)
    together = max(float(params.sum()) * (1 - ROUNDING) - float(kept.sum()), 0.0)
    return alone / problem.channel.bandwidth, together / problem.channel.bandwidth


def _copies(problem: Problem) -> Floats:
    """Return [k] on how many devices at most the stage of each may run."""
    return np.array([1.0 if rule is None else float(rule.most) for rule in problem.replicate])


def _speeds(time: Floats, fastest: Floats) -> Floats:
    """Return [k] a typical speed of every device: the fastest times of the nodes it may take over its own."""
    own = time.sum(axis=0)
    return np.where(own > 0, fastest.sum(axis=0) / np.where(own > 0, own, 1.0), 1.0)


# The share of the work that some device has, where no node is on a device on which it alone takes too long.

TUNINGS = 20
POLISH = 80
"""Steps of the weights for each deadline that is tried, and for the best one."""
MAX_ENTRIES = 2_000_000
"""Nodes times types of device; beyond it, equal shares and those by speed are all that is looked at."""


def closed_shares(problem: Problem) -> tuple[float, dict[str, float], float]:
    """Return a number that no plan's bottleneck is below, the weights of the devices behind it, and a deadline T.

    Formula: ``min(T, max over p >= 0 of sum_v min { p_d time[v,d] : time[v,d] < T } / sum_d p_d)``. A plan with a
    bottleneck below T has no node on a device on which it alone takes T, so the weighted work of the others counts. The
    inner maximum is the dual of R||Cmax with the pairs closed that are longer than T (Lenstra, Shmoys, Tardos 1990). It
    grows and T falls from one distinct time to the next: the best T is found by bisection, and p by multiplicative
    steps, of which any gives a bound.

    Returns:
        The bound, lowered by a relative 1e-12 for rounding; p by name; T. The bound is 0.0 where devices take the same
        times, so that equal shares are as good, and where there are too many pairs.
    """
    time = np.where(problem.allowed, problem.time, np.inf)
    columns, kind, count = np.unique(time, axis=1, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    if columns.shape[1] < 2 or columns.size > MAX_ENTRIES or not columns.size:
        return 0.0, {}, np.inf
    deadlines = np.append(np.unique(columns[np.isfinite(columns) & (columns > 0)]), np.inf)
    weights = np.ones(columns.shape[1])
    best, chosen, until = 0.0, weights, np.inf
    low, high = 0, len(deadlines) - 1
    while low <= high:
        middle = (low + high) // 2
        share, weights = _tuned(columns, count, float(deadlines[middle]), weights, TUNINGS)
        value = min(float(deadlines[middle]), share)
        if value > best:
            best, chosen, until = value, weights, float(deadlines[middle])
        if share < deadlines[middle]:
            high = middle - 1
        else:
            low = middle + 1
    for deadline in sorted({until, *deadlines[low - 1 : low + 1].tolist()}):
        share, weights = _tuned(columns, count, deadline, chosen, POLISH)
        if min(deadline, share) > best:
            best, chosen, until = min(deadline, share), weights, deadline
    names = [device.name for device in problem.devices]
    shares = {name: float(chosen[c]) for name, c in zip(names, kind.tolist(), strict=True) if chosen[c] > 0}
    return best * (1 - ROUNDING), shares, until


def _tuned(time: Floats, count: Ints, deadline: float, weights: Floats, steps: int) -> tuple[float, Floats]:
    """Return the largest weighted share found with the pairs closed that take *deadline* or longer, and its weights.

    Args:
        time: [n, types].
        count: [types] devices of each.
        deadline: of single nodes.
        weights: [types] to begin with.
        steps: of the weights.
    """
    left = np.where(time < deadline, time, np.inf)
    if not np.isfinite(left).any(axis=1).all():
        return np.inf, weights
    useful = np.isfinite(left).any(axis=0)
    y = np.where(useful, np.maximum(weights, 1e-9 * weights.max()), 0.0)
    best, chosen = 0.0, y
    rows = np.arange(len(left))
    for step in range(steps):
        with np.errstate(invalid="ignore"):
            cost = np.where(np.isfinite(left), left * y, np.inf)
        pick = cost.argmin(axis=1)
        share = float(cost[rows, pick].sum() / (y * count).sum())
        if share > best:
            best, chosen = share, y
        load = np.bincount(pick, weights=left[rows, pick], minlength=len(y)) / count
        if load.max(initial=0.0) <= 0:
            break
        y = np.where(useful, y * np.exp((load / load.max() - 1.0) / (1.0 + 0.3 * step)), 0.0)
        y = y / y.max()
    return best, chosen
