"""Describe a hierarchy of devices: its types of groups, what is spread over them, and the same problem on one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.constraints import Replicate
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import mixed_radix

__all__ = ["GroupType", "Nest", "NestChoice", "choices_of", "group_types", "nest_of", "one_level", "unlike"]


class Nest(NamedTuple):
    """Weights of supernodes, in time.

    Attributes:
        time: [types, n]; ``inf`` where a supernode may not be.
        start: [n+1] row pointers into ``tensor``.
        tensor: the tensors at each supernode.
        near: [tensors] what a block pays that holds some pins and not all.
        more: [tensors] what it pays on top where the tensor crosses to another group.
        pins, producer: [tensors] number of supernodes, and the one that makes it.
        size: [n] memory, and [types] ``room``, its limit.
        stream: [n] what it takes to stream the parameters, and [types] ``kept``, the part that is not streamed.
        pays: [types] whether tensors are part of the load.
        copies: [types] on how many devices at most a block may run.
        sync: [types, n] twice what it takes to pass on the parameters in a group, where replicas exchange them.
        abroad: [types, n] the same between groups.
    """

    time: Floats
    start: Ints
    tensor: Ints
    near: Floats
    more: Floats
    pins: Ints
    producer: Ints
    size: Floats
    room: Floats
    stream: Floats
    kept: Floats
    pays: Bools
    copies: Ints
    sync: Floats
    abroad: Floats


class GroupType(NamedTuple):
    """Groups of the same devices.

    Attributes:
        groups: their numbers.
        holds: [types] devices of each kind in every one.
    """

    groups: tuple[int, ...]
    holds: Ints


class NestChoice(NamedTuple):
    """One group of devices, or several over which every block is spread evenly.

    Attributes:
        take: [types] how many groups of each type.
        groups: how many in all.
        offers: [types] devices of each kind that every one of them offers.
        copies: [types] on how many of these at most a block may run in each.
        used, stride: [states, types] and [types] how many have been used, in mixed radix.
    """

    take: Ints
    groups: int
    offers: Ints
    copies: Ints
    used: Ints
    stride: Ints


def nest_of(problem: Problem, devices: DeviceTypes, supernodes: OrderedSupernodes) -> Nest:
    """Return the weights of *supernodes* on a hierarchy of *devices*."""
    link = problem.interconnect
    assert isinstance(link, (Shared, Host))
    assert link.between is not None
    tensors = _tensors(problem, supernodes)
    at: list[list[int]] = [[] for _ in range(supernodes.n)]
    for t, (producer, readers) in enumerate(tensors):
        for c in (producer, *readers):
            at[c].append(t)
    size = np.array(list(tensors.values())).reshape(-1)
    bounded = np.isfinite(devices.overflow)
    return Nest(
        time=np.ascontiguousarray(supernodes.time.T),
        start=np.concatenate(([0], np.cumsum([len(row) for row in at]))).astype(np.int64),
        tensor=np.array([t for row in at for t in row], dtype=np.int64),
        near=size / link.bandwidth,
        more=size / link.between - size / link.bandwidth,
        pins=np.array([1 + len(readers) for _, readers in tensors], dtype=np.int64),
        producer=np.array([producer for producer, _ in tensors], dtype=np.int64),
        size=supernodes.memory,
        room=devices.memory,
        stream=supernodes.params / link.bandwidth if bounded.any() else np.zeros(supernodes.n),
        kept=devices.overflow / link.bandwidth,
        pays=devices.pays,
        copies=devices.replicas,
        sync=np.outer(devices.syncs, 2 * supernodes.params / link.bandwidth),
        abroad=np.outer(devices.syncs, 2 * supernodes.params / link.between),
    )


def _tensors(problem: Problem, supernodes: OrderedSupernodes) -> dict[tuple[int, tuple[int, ...]], float]:
    """Return the size of the tensors from each supernode to each set of others.

    A tensor that a supernode which was left out makes or reads does not count: the others were charged for it.
    """
    graph = problem.graph
    home = np.full(graph.n, -1, np.int64)
    for c, members in enumerate(supernodes.members):
        home[list(members)] = c
    sizes: dict[tuple[int, tuple[int, ...]], float] = {}
    for u in np.flatnonzero(graph.output > 0).tolist():
        producer = int(home[u])
        readers = tuple(sorted(set(home[graph.successors(u)].tolist()) - {producer}))
        if readers and min(producer, *readers) >= 0:
            sizes[producer, readers] = sizes.get((producer, readers), 0.0) + float(graph.output[u])
    return sizes


def group_types(problem: Problem, devices: DeviceTypes) -> list[GroupType]:
    """Return the groups of *problem*, those of the same devices together."""
    kinds = len(devices.members)
    by_count: dict[tuple[int, ...], list[int]] = {}
    for g in sorted(set(problem.group.tolist())):
        count = np.bincount(devices.of[problem.group == g], minlength=kinds)
        by_count.setdefault(tuple(count.tolist()), []).append(g)
    return [GroupType(tuple(groups), np.array(count, np.int64)) for count, groups in by_count.items()]


def spreading(types: Sequence[GroupType], devices: DeviceTypes) -> list[int]:
    """Return the device types of which a block may run on several, in several groups."""
    kinds = range(len(devices.members))
    return [
        q for q in kinds if devices.replicas[q] > 1 and sum(len(kind.groups) for kind in types if kind.holds[q]) > 1
    ]


def choices_of(types: Sequence[GroupType], devices: DeviceTypes) -> list[NestChoice]:
    """Return every choice of groups for what is next in a chain of ideals, cheaper ones to compute first.

    Of several groups only one device type takes part: others cannot be spread over them.
    """
    choices = []
    for y, kind in enumerate(types):
        take = np.zeros(len(types), np.int64)
        take[y] = 1
        choices.append(_choice(take, kind.holds, np.minimum(kind.holds, devices.replicas)))
    for q in spreading(types, devices):
        most = [len(kind.groups) if kind.holds[q] else 0 for kind in types]
        for vector in product(*(range(number + 1) for number in most)):
            if 2 <= sum(vector) <= devices.replicas[q]:
                count = np.zeros(len(devices.members), np.int64)
                count[q] = min(kind.holds[q] for kind, number in zip(types, vector, strict=True) if number)
                choices.append(_choice(np.array(vector), count, np.minimum(count, devices.replicas // sum(vector))))
    return choices


def _choice(take: Ints, count: Ints, copies: Ints) -> NestChoice:
    used, stride = mixed_radix(count)
    return NestChoice(take, int(take.sum()), count, copies.astype(np.int64), used, stride)


# Derive what a hierarchy of devices is on one level, and which hierarchies are gone through on two.

MAX_STATES = 2_000


def one_level(problem: Problem) -> Problem:
    """Return *problem* without groups and exchange of weights: every plan is one there, and costs no more."""
    link = problem.interconnect
    assert isinstance(link, (Shared, Host))
    constraints = [replace(c, sync="none") if isinstance(c, Replicate) else c for c in problem.constraints]
    devices = tuple(replace(device, group=None) for device in problem.devices)
    return replace(problem, devices=devices, interconnect=replace(link, between=None), constraints=tuple(constraints))


def unlike(problem: Problem) -> str | None:
    """Return why the groups of *problem* are too many, or not to be spread over, or None."""
    devices = device_types(one_level(problem))
    types = group_types(problem, devices)
    wide = spreading(types, devices)
    for kind in types:
        together = [problem.devices[devices.members[q][0]].name for q in wide if kind.holds[q]]
        if len(together) > 1:
            return f"ideals spreads replicas of one device type over groups; {together[0]} and {together[1]} are of two"
    states = np.prod([len(kind.groups) + 1.0 for kind in types]) * max(np.prod(kind.holds + 1.0) for kind in types)
    if states > MAX_STATES:
        return (
            f"there are {states:,.0f} ways to have used some of the groups and of the devices in one; ideals goes "
            f"through at most {MAX_STATES:,}"
        )
    return None
