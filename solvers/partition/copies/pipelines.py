"""Find the best pipelines on disjoint devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance, Route
from mtpp_dsl.solvers.partition.copies.kernels import FRONT, KNAPSACK, in_portions
from mtpp_dsl.solvers.partition.copies.states import CopiesStates, states_of

__all__ = ["MAX_STEPS", "PipelineSets", "best_sets", "fewer", "pipelines"]

ROUNDING = 1e-11
MAX_STEPS = 1e9
"""Steps of the innermost loop, which is not interrupted: some seconds."""
MAX_TABLE = 4_000_000
"""States of all devices, at the most."""


@dataclass(frozen=True, eq=False)
class PipelineSets:
    """What the programme found.

    Attributes:
        routes: that share no device; the best set of them.
        single: the best single pipeline, or None if there is none.
        period: 1 / (the sum of their throughputs), but for channels that they share; ``inf`` without a pipeline.
        complete: whether nothing is better: no number of devices was left out.
    """

    routes: list[Route]
    single: Route | None
    period: float
    complete: bool


def fewer(count: Ints, steps: Callable[[Ints], float]) -> Ints | None:
    """Return how many devices of each type to count, as many as make no more than MAX_STEPS; None if one is too many.

    The largest number is lowered first.
    """
    most = count.copy()
    while steps(most) > MAX_STEPS:
        if most.max(initial=0) <= 1:
            return None
        most[int(most.argmax())] -= 1
    return most


def pipelines(
    instance: ChainInstance,
    most: int,
    worth: Floats,
    say: Callable[[str], None] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> PipelineSets | None:
    """Return the best *most* or fewer pipelines on disjoint devices, each device with one stage.

    Nothing is pruned by a known cost: pipelines slower than the best one count, too. Where devices are many, those that
    take more than some number of a type are left out; None where that is not enough.

    Args:
        instance: the chain and the devices.
        most: pipelines.
        worth: [types] of a device; for a good choice where the best one takes too long.
        say: told when code has to be compiled.
        pause: raises where the time is up.
    """
    n, types = instance.n, instance.types
    stages = float((instance.end - np.arange(n)[:, None]).sum())

    def steps(limits: Ints) -> float:
        states = float(np.prod(limits + 1.0))
        return max(stages * (types + 1) * types, 500.0 * n * (types + 1) * types) * states

    limits = fewer(np.minimum(instance.count, n), steps)
    if limits is None:
        return None
    states = states_of(limits)
    ahead = np.zeros((types, n + 1))
    ahead[:, 1:] = np.cumsum(np.where(np.isfinite(instance.time), instance.time, 0.0), axis=0).T
    cover = instance.carried.max(axis=0) if len(instance.carried) else np.zeros_like(instance.sent)
    size = len(states.count)
    best = np.full((n, size, types + 1, types), inf)
    origin = np.zeros((*best.shape, 2), np.int64)
    least, last = np.full(size, inf), np.zeros((size, 3), np.int64)
    in_portions(FRONT, float(best.size) * n, n, pause, say)(
        ahead, instance.end, instance.sent, instance.received, cover, states.after, best, origin, least, last,
    )  # fmt: skip

    def route(state: int) -> Route:
        j, u, v = last[state].tolist()
        stop, stages = n, []
        while True:
            stages.append((j, stop, v))
            if u == types:
                return tuple(stages[::-1])
            state -= int(states.stride[v])
            before = origin[j, state, u, v].tolist()
            stop, (j, u), v = j, before, u

    complete = bool((limits == np.minimum(instance.count, n)).all())
    return best_sets(instance.count, states, least, most, worth, route, complete, say)


def best_sets(
    count: Ints,
    states: CopiesStates,
    least: Floats,
    most: int,
    worth: Floats,
    route: Callable[[int], Route],
    complete: bool,
    say: Callable[[str], None] | None = None,
) -> PipelineSets:
    """Return the best disjoint pipelines.

    Args:
        count: [types] devices there are.
        states: the devices that a pipeline may use.
        least: [states] least bottleneck of a pipeline on exactly these devices; ``inf`` if there is none.
        most: pipelines.
        worth: [types] of a device; for a good choice where the best one takes too long.
        route: returns the pipeline of a state; it is called once for each that is chosen.
        complete: whether no better pipeline uses more devices than the states count.
        say: told when code has to be compiled.
    """
    if not np.isfinite(least).any():
        return PipelineSets([], None, inf, complete)
    alone = int(least.argmin())
    single = route(alone)
    if least[alone] == 0.0:
        return PipelineSets([single], single, 0.0, True)
    chosen = _knapsack(count, states, least, most, say)
    if chosen is None:
        chosen, complete = _greedy(count, states, least, most, worth), False
    period = float((1 - ROUNDING) / sum(1 / least[state] for state in chosen))
    return PipelineSets([route(state) for state in chosen], single, period, complete)


def _knapsack(
    count: Ints, states: CopiesStates, least: Floats, most: int, say: Callable[[str], None] | None
) -> list[int] | None:
    """Return the states whose throughputs add up to the most, within the devices there are; None if they are many."""
    chosen = _undominated(states, least)
    needs, rate = states.count[chosen], 1 / least[chosen]
    size = float(np.prod(count + 1.0))
    unlimited = most >= count.sum()
    rounds = 1 if unlimited else most
    if size > MAX_TABLE or size * len(chosen) * rounds > MAX_STEPS:
        return None
    full = states_of(count)
    number = needs @ full.stride
    total = np.zeros(len(full.count))
    run = KNAPSACK.pick(size * len(chosen) * rounds, say)
    picks: list[Ints] = []
    for _ in range(rounds):
        picks.append(np.full(len(total), -1))
        run(rate, number, needs, full.count, total if unlimited else total.copy(), total, picks[-1])
        if (picks[-1] < 0).all():
            break
    if unlimited:
        picks *= int(count.sum())
    at, taken = len(total) - 1, []
    for pick in reversed(picks):
        one = int(pick[at])
        if one >= 0:
            taken.append(int(chosen[one]))
            at -= int(number[one])
    return taken


def _undominated(states: CopiesStates, least: Floats) -> Ints:
    """Return the states whose pipeline is better than all that use no more devices of any type, and fewer of one."""
    grid = least.reshape((states.most + 1)[::-1])  # the first type changes fastest
    best, before = grid.copy(), np.full(grid.shape, inf)
    for axis in range(grid.ndim):
        best = np.minimum.accumulate(best, axis=axis)
    for axis in range(grid.ndim):
        later, earlier = ([slice(None)] * grid.ndim for _ in range(2))
        later[axis], earlier[axis] = slice(1, None), slice(None, -1)
        before[tuple(later)] = np.minimum(before[tuple(later)], best[tuple(earlier)])
    return np.flatnonzero((grid < before).ravel() & np.isfinite(least))


def _greedy(count: Ints, states: CopiesStates, least: Floats, most: int, worth: Floats) -> list[int]:
    """Return states, those first whose pipelines have the largest throughput for what their devices are worth."""
    chosen = _undominated(states, least)
    needs = states.count[chosen]
    value = least[chosen] * (needs @ worth)
    left, taken = count.copy(), list[int]()
    for one in np.argsort(value, kind="stable").tolist():
        while len(taken) < most and (needs[one] <= left).all():
            taken.append(int(chosen[one]))
            left = left - needs[one]
    return taken
