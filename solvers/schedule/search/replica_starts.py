"""Make schedules of batches to start from, in which groups of chunks run alike on groups of equal devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance

__all__ = ["replica_starts"]

SHARE = 0.15
"""Of the time left, for all of these schedules."""


def replica_starts(
    instance: BatchInstance, limits: Limits, solve: Callable[[Problem, Limits], Plan | None]
) -> Iterator[Plan]:
    """Yield schedules in which chunks in r groups of equal size run on r groups of equal devices, all in the same way.

    r are the divisors of the number of chunks, from two on, of which some kind of devices has so many. The schedule of
    one group is a makespan of one sample, whose nodes take as long as batches of its chunks. The schedules may break a
    constraint.

    Args:
        instance: the throughput of a batch.
        limits: of all these schedules together, a share of its time.
        solve: returns a plan for a makespan, None if it finds none.
    """
    if (instance.pins >= 0).any():
        return
    kinds = [near_first(instance, kind) for kind in kinds_of(instance)]
    counts = [r for r in range(2, instance.chunks + 1) if instance.chunks % r == 0 and r <= max(map(len, kinds))]
    until = limits.within(SHARE * limits.remaining, start=None)
    for i, count in enumerate(counts):
        parts = [[kind[j * (len(kind) // count) :][: len(kind) // count] for kind in kinds] for j in range(count)]
        devices: Ints = np.array([[d for part in own for d in part] for own in parts])
        own = until.within(until.remaining / (len(counts) - i), start=None)
        plan = solve(one_group(instance, devices[0], instance.chunks // count), own)
        if plan is not None:
            yield all_groups(instance, devices, plan)


def kinds_of(instance: BatchInstance) -> list[list[int]]:
    """Return the devices that run every batch in the same time and have the same memory, kind by kind."""
    kinds: dict[tuple[bytes, float], list[int]] = {}
    for d in range(instance.k):
        kinds.setdefault((instance.time[:, d].tobytes(), float(instance.limit[d])), []).append(d)
    return list(kinds.values())


def near_first(instance: BatchInstance, kind: list[int]) -> list[int]:
    """Return devices in an order in which the next one is the one nearest to the last, ties by number."""
    far: Floats = (instance.fixed + instance.growing).sum(axis=0)
    left = list(kind)
    order: list[int] = []
    while left:
        order.append(min(left, key=lambda d: far[order[-1], d]) if order else left[0])
        left.remove(order[-1])
    return order


def one_group(instance: BatchInstance, devices: Ints, chunks: int) -> Problem:
    """Return the makespan of batches of so many chunks on some devices."""
    graph, batching, k = instance.graph, instance.batching, len(devices)
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    names = [f"d{j}" for j in range(k)]
    carried = (instance.fixed + chunks * instance.growing)[:, devices[:, None], devices][instance.row]
    carried[:, range(k), range(k)] = 0.0
    return Problem.create(
        Graph.create(
            graph.names,
            edges,
            memory=batching.weights + chunks * batching.share,
            times={name: instance.time[:, d, chunks] for name, d in zip(names, devices.tolist(), strict=True)},
        ),
        [
            Device(name, memory=limit if np.isfinite(limit) else None)
            for name, limit in zip(names, instance.limit[devices].tolist(), strict=True)
        ],
        Links(np.ones((k, k)), np.zeros((k, k)), carried),
        Objective("makespan"),
        _rules(instance),
    )


def _rules(instance: BatchInstance) -> list[Constraint]:
    rules: list[Constraint] = [Memory()]
    members = [np.flatnonzero(instance.together == g).tolist() for g in np.unique(instance.together)]
    rules += [Colocate(nodes=tuple(own)) for own in members if len(own) > 1]
    return [*rules, *(Separate(nodes=nodes) for nodes in instance.apart)]


def all_groups(instance: BatchInstance, devices: Ints, plan: Plan) -> Plan:
    """Return the schedule of all chunks, each group of which runs as *plan* says on its devices, [groups, k]."""
    where = devices[:, plan.assignment].T.repeat(instance.chunks // len(devices), axis=1)
    assert plan.schedule is not None
    return instance.plan(where, np.tile(plan.schedule.start[:, None], (1, instance.k)))
