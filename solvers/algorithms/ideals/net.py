"""Classes in whole numbers: what the compiled loops read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.classes import Classes
from mtpp_dsl.solvers.algorithms.ideals.order import ancestors
from mtpp_dsl.views.device_types import DeviceTypes

__all__ = ["Net", "States", "ceiling", "net_of", "states_of"]

BITS = 61


class Net(NamedTuple):
    """Weights in whole numbers of ``unit``, rounded down, so that sums are exact and no load is overstated.

    What exceeds ``top``, the cost of a known plan, times the most replicas of a stage, counts as that: no better plan
    pays it.

    Attributes:
        time: [kinds, n].
        start: [n+1] row pointers into ``tensor``.
        tensor: the tensors at each class.
        cost, pins: [tensors] cost, and number of pins.
        size: [n] memory, and [kinds] ``room``, its limit.
        stream: [n] what it takes to stream the parameters, and [kinds] ``kept``, the part that is not streamed.
        pays: [kinds] whether cut tensors are part of the load.
        copies: [kinds] on how many devices at most a block may run.
        sync: [kinds, n] twice what it takes to pass on the parameters once, where replicas exchange them.
        free: [n] whether no block gets dearer by giving the class to an earlier one that may take it.
    """

    time: Ints
    start: Ints
    tensor: Ints
    cost: Ints
    pins: Ints
    size: Floats
    room: Floats
    stream: Ints
    kept: Ints
    pays: Bools
    copies: Ints
    sync: Ints
    free: Bools


def ceiling(classes: Classes, devices: DeviceTypes) -> float:
    """Return a cost that is above that of every split."""
    time = np.where(np.isfinite(classes.time), classes.time, 0.0).sum()
    streamed = classes.params.sum() / devices.bandwidth if np.isfinite(devices.overflow).any() else 0.0
    return float(time + sum(cost for _, cost in classes.tensors) + streamed) * (1 + 1e-6) or 1.0


def net_of(classes: Classes, devices: DeviceTypes, top: float) -> tuple[Net, float, int]:
    """Return the net, its unit, and *top* in that unit, rounded down. *top* is positive."""
    streams = np.isfinite(devices.overflow).any()
    stream = classes.params / devices.bandwidth if streams else np.zeros(classes.n)
    kept = np.where(np.isfinite(devices.overflow), devices.overflow / devices.bandwidth, stream.sum() + top)
    copies = np.minimum(devices.replicas, [len(group) for group in devices.members])
    most_copies = int(copies.max(initial=1))
    terms = (classes.n + len(classes.tensors) + 2) * (1 if most_copies == 1 else 2 * most_copies)
    unit = max(top * terms, float(stream.sum() + kept.max())) / 2.0**BITS
    most = int(top / unit)
    cap = most * most_copies
    cost = np.array([cost for _, cost in classes.tensors]).reshape(-1)
    whole_cost = _whole(cost, unit, cap)
    time = _whole(classes.time.T, unit, cap)
    passed_on = np.outer(devices.syncs, 2 * classes.params / devices.bandwidth)
    start, tensor = _incidence(classes)
    net = Net(
        time=np.ascontiguousarray(time),
        start=start,
        tensor=tensor,
        cost=whole_cost,
        pins=np.array([len(pins) for pins, _ in classes.tensors], dtype=np.int64),
        size=classes.size,
        room=devices.memory,
        stream=np.floor(stream / unit).astype(np.int64),
        kept=np.ceil(kept / unit).astype(np.int64),
        pays=devices.pays,
        copies=copies.astype(np.int64),
        sync=_whole(passed_on, unit, 2 * most),
        free=_free(classes, time, whole_cost, devices.pays, cap),
    )
    return net, unit, most


def _whole(values: Floats, unit: float, most: int) -> Ints:
    return np.minimum(np.floor(np.minimum(values, most * unit) / unit), most).astype(np.int64)


def _incidence(classes: Classes) -> tuple[Ints, Ints]:
    at: list[list[int]] = [[] for _ in range(classes.n)]
    for t, (pins, _) in enumerate(classes.tensors):
        for c in pins:
            at[c].append(t)
    start = np.concatenate(([0], np.cumsum([len(row) for row in at]))).astype(np.int64)
    return start, np.array([t for row in at for t in row], dtype=np.int64)


def _free(classes: Classes, time: Ints, cost: Ints, pays: Bools, most: int) -> Bools:
    """Return [n] whether a block that gives the class to an earlier block never gets dearer.

    It saves the class's time; it may begin to cut the tensors at the class, but those with a pin that comes before it,
    in the earlier block or before that, it cut already.
    """
    above = ancestors(classes.n, classes.before)
    fresh = np.zeros(classes.n, np.int64)
    for (pins, _), c in zip(classes.tensors, cost.tolist(), strict=True):
        inside = sum(1 << v for v in pins)
        for v in pins:
            if not inside & above[v]:
                fresh[v] += c
    paying = time[pays]
    return np.asarray(((paying >= fresh) | (paying >= most)).all(axis=0), np.bool_)


class States(NamedTuple):
    """How many devices of each kind have been used, in mixed radix.

    Attributes:
        used: [states, kinds].
        stride: [kinds] what using one more adds to the number of the state.
        left: [states, kinds] how many are left.
    """

    used: Ints
    stride: Ints
    left: Ints


def states_of(devices: DeviceTypes) -> States:
    """Return all states; componentwise smaller ones come first."""
    members = np.array([len(group) for group in devices.members])
    stride = np.cumprod([1, *(members[:-1] + 1).tolist()]).astype(np.int64)
    number = np.arange(int(np.prod(members + 1)))
    used = (number[:, None] // stride % (members + 1)).astype(np.int64)
    return States(used, stride, members - used)
