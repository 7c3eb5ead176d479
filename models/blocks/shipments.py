"""State what tensors take of devices and of channels, on links and on a tree of switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.devices import Tree
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.facts.shipments import ShippedTensor, private, subtree


@dataclass
class Taken:
    """What is sent, received and carried, as expressions in the model's unit.

    Attributes:
        sends, receives: by device.
        channels: by channel, of those that a device's own load does not cover.
        shipped: what all shipments take, latencies too; 0 unless it is asked for.
    """

    sends: list[Any]
    receives: list[Any]
    channels: dict[int, Any] = field(default_factory=dict)
    shipped: Any = 0.0


def shipments(
    model: Any, problem: Problem, on: On, tensors: Sequence[ShippedTensor], unit: float, *, latency: bool = False
) -> Taken:
    """Add what devices pay for tensors on a network, and what channels carry.

    Source -> target: links, and a tree with ``send = each`` -> ``w[u,d,e]``, the share of tensor u that goes from d to
    e; a tree with ``send = once`` -> ``c[u,x]``, whether u leaves or enters what is below x.
    Exact while nothing but the objective, or a row, pushes loads: they are then pushed down.
    """
    part = model.shipments = pyo.Block(concrete=True)
    part.w, part.c, part.s, part.z = (pyo.VarList(domain=pyo.NonNegativeReals) for _ in range(4))
    part.rows = pyo.ConstraintList()
    by_subtrees = isinstance(problem.interconnect, Tree) and problem.network.send == "once"
    taken = Taken([0.0] * problem.k, [0.0] * problem.k)
    for tensor in tensors:
        ships = None
        if latency or not by_subtrees:
            ships = _ship(part, problem, on, tensor)
        if latency:
            assert ships is not None
            taken.shipped += _total(problem, tensor, ships, unit)
        if by_subtrees:
            _cut(part, problem, on, tensor, unit, taken)
        else:
            assert ships is not None
            _pay(part, problem, tensor, ships, unit, taken)
    if by_subtrees:
        _forbid(part, problem, on, tensors)
    return taken


_Ships = list[dict[tuple[int, int], Any]]
"""For every level of a tensor's size, the share of it that goes from one device to another."""


def _ship(part: Any, problem: Problem, on: On, tensor: ShippedTensor) -> _Ships:
    """Add where a tensor goes.

    Formula: ``w[d,e] <= on(p,d)``; ``sum_{d != e} w[d,e] + on(p,e) >= on(v,e)`` for every reader v. A pair that nothing
    joins has no w, so that the second row holds no plan with both ends there.
    """
    rate, k = problem.network.rate, problem.k
    ships: _Ships = []
    for readers in tensor.readers:
        w: dict[tuple[int, int], Any] = {}
        for d in range(k):
            for e in range(k):
                if d != e and rate[d, e] > 0:
                    w[d, e] = part.w.add()
                    part.rows.add(w[d, e] <= on(tensor.producer, d))
        for e in range(k):
            reached = sum(w[d, e] for d in range(k) if (d, e) in w)
            for v in readers:
                part.rows.add(reached + on(tensor.producer, e) >= on(v, e))
        ships.append(w)
    return ships


def _total(problem: Problem, tensor: ShippedTensor, ships: _Ships, unit: float) -> Any:
    """Return what all shipments of a tensor take, one after the other."""
    net = problem.network
    return sum(
        ((float(net.latency[d, e]) if level == 0 else 0.0) + more / float(net.rate[d, e])) / unit * w
        for level, (more, shares) in enumerate(zip(tensor.sizes, ships, strict=True))
        for (d, e), w in shares.items()
    )


def _pay(part: Any, problem: Problem, tensor: ShippedTensor, ships: _Ships, unit: float, taken: Taken) -> None:
    """Add what devices pay for the shipments of a tensor, and what they load channels with.

    Formula, with ``send = once``: ``s[d] >= sum of costs(d,e) w[d,e]`` for every e, and ``z[c] >= size / B_c sum of w
    over routes to e through c``; with ``each`` both are sums over e.
    """
    net, k, once = problem.network, problem.k, problem.network.send == "once"
    levels = list(enumerate(zip(tensor.sizes, ships, strict=True)))

    def amounts(d: int, e: int, delay: Any, inverse: Any) -> Any:
        return sum(
            ((float(delay[d, e]) if level == 0 else 0.0) + more * float(inverse[d, e])) / unit * w[d, e]
            for level, (more, w) in levels
            if (d, e) in w
        )

    for d in range(k):
        others = [e for e in range(k) if (d, e) in ships[0]]
        sent = [amounts(d, e, net.out_delay, net.out_inverse) for e in others]
        if once and len(others) > 1:
            s = part.s.add()
            for term in sent:
                part.rows.add(s >= term)
            taken.sends[d] += s
        else:
            taken.sends[d] += sum(sent)
        for e in others:
            taken.receives[e] += amounts(d, e, net.in_delay, net.in_inverse)
    covered = private(problem)
    for c in range(len(net.channels)):
        if covered[c]:
            continue
        over = [
            sum(
                more / float(net.bandwidth[c]) / unit * w[d, e]
                for _, (more, w) in levels
                for d in range(k)
                if (d, e) in w and c in net.route[d][e]
            )
            for e in range(k)
        ]
        over = [term for term in over if not isinstance(term, (int, float))]
        if once and len(over) > 1:
            z = part.z.add()
            for term in over:
                part.rows.add(z >= term)
            taken.channels[c] = taken.channels.get(c, 0.0) + z
        elif over:
            taken.channels[c] = taken.channels.get(c, 0.0) + sum(over)


def _cut(part: Any, problem: Problem, on: On, tensor: ShippedTensor, unit: float, taken: Taken) -> None:
    """Add what a tensor loads uplinks with: ``tensor_cut`` with the devices below as parts.

    Formula: ``up[x] >= X[p,x] - X[v,x]``, ``down[x] >= X[v,x] - X[p,x]`` with ``X[v,x] = sum of on(v,d) below x``, for
    every reader v.
    """
    tree = problem.interconnect
    assert isinstance(tree, Tree)
    net = problem.network
    late = net.overlap == "none"
    number = {name: c for c, name in enumerate(net.channels)}
    names = [*(device.name for device in problem.devices), *tree.switches]
    for x, parent in enumerate(tree.parents.tolist()):
        rate, latency = float(tree.uplink[x]), float(tree.latency[x]) if late and x < problem.k else 0.0
        if parent < 0 or (rate == float("inf") and not latency):
            continue
        below = subtree(tree, x)
        if not below or len(below) == problem.k:
            continue
        for side in (1, -1):
            amount: Any = 0.0
            for level, (more, readers) in enumerate(zip(tensor.sizes, tensor.readers, strict=True)):
                cost = (more / rate + (latency if level == 0 else 0.0)) / unit
                if not cost:
                    continue
                c = part.c.add()
                home = sum(on(tensor.producer, d) for d in below)
                for v in readers:
                    part.rows.add(c >= side * (home - sum(on(v, d) for d in below)))
                amount += cost * c
            if x < problem.k:
                (taken.sends if side == 1 else taken.receives)[x] += amount
                continue
            above = tree.switches[parent]
            one, other = (names[x], above) if side == 1 else (above, names[x])
            channel = number[f"{names[x]} <-> {above}" if tree.half[x] else f"{one} -> {other}"]
            taken.channels[channel] = taken.channels.get(channel, 0.0) + amount
    if late:
        return
    for d in range(problem.k):  # without overlap the load of a device has both directions of its uplink
        if tree.half[d] and tree.parents[d] >= 0 and tree.uplink[d] < float("inf"):
            channel = number[f"{names[d]} <-> {tree.switches[int(tree.parents[d])]}"]
            taken.channels[channel] = taken.sends[d] + taken.receives[d]


def _forbid(part: Any, problem: Problem, on: On, tensors: Sequence[ShippedTensor]) -> None:
    """Hold tensors within the parts of a tree that nothing joins."""
    apart = problem.network.rate <= 0
    if not apart.any():
        return
    piece = {d: frozenset(e for e in range(problem.k) if not apart[d, e]) for d in range(problem.k)}
    for below in set(piece.values()):
        for tensor in tensors:
            for v in tensor.readers[0]:
                part.rows.add(sum(on(v, d) for d in below) == sum(on(tensor.producer, d) for d in below))
