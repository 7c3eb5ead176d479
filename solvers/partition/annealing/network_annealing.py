"""Annealing of splits on links and trees whose devices need no order."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.homes.of_problem import shipping_of
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping
from mtpp_dsl.solvers.partition.annealing.network_moves import MOVE, Costs, Split
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["anneal_on_network"]

CHUNK = 500
HOT, COLD = 0.1, 1e-4
"""First and last temperature, as shares of the cost of the plan to begin with."""
POWERS = (8.0, 16.0, 32.0)
LARGE = 1e6
"""What is not allowed takes, in the same shares; it is never moved there."""


def anneal_on_network(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Return the best split found by moving one supernode at a time; rounds get longer until some find nothing.

    Args:
        problem: on links or a tree, without an order of the devices.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of the first round, per supernode and device.
    """
    incumbent = Incumbent("annealing", problem, limits, progress)
    incumbent.take_start()
    shipping, of = shipping_of(problem, ordered=False)
    random = np.random.default_rng(limits.seed)
    n, k = shipping.n, shipping.k
    allowed = [np.flatnonzero(np.isfinite(row)) for row in shipping.time]
    if n == 0 or any(not len(row) for row in allowed):
        return incumbent.result()
    first = np.unique(of, return_index=True)[1]
    steps, idle, turn = max(CHUNK, moves * n * k // 10), 0, 0
    while idle < patience and not incumbent.done:
        if incumbent.plan is not None and turn % 2 == 0:
            device = np.array(incumbent.plan.assignment[first])
        else:
            device = np.array([random.choice(row) for row in allowed], np.int64)
        known = incumbent.cost
        scale = known if 0 < known < np.inf else float(shipping.time[np.isfinite(shipping.time)].sum()) or 1.0
        best = _round(_costs(shipping, scale), device, steps, POWERS[turn % len(POWERS)], random, incumbent)
        if best is not None:
            incumbent.take(Plan.create(problem, best[of]))
        idle = 0 if incumbent.cost < known else idle + 1
        turn += 1
        steps += steps // 4
    return incumbent.result()


def _round(
    costs: Costs, device: Ints, steps: int, power: float, random: np.random.Generator, incumbent: Incumbent
) -> Ints | None:
    """Anneal once from *device*; return the best split met within the memories, or None."""
    run = MOVE.pick(steps)
    best, least, done = device.copy(), np.inf, 0
    while done < steps and not incumbent.done:
        temperature = HOT * (COLD / HOT) ** (done / steps)
        split = _split(costs, device)  # anew, so that rounding does not add up
        least = run(random.random((CHUNK, 3)), temperature, power, costs, split, best, least)
        device = split.device
        done += CHUNK
    return best if least < np.inf else None


def _costs(shipping: Shipping, scale: float) -> Costs:
    """Return the costs as shares of *scale*."""
    touched: list[list[int]] = [[] for _ in range(shipping.n)]
    for t, (p, readers) in enumerate(zip(shipping.producer.tolist(), shipping.readers, strict=True)):
        for v in {p, *readers}:
            touched[v].append(t)
    ways = [way for row in shipping.routes for way in row]

    def shares(values: Floats) -> Floats:
        return np.ascontiguousarray(np.minimum(values / scale, LARGE))

    return Costs(
        time=shares(shipping.time),
        memory=shipping.memory,
        room=shipping.room,
        first=np.concatenate([[0], np.cumsum([len(row) for row in touched])]).astype(np.int64),
        tensor=np.array([t for row in touched for t in row], np.int64),
        producer=shipping.producer.astype(np.int64),
        sent=shares(shipping.sent),
        received=shares(shipping.received),
        route=np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64),
        channel=np.array([c for way in ways for c in way], np.int64),
        carried=shares(shipping.carried),
        mode=np.where(shipping.half, 2, 1) if shipping.overlap else np.zeros(shipping.k, np.int64),
        each=int(shipping.each),
    )


def _split(costs: Costs, device: Ints) -> Split:
    """Return a split with its sums."""
    n, k = costs.time.shape
    tensors, channels = len(costs.producer), costs.carried.shape[1]
    count = np.zeros((tensors, k), np.int64)
    for v in range(n):
        for t in costs.tensor[costs.first[v] : costs.first[v + 1]].tolist():
            if costs.producer[t] != v:
                count[t, device[v]] += 1
    out, into, busy = np.zeros(k), np.zeros(k), np.zeros(channels)
    for t in range(tensors):
        d = int(device[costs.producer[t]])
        there = [e for e in np.flatnonzero(count[t]).tolist() if e != d]
        sent = [float(costs.sent[t, d, e]) for e in there]
        out[d] += sum(sent) if costs.each else max(sent, default=0.0)
        passed: list[int] = []
        for e in there:
            into[e] += costs.received[t, d, e]
            passed += costs.channel[costs.route[d * k + e] : costs.route[d * k + e + 1]].tolist()
        for c in passed if costs.each else set(passed):
            busy[c] += costs.carried[t, c]
    return Split(
        device=np.array(device, np.int64),
        readers=count,
        work=np.bincount(device, costs.time[np.arange(n), device], k).astype(np.float64),
        out=out,
        into=into,
        held=np.bincount(device, costs.memory, k).astype(np.float64),
        busy=busy,
        seen=np.zeros(max(1, channels), np.int64),
    )
