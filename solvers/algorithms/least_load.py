"""The combinatorial lower bound on a bottleneck (archer2024, Lemma 3.3), for devices that may differ."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Forbid, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.closed_shares import closed_shares

__all__ = ["least_load", "nowhere", "simple_bound"]

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
    (:mod:`mtpp_dsl.solvers.algorithms.closed_shares`).

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
