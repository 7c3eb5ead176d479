"""Where the supernodes are, and all that follows from it, kept up to date move by move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.whole_nets import WholeInstance

__all__ = ["SplitState", "broken", "loads_of", "state_of"]


class SplitState(NamedTuple):
    """A split, valid or not, and its sums.

    Attributes:
        device: [n] of every supernode.
        inside: [nets, k] pins of each net on each device.
        load: [k] time and cut nets, without overflow.
        streamed: [k] time to stream the parameters, if all were.
        used: [k] memory.
        crowd: [sets held apart, k] how many of each set are on each device.
        clash: [k] how many of these are too many.
        members: [k, n] the supernodes on each device, in any order, in the first ``held`` columns.
        held: [k] how many.
        place: [n] the column of each supernode.
    """

    device: Ints
    inside: Ints
    load: Ints
    streamed: Ints
    used: Ints
    crowd: Ints
    clash: Ints
    members: Ints
    held: Ints
    place: Ints


def state_of(instance: WholeInstance, device: Ints) -> SplitState:
    """Return the state in which every supernode is on its *device*, [n], one that it may be on."""
    n, k = instance.time.shape
    inside = np.zeros((len(instance.cost), k), np.int64)
    pins = np.diff(instance.pins_at)
    np.add.at(inside, (np.repeat(np.arange(len(pins)), pins), device[instance.pin]), 1)
    load = _sums(device, instance.time[np.arange(n), device], k)
    cut = (inside > 0) & (inside < pins[:, None])
    load += np.where(instance.pays, (cut * instance.cost[:, None]).sum(axis=0), 0)
    crowd = np.zeros((instance.aparts, k), np.int64)
    np.add.at(crowd, (instance.apart, np.repeat(device, np.diff(instance.aparts_at))), 1)
    held = np.bincount(device, minlength=k).astype(np.int64)
    members, place = np.zeros((k, n), np.int64), np.zeros(n, np.int64)
    for d in range(k):
        here = np.flatnonzero(device == d)
        members[d, : len(here)] = here
        place[here] = np.arange(len(here))
    return SplitState(
        device=device.copy(),
        inside=inside,
        load=load,
        streamed=_sums(device, instance.stream, k),
        used=_sums(device, instance.size, k),
        crowd=crowd,
        clash=np.maximum(crowd - 1, 0).sum(axis=0).astype(np.int64),
        members=members,
        held=held,
        place=place,
    )


def loads_of(instance: WholeInstance, state: SplitState) -> Ints:
    """Return [k] the loads, with overflow."""
    loads: Ints = state.load + np.maximum(state.streamed - instance.kept, 0)
    return loads


def broken(instance: WholeInstance, state: SplitState) -> bool:
    """Return whether a limit of memory is exceeded, or a set to be held apart is not."""
    return bool((state.used > instance.room).any() or (state.clash > 0).any())


def _sums(device: Ints, weights: Ints, k: int) -> Ints:
    total = np.zeros(k, np.int64)
    np.add.at(total, device, weights)
    return total
