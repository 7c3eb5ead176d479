"""A plan of batches from what a solver decided: where chunks run, and in which order; the times are exact."""

from __future__ import annotations

import heapq
from itertools import product

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.batches import timed
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem


def batch_plan(problem: Problem, where: Ints, middle: Floats, *, barrier: bool = False, slots: int = 1) -> Plan:
    """Return the plan in which batches are as early as an order allows: least *middle* first, as far as chunks let it.

    Without batches, where there are no such times: the solver has used its tolerances, and whoever verifies the plan
    will see it.

    Args:
        problem: the throughput of a batch.
        where: [n, chunks] devices, or lanes.
        middle: [n, devices * slots] of the batches' times, in any unit.
        barrier: whether batches wait for all batches of what their nodes read.
        slots: lanes of a device.
    """
    try:
        order = _order(problem, where, middle, barrier)
        batches = timed(problem, where, order, slots=slots, barrier=barrier)
    except UsageError:
        return Plan.create(problem, where[:, 0] // slots)
    return Plan.of_batches(batches)


def _order(problem: Problem, where: Ints, middle: Floats, barrier: bool) -> Floats:
    """Return [n, devices] numbers of batches, those that need others behind these."""
    graph, k = problem.graph, middle.shape[1]
    needs: list[set[int]] = [set() for _ in range(graph.n * k)]
    feeds: list[set[int]] = [set() for _ in range(graph.n * k)]
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        pairs = product(where[u].tolist(), where[v].tolist()) if barrier else zip(where[u], where[v], strict=True)
        for d, f in {(int(d), int(f)) for d, f in pairs}:
            needs[v * k + f].add(u * k + d)
            feeds[u * k + d].add(v * k + f)
    items = {v * k + d for v, row in enumerate(where.tolist()) for d in row}
    waiting = {i: len(needs[i]) for i in items}
    key = middle.ravel()
    ready = [(float(key[i]), i) for i in items if not waiting[i]]
    heapq.heapify(ready)
    number = np.full(graph.n * k, np.nan)
    for place in range(len(items)):
        _, i = heapq.heappop(ready)
        number[i] = place
        for j in feeds[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, (float(key[j]), j))
    return number.reshape(graph.n, k)


def chunk_classes(pins: Ints) -> list[list[int]]:
    """Return the chunks that nothing tells apart, given [n, chunks] where they are pinned."""
    alike: dict[bytes, list[int]] = {}
    for c in range(pins.shape[1]):
        alike.setdefault(pins[:, c].tobytes(), []).append(c)
    return list(alike.values())


def sorted_chunks(where: Ints, classes: list[list[int]], node: int) -> Ints:
    """Return [n, chunks] *where* with the chunks of each class in the order of their devices at *node*."""
    to = np.arange(where.shape[1])
    for chunks in classes:
        to[chunks] = sorted(chunks, key=lambda c: int(where[node, c]))
    again: Ints = where[:, to]
    return again
