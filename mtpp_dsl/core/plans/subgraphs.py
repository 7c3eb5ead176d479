"""The latency of one sample by subgraphs that run in one go (tarnawski2020, section 4, as its published code counts).

A device that pays for tensors runs contiguous subgraphs, one after another. One starts when all that it reads is in
memory; then it reads each of these tensors once, runs its nodes, and writes each tensor that is read elsewhere once;
nothing of it is there before its end. What passes between two subgraphs of one device is written and read as well.
A device with ``io = free`` is a pool of processors without end: a node on it starts as soon as all it reads is
there, beside any others, and pays nothing. Several such devices are one pool, except that each has its own times and
memory. Orders of the forward and the backward part of a training graph are not defined, in the published code either.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.constraints import BatchSizes, Contiguous, Subgraphs
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Links, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def paying(problem: Problem) -> Bools:
    """Return [devices] which of them pay for tensors, and so run subgraphs."""
    shared = isinstance(problem.interconnect, Shared)
    return np.array([shared or device.pays_io for device in problem.devices], np.bool_)


def undefined(problem: Problem) -> str | None:
    """Return why the latency of *problem* by subgraphs is not defined, or None."""
    if not problem.timed or isinstance(problem.interconnect, Links):
        asked = f"{problem.objective.quantity} on {problem.interconnect.keyword}"
        return f"the latency by subgraphs is a makespan on host or shared, not a {asked}"
    if problem.objective.batch is not None:
        return f"the latency is that of one sample, not of a batch of {problem.objective.batch}"
    if problem.hierarchical:
        return "the latency by subgraphs knows one bandwidth, not another between groups of devices"
    if np.isfinite(problem.overflow_limit).any():
        return (
            "the latency by subgraphs has no streamed parameters; say 'constraint memory' in place of overflow = stream"
        )
    if problem.graph.backward.any():
        return (
            "the graph has a backward part: the latency by subgraphs is that of inference, and the published code "
            "refuses backward nodes, too"
        )
    pays = paying(problem)
    for constraint in problem.constraints:
        if constraint.enlarges or isinstance(constraint, BatchSizes):
            return f"constraint {constraint} says nothing of the latency of one sample"
        if isinstance(constraint, (Contiguous, Subgraphs)) and not pays[list(constraint.devices or ())].all():
            return f"constraint {constraint} names a device with io = free, which runs single nodes, not subgraphs"
    most = most_subgraphs(problem)
    endless = next((d for d in range(problem.k) if pays[d] and most[d] == 0), None)
    if endless is not None:
        return (
            f"nothing says how many subgraphs {problem.devices[endless].name} may run: say 'constraint contiguous' for "
            "one on each device, or 'constraint subgraphs at most 2'"
        )
    return None


def unclear(name: str, problem: Problem) -> str | None:
    """Return why the latency by subgraphs is not defined, or which constraints method *name* cannot keep, or None."""
    reason = undefined(problem)
    convex = next(iter(problem.of(Contiguous)), None)
    several = next((rule for rule in problem.of(Subgraphs) if rule.most > 1), None)
    if reason is not None or convex is None or several is None:
        return reason
    return (
        f"{name} does not keep several subgraphs convex together: say constraint {several} or constraint {convex}, "
        "not both"
    )


def most_subgraphs(problem: Problem) -> Ints:
    """Return [devices] how many subgraphs each may run; 0 for those with ``io = free``, and where nothing says it.

    ``constraint contiguous`` alone allows one.
    """
    pays = paying(problem)
    most = np.zeros(problem.k, np.int64)
    for rule in problem.of(Subgraphs):
        for d in range(problem.k) if rule.devices is None else rule.devices:
            most[d] = min(rule.most, most[d]) if most[d] else rule.most
    for convex in problem.of(Contiguous):
        for d in range(problem.k) if convex.devices is None else convex.devices:
            most[d] = most[d] or 1
    return np.where(pays, most, 0)


def traffic(problem: Problem, assignment: Ints, piece: Ints) -> tuple[Ints, Floats, Floats]:
    """Return [n] the number of the subgraph of each node, and [subgraphs] what each takes to read and to write.

    Nodes on devices with ``io = free`` are each by themselves, and take nothing.
    """
    graph = problem.graph
    pays = paying(problem)[assignment]
    key = np.where(pays, assignment * (graph.n + 1) + piece, -1 - np.arange(graph.n))
    home = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    count = int(home.max(initial=-1)) + 1
    free = np.zeros(count, np.bool_)
    free[home] = ~pays
    crossing = home[graph.tails] != home[graph.heads]
    producers, readers = graph.tails[crossing], home[graph.heads[crossing]]
    pairs = np.unique(producers * count + readers) if count else np.zeros(0, np.int64)  # each tensor and reader once
    reads = np.bincount(pairs % max(count, 1), weights=problem.tensor_time[pairs // max(count, 1)], minlength=count)
    written = np.unique(producers)
    writes = np.bincount(home[written], weights=problem.tensor_time[written], minlength=count)
    return home, np.where(free, 0.0, reads), np.where(free, 0.0, writes)


def scheduled(problem: Problem, assignment: ArrayLike, piece: ArrayLike) -> Plan:
    """Return the plan in which every subgraph and every node on a device with ``io = free`` starts as early as it can.

    No schedule of these subgraphs, in this order on each device, is shorter.

    Args:
        problem: of which :func:`undefined` says nothing.
        assignment: [n] device of every node.
        piece: [n] number of its subgraph on that device, in the order in which they run; of no meaning where
            ``io = free``.

    Raises:
        UsageError: subgraphs that wait for each other, or a node where it cannot run.
    """
    graph = problem.graph
    device, number = np.asarray(assignment, np.int64), np.asarray(piece, np.int64)
    takes = problem.time[np.arange(graph.n), device]
    if not np.isfinite(takes).all():
        raise UsageError("no schedule: a node is where it cannot run")
    number = np.where(paying(problem)[device], number, 0)
    home, reads, writes = traffic(problem, device, number)
    start, end = np.zeros(graph.n), np.zeros(graph.n)
    members = _members(graph.topological_order, home, len(reads))
    ready, last = np.zeros(len(reads)), np.zeros(len(reads))
    after = _after(problem, device, number, home, len(reads))
    for block in _order(after):
        at = ready[block] + reads[block]
        for v in members[block]:
            start[v], at = at, at + takes[v]
            end[v] = at
        last[block] = at + writes[block]
        for other in after[block]:
            ready[other] = max(ready[other], last[block])
    return Plan.create(problem, device, schedule=Schedule.create(graph, start, end, piece=number))


def _members(order: Ints, home: Ints, count: int) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(count)]
    for v in order.tolist():
        members[home[v]].append(v)
    return members


def _after(problem: Problem, device: Ints, piece: Ints, home: Ints, count: int) -> list[list[int]]:
    """Return which subgraphs wait for each: those that read its tensors, and the next on its device."""
    graph = problem.graph
    after: list[set[int]] = [set() for _ in range(count)]
    for a, b in zip(home[graph.tails].tolist(), home[graph.heads].tolist(), strict=True):
        if a != b:
            after[a].add(b)
    pays = paying(problem)
    for d in np.flatnonzero(pays).tolist():
        on = np.flatnonzero(device == d)
        in_order = [int(home[on[piece[on] == p][0]]) for p in np.unique(piece[on])]
        for a, b in pairwise(in_order):
            after[a].add(b)
    return [sorted(others) for others in after]


def _order(after: Sequence[Sequence[int]]) -> list[int]:
    """Return all subgraphs in an order in which none waits for a later one."""
    waiting = [0] * len(after)
    for others in after:
        for b in others:
            waiting[b] += 1
    order = [a for a, count in enumerate(waiting) if not count]
    for a in order:
        for b in after[a]:
            waiting[b] -= 1
            if not waiting[b]:
                order.append(b)
    if len(order) < len(after):
        raise UsageError("no schedule: subgraphs wait for each other")
    return order
