"""Where the supernodes are, and the sums that follow from it, kept up to date move by move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.weighted.instance import WeightedInstance

__all__ = ["WeightedState", "state_of"]


class WeightedState(NamedTuple):
    """A split, valid or not, and its sums.

    Attributes:
        device: [n] of every supernode.
        inside: [nets, k] pins of each net on each device.
        load: [k] time and cut nets, without overflow.
        streamed: [k] time to stream the parameters, if all were.
        used: [k] memory.
        crowd: [sets held apart, k] how many of each set are on each device.
        clash: [k] how many of these are too many.
        held: [k] how many supernodes are on each device.
        members: [k, n] which these are, in any order, in the first ``listed`` columns; ``listed`` is ``held`` between
            moves.
        place: [n] the column of each supernode.
        quotient: [parts, k, k] edges from device to device.
        row: [rows] what the ``on`` of each row add up to.
        sums: [3] the ``on`` of the objective; what soft rows over ``on`` alone cost; by how much hard ones are broken.
    """

    device: Ints
    inside: Ints
    load: Floats
    streamed: Floats
    used: Floats
    crowd: Ints
    clash: Ints
    held: Ints
    members: Ints
    listed: Ints
    place: Ints
    quotient: Ints
    row: Floats
    sums: Floats


def state_of(instance: WeightedInstance, device: Ints) -> WeightedState:
    """Return the state in which every supernode is on its *device*, [n], one that it may be on."""
    n, k = instance.time.shape
    inside = np.zeros((len(instance.cost), k), np.int64)
    pins = np.diff(instance.pins_at)
    np.add.at(inside, (np.repeat(np.arange(len(pins)), pins), device[instance.pin]), 1)
    load = np.bincount(device, weights=instance.time[np.arange(n), device], minlength=k).astype(np.float64)
    cut = (inside > 0) & (inside < pins[:, None])
    load += np.where(instance.pays, (cut * instance.cost[:, None]).sum(axis=0), 0.0)
    crowd = np.zeros((instance.aparts, k), np.int64)
    np.add.at(crowd, (instance.apart, np.repeat(device, np.diff(instance.aparts_at))), 1)
    held = np.bincount(device, minlength=k).astype(np.int64)
    members, place = np.zeros((k, n), np.int64), np.zeros(n, np.int64)
    for d in range(k):
        here = np.flatnonzero(device == d)
        members[d, : len(here)] = here
        place[here] = np.arange(len(here))
    quotient = np.zeros((instance.parts, k, k), np.int64)
    ends = np.repeat(np.arange(n), np.diff(instance.arcs_at))[instance.outward]
    np.add.at(quotient, (instance.part[instance.outward], device[ends], device[instance.arc[instance.outward]]), 1)
    for part in quotient:
        np.fill_diagonal(part, 0)
    row, sums = _rows(instance, device)
    return WeightedState(
        device=device.copy(),
        inside=inside,
        load=load,
        streamed=np.bincount(device, weights=instance.stream, minlength=k).astype(np.float64),
        used=np.bincount(device, weights=instance.size, minlength=k).astype(np.float64),
        crowd=crowd,
        clash=np.maximum(crowd - 1, 0).sum(axis=0).astype(np.int64),
        held=held,
        members=members,
        listed=held.copy(),
        place=place,
        quotient=quotient,
        row=row,
        sums=sums,
    )


def _rows(instance: WeightedInstance, device: Ints) -> tuple[Floats, Floats]:
    """Return what the ``on`` of each row add up to, and the sums that follow from it."""
    rows, n = instance.rows, len(device)
    holds = device[np.repeat(np.arange(n), np.diff(rows.on_at))] == rows.on_device
    row = np.zeros(len(rows.low))
    np.add.at(row, rows.on_row[holds], rows.on_value[holds])
    over = np.where(rows.is_whole, 0.0, np.maximum(0.0, np.maximum(rows.low - row, row - rows.high)))
    on = float(instance.on[np.arange(n), device].sum())
    return row, np.array([on, float((over * rows.price).sum()), float((over * rows.hard).sum())])
