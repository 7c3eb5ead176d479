"""Make the arrays of a problem on links or a tree: what supernodes ship, in any order of devices or in a given one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.problem.colocation import ordered_edges, together
from mtpp_dsl.core.problem.devices import Tree
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.in_order import Line
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping

__all__ = ["chain_in_line", "is_exact", "path_of", "shipping_in_line", "shipping_of"]

MOST_CHANNELS = 60
"""So many shared channels fit into the bits of a number; the others are left out, which lets splits cost less."""


def shipping_of(problem: Problem, *, ordered: bool = True) -> tuple[Shipping, Ints]:
    """Return what splits of a problem on ``links`` or a ``tree`` cost, and [n] the supernode of each node.

    Nodes that every plan has on one device are one supernode. Without ``constraint acyclic`` the order of the
    supernodes is that of all edges, so that splits into chains of ideals are plans, and plans may be better.

    Of a tensor whose edges carry different sizes the least counts: splits may cost more than that, never less. Room
    for memory is what the independent check lets devices have.

    Args:
        problem: on links or a tree.
        ordered: whether supernodes on cycles are made one, so that there is an order of them.
    """
    graph, k = problem.graph, problem.k
    net = problem.network
    of = _classes(problem) if ordered else together(problem)
    n = int(of.max(initial=-1)) + 1
    time, memory = np.zeros((n, k)), np.zeros(n)
    np.add.at(time, of, np.where(problem.allowed, problem.time, np.inf))
    np.add.at(memory, of, graph.memory)
    tails, heads = of[graph.tails], of[graph.heads]
    outside = np.flatnonzero(tails != heads)
    producer, place = np.unique(graph.tails[outside], return_inverse=True)
    size = np.full(len(producer), np.inf)
    np.minimum.at(size, place, graph.sizes[outside])
    readers: list[set[int]] = [set() for _ in producer]
    for t, v in zip(place.tolist(), heads[outside].tolist(), strict=True):
        readers[t].add(v)
    shared, half = _shared_channels(problem)
    number = {c: i for i, c in enumerate(shared)}
    routes = tuple(
        tuple(tuple(number[c] for c in net.route[d][e] if c in number) if d != e else () for e in range(k))
        for d in range(k)
    )

    def cost(delay: Floats, inverse: Floats) -> Floats:
        times = delay + size[:, None, None] * inverse
        times[:, range(k), range(k)] = 0.0
        return np.asarray(times, np.float64)

    with np.errstate(invalid="ignore"):
        sent, received = cost(net.out_delay, net.out_inverse), cost(net.in_delay, net.in_inverse)
    return (
        Shipping(
            time=time,
            memory=memory,
            room=problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6)),
            before=tuple(
                sorted({(a, b) for a, b in zip(tails[outside].tolist(), heads[outside].tolist(), strict=True)})
            ),
            producer=of[producer],
            readers=tuple(tuple(sorted(nodes)) for nodes in readers),
            sent=sent,
            received=received,
            routes=routes,
            carried=size[:, None] / net.bandwidth[shared],
            overlap=net.overlap == "full",
            serial=net.send == "each",
            half=half,
        ),
        of,
    )


def is_exact(problem: Problem) -> bool:
    """Return whether splits cost what :func:`shipping_of` says, and not more."""
    graph = problem.graph
    largest, least = np.zeros(graph.n), np.full(graph.n, np.inf)
    np.maximum.at(largest, graph.tails, graph.sizes)
    np.minimum.at(least, graph.tails, graph.sizes)
    read = np.isfinite(least)
    return (
        bool((largest[read] == least[read]).all())
        and len(_shared_channels(problem, all_of_them=True)[0]) <= MOST_CHANNELS
    )


def chain_of(problem: Problem) -> tuple[NodeChain, Ints] | None:
    """Return a problem on ``links`` or a ``tree`` as a chain, and [n] the place of each node in it; None if it is none.

    It is one if nodes that every plan has on one device, made one, stand in a line in which each hands tensors to the
    next, and to no other. Channels that several devices share are left out: splits may cost more there.
    """
    shipping, of = shipping_of(problem)
    line = chain_from(shipping)
    return None if line is None else (line[0], line[1][of])


def chain_from(shipping: Shipping) -> tuple[NodeChain, Ints] | None:
    """Return the same supernodes as a chain, and [n] their places in it; None if they are none."""
    n, k = shipping.n, shipping.k
    order = path_of(shipping.before, n)
    if order is None:
        return None
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    sent, received = np.zeros((n, k, k)), np.zeros((n, k, k))
    np.add.at(sent, place[shipping.producer], shipping.sent)
    np.add.at(received, place[shipping.producer], shipping.received)
    return (
        NodeChain(
            time=shipping.time[order],
            memory=shipping.memory[order],
            room=shipping.room,
            sent=sent,
            received=received,
            overlap=shipping.overlap,
            half=shipping.half,
        ),
        place,
    )


def path_of(before: Collection[tuple[int, int]], n: int) -> list[int] | None:
    """Return *n* nodes in the order of the one path that their edges, each given once, are; None if they are none."""
    after: list[list[int]] = [[] for _ in range(n)]
    first = set(range(n))
    for a, b in before:
        after[a].append(b)
        first.discard(b)
    if len(before) != n - 1 or len(first) != 1 or any(len(heads) > 1 for heads in after):
        return None
    order = [first.pop()]
    while after[order[-1]]:
        order += after[order[-1]]
    return order if len(order) == n else None


def _classes(problem: Problem) -> Ints:
    """Return [n] the supernodes: nodes held together, and those on cycles that these close among all edges."""
    if ordered_edges(problem):
        return together(problem)
    from mtpp_dsl.core.constraints import Acyclic

    return together(problem.with_constraints([*problem.constraints, Acyclic()]))


def _shared_channels(problem: Problem, *, all_of_them: bool = False) -> tuple[list[int], Bools]:
    """Return the channels whose load may be more than that of every device, and which devices send and receive in turn.

    A channel of which all shipments leave one device, or reach one, is no busier than that device, unless it is slower.
    So is the uplink of a device, of half duplex, unless transfers overlap work: then the device sends and receives in
    turn. Where all shipments go between two devices, only one of the directions is used by devices in an order.
    """
    net, k = problem.network, problem.k
    pairs: list[set[tuple[int, int]]] = [set() for _ in net.channels]
    for d in range(k):
        for e in range(k):
            for c in net.route[d][e] if d != e else ():
                pairs[c].add((d, e))
    half = np.zeros(k, np.bool_)
    shared = []
    for c, used in enumerate(pairs):
        takes = 1.0 / float(net.bandwidth[c])
        sends = {pair for pair in used if net.out_inverse[pair] >= takes}
        receives = {pair for pair in used if net.in_inverse[pair] >= takes}
        ends = {frozenset(pair) for pair in used}
        if (
            (sends == used and len({d for d, _ in used}) <= 1)
            or (receives == used and len({e for _, e in used}) <= 1)
            or (sends | receives == used and len(ends) <= 1)
        ):
            continue
        common = [
            x for x in range(k) if all((d == x and (d, e) in sends) or (e == x and (d, e) in receives) for d, e in used)
        ]
        if common and isinstance(problem.interconnect, Tree):
            half[common] = net.overlap == "full"
            continue
        shared.append(c)
    return (shared if all_of_them else shared[:MOST_CHANNELS]), half


# Splits on networks whose stages are in the order of devices: the columns of devices in that order.


def shipping_in_line(shipping: Shipping, line: Line) -> Shipping:
    """Return the same supernodes on the devices in their order, of which each may only be followed by a later one."""
    at = list(line.devices)
    return replace(
        shipping,
        time=np.ascontiguousarray(shipping.time[:, at]),
        room=shipping.room[at],
        sent=np.ascontiguousarray(shipping.sent[:, at][:, :, at]),
        received=np.ascontiguousarray(shipping.received[:, at][:, :, at]),
        routes=tuple(tuple(shipping.routes[d][e] for e in at) for d in at),
        half=shipping.half[at],
        owed=sum(1 << place for place in np.flatnonzero(filled_places(line)).tolist()),
    )


def filled_places(line: Line) -> Bools:
    """Return [devices] in their order whether each has to have a node."""
    return np.array([d in line.filled for d in line.devices], np.bool_)


def chain_in_line(chain: NodeChain, line: Line) -> NodeChain:
    """Return a chain, whose devices are in the order, in which data can only go on to a later one.

    Nothing leads back, nor past a device that has to have a node; the chain may begin on no device behind such a one,
    and end on none before it.
    """
    k, owed = chain.k, np.concatenate([[0], np.cumsum(filled_places(line))])
    place = np.arange(k)
    between = owed[None, :-1] - owed[1:, None]  # behind the first and before the second
    barred = (place[None, :] <= place[:, None]) | (between > 0)
    time = chain.time.copy()
    time[0, owed[:-1] > 0] = np.inf
    time[-1, owed[1:] < owed[-1]] = np.inf
    return replace(
        chain,
        time=time,
        sent=np.where(barred[None], np.inf, chain.sent),
        received=np.where(barred[None], np.inf, chain.received),
        in_line=True,
    )
