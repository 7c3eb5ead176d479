"""Topological orders worth slicing: a few good ones, then random ones without end."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Graph, Ints


@dataclass(frozen=True)
class _Arrows:
    """Successors and predecessors as lists, in one of the two directions."""

    after: list[list[int]]
    before: list[list[int]]

    def mirrored(self) -> _Arrows:
        return _Arrows(self.before, self.after)


def orders(graph: Graph, tensor: Floats, seed: int) -> Iterator[Ints]:
    """Yield [n] topological orders of *graph*; equal arguments give equal orders.

    First the order of the file, depth-first, breadth-first and small-cut, and the last three grown
    from the sinks; then, in turn, Kahn's algorithm with uniform random priorities (archer2024, 4.2)
    and depth-first with random ties, from the sources and from the sinks.

    Args:
        graph: the graph.
        tensor: [n] the weight of a tensor in a cut.
        seed: of the random ones.
    """
    yield graph.topological_order
    forward = _arrows(graph)
    backward = forward.mirrored()
    for grow in (_depth_first, _breadth_first):
        yield _array(grow(forward))
        yield _array(grow(backward)[::-1])
    yield _array(_small_cut(forward, tensor.tolist(), from_sinks=False))
    yield _array(_small_cut(backward, tensor.tolist(), from_sinks=True)[::-1])
    random = np.random.default_rng(seed)
    while True:
        for shuffle in (_by_priority, _depth_first_random):
            yield _array(shuffle(forward, random.random(graph.n).tolist()))
            yield _array(shuffle(backward, random.random(graph.n).tolist())[::-1])


def kahn(graph: Graph, priority: Floats) -> Ints:
    """Return the order in which, among ready nodes, the one of the least *priority* comes first."""
    return _array(_by_priority(_arrows(graph), priority.tolist()))


def _by_priority(arrows: _Arrows, priority: list[float]) -> list[int]:
    return _kahn(arrows, lambda v, _: priority[v])


def _depth_first_random(arrows: _Arrows, noise: list[float]) -> list[int]:
    return _kahn(arrows, lambda v, step: noise[v] - step)


def _depth_first(arrows: _Arrows) -> list[int]:
    return _kahn(arrows, lambda _, step: float(-step))


def _breadth_first(arrows: _Arrows) -> list[int]:
    return _kahn(arrows, lambda _, step: float(step))


def _kahn(arrows: _Arrows, key: Callable[[int, int], float]) -> list[int]:
    """Kahn's algorithm; ``key(v, step)`` is the priority of v, which became ready at *step*; least first."""
    waiting = [len(row) for row in arrows.before]
    ready = [(key(v, 0), v) for v, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        v = heapq.heappop(ready)[1]
        order.append(v)
        for head in arrows.after[v]:
            waiting[head] -= 1
            if waiting[head] == 0:
                heapq.heappush(ready, (key(head, len(order)), head))
    return order


def _small_cut(arrows: _Arrows, tensor: list[float], *, from_sinks: bool) -> list[int]:
    """Take next the ready node that adds least to the weight of the tensors cut behind it.

    A tensor is cut while some of its pins (producer and consumers) are placed and some are not.
    From the sources a tensor opens with its producer; from the sinks, with its first consumer.
    """
    after, before = arrows.after, arrows.before
    waiting = [len(row) for row in before]
    open_pins = [1 + len(row) for row in (before if from_sinks else after)]
    full = list(open_pins)

    def nets(v: int) -> list[int]:
        return [v, *(after[v] if from_sinks else before[v])]

    def change(v: int) -> float:
        total = 0.0
        for u in nets(v):
            if full[u] > 1:
                total += tensor[u] * ((open_pins[u] == full[u]) - (open_pins[u] == 1))
        return total

    value = [change(v) for v in range(len(after))]
    ready = [(value[v], 0, v) for v, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    done = [False] * len(after)
    order: list[int] = []
    while ready:
        known, _, v = heapq.heappop(ready)
        if done[v] or known != value[v]:
            continue
        done[v] = True
        order.append(v)
        touched: set[int] = set()
        for u in nets(v):
            open_pins[u] -= 1
            if open_pins[u] in (1, full[u] - 1):
                touched.update((u, *(before[u] if from_sinks else after[u])))
        for head in after[v]:
            waiting[head] -= 1
            touched.add(head)
        for w in touched:
            if not done[w]:
                value[w] = change(w)
                if waiting[w] == 0:
                    heapq.heappush(ready, (value[w], -len(order), w))
    return order


def _arrows(graph: Graph) -> _Arrows:
    after: list[list[int]] = [[] for _ in range(graph.n)]
    before: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        after[u].append(v)
        before[v].append(u)
    return _Arrows(after, before)


def _array(order: list[int]) -> Ints:
    return np.array(order, dtype=np.int64)
