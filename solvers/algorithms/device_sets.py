"""Sets of devices that could hold and do everything, by what it costs to use them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Load, Makespan, Used
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem

MAX_DEVICES = 16
"""Sets of more devices are too many to be listed."""


def cheapest_sets(problem: Problem) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield sets of devices, with what using them costs, the cheapest first.

    A set is left out where the work, divided as if nodes could be, takes longer than the loads that labelled rows
    allow, or where the memory is too small. The cost is that of the objective if everything else in it were 0: a lower
    bound on the cost of plans that use all devices of the set, if no other term can be negative.

    Args:
        problem: with a linear objective. Nothing is yielded where using devices costs nothing, or there are too many.
    """
    sign = -1.0 if problem.objective.maximized else 1.0
    price = np.zeros(problem.k)
    for decision, a in problem.objective.terms:
        if isinstance(decision, Used):
            price[decision.device] += sign * a
    if problem.k > MAX_DEVICES or not (price > 0).any():
        return
    base = sign * problem.objective.constant
    most = _largest_loads(problem)
    time = np.where(problem.allowed, problem.time, np.inf)
    memory, room = float(problem.graph.memory.sum()), problem.memory_room
    priced = []
    for size in range(1, problem.k + 1):
        for devices in combinations(range(problem.k), size):
            chosen = list(devices)
            if memory <= room[chosen].sum() and _fits(time[:, chosen], most[chosen]):
                priced.append((base + float(price[chosen].sum()), devices))
    for cost, devices in sorted(priced):
        yield devices, cost


def _largest_loads(problem: Problem) -> Floats:
    """Return [devices] what labelled rows allow each load to be; ``inf`` where none speaks of it alone."""
    most = np.full(problem.k, np.inf)
    for row in problem.hard_rows:
        if len(row.terms) == 1 and row.sense == "<=" and row.terms[0][1] > 0:
            decision, a = row.terms[0]
            if getattr(decision, "phase", None) is not None:
                continue  # it speaks of one phase, not of all together
            limit = row.rhs / a
            if isinstance(decision, (Bottleneck, Makespan)):
                most = np.minimum(most, limit)
            elif isinstance(decision, Load):
                most[decision.device] = min(most[decision.device], limit)
    return most


def _fits(time: Floats, most: Floats) -> bool:
    """Return whether the work could be divided between devices within these loads, each node where it is fastest.

    Every second of a device does at most its share of the node that it is best at: ``1 <= sum_d most / time`` has to
    hold of the sum over all nodes, with the fastest device of each node as the measure.
    """
    least = time.min(axis=1)
    if not np.isfinite(least).all():
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = np.where(np.isfinite(time), least[:, None] / time, 0.0)
    speed = np.nan_to_num(speed, nan=1.0, posinf=1.0)
    return bool(least.sum() <= (most * speed.max(axis=0, initial=0.0)).sum() * (1 + 1e-9)) or bool(np.isinf(most).any())
