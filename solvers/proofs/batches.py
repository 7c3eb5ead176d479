"""Certificates ``batches``: what the batches of all inputs, or those of one, take at least."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, inf
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Constraint,
    Forbid,
    Memory,
    Pin,
    PinChunks,
    Repeat,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes, colocation_class, number, numbers_by_device
from mtpp_dsl.solvers.proofs.windows import Windows

ROUNDING = 1e-12
MAX_PRICE = 1e200
"""Beyond it prices might add up to no number."""
KNOWN = (BatchSizes, BreakSymmetry, Colocate, Forbid, Memory, Pin, PinChunks, Repeat, Separate)


class BatchProof:
    """The share of a device, or the windows of one input.

    ``{"work": {"weights": {device: y}, "prices": {device: m}, "head": h, "tail": t, "rates": false}}``: of nodes whose
    batches all start at h at the earliest and end t before the end, by longest paths of single inputs, the least sums
    of ``y * time + m * memory`` over all spreads of their inputs are together no more than y times what lies between
    and m times the memory of all devices. With ``rates``, every input counts at its least in any batch.
    ``{"path": windows}``: no schedule of one input alone, in the shortest batches, is as short as a certificate
    ``windows`` says.
    """

    name = "batches"
    summary = "a device's share of the work of all batches, or the windows of one input in its shortest batches"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the bound; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        refuse_unknown(problem)
        path, work = data.get("path"), data.get("work")
        if isinstance(path, Mapping):
            return Windows().prove(_sample(problem), path, limits)
        if not isinstance(work, Mapping):
            raise Refused("the certificate has neither a path nor work")
        return _work(problem, work, limits)


def refuse_unknown(problem: Problem) -> None:
    """Refuse what is not about the throughput of a batch, and constraints whose meaning for one is not known.

    Raises:
        Refused: it is about something else, or has another constraint.
    """
    if problem.objective.batch is None:
        raise Refused("certificates of batches are about the throughput of a batch")
    other = next((c for c in problem.constraints if not isinstance(c, KNOWN)), None)
    if other is not None:
        raise Refused(f"what 'constraint {other.keyword}' means for a batch is not known")


def _open(problem: Problem) -> Floats:
    """Return [n, k, chunks + 1] what batches take; ``inf`` where sizes, ``pin`` or ``forbid`` keep them away."""
    time = np.array(problem.batching.time)
    for d in range(problem.k):
        barred = barred_nodes(problem, d)
        for pin in problem.of(PinChunks):
            barred.update(pin.nodes if d not in pin.places else ())
        time[sorted(barred), d, 1:] = inf
    return time


def times_of_chunks(problem: Problem) -> Floats:
    """Return [n, k, chunks + 1] what so many chunks take at least, in as many batches as a device may run of a node."""
    time = _open(problem)
    count = time.shape[2] - 1
    takes_all = np.array(time)
    for d in range(problem.k):
        rules = [rule for rule in problem.of(Repeat) if rule.devices is None or d in rule.devices]
        most = min(rules[-1].most, count) if rules else 1
        for v in range(problem.graph.n) if most > 1 else ():
            menu = [(p, float(time[v, d, p])) for p in range(1, count + 1) if time[v, d, p] < inf]
            level = {0: 0.0}  # chunks done, in so many batches or fewer, and their least time
            for _ in range(most):
                level = dict(level)
                for done, spent in sorted(level.items(), reverse=True):
                    for p, takes in menu:
                        if done + p <= count and spent + takes < level.get(done + p, inf):
                            level[done + p] = spent + takes
            takes_all[v, d, 1:] = [level.get(p, inf) for p in range(1, count + 1)]
    return takes_all


def transfers_of_one_chunk(problem: Problem, e: int) -> Floats:
    """Return [k, k] what an edge takes for one chunk at least."""
    inputs = problem.batching.chunk if problem.batching.per_input else 1
    return np.array([[problem.transfers.scaled(e, d, f, inputs) for f in range(problem.k)] for d in range(problem.k)])


def _sample(problem: Problem) -> Problem:
    """Return the makespan of one input: each node in its shortest batch, with the transfers of one chunk."""
    graph, batching = problem.graph, problem.batching
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    rules: list[Constraint] = [c for c in problem.constraints if isinstance(c, (Colocate, Memory, Separate))]
    time = _open(problem)[:, :, 1:].min(axis=2)
    for pin in problem.of(PinChunks):  # the one input is that of the first chunk
        time[np.ix_(pin.nodes, [d for d in range(problem.k) if d != pin.places[0]])] = inf
    sample = Graph.create(
        graph.names,
        edges,
        memory=[float(batching.weights[v] + batching.share[v]) for v in range(graph.n)],
        times={device.name: time[:, d] for d, device in enumerate(problem.devices)},
    )
    if list(zip(sample.tails.tolist(), sample.heads.tolist(), strict=True)) != edges:
        raise AssertionError("edges are numbered alike")
    carries = np.array([transfers_of_one_chunk(problem, e) for e in range(graph.m)]).reshape(
        graph.m, problem.k, problem.k
    )
    devices = [Device(device.name, memory=device.memory, reserve=device.reserve) for device in problem.devices]
    links = Links(np.ones((problem.k, problem.k)), np.zeros((problem.k, problem.k)), carries)
    return Problem.create(sample, devices, links, Objective("makespan"), rules)


def memory_limits(problem: Problem) -> Floats:
    """Return [k] the memory that plans may take; ``inf`` without a limit."""
    rooms = np.full(problem.k, inf)
    for rule in problem.of(Memory):
        for d in range(problem.k) if rule.devices is None else rule.devices:
            memory = problem.devices[d].memory
            if memory is not None:
                rooms[d] = problem.devices[d].room * (1 + TOLERANCE * (1 + 1e-6))
    return rooms


def _work(problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
    weights, prices = (numbers_by_device(problem, data, key) for key in ("weights", "prices"))
    if weights.max(initial=0.0) == 0:
        raise Refused("the certificate gives no device a weight")
    scale, batching = float(weights.max()), problem.batching
    memory = float(batching.weights.sum() * problem.k + batching.share.sum() * batching.count)
    if max(prices.tolist()) > MAX_PRICE * min(scale, scale / max(memory, 1.0)):
        raise Refused("the prices of the certificate are too large")
    weights, prices = weights / scale, prices / scale
    head, tail = number(data, "head"), number(data, "tail")
    time = times_of_chunks(problem)
    home = colocation_class(problem)
    inside = np.ones(problem.graph.n, np.bool_)
    if head > 0 or tail > 0:
        starts, ends = (earliest(problem, time, home, forth, limits).min(axis=1) for forth in (True, False))
        inside = (starts >= head) & (ends >= tail)
    least = []
    counts = np.arange(1, batching.count + 1)
    for g in sorted(set(home)):
        members = [v for v in range(problem.graph.n) if home[v] == g]
        if all(inside[v] for v in members):
            takes = time[members, :, 1:].sum(axis=0)
            cost = weights[:, None] * np.where(np.isfinite(takes), takes, 0.0)
            needs = batching.weights[members].sum() + batching.share[members].sum() * counts
            cost = np.where(np.isfinite(takes), cost + prices[:, None] * needs, inf)
            least.append(_cheapest(cost, rates=data.get("rates") is True))
        if limits.remaining <= 0:
            raise UsageError("the time was not enough to check the certificate")
    if not least:
        raise Refused("no node runs between the head and the tail of the certificate")
    if (prices[np.isinf(memory_limits(problem))] > 0).any():
        raise Refused("the certificate has a price for memory that is not limited")
    off = ROUNDING * (1 + problem.graph.n / 1e3)
    paid = fsum(float(m * room) for m, room in zip(prices, memory_limits(problem), strict=True) if m > 0)
    total, every = fsum(least), fsum(weights)
    return head + tail + (total - paid) / every - off * (head + tail + (total + paid) / every)


def earliest(problem: Problem, time: Floats, home: list[int], forth: bool, limits: Limits) -> Floats:
    """Return [n, k] when a batch of a node can start at the earliest on each device, by longest paths of one input.

    Not *forth*, how long before the end it ends. It is ``inf`` where a device runs no batch of the node.

    Args:
        problem: the throughput of a batch.
        time: what so many chunks take, see :func:`times_of_chunks`.
        home: the class of colocated nodes of each node.
        forth: whether paths lead to the node.
        limits: of time.

    Raises:
        UsageError: the time was not enough.
    """
    graph = problem.graph
    shortest = time[:, :, 1:].min(axis=2)
    first = np.zeros(shortest.shape)
    order = graph.topological_order if forth else graph.topological_order[::-1]
    for u in order.tolist():
        if limits.remaining <= 0:
            raise UsageError("the time was not enough to check the certificate")
        edges = graph.by_head[graph.offsets_in[u] : graph.offsets_in[u + 1]].tolist()
        for e in edges if forth else range(int(graph.offsets[u]), int(graph.offsets[u + 1])):
            other = int(graph.tails[e] if forth else graph.heads[e])
            carries = transfers_of_one_chunk(problem, e).T if forth else transfers_of_one_chunk(problem, e)
            if home[u] == home[other]:
                carries = np.where(np.eye(problem.k, dtype=np.bool_), 0.0, inf)
            first[u] = np.maximum(first[u], (first[other] + shortest[other] + carries).min(axis=1))
    least: Floats = np.where(np.isfinite(shortest), first, inf)
    return least


def _cheapest(cost: Floats, *, rates: bool) -> float:
    """Return the least cost of batches, [k, chunks] by size, one for each device, that are all chunks together."""
    most = cost.shape[1]
    menus = [[(p + 1, float(row[p])) for p in range(most) if row[p] < inf] for row in cost]
    if rates:
        return float(min((value / p for menu in menus for p, value in menu), default=inf) * most)
    best = {most: 0.0}
    for menu in menus:
        fresh = dict(best)
        for left, spent in best.items():
            for p, value in menu:
                if p <= left and spent + value < fresh.get(left - p, inf):
                    fresh[left - p] = spent + value
        best = fresh
    return best.get(0, inf)
