"""The best pipelines on disjoint devices: one sweep for all sets of devices, then a knapsack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import FRONT
from mtpp_dsl.solvers.partition.copies.states import of_types

__all__ = ["Pipelines", "best_sets", "pipelines", "too_many"]

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
        stop, found = n, []
        while True:
            found.append((j, stop, v))
            if u == kinds:
                return found[::-1]
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
