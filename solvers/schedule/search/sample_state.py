"""Hold what searches over assignments and orders share: the supernodes that move, and the state of a schedule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import Arrays, arrays, timed
from mtpp_dsl.solvers.algorithms.windows.tighten import Tightening

STRIDE = 16
"""Places of the order between two that a schedule can be taken up from."""


class SampleField(NamedTuple):
    """A makespan problem on links as the searches take it.

    Attributes:
        arrays: times, edges and transfers.
        group: [n] supernode of every node: those of one share a device.
        members_at, members: the nodes of supernode c are ``members[members_at[c]:members_at[c + 1]]``.
        may: [supernodes, k] where every supernode may go. need: [supernodes] what it takes. limit: [k].
        apart_at, apart: the supernodes that may not share a device with c.
        tail: [n, k] how long before the end every node ends at least.
    """

    arrays: Arrays
    group: Ints
    members_at: Ints
    members: Ints
    may: Bools
    need: Floats
    limit: Floats
    apart_at: Ints
    apart: Ints
    tail: Floats


class SampleState(NamedTuple):
    """A schedule: the order and the devices that it follows from, and what makes it cheap to change.

    Attributes:
        order, place: [n] the nodes in a topological order, and the place of each.
        device: [n] of every node. home: [supernodes].
        used: [k] memory taken.
        end: [n] of every node.
        free: [places / STRIDE + 1, 3 k] when devices, sending ends and receiving ends are free, before that place.
        peak: the last end before that place.
        cost: [1] the makespan, and what is charged for devices over their limits.
    """

    order: Ints
    place: Ints
    device: Ints
    home: Ints
    used: Floats
    end: Floats
    free: Floats
    peak: Floats
    cost: Floats


def sample_field_of(instance: ScheduleInstance) -> SampleField:
    """Return the field of an instance."""
    supernodes = instance.supernodes
    may = supernodes.every(np.isfinite(instance.time))
    for members in supernodes.conflict_sets:
        may[[c for c in members if members.count(c) > 1]] = False
    members_at, members_of = compressed(supernodes.members)
    apart_at, apart = compressed([sorted(others) for others in supernodes.conflicts])
    tightening = Tightening(instance.problem, 0, lambda _: None)
    tail = tightening.side(tightening.back, tightening.time).times
    return SampleField(
        arrays=arrays(instance),
        group=instance.together,
        members_at=members_at,
        members=members_of,
        may=may,
        need=supernodes.total(instance.memory),
        limit=np.array(instance.limit),
        apart_at=apart_at,
        apart=apart,
        tail=np.where(np.isfinite(tail), tail, 0.0),
    )


def sample_state_of(field: SampleField, order: Ints, device: Ints) -> SampleState:
    """Return the state of an order and devices; times are zero until it is timed."""
    n, k = field.arrays.time.shape
    supernodes = len(field.need)
    home = np.zeros(supernodes, np.int64)
    home[field.group] = device
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return SampleState(
        order=order.copy(),
        place=place,
        device=device.copy(),
        home=home,
        used=np.bincount(home, weights=field.need, minlength=k).astype(np.float64),
        end=np.zeros(n),
        free=np.zeros((n // STRIDE + 1, 3 * k)),
        peak=np.zeros(n // STRIDE + 1),
        cost=np.full(1, np.inf),
    )


def sample_order_of(instance: ScheduleInstance, plan: Plan) -> Ints:
    """Return the nodes of a plan by their starts, tails before heads."""
    place = np.empty(instance.n, np.int64)
    place[instance.graph.topological_order] = np.arange(instance.n)
    assert plan.schedule is not None
    return np.lexsort((place, plan.schedule.start)).astype(np.int64)


def sample_plan_of(instance: ScheduleInstance, order: Ints, device: Ints) -> Plan:
    """Return the plan of an order and devices, everything as early as it can be in that order."""
    place = np.empty(instance.n)
    place[order] = np.arange(instance.n)
    return timed(instance, device, place)
