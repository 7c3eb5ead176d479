"""A split as the annealing sees it: classes of nodes, nets between them, all in whole numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.constraints import Separate
from mtpp_dsl.problem import Links, Problem, Shared
from mtpp_dsl.problem.colocation import together
from mtpp_dsl.problem.graph import Bools, Floats, Ints

__all__ = ["BITS", "Instance", "instance_of"]

BITS = 60
"""No load is more than two to this power."""
CLIP = 2.0
"""What takes longer than so many times the cost of a known plan counts as that: no better plan pays it."""


class Instance(NamedTuple):
    """Classes of nodes that are together on devices; times in whole numbers of ``unit``, so that sums never drift.

    A net is a distinct set of classes (pins) that share tensors: a device that pays for tensors and holds some of
    its pins, not all, pays its cost, be it the producer's device or a reader's.

    Attributes:
        unit: of all times.
        time: [n, k] running time of each class on each device; 0 where it may not be.
        allowed: [n, k] whether it may be there.
        nets_at: [n + 1] row pointers into ``net``.
        net: the nets at each class.
        pins_at: [nets + 1] row pointers into ``pin``.
        pin: the classes of each net.
        cost: [nets].
        pays: [k] whether nets cut by the device are part of its load.
        size, room: [n] memory, and [k] its hard limit, in whole numbers of another unit.
        stream, kept: [n] time to stream the parameters, and [k] the part that is not streamed.
        aparts_at: [n + 1] row pointers into ``apart``.
        apart: for each class the sets to be held apart that its nodes are in, once for each node.
        aparts: number of such sets.
    """

    unit: float
    time: Ints
    allowed: Bools
    nets_at: Ints
    net: Ints
    pins_at: Ints
    pin: Ints
    cost: Ints
    pays: Bools
    size: Ints
    room: Ints
    stream: Ints
    kept: Ints
    aparts_at: Ints
    apart: Ints
    aparts: int


def instance_of(problem: Problem, known: float = np.inf) -> Instance:
    """Return the instance of a problem on ``shared`` or ``host``.

    Args:
        problem: what is asked.
        known: the cost of a known plan, more than zero.
    """
    group = together(problem)
    n, k = int(group.max(initial=-1)) + 1, problem.k
    allowed = np.ones((n, k), np.bool_)
    np.logical_and.at(allowed, group, problem.allowed)
    time = np.zeros((n, k))
    np.add.at(time, group, np.where(problem.allowed, problem.time, 0.0))
    nets = _nets(problem, group)
    cost = np.array([weight for _, weight in nets]).reshape(-1)
    stream, kept = _streams(problem, group, n)
    most = CLIP * known
    unit = _unit(np.minimum(time, most), np.minimum(cost, most), np.append(stream, kept))
    size, room = _memory(problem, group, n)
    nets_at, net = _rows(_at(nets, n))
    pins_at, pin = _rows([list(pins) for pins, _ in nets])
    aparts_at, apart, aparts = _aparts(problem, group, n)
    shared = isinstance(problem.interconnect, Shared)
    return Instance(
        unit=unit,
        time=_whole(np.minimum(time, most), unit),
        allowed=allowed,
        nets_at=nets_at,
        net=net,
        pins_at=pins_at,
        pin=pin,
        cost=_whole(np.minimum(cost, most), unit),
        pays=np.array([shared or device.pays_io for device in problem.devices]),
        size=size,
        room=room,
        stream=_whole(stream, unit),
        kept=_whole(kept, unit),
        aparts_at=aparts_at,
        apart=apart,
        aparts=aparts,
    )


def _nets(problem: Problem, group: Ints) -> list[tuple[tuple[int, ...], float]]:
    """Return the distinct sets of two classes or more that share tensors, and what their tensors cost."""
    graph, tensor = problem.graph, problem.tensor_time
    weight: dict[tuple[int, ...], float] = defaultdict(float)
    for u in np.flatnonzero(tensor > 0).tolist():
        pins = {int(group[u]), *group[graph.successors(u)].tolist()}
        if len(pins) > 1:
            weight[tuple(sorted(pins))] += float(tensor[u])
    return sorted(weight.items())


def _streams(problem: Problem, group: Ints, n: int) -> tuple[Floats, Floats]:
    """Return [n] the time to stream each class's parameters, and [k] the time that is never streamed."""
    limit = problem.overflow_limit
    if not np.isfinite(limit).any():
        return np.zeros(n), np.zeros(problem.k)
    link = problem.interconnect
    assert not isinstance(link, Links)
    stream = np.bincount(group, weights=problem.graph.params / link.bandwidth, minlength=n).astype(np.float64)
    return stream, np.minimum(limit / link.bandwidth, 2 * stream.sum())


def _memory(problem: Problem, group: Ints, n: int) -> tuple[Ints, Ints]:
    """Return [n] the size of each class and [k] the limits, with room for rounding; both in one whole unit."""
    size = np.bincount(group, weights=problem.graph.memory, minlength=n).astype(np.float64)
    unit = float(size.sum()) / 2.0**BITS or 1.0
    room = np.minimum(problem.memory_room, 2 * float(size.sum()))
    return _whole(size, unit), _whole(room, unit)


def _unit(time: Floats, cost: Floats, stream: Floats) -> float:
    total = float(time.max(axis=1, initial=0.0).sum() + cost.sum() + stream.sum())
    return total / 2.0**BITS or 1.0


def _whole(values: Floats, unit: float) -> Ints:
    return np.floor(values / unit).astype(np.int64)


def _at(nets: Sequence[tuple[tuple[int, ...], float]], n: int) -> list[list[int]]:
    at: list[list[int]] = [[] for _ in range(n)]
    for e, (pins, _) in enumerate(nets):
        for v in pins:
            at[v].append(e)
    return at


def _aparts(problem: Problem, group: Ints, n: int) -> tuple[Ints, Ints, int]:
    at: list[list[int]] = [[] for _ in range(n)]
    constraints = list(problem.of(Separate))
    for s, constraint in enumerate(constraints):
        for v in dict.fromkeys(constraint.nodes):
            at[group[v]].append(s)
    return *_rows(at), len(constraints)


def _rows(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return row pointers and entries of compressed sparse rows."""
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    entries: Ints = np.array([entry for row in rows for entry in row], dtype=np.int64)
    return start, entries
