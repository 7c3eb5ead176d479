"""Sets of devices that could hold and do everything, by what it costs to use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import inf, prod

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Linear, Load, Makespan, Used
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable

MAX_DEVICES = 16
"""Sets of more devices are too many to be listed."""
MAX_SETS = 4_096
"""So many sets that differ in more than equal devices are too many, too."""
BROKEN = 1e-5
"""Of the largest part of a row: missed by more, it does not hold, whatever the check of plans lets pass."""


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


@dataclass(frozen=True)
class DeviceSet:
    """Devices that a plan may use.

    Attributes:
        devices: in ascending order.
        paid: what the soft rows over ``used`` alone cost where all of them are used.
        least: the largest load or the makespan, at least, if nodes could be divided; ``inf`` where there is no room.
    """

    devices: tuple[int, ...]
    paid: float
    least: float


def sets_by_rows(problem: Problem) -> list[DeviceSet]:
    """Return the sets of devices that rows over ``used`` alone make worth a search, the most promising first.

    That is by what a plan on them would cost if nodes could be divided. Of sets that differ in equal devices only one
    is there. A set is left out where one of these rows must hold and does not, and where another set has all its
    devices and costs no more. So for every plan, up to equal devices, the list has a set that holds all devices that
    the plan uses, and costs no more than these rows cost that plan.

    Returns nothing where no such row is there, or too many sets are.
    """
    rows = [row for row in problem.of(Linear) if row.terms and all(isinstance(one, Used) for one, _ in row.terms)]
    classes = interchangeable(problem) if rows else []
    if not rows or prod(len(members) + 1 for members in classes) > MAX_SETS:
        return []
    priced: list[tuple[frozenset[int], float]] = []
    for counts in product(*(range(len(members), -1, -1) for members in classes)):
        devices = frozenset(d for members, count in zip(classes, counts, strict=True) for d in members[:count])
        paid = _paid(rows, devices) if devices else inf
        if paid < inf:
            priced.append((devices, paid))
    priced.sort(key=lambda one: -len(one[0]))
    kept: list[tuple[frozenset[int], float]] = []
    for devices, paid in priced:
        if not any(devices <= larger and cost <= paid for larger, cost in kept):
            kept.append((devices, paid))
    found = [DeviceSet(tuple(sorted(devices)), paid, _least(problem, sorted(devices))) for devices, paid in kept]
    return sorted(found, key=lambda one: (one.least + one.paid, one.paid))


def _paid(rows: list[Linear], devices: frozenset[int]) -> float:
    """Return what *rows* over ``used`` cost where these devices are used; ``inf`` where one has to hold and fails."""
    paid = 0.0
    for row in rows:
        left = sum(a for decision, a in row.terms if isinstance(decision, Used) and decision.device in devices)
        missed = row.violation(left)
        if row.penalty is not None:
            paid += row.penalty * missed
        elif missed > BROKEN * max([abs(row.rhs), *(abs(a) for _, a in row.terms)]):
            return inf
    return paid


def _least(problem: Problem, devices: list[int]) -> float:
    """Return what a bottleneck or a makespan is at least, about, if nodes could be divided between *devices*."""
    time = np.where(problem.allowed, problem.time, np.inf)[:, devices]
    best = time.min(axis=1)
    room = float(problem.graph.memory.sum()) <= problem.memory_room[devices].sum()
    if not np.isfinite(best).all() or not room:
        return inf
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = np.nan_to_num(np.where(np.isfinite(time), best[:, None] / time, 0.0), nan=1.0, posinf=1.0)
    return float(best.sum() / max(speed.max(axis=0, initial=0.0).sum(), 1.0))
