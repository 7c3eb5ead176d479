"""A chain of nodes, the types of devices, and what routes load: devices, and channels that several of them share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, Separate
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.partition.copies.transfers import Transfers, transfers_of

__all__ = ["ChainInstance", "Route", "by_devices", "device_types", "instance_of", "unsupported"]

Route = tuple[tuple[int, int, int], ...]
"""The stages of a route in order: the place where each begins, the place behind it, and the type of its device."""
MAX_SIZE = 20_000_000
"""Entries of the tables of transfers: nodes times squared devices."""


@dataclass(frozen=True, eq=False)
class ChainInstance:
    """Arrays of a problem whose graph is a chain, its nodes in order.

    Devices of one type may be exchanged everywhere, so that all is known by type. A search may tell them apart, which
    divides types.

    Attributes:
        order: [n] the node of the problem at each place.
        members: the devices of each type.
        time: [n, types]; ``inf`` where a node may not be.
        memory, room: [n], and [types] what a device may hold; the tolerance of the check is in it.
        sent, received: [n, types, types] what a device pays for sending the tensor of place j to one that runs place
            j + 1, and what that one pays; ``inf`` where nothing leads there. Two devices of one type in [q, q]: ``inf``
            where there is one alone.
        carried: [channels, n, types, types] what the same loads channels with that no device's load covers.
        end: [n, types] behind which place a stage of a device ends at the latest that begins at each; the place itself
            where it cannot begin there.
        ordered: whether a device has one stage of a route at most.
    """

    order: Ints
    members: tuple[tuple[int, ...], ...]
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
    def types(self) -> int:
        """Number of types."""
        return len(self.members)

    @cached_property
    def count(self) -> Ints:
        """[types] number of devices."""
        return np.array([len(group) for group in self.members], np.int64)

    @property
    def channels(self) -> int:
        """Number of channels that no device's load covers."""
        return len(self.carried)

    def chosen(self, kinds: Sequence[int], members: Sequence[tuple[int, ...]]) -> ChainInstance:
        """Return the instance whose types are these devices of these types, each device in one of them at most."""
        pick = np.array(kinds, np.int64)
        sent, received = (cost[:, pick][:, :, pick] for cost in (self.sent, self.received))
        alone = np.array([len(group) == 1 for group in members])
        sent[:, alone, alone] = inf
        return replace(
            self,
            members=tuple(members),
            time=self.time[:, pick],
            room=self.room[pick],
            sent=sent,
            received=received,
            carried=self.carried[:, :, pick][:, :, :, pick],
            end=self.end[:, pick],
        )

    def divided(self, kind: int, first: int) -> ChainInstance:
        """Return the instance in which so many devices of a type are one of their own, and the others the next."""
        kinds = [*range(kind + 1), *range(kind, self.types)]
        group = self.members[kind]
        return self.chosen(kinds, [*self.members[:kind], group[:first], group[first:], *self.members[kind + 1 :]])

    def within(self, lowest: Ints, behind: Ints) -> ChainInstance:
        """Return the instance in which devices of type q run nodes from ``lowest[q]`` to before ``behind[q]`` only."""
        place = np.arange(self.n)[:, None]
        end = np.maximum(np.where(place >= lowest, np.minimum(self.end, behind), place), place)
        return replace(self, end=end)

    def keeps(self, end: Ints, route: Route) -> bool:
        """Return whether all stages of a route begin and end where they may, on as many devices as there are."""
        if not all(self.may(end, begin, stop, kind) for begin, stop, kind in route):
            return False
        return not self.ordered or bool((self.visits(route) <= self.count).all())

    def may(self, end: Ints, begin: int, stop: int, kind: int) -> bool:
        """Return whether a device of a type may have this stage."""
        return bool(end[begin, kind] >= stop)

    def visits(self, route: Route) -> Ints:
        """Return [types] how many stages of a route each type has."""
        return np.bincount([kind for _, _, kind in route], minlength=self.types)

    def holding(self, choice: Ints) -> ChainInstance:
        """Return the instance under decisions on what devices hold: [n, types] 0 never, 1 surely, -1 open.

        What is surely held takes its room in every route.
        """
        n = self.n
        end = np.empty_like(self.end)
        sure = choice == 1
        free = self.room - self.memory @ sure
        needs = np.where(sure, 0.0, self.memory[:, None])
        for d in range(self.types):
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

    def stage_loads(self, route: Route) -> Floats:
        """Return [stages] what the device of each stage of a route is loaded with."""
        load = np.array([self.time[begin:stop, kind].sum() for begin, stop, kind in route])
        for i, ((_, stop, kind), (_, _, other)) in enumerate(pairwise(route)):
            load[i] += self.sent[stop - 1, kind, other]
            load[i + 1] += self.received[stop - 1, kind, other]
        return load

    def channel_loads(self, route: Route) -> Floats:
        """Return [channels] what a route loads them with."""
        load = np.zeros(self.channels)
        for (_, stop, kind), (_, _, other) in pairwise(route):
            load += self.carried[:, stop - 1, kind, other]
        return load

    def loads(self, route: Route) -> Floats:
        """Return [types + channels] the loads of one route; of the devices of a type on average."""
        kinds = [kind for _, _, kind in route]
        device = np.bincount(kinds, weights=self.stage_loads(route), minlength=self.types)
        return np.concatenate([device / self.count, self.channel_loads(route)])

    def nodes(self, begin: int, stop: int) -> Ints:
        """Return the nodes of a stage."""
        return self.order[begin:stop]

    def used(self, route: Route) -> Floats:
        """Return [n, types] how often each type runs the node at each place."""
        on = np.zeros((self.n, self.types))
        for begin, stop, kind in route:
            on[begin:stop, kind] += 1.0
        return on

    def fits_range(self, kind: int, begin: int, stop: int) -> bool:
        """Return whether a device of type *kind* may hold the nodes from one place to before another."""
        return bool(self.memory[begin:stop].sum() <= self.room[kind] * (1 + 1e-12))


def unsupported(problem: Problem) -> str | None:
    """Return why *problem*, whose graph is a chain, has no such arrays, or None."""
    if problem.graph.n * problem.k**2 > MAX_SIZE:
        return (
            f"copies needs nodes times squared devices to be {MAX_SIZE:,} at most, and here are {problem.k} devices; "
            "what can be done: solve parts with some of the devices, whose throughputs add up"
        )
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
    graph = problem.graph
    order = np.array(graph.topological_order, np.int64)
    place = np.empty(graph.n, np.int64)
    place[order] = np.arange(graph.n)
    every = np.where(problem.allowed, problem.time, inf)[order]
    transfers = transfers_of(problem)
    members = device_types(every, problem.memory_limit, transfers)
    first = [group[0] for group in members]
    sent, received, carried = transfers.of(members, order)
    for constraint in problem.of(Colocate):
        where = place[list(constraint.nodes)]
        sent[where.min() : where.max()] = inf
    alone = np.array([len(group) == 1 for group in members])
    sent[:, alone, alone] = inf
    time, memory = every[:, first], graph.memory[order]
    room = problem.memory_limit[first] * (1 + TOLERANCE)
    end = _ends(time, memory, room, list(_apart(problem, place)))
    ordered = any(problem.of(Acyclic)) or any(c.devices is None for c in problem.of(Contiguous))
    return ChainInstance(order, members, time, memory, room, sent, received, carried, end, ordered)


def by_devices(instance: ChainInstance) -> NodeChain:
    """Return the chain with every device by itself, for searches of one pipeline."""
    kinds = np.empty(int(instance.count.sum()), np.int64)
    for kind, group in enumerate(instance.members):
        kinds[list(group)] = kind
    sent, received = (cost[:, kinds][:, :, kinds] for cost in (instance.sent, instance.received))
    for cost in (sent, received):
        cost[:, np.arange(len(kinds)), np.arange(len(kinds))] = inf
    return NodeChain(instance.time[:, kinds], instance.memory, instance.room[kinds], sent, received)


def device_types(time: Floats, room: Floats, transfers: Transfers) -> tuple[tuple[int, ...], ...]:
    """Return the devices of each type: any two of one may be exchanged, and nothing changes.

    They run the same nodes in the same time, hold as much, and any transfer with any third device costs both sides, and
    loads every channel, the same from either, as does one between the two in either direction.

    Args:
        time: [n, devices] ``inf`` where a node may not be.
        room: [devices] what each may hold.
        transfers: between all devices.
    """
    groups: list[list[int]] = []
    for d in range(time.shape[1]):
        for group in groups:
            e = group[0]
            if room[d] == room[e] and np.array_equal(time[:, d], time[:, e]) and transfers.alike(d, e):
                group.append(d)
                break
        else:
            groups.append([d])
    return tuple(map(tuple, groups))


def _apart(problem: Problem, place: Ints) -> Iterator[tuple[int, int]]:
    """Yield neighbours of each set of nodes to be kept apart, by their places."""
    for constraint in problem.of(Separate):
        where = np.unique(place[list(constraint.nodes)]).tolist()
        yield from pairwise(where)


def _ends(time: Floats, memory: Floats, room: Floats, apart: list[tuple[int, int]]) -> Ints:
    n, types = time.shape
    end = np.empty((n, types), np.int64)
    stop = np.full(n, n)
    for first, second in apart:
        stop[: first + 1] = np.minimum(stop[: first + 1], second)
    before = np.concatenate([[0.0], np.cumsum(memory)])
    for d in range(types):
        fit = np.searchsorted(before, before[:-1] + room[d] * (1 + 1e-12), side="right") - 1
        barred = n
        for begin in range(n - 1, -1, -1):
            barred = begin if np.isinf(time[begin, d]) else barred
            end[begin, d] = max(begin, min(fit[begin], barred, stop[begin]))
    return end
