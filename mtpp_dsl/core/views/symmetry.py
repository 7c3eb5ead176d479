"""Devices, and groups of devices, that nothing in a problem can tell apart; and how plans that differ in them are told.

A renaming of devices that maps the problem onto itself turns every plan into one of the same cost. So of all plans that
differ in such renamings alone a search needs one: that in which the devices are ordered (ghannane2023, 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Constraint,
    Decision,
    InOrder,
    Largest,
    Linear,
    Load,
    On,
    PinChunks,
    Used,
    decisions_in,
)
from mtpp_dsl.core.plans.batches import Batches, batch_lengths
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem

Measure: TypeAlias = Literal["tasks", "batches", "time"]


class Ranking(NamedTuple):
    """Devices *more* do at least as much as devices *less*, together, by the measure *by* of :func:`measured`."""

    by: Measure
    more: tuple[int, ...]
    less: tuple[int, ...]


def interchangeable(problem: Problem) -> list[tuple[int, ...]]:
    """Return classes of devices any two of which can be swapped in every plan.

    Two devices are in one class if they run every node, and every batch of it, in the same time, have the same memory,
    reserve and I/O, and swapping them maps the set of constraints onto itself; on ``links`` also the times of all
    transfers, on other interconnects their groups are the same. With a plug-in's constraint they must also agree in
    type, speed and all else that a spec says of a device; and if the constraint does not say that it is symmetric, no
    two are in one class.
    """
    if _told_apart(problem):
        return [(d,) for d in range(problem.k)]
    named = _by_device(problem)
    classes: list[list[int]] = []
    for d in range(problem.k):
        for members in classes:
            first = members[0]
            if _alike(problem, first, d) and _keeps(problem, named, {first: d, d: first}):
                members.append(d)
                break
        else:
            classes.append([d])
    return [tuple(members) for members in classes]


def groups_alike(problem: Problem) -> list[tuple[tuple[int, ...], ...]]:
    """Return classes of groups of devices on ``links`` any two of which can be exchanged, as wholes, in every plan.

    Every group is the tuple of its devices, in the order in which those of two groups of a class take each other's
    place: equal devices by number. A group of which another exchange alone would do stays by itself.
    """
    if not isinstance(problem.interconnect, Links) or _told_apart(problem):
        return []
    named = _by_device(problem)
    kind = [next(e for e in range(d + 1) if _alike(problem, e, d)) for d in range(problem.k)]
    classes: list[list[tuple[int, ...]]] = []
    for members in _groups(problem).values():
        group = tuple(sorted(members, key=lambda d: (kind[d], d)))
        for alike in classes:
            first = alike[0]
            exchange = {**dict(zip(first, group, strict=False)), **dict(zip(group, first, strict=False))}
            if [kind[d] for d in first] == [kind[d] for d in group] and _keeps(problem, named, exchange):
                alike.append(group)
                break
        else:
            classes.append([group])
    return [tuple(alike) for alike in classes]


def rankings(problem: Problem) -> list[Ranking]:
    """Return what ``break symmetry`` asks of plans: some optimal plan satisfies all of it at once.

    Within groups, of two interchangeable devices the first does at least as much; between groups, of two that are alike
    the first. With both, the devices of a class that lies in several groups are ordered as one.

    Take any plan. Exchange alike groups until their sums are in order. Then permute the devices of each class: inside
    a group that leaves its sum as it is, and where a class lies in several groups, none of these is compared with
    another. Neither changes the cost. It takes nothing from the measures but that they do not depend on the names of
    devices: any number for every node and size of its batch will do, such as a rounded time. Of several constraints the
    first counts, as a plan can be sorted by one measure only.
    """
    within, between = _asked(problem)
    classes, alike = _orders(problem, within, between)
    pairs: list[Ranking] = []
    if within is not None:
        pairs += [Ranking(within, (d,), (e,)) for row in classes for d, e in pairwise(row)]
    if between is not None:
        pairs += [Ranking(between, one, two) for row in alike for one, two in pairwise(row)]
    return pairs


def measured(problem: Problem, plan: Plan, by: Measure) -> Floats:
    """Return [devices] how much each does in *plan*.

    ``tasks``: nodes with a batch there; ``batches``: inputs of all nodes; ``time``: that of all its batches. Without
    batches every node is one of one input.
    """
    n, k = problem.graph.n, problem.k
    if plan.batches is None:
        counts = np.zeros((n, k))
        counts[np.arange(n), plan.assignment] = 1.0
        takes = np.where(counts > 0, problem.time, 0.0)
    else:
        counts = plan.batches.sizes.astype(np.float64)
        slots = plan.batches.slots
        takes = batch_lengths(problem, plan.batches.lane_sizes, slots).reshape(n, k, slots).sum(axis=2)
    table: Floats = {"tasks": (counts > 0).astype(np.float64), "batches": counts, "time": takes}[by]
    total: Floats = table.sum(axis=0)
    return total


def ordered(problem: Problem, plan: Plan) -> Plan:
    """Return *plan* with its devices renamed so that it satisfies :func:`rankings`; the cost is the same.

    Args:
        problem: whose plan it is.
        plan: of a makespan on ``links``, or of the throughput of a batch.
    """
    within, between = _asked(problem)
    classes, alike = _orders(problem, within, between)
    to = np.arange(problem.k)
    if between is not None:
        does = measured(problem, plan, between)
        for groups in alike:
            by_sum = sorted(groups, key=lambda group: -float(does[list(group)].sum()))
            for group, place in zip(by_sum, groups, strict=True):
                to[list(group)] = place
    if within is not None:
        does = np.empty(problem.k)
        does[to] = measured(problem, plan, within)
        again = np.arange(problem.k)
        for members in classes:
            again[sorted(members, key=lambda d: -float(does[d]))] = members
        to = again[to]
    return _renamed(problem, plan, to)


def numbered(problem: Problem, plan: Plan, classes: Sequence[Sequence[int]]) -> Plan:
    """Return *plan* with the devices of each class numbered in the order in which data flow.

    Args:
        problem: whose plan it is.
        plan: one without an order, or with replicas, is returned as it is.
        classes: of :func:`interchangeable`.
    """
    if plan.order is None or plan.replicas:
        return plan
    place = np.argsort(np.array(plan.order))
    to = np.arange(problem.k)
    for members in classes:
        to[sorted(members, key=lambda d: int(place[d]))] = sorted(members)
    return Plan.create(problem, to[plan.assignment], to[list(plan.order)].tolist())


def _renamed(problem: Problem, plan: Plan, to: Ints) -> Plan:
    """Return *plan* with every device d called *to[d]*."""
    if plan.batches is None:
        return Plan.create(problem, to[plan.assignment], schedule=plan.schedule)
    slots = plan.batches.slots
    lanes = (to[:, None] * slots + np.arange(slots)).ravel()
    start, end = np.empty_like(plan.batches.start), np.empty_like(plan.batches.end)
    start[:, lanes], end[:, lanes] = plan.batches.start, plan.batches.end
    return Plan.of_batches(Batches.create(problem, to[plan.batches.device], start, end, plan.batches.slot))


def _asked(problem: Problem) -> tuple[Measure | None, Measure | None]:
    """Return by what devices are ordered within groups, and groups among each other; None: they are not."""
    rules = list(problem.of(BreakSymmetry))
    return (
        next((rule.by for rule in rules if rule.scope != "between"), None),
        next((rule.by for rule in rules if rule.scope != "within"), None),
    )


def _orders(
    problem: Problem, within: Measure | None, between: Measure | None
) -> tuple[list[tuple[int, ...]], list[tuple[tuple[int, ...], ...]]]:
    """Return the classes of devices, and those of groups, that are ordered together."""
    classes = interchangeable(problem) if within is not None else []
    alike = groups_alike(problem) if between is not None else []
    if between is None:
        by_group: dict[tuple[int, str | None], list[int]] = {}
        for number, members in enumerate(classes):
            for d in members:
                by_group.setdefault((number, problem.devices[d].group), []).append(d)
        return [tuple(members) for members in by_group.values()], []
    group = [device.group for device in problem.devices]
    across = {group[d] for members in classes if len({group[d] for d in members}) > 1 for d in members}
    kept = [tuple(one for one in groups if group[one[0]] not in across) for groups in alike]
    return classes, [groups for groups in kept if groups]


def _groups(problem: Problem) -> Mapping[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for d, device in enumerate(problem.devices):
        if device.group is not None:
            groups.setdefault(device.group, []).append(d)
    return groups


def _told_apart(problem: Problem) -> bool:
    """Return whether a plug-in's constraint may tell devices apart in ways of its own."""
    return not all(custom.symmetric for custom in problem.of(CustomConstraint))


def _alike(problem: Problem, a: int, b: int) -> bool:
    """Return whether two devices agree in all that is said of each by itself.

    Under a plug-in's constraint that is all but their names, as the constraint may read any of it.
    """
    one, two = problem.devices[a], problem.devices[b]
    if a != b and any({a, b} & set(listed_devices(rule, problem.k)) for rule in problem.of(InOrder)):
        return False  # each has its place in an order
    if any(problem.of(CustomConstraint)) and replace(one, name="") != replace(two, name=""):
        return False
    if (one.memory, one.reserve, one.pays_io) != (two.memory, two.reserve, two.pays_io):
        return False
    if not isinstance(problem.interconnect, Links) and one.group != two.group:
        return False
    batched = problem.objective.batch is not None
    if batched and problem.batching.repeat[a] != problem.batching.repeat[b]:
        return False  # of several constraints the later one counts, so their set does not tell
    time = problem.batching.time if batched else problem.time
    if not all(np.array_equal(phase.time[:, a], phase.time[:, b]) for phase in problem.each_phase.values()):
        return False
    return bool(np.array_equal(time[:, a], time[:, b]))


def _keeps(problem: Problem, named: Mapping[int, Sequence[Constraint]], to: Mapping[int, int]) -> bool:
    """Return whether a renaming of devices that agree by themselves keeps transfers and constraints."""
    if isinstance(problem.interconnect, Tree):
        tree = problem.interconnect
        for column in (tree.parents, tree.uplink, tree.latency, tree.half):
            if any(column[d] != column[e] for d, e in to.items()):
                return False
    if problem.networked and isinstance(problem.interconnect, Links) and _relays(problem):
        return False  # which way a tensor goes may depend on the numbers of devices
    if isinstance(problem.interconnect, Links):
        everywhere = np.array([to.get(d, d) for d in range(problem.k)])
        carried, off = problem.transfers, ~np.eye(problem.k, dtype=np.bool_)
        moved = np.array(sorted(to))
        for times in (carried.latency[None], carried.inverse[None], carried.table):
            for before, after in (
                (times[:, moved], times[:, everywhere[moved]][:, :, everywhere]),
                (times.transpose(0, 2, 1)[:, moved], times.transpose(0, 2, 1)[:, everywhere[moved]][:, :, everywhere]),
            ):
                if not (before == after)[:, off[moved]].all():
                    return False
    constraints = frozenset(c for d in to for c in named.get(d, ()))
    return frozenset(_swap(constraint, to) for constraint in constraints) == constraints


def _relays(problem: Problem) -> bool:
    """Return whether some route passes a device between its ends."""
    joined = problem.interconnect
    if not isinstance(joined, Links) or joined.routing == "direct":
        return False
    own = joined.bandwidth > 0
    return bool((problem.network.rate[~own & ~np.eye(problem.k, dtype=np.bool_)] > 0).any())


def _by_device(problem: Problem) -> Mapping[int, list[Constraint]]:
    """Return the constraints that name every device; of a batch, sizes are in the times already."""
    named: dict[int, list[Constraint]] = {}
    for constraint in problem.constraints:
        if problem.objective.batch is None or not isinstance(constraint, BatchSizes):
            for d in _names(constraint):
                named.setdefault(d, []).append(_canonical(constraint))
    for number, objective in enumerate(problem.objectives):
        row = Linear(label="", terms=objective.terms, sense="==", rhs=float(number))  # what it adds up, as if a row
        for d in _names(row):
            named.setdefault(d, []).append(_canonical(row))
    return named


def _names(constraint: Constraint) -> set[int]:
    if isinstance(constraint, Linear):
        return {x.device for x in decisions_in(constraint.terms) if isinstance(x, (On, Load, Used))}
    if isinstance(constraint, PinChunks):
        return set(constraint.places)
    return set(getattr(constraint, "devices", None) or ())


def _swap(constraint: Constraint, to: Mapping[int, int]) -> Constraint:
    if isinstance(constraint, Linear):
        return _canonical(replace(constraint, terms=tuple((_moved(x, to), a) for x, a in constraint.terms)))
    if isinstance(constraint, PinChunks):
        return replace(constraint, places=tuple(to.get(d, d) for d in constraint.places))
    devices = getattr(constraint, "devices", None)
    if devices is None or isinstance(constraint, InOrder):
        return constraint
    return replace(constraint, devices=tuple(sorted(to.get(d, d) for d in devices)))  # type: ignore[call-arg]


def _moved(decision: Decision, to: Mapping[int, int]) -> Decision:
    """Return what a decision becomes where devices change places."""
    if isinstance(decision, Largest):
        sums = (
            (tuple(sorted(((_moved(x, to), a) for x, a in terms), key=repr)), constant)
            for terms, constant in decision.sums
        )
        return Largest(tuple(sorted(sums, key=repr)))
    if isinstance(decision, (On, Load, Used)):
        return replace(decision, device=to.get(decision.device, decision.device))
    return decision


def _canonical(constraint: Constraint) -> Constraint:
    """Return an equal constraint whose terms are sorted and whose label does not matter."""
    if isinstance(constraint, Linear):
        terms = ((_moved(x, {}), a) for x, a in constraint.terms)
        return replace(constraint, label="", terms=tuple(sorted(terms, key=repr)))
    if isinstance(constraint, InOrder):
        return constraint
    if any(f.name == "devices" for f in fields(constraint)) and getattr(constraint, "devices", None) is not None:
        return replace(constraint, devices=tuple(sorted(constraint.devices)))  # type: ignore[attr-defined, call-arg]
    return constraint
