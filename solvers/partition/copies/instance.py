"""A chain of nodes, the devices, and what routes load: devices, and channels that several of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, Separate
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.network import Network
from mtpp_dsl.core.problem.problem import Problem

MAX_STATES = 20_000_000
MAX_DEVICES = 10
"""Sets of devices are the states of the programmes."""


@dataclass(frozen=True, eq=False)
class ChainInstance:
    """Arrays of a problem whose graph is a chain, its nodes in order.

    Attributes:
        order: [n] the node of the problem at each place.
        time: [n, k]; ``inf`` where a node may not be.
        memory, room: [n], and [k] what a device may hold; the tolerance of the check is in it.
        sent, received: [n, k, k] what the device of place j pays for sending its tensor to that of place j + 1, and
            what that one pays; ``inf`` where nothing leads there, and in [d, d].
        carried: [channels, n, k, k] what the same loads channels with that no device's load covers.
        end: [n, k] behind which place a stage of the device ends at the latest that begins at each; the place itself
            where it cannot begin there.
        ordered: whether a device has one stage of a route at most.
    """

    order: Ints
    time: Floats
    memory: Floats
    room: Floats
    sent: Floats
    received: Floats
    carried: Floats
    end: Ints
    ordered: bool

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.memory)

    @property
    def k(self) -> int:
        """Number of devices."""
        return len(self.room)

    def within(self, lowest: Ints, behind: Ints) -> ChainInstance:
        """Return the instance in which every device d runs nodes from ``lowest[d]`` to before ``behind[d]`` only."""
        place = np.arange(self.n)[:, None]
        end = np.maximum(np.where(place >= lowest, np.minimum(self.end, behind), place), place)
        return replace(self, end=end)

    def keeps(self, end: Ints, device: Ints) -> bool:
        """Return whether all stages of a route begin and end where they may."""
        begins = np.concatenate([[0], np.flatnonzero(device[1:] != device[:-1]) + 1])
        stops = np.append(begins[1:], self.n)
        return bool((end[begins, device[begins]] >= stops).all())

    def holding(self, choice: Ints) -> ChainInstance:
        """Return the instance under decisions on what devices hold: [n, k] 0 never, 1 surely, -1 open.

        What is surely held takes its room in every route.
        """
        n = self.n
        end = np.empty_like(self.end)
        sure = choice == 1
        free = self.room - self.memory @ sure
        needs = np.where(sure, 0.0, self.memory[:, None])
        for d in range(self.k):
            behind, used = 0, 0.0
            for begin in range(n):
                if behind < begin:
                    behind, used = begin, 0.0
                while behind < self.end[begin, d] and choice[behind, d] != 0 and used + needs[behind, d] <= free[d]:
                    used += needs[behind, d]
                    behind += 1
                end[begin, d] = behind
                if behind > begin:
                    used -= needs[begin, d]
        return replace(self, end=end)

    def loads(self, device: Ints) -> Floats:
        """Return [k + channels] the loads of one route."""
        k, places = self.k, np.arange(self.n)
        load = np.zeros(k + len(self.carried))
        np.add.at(load, device, self.time[places, device])
        for j in np.flatnonzero(device[:-1] != device[1:]).tolist():
            d, e = device[j], device[j + 1]
            load[d] += self.sent[j, d, e]
            load[e] += self.received[j, d, e]
            load[k:] += self.carried[:, j, d, e]
        return load

    def fits_range(self, d: int, begin: int, stop: int) -> bool:
        """Return whether device *d* may hold the nodes from one place to before another."""
        return bool(self.memory[begin:stop].sum() <= self.room[d] * (1 + 1e-12))


def unsupported(problem: Problem) -> str | None:
    """Return why *problem*, whose graph is a chain, has no such arrays, or None."""
    if problem.k > MAX_DEVICES:
        return (
            f"copies goes through sets of devices: {MAX_DEVICES} at most, and there are {problem.k}; what can be done: "
            "solve parts of that many devices, whose throughputs add up, say 'replicate' where equal devices share a "
            "stage, or leave 'copies' out for one pipeline"
        )
    if problem.graph.n * problem.k << problem.k > MAX_STATES:
        return f"copies needs {MAX_STATES:,} states at most: nodes times devices times sets of devices"
    if problem.hierarchical and problem.acyclic and not problem.groups_free:
        return "copies orders devices, not groups of them: say 'constraint acyclic (groups = free)'"
    ordered = any(problem.of(Acyclic)) or any(c.devices is None for c in problem.of(Contiguous))
    if ordered:
        return None
    kinds = (Colocate, Contiguous, Separate)
    other = next((c for c in problem.constraints if isinstance(c, kinds)), None)
    return None if other is None else f"copies keeps constraint {other} beside 'constraint acyclic' only"


def instance_of(problem: Problem) -> ChainInstance:
    """Return the arrays of a problem that :func:`unsupported` has nothing against."""
    graph, k = problem.graph, problem.k
    order = np.array(graph.topological_order, np.int64)
    time = np.where(problem.allowed, problem.time, inf)[order]
    memory = graph.memory[order]
    room = problem.memory_limit * (1 + TOLERANCE)
    sent, received, carried = _transfers(problem, order)
    place = np.empty(graph.n, np.int64)
    place[order] = np.arange(graph.n)
    for constraint in problem.of(Colocate):
        where = place[list(constraint.nodes)]
        sent[where.min() : where.max()] = inf
    for d in range(k):
        sent[:, d, d] = inf
    end = _ends(time, memory, room, list(_apart(problem, place)))
    ordered = any(problem.of(Acyclic)) or any(c.devices is None for c in problem.of(Contiguous))
    return ChainInstance(order, time, memory, room, sent, received, carried, end, ordered)


def _apart(problem: Problem, place: Ints) -> Iterator[tuple[int, int]]:
    """Yield neighbours of each set of nodes to be kept apart, by their places."""
    for constraint in problem.of(Separate):
        where = np.unique(place[list(constraint.nodes)]).tolist()
        yield from pairwise(where)


def _ends(time: Floats, memory: Floats, room: Floats, apart: list[tuple[int, int]]) -> Ints:
    n, k = time.shape
    end = np.empty((n, k), np.int64)
    stop = np.full(n, n)
    for first, second in apart:
        stop[: first + 1] = np.minimum(stop[: first + 1], second)
    before = np.concatenate([[0.0], np.cumsum(memory)])
    for d in range(k):
        fit = np.searchsorted(before, before[:-1] + room[d] * (1 + 1e-12), side="right") - 1
        barred = n
        for begin in range(n - 1, -1, -1):
            barred = begin if np.isinf(time[begin, d]) else barred
            end[begin, d] = max(begin, min(fit[begin], barred, stop[begin]))
    return end


def _transfers(problem: Problem, order: Ints) -> tuple[Floats, Floats, Floats]:
    """Return what handing on the tensor of each place costs the sender, the receiver, and channels."""
    n, k, link, graph = problem.graph.n, problem.k, problem.interconnect, problem.graph
    if isinstance(link, (Shared, Host)):
        group = problem.group
        rate = np.full((k, k), link.bandwidth)
        if link.between is not None:
            rate[group[:, None] != group] = link.between
        pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
        cost = graph.output[order][:, None, None] / rate
        return np.where(pays[:, None], cost, 0.0), np.where(pays, cost, 0.0), np.zeros((0, n, k, k))
    net = problem.network
    size = np.zeros(n)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    size[place[graph.tails]] = graph.sizes
    wide = size[:, None, None]
    sent = net.out_delay + wide * net.out_inverse
    received = net.in_delay + wide * net.in_inverse
    shared = [c for c in range(len(net.channels)) if not _covered(net, k, c)]
    carried = np.zeros((len(shared), n, k, k))
    for row, c in enumerate(shared):
        through = np.array([[c in net.route[d][e] for e in range(k)] for d in range(k)])
        carried[row] = np.where(through, wide / net.bandwidth[c], 0.0)
    return sent, received, carried


def _covered(net: Network, k: int, c: int) -> bool:
    """Return whether one device pays for all that goes through a channel, at least as much as the channel."""
    pairs = [(d, e) for d in range(k) for e in range(k) if d != e and c in net.route[d][e]]
    own = 1.0 / net.bandwidth[c]
    return any(
        all((d == x and net.out_inverse[d, e] >= own) or (e == x and net.in_inverse[d, e] >= own) for d, e in pairs)
        for x in range(k)
    )
