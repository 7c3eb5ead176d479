"""Splits along one order of the nodes by their times alone: plans at once, before any code is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from typing import Protocol

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import colocated, strong
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.slicing.orders import orders

__all__ = ["even_split", "linear_split", "lines_of", "orders_of"]

HALVINGS = 40
BARRED = 1e6
"""A node that a device may not take counts there as so many times everything."""


class ShippedSupernodes(Protocol):
    """Supernodes on devices, and the tensors between them."""

    @property
    def n(self) -> int:
        """Number of supernodes."""
        ...

    @property
    def k(self) -> int:
        """Number of devices."""
        ...

    @property
    def time(self) -> Floats:
        """[n, devices] running times; ``inf`` where not allowed."""
        ...

    @property
    def memory(self) -> Floats:
        """[n] what each takes."""
        ...

    @property
    def room(self) -> Floats:
        """[devices] how much fits."""
        ...

    @property
    def before(self) -> tuple[tuple[int, int], ...]:
        """Pairs in order."""
        ...

    @property
    def producer(self) -> Ints:
        """[tensors] who makes each."""
        ...

    @property
    def sent(self) -> Floats:
        """[tensors, devices, devices] what sending takes."""
        ...


def linear_split(time: Floats, memory: Floats, room: Floats, order: Ints, line: Sequence[int]) -> Ints | None:
    """Return [n] devices of a split into stretches of *order*, or None if memories leave none.

    Devices take stretches in the order of *line*: each the longest whose time is at most a target and that fits into
    its memory. The target is the least that leaves nothing over, by halving; what transfers take is not counted.

    Args:
        time: [n, devices] running times; ``inf`` where not allowed.
        memory: [n] what each node takes.
        room: [devices] how much fits.
        order: [n] a topological order.
        line: devices in sequence.
    """
    time = time[order]
    finite = np.where(np.isfinite(time), time, 0.0)
    everything = float(finite.sum()) + 1e-300
    sums = np.cumsum(np.where(np.isfinite(time), time, BARRED * everything), axis=0)
    memory = np.cumsum(memory[order])

    def ends(target: float) -> list[int]:
        stops, at = [], 0
        for d in line:
            before, kept = (sums[at - 1, d], memory[at - 1]) if at else (0.0, 0.0)
            by_time = np.searchsorted(sums[:, d], before + target, side="right")
            at = max(at, int(min(by_time, np.searchsorted(memory, kept + room[d], side="right"))))
            stops.append(at)
            if at == len(order):
                break
        return stops

    low, high = 0.0, everything
    best = ends(high)
    if not best or best[-1] < len(order):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        stops = ends(middle)
        if stops[-1] == len(order):
            best, high = stops, middle
        else:
            low = middle
    device = np.empty(len(order), np.int64)
    begin = 0
    for d, end in zip(line, best, strict=False):
        device[order[begin:end]] = d
        begin = end
    return device


def even_split(problem: Problem) -> Plan | None:
    """Return the best split of one topological order by times alone, over a few orders of the devices, if any fits.

    Colocated nodes are one in that order.
    """
    classes, order = _classes_in_order(problem)
    if len(order) == 0:
        return None
    time, memory, room = np.zeros((len(order), problem.k)), np.zeros(len(order)), problem.memory_room
    np.add.at(time, classes, np.where(problem.allowed, problem.time, np.inf))
    np.add.at(memory, classes, problem.graph.memory)
    best, least = None, np.inf
    for line in _device_orders(time, room):
        device = linear_split(time, memory, room, order, line)
        plan = None if device is None else Plan.create(problem, device[classes], line)
        if plan is not None and not verify(problem, plan):
            cost = evaluate(problem, plan).cost
            if cost < least:
                best, least = plan, cost
    return best


def _classes_in_order(problem: Problem) -> tuple[Ints, Ints]:
    """Return [n] classes of nodes that stay together, and an order of them.

    It is a topological one of the forward part, in which colocated nodes, and those on a cycle through them, are one
    class. Classes of backward nodes alone follow the last class that they give a tensor to: the backward part goes
    through the same order from its end.
    """
    graph = problem.graph
    classes, rank = colocated(problem), np.empty(graph.n, np.int64)
    rank[graph.topological_order] = np.arange(graph.n)
    if classes.max(initial=-1) + 1 == graph.n and not graph.backward.any():
        return classes, graph.topological_order
    forward = ~graph.backward
    inside = forward[graph.tails] & forward[graph.heads]
    classes = strong(classes, graph.tails[inside], graph.heads[inside])
    count = int(classes.max(initial=-1)) + 1
    first = np.full(count, graph.n)
    np.minimum.at(first, classes[forward], rank[forward])
    before: dict[int, set[int]] = {c: set() for c in np.argsort(first, kind="stable").tolist() if first[c] < graph.n}
    for tail, head in zip(classes[graph.tails[inside]].tolist(), classes[graph.heads[inside]].tolist(), strict=True):
        if tail != head:
            before[head].add(tail)
    place = np.full(count, -1)
    for number, c in enumerate(TopologicalSorter(before).static_order()):
        place[c] = number
    alone = first == graph.n
    for v in graph.topological_order[::-1].tolist() if alone.any() else ():
        if alone[classes[v]]:
            place[classes[v]] = max(place[classes[v]], place[classes[graph.successors(v)]].max(initial=-1))
    return classes, np.argsort(np.where(place < 0, count, place), kind="stable")


def _device_orders(time: Floats, memory: Floats) -> Iterable[tuple[int, ...]]:
    """Return the devices as declared, and where they differ by speed and by memory, each both ways."""
    finite = np.isfinite(time)
    speed = np.where(finite, time, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    orders = [np.arange(len(memory))]
    orders += [np.argsort(key, kind="stable") for key in (speed, memory) if len(np.unique(key)) > 1]
    both_ways = [order[::way] for order in orders for way in ((1, -1) if len(orders) > 1 else (1,))]
    return dict.fromkeys(tuple(order.tolist()) for order in both_ways)


def lines_of(shipping: ShippedSupernodes, random: np.random.Generator, many: int) -> Iterator[Ints]:
    """Yield *many* orders of the devices: as declared, the fastest first and last, and random ones."""
    finite = np.isfinite(shipping.time)
    speed = np.where(finite, shipping.time, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    first = (np.arange(shipping.k), np.argsort(speed, kind="stable"), np.argsort(-speed, kind="stable"))
    for i in range(many):
        yield np.asarray(first[i] if i < len(first) else random.permutation(shipping.k), np.int64)


def orders_of(shipping: ShippedSupernodes, seed: int) -> Iterator[Ints]:
    """Yield topological orders of the supernodes without end, good ones first."""
    weight = np.zeros(shipping.n)
    sent = shipping.sent
    np.add.at(weight, shipping.producer, np.where(np.isfinite(sent), sent, 0.0).max(axis=(1, 2), initial=0.0))
    graph = Graph.create([str(v) for v in range(shipping.n)], shipping.before, output=weight)
    return orders(graph, weight, seed)
