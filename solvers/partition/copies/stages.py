"""Stages that several devices share, also unequal ones: the rates of the devices of a stage add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import GROUPS

__all__ = ["Groups", "groups", "narrowed", "too_long"]

ROUNDING = 1e-11
NO_LOAD = 1e300
"""The rate of a stage that takes no time, as the kernel has it."""
MAX_STEPS = 3e9
"""Steps of the innermost loop, which is not interrupted: some seconds."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Stages and their devices.

    Attributes:
        stages: (first place, place behind, devices) in order; empty if there are none.
        period: 1 / (least rate of a stage); 0 where every stage has a device that it takes no time of.
    """

    stages: list[tuple[int, int, list[int]]]
    period: float


def too_long(instance: ChainInstance) -> bool:
    """Return whether the programme would take too long."""
    return 0.5 * instance.n**2 * 3.0**instance.k * instance.k > MAX_STEPS


def groups(instance: ChainInstance, most: int, *, hopeful: bool, say: Callable[[str], None] | None = None) -> Groups:
    """Return the stages of largest least rate, each on *most* devices or fewer, each device in one stage at most.

    A device's rate is one divided by its work and transfers. These depend on the device at the other end: *hopeful*
    takes the cheapest, so that no plan has a smaller period, else the dearest. Both are the same where a transfer costs
    a device the same with all others.
    """
    n, k = instance.n, instance.k
    ahead = np.zeros((k, n + 1))
    ahead[:, 1:] = np.cumsum(np.where(np.isfinite(instance.time), instance.time, 0.0), axis=0).T
    into, out = _transfers(instance, hopeful=hopeful)
    rate = np.zeros((n + 1, 1 << k))
    origin = np.zeros((n + 1, 1 << k, 2), np.int64)
    subset = np.array([s.bit_count() for s in range(1 << k)], np.int64)
    GROUPS.pick(float(n * n) * 3**k, say)(ahead, instance.end, into, out, subset, most, rate, origin)
    used = int(rate[n].argmax())
    if rate[n, used] <= 0:
        return Groups([], inf)
    period = (1 - ROUNDING) / float(rate[n, used]) if rate[n, used] < NO_LOAD else 0.0
    found, stop = [], n
    while stop > 0:
        begin, group = origin[stop, used].tolist()
        found.append((begin, stop, [d for d in range(k) if group >> d & 1]))
        stop, used = begin, used & ~group
    return Groups(found[::-1], period)


def _transfers(instance: ChainInstance, *, hopeful: bool) -> tuple[Floats, Floats]:
    """Return [n, k] what receiving before, and sending behind, each place costs a device, from or to any other."""
    sent, received = instance.sent, instance.received
    closed = np.isinf(sent) | np.isinf(received)
    if hopeful:
        out = np.where(closed, inf, sent).min(axis=2)
        entering = np.where(closed, inf, received).min(axis=1)
    else:
        own = np.eye(instance.k, dtype=bool)[None]
        out = np.where(own, -inf, np.where(closed, inf, sent)).max(axis=2)
        entering = np.where(own, -inf, np.where(closed, inf, received)).max(axis=1)
    into = np.zeros_like(entering)
    into[1:] = entering[:-1]
    return np.ascontiguousarray(into), np.ascontiguousarray(out)


def narrowed(instance: ChainInstance, found: Groups) -> ChainInstance:
    """Return the instance whose routes have the stages of *found*, each on one of its devices."""
    lowest, behind = np.full(instance.k, instance.n), np.zeros(instance.k, np.int64)
    sent = np.full_like(instance.sent, inf)
    for begin, stop, devices in found.stages:
        lowest[devices], behind[devices] = begin, stop
        if stop < instance.n:
            sent[stop - 1] = instance.sent[stop - 1]
    return replace(instance.within(lowest, behind), sent=sent)
