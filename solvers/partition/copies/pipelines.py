"""Find the best pipelines on disjoint devices, and the best stages that groups of devices share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import FRONT, GROUPS
from mtpp_dsl.solvers.partition.copies.pricing import of_types

__all__ = ["Pipelines", "best_sets", "groups", "narrowed", "pipelines", "too_long", "too_many"]

ROUNDING = 1e-11
MAX_STEPS = 3e9
"""Steps of the innermost loop, which is not interrupted: some seconds."""


@dataclass(frozen=True, eq=False)
class Pipelines:
    """What the programme found.

    Attributes:
        routes: assignments by places that share no device; the best set of them.
        single: the assignment of the best single pipeline, or None if there is none.
        period: 1 / (the sum of their throughputs), but for channels that they share; ``inf`` without a pipeline.
    """

    routes: list[Ints]
    single: Ints | None
    period: float


def too_many(instance: ChainInstance) -> bool:
    """Return whether the programme over all sets of devices would take too long."""
    states = of_types(instance)
    first = [group[0] for group in states.members]
    stages = (instance.end[:, first] - np.arange(instance.n)[:, None]).sum()
    return float(stages) * len(states.count) * (len(first) + 1) * len(first) > MAX_STEPS


def pipelines(instance: ChainInstance, most: int, say: Callable[[str], None] | None = None) -> Pipelines:
    """Return the best *most* or fewer pipelines on disjoint devices, each device with one stage.

    Nothing is pruned by a known cost: pipelines slower than the best one count, too.
    """
    states = of_types(instance)
    first = [group[0] for group in states.members]
    second = [group[min(1, len(group) - 1)] for group in states.members]
    n, kinds = instance.n, len(first)

    def between(cost: np.ndarray) -> np.ndarray:
        pairs = np.ascontiguousarray(cost[:, first][:, :, first])
        pairs[:, range(kinds), range(kinds)] = cost[:, first, second]
        return pairs

    time = instance.time[:, first]
    ahead = np.zeros((kinds, n + 1))
    ahead[:, 1:] = np.cumsum(np.where(np.isfinite(time), time, 0.0), axis=0).T
    cover = instance.carried.max(axis=0) if len(instance.carried) else np.zeros_like(instance.sent)
    count = len(states.count)
    best = np.full((n, count, kinds + 1, kinds), inf)
    origin = np.zeros((*best.shape, 2), np.int64)
    least, last = np.full(count, inf), np.zeros((count, 3), np.int64)
    end = np.ascontiguousarray(instance.end[:, first])
    steps = float(best.size) * n
    FRONT.pick(steps, say)(
        ahead, end, between(instance.sent), between(instance.received), between(cover), states.after, best, origin,
        least, last,
    )  # fmt: skip
    if not np.isfinite(least).any():
        return Pipelines([], None, inf)

    def stages(state: int) -> list[tuple[int, int, int]]:
        j, u, v = last[state].tolist()
        stop, blocks = n, []
        while True:
            blocks.append((j, stop, v))
            if u == kinds:
                return blocks[::-1]
            state = int(np.flatnonzero(states.after[:, v] == state)[0])
            before = origin[j, state, u, v].tolist()
            stop, (j, u), v = j, before, u

    def route(state: int) -> Ints:
        return _placed(stages(state), free, n)

    free = [list(group) for group in states.members]
    single = _placed(stages(int(least.argmin())), [list(group) for group in states.members], n)
    return replace(best_sets(states.count, least, most, route), single=single)


def best_sets(count: Ints, least: np.ndarray, most: int, route: Callable[[int], Ints]) -> Pipelines:
    """Return the best disjoint pipelines, without a single one.

    Args:
        count: [states, types] devices used.
        least: [states] least bottleneck of a pipeline on exactly these devices; ``inf`` if there is none.
        most: pipelines.
        route: returns the pipeline of a state; it is called once for each that is chosen.
    """
    if not np.isfinite(least).any():
        return Pipelines([], None, inf)
    alone = int(least.argmin())
    chosen = [alone] if least[alone] == 0.0 else _knapsack(count, least, most)
    throughput = sum(1 / least[state] if least[state] else inf for state in chosen)
    return Pipelines([route(state) for state in chosen], None, float((1 - ROUNDING) / throughput))


def _placed(stages: list[tuple[int, int, int]], free: list[list[int]], n: int) -> Ints:
    """Return the assignment of stages (first place, place behind, type), on devices taken from *free*."""
    device = np.empty(n, np.int64)
    for begin, stop, kind in stages:
        device[begin:stop] = free[kind].pop(0)
    return device


def _knapsack(count: Ints, least: np.ndarray, most: int) -> list[int]:
    """Return the states whose throughputs add up to the most, within the devices there are."""
    size = len(count)
    rate = np.where(np.isfinite(least), 1 / np.where(least > 0, least, inf), 0.0)
    inside = [np.flatnonzero((count <= count[c]).all(axis=1) & (rate > 0)) for c in range(size)]
    number = {tuple(row): c for c, row in enumerate(count.tolist())}
    total = np.zeros(size)
    picked: list[list[int]] = [[] for _ in range(size)]
    for _ in range(min(most, int(count[-1].sum()))):
        new, chosen = total.copy(), list(picked)
        for c in range(size):
            for s in inside[c].tolist():
                rest = number[tuple((count[c] - count[s]).tolist())]
                if rate[s] + total[rest] > new[c] * (1 + 1e-12):
                    new[c], chosen[c] = rate[s] + total[rest], [*picked[rest], s]
        if (new == total).all():
            break
        total, picked = new, chosen
    return picked[-1]


# Stages that several devices share, also unequal ones: the rates of the devices of a stage add up.

NO_LOAD = 1e300
"""The rate of a stage that takes no time, as the kernel has it."""


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
    stages, stop = [], n
    while stop > 0:
        begin, group = origin[stop, used].tolist()
        stages.append((begin, stop, [d for d in range(k) if group >> d & 1]))
        stop, used = begin, used & ~group
    return Groups(stages[::-1], period)


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


def narrowed(instance: ChainInstance, shared: Groups) -> ChainInstance:
    """Return the instance whose routes have the stages of *shared*, each on one of its devices."""
    lowest, behind = np.full(instance.k, instance.n), np.zeros(instance.k, np.int64)
    sent = np.full_like(instance.sent, inf)
    for begin, stop, devices in shared.stages:
        lowest[devices], behind[devices] = begin, stop
        if stop < instance.n:
            sent[stop - 1] = instance.sent[stop - 1]
    return replace(instance.within(lowest, behind), sent=sent)
