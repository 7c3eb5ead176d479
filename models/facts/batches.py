"""Derive what is true of the times in every batched schedule, and which batches such a schedule can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.constraints import PinChunks, Separate
from mtpp_dsl.core.problem.batching import Batching
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.core.views.lanes import Lanes
from mtpp_dsl.models.facts.clashes import ClashItems
from mtpp_dsl.models.facts.graph_facts import reach
from mtpp_dsl.models.facts.times import ABOVE, LinkTimes, carries, heads_of, tails_of
from mtpp_dsl.models.facts.user_rows import PASSED

__all__ = ["BatchTimes", "batch_horizon", "batch_items", "batch_times", "copied", "pinned", "slots_in_time"]


@dataclass(frozen=True, eq=False)
class BatchTimes:
    """Times of the batches of a problem, in the unit of a model.

    Attributes:
        times: of the least batch of every node on every device, and of the least that edges carry.
        takes: [n, k, chunks + 1] of every batch; ``inf`` where it is in no schedule of interest, 0 for none.
        growing: [m, k, k] what every further chunk adds to a transfer.
    """

    times: LinkTimes
    takes: Floats
    growing: Floats

    def menu(self, v: int, d: int) -> list[int]:
        """Return the sizes, in chunks, of the batches that node *v* may have on device *d*."""
        sizes: list[int] = (np.flatnonzero(np.isfinite(self.takes[v, d, 1:])) + 1).tolist()
        return sizes

    @property
    def least_work(self) -> Floats:
        """[n] what the batches of a node take together at least; ``inf`` of one that may be nowhere."""
        count = self.takes.shape[2] - 1
        rate = (self.takes[:, :, 1:] / np.arange(1, count + 1)).min(axis=(1, 2)) * count
        least: Floats = np.maximum(rate, self.takes[:, :, 1:].min(axis=(1, 2)))
        return least


def batch_times(problem: Problem, view: Hypergraph, most: float, unit: float) -> BatchTimes:
    """Return the times of *problem*, of schedules no longer than *most*, divided by *unit*.

    Heads and tails are as :func:`mtpp_dsl.models.facts.times.times_of` has them, of the least batches: whatever path a
    chunk takes, it meets batches that take no less. A batch for which both are too long together is in no such
    schedule, which leaves longer heads and tails to others.

    Args:
        problem: the throughput of a batch.
        view: its classes, of which all nodes have batches of the same chunks.
        most: in the problem's unit.
        unit: of the model.
    """
    batching, graph = problem.batching, problem.graph
    takes = np.where(view.allowed[view.of][:, :, None], batching.time, np.inf) / unit
    takes[:, :, 0] = 0.0
    takes[~fitting(problem, view)[view.of]] = np.inf
    inputs = batching.chunk if batching.per_input else 1
    carry = carries(problem, view.of, inputs) / unit
    most = most * ABOVE / unit
    before = -1
    while (left := np.isfinite(takes).sum()) != before:
        before = left
        takes[~view.every(np.isfinite(takes))[view.of]] = np.inf
        least = takes[:, :, 1:].min(axis=2)
        head, tail = heads_of(graph, least, carry), tails_of(graph, least, carry)
        late = (head + tail)[:, :, None] + takes > most
        takes[:, :, 1:][late[:, :, 1:]] = np.inf
    apart = np.isfinite(least)
    times = LinkTimes(most, least, carry, np.where(apart, head, np.inf), np.where(apart, tail, np.inf))
    return BatchTimes(times, takes, _growing(problem) / unit)


def fitting(problem: Problem, view: Hypergraph) -> Bools:
    """Return [classes, k, chunks + 1] whether a device holds a batch of a class by itself, as plans are checked."""
    need = class_memory(problem.batching, view)
    fits: Bools = need[:, None, :] <= (problem.memory_limit * (1 + PASSED))[None, :, None]
    fits[:, :, 0] = True
    return fits


def class_memory(batching: Batching, view: Hypergraph) -> Floats:
    """Return [classes, chunks + 1] what a batch of so many chunks takes (ghannane2023, 3.7); 0 for none."""
    need = view.total(batching.weights)[:, None] + view.total(batching.share)[:, None] * np.arange(batching.count + 1)
    need[:, 0] = 0.0
    return need


def _growing(problem: Problem) -> Floats:
    transfers, batching = problem.transfers, problem.batching
    if not batching.per_input:
        return np.zeros((problem.graph.m, problem.k, problem.k))
    sent = transfers.size[:, None, None] * transfers.inverse + transfers.table[transfers.row]
    return np.where(np.isfinite(sent), sent, 0.0) * batching.chunk * (1.0 - np.eye(problem.k))


def batch_horizon(problem: Problem, *, free: bool = True) -> float:
    """Return what the least makespan is not above, if there is a schedule at all.

    Everything in one batch each on one device that may have it; else all batches one after the other, as many of each
    node as there can be, and each at its longest, with a transfer at its longest behind it. In the earliest schedule of
    a choice of batches and orders every start is the length of a path through different batches, which leaves each of
    them by at most one transfer. That holds of any choice of batches, also of one that rows of somebody's own make,
    where it is not *free*.
    """
    batching, graph = problem.batching, problem.graph
    takes = np.where(problem.allowed[:, :, None], batching.time, np.inf)
    batches = min(problem.k, batching.count)
    longest_batch = np.where(np.isfinite(takes), takes, 0.0).max(axis=2)
    carry = carries(problem, np.arange(graph.n), batching.inputs if batching.per_input else 1)
    sent = np.zeros(graph.n)
    np.maximum.at(sent, graph.tails, np.where(np.isfinite(carry), carry, 0.0).max(axis=(1, 2), initial=0.0))
    total = float(np.sort(longest_batch, axis=1)[:, -batches:].sum() + batches * sent.sum())
    whole = takes[:, :, batching.count].sum(axis=0)
    whole[(batching.weights + batching.share * batching.count).sum() > problem.memory_limit] = np.inf
    free &= not any(len(set(apart.nodes)) > 1 for apart in problem.of(Separate)) and not any(problem.of(PinChunks))
    return min(total, float(whole.min()) if free else np.inf) * (1 + 1e-9)


def batch_items(batches: BatchTimes, graph: Graph, lanes: Lanes) -> ClashItems:
    """Return the batches on their devices, that of v in lane d as number ``v * k + d``.

    Those that take no time need no order. With one chunk precedence orders batches; with more, two of a node and
    of one that reads its output may be in either order on a device where they share no chunk.
    """
    times = batches.times
    n, k = times.time.shape
    positive = np.where(batches.takes[:, :, 1:] > 0, batches.takes[:, :, 1:], np.inf).min(axis=2)
    machines = lanes.problem.k
    length = np.full((n, k, machines), np.inf)
    length[:, range(k), lanes.machine] = positive
    after = np.zeros((n * k, n * k), np.bool_)
    if batches.takes.shape[2] == 2:
        paths = reach(n, list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)))
        after = np.kron(paths, np.ones((k, k), np.bool_))
    for v in range(n) if lanes.slots > 1 else ():
        for d in range(machines):
            if slots_in_time(batches, v, lanes.of(d)):
                here = [v * k + lane for lane in lanes.of(d)]
                after[np.ix_(here, here)] |= np.triu(np.ones((lanes.slots, lanes.slots), np.bool_), 1)
    head, tail = times.head.ravel(), times.tail.ravel()
    everywhere = np.ones(machines)
    return ClashItems(
        head[:, None] * everywhere,
        length.reshape(n * k, machines),
        tail[:, None] * everywhere,
        head,
        times.most - tail,
        after,
    )


def slots_in_time(batches: BatchTimes, v: int, lanes: Iterable[int]) -> bool:
    """Return whether the batches of node *v* in the lanes of a device can be numbered by time, one behind the other.

    So they can unless some take no time, which may run beside others.
    """
    return not any((batches.takes[v, lane, 1:] == 0).any() for lane in lanes)


def copied(graph: Graph, times: LinkTimes, copies: int) -> tuple[Graph, LinkTimes]:
    """Return as many copies of *graph* as there are chunks, side by side, and their times.

    Node v of copy c is number ``c * n + v``, edge e is ``c * m + e``.
    """
    names = [f"{name} {c}" for c in range(copies) for name in graph.names]
    first = np.arange(copies)[:, None] * graph.n
    edges = zip((first + graph.tails).ravel().tolist(), (first + graph.heads).ravel().tolist(), strict=True)

    def repeated(values: Floats) -> Floats:
        return np.tile(values, (copies,) + (1,) * (values.ndim - 1))

    return Graph.create(names, edges), LinkTimes(
        times.most, repeated(times.time), repeated(times.carry), repeated(times.head), repeated(times.tail)
    )


def pinned(problem: Problem) -> Ints:
    """Return [n, chunks] where chunks have to run; -1 where that is free, -2 where they have to run in two places."""
    pins = np.full((problem.graph.n, problem.batching.count), -1)
    for pin in problem.of(PinChunks):
        for v in pin.nodes:
            clash = (pins[v] != -1) & (pins[v] != pin.places)
            pins[v] = np.where(clash, -2, pin.places)
    return pins
