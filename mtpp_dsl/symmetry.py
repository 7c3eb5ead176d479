"""Devices that nothing in a problem can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from mtpp_dsl.constraints import Constraint, Linear, Load, On
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Links, Problem

__all__ = ["interchangeable", "numbered"]


def interchangeable(problem: Problem) -> list[tuple[int, ...]]:
    """Return classes of devices any two of which can be swapped in every plan.

    Two devices are in one class if they run every node in the same time, have the same memory,
    reserve, I/O and group, and swapping them maps the set of constraints onto itself.
    """
    constraints = frozenset(_canonical(c) for c in problem.constraints)
    classes: list[list[int]] = []
    for d in range(problem.k):
        for members in classes:
            if _alike(problem, members[0], d) and _swapped(constraints, members[0], d) == constraints:
                members.append(d)
                break
        else:
            classes.append([d])
    return [tuple(members) for members in classes]


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


def _alike(problem: Problem, a: int, b: int) -> bool:
    one, two = problem.devices[a], problem.devices[b]
    if (one.memory, one.reserve, one.pays_io, one.group) != (two.memory, two.reserve, two.pays_io, two.group):
        return False
    if isinstance(problem.interconnect, Links):
        return False
    return bool(np.array_equal(problem.time[:, a], problem.time[:, b]))


def _swapped(constraints: frozenset[Constraint], a: int, b: int) -> frozenset[Constraint]:
    return frozenset(_swap(constraint, {a: b, b: a}) for constraint in constraints)


def _swap(constraint: Constraint, to: dict[int, int]) -> Constraint:
    if isinstance(constraint, Linear):
        terms = []
        for decision, coefficient in constraint.terms:
            if isinstance(decision, (On, Load)):
                decision = replace(decision, device=to.get(decision.device, decision.device))
            terms.append((decision, coefficient))
        return _canonical(replace(constraint, terms=tuple(terms)))
    devices = getattr(constraint, "devices", None)
    if devices is None:
        return constraint
    return replace(constraint, devices=tuple(sorted(to.get(d, d) for d in devices)))  # type: ignore[call-arg]


def _canonical(constraint: Constraint) -> Constraint:
    """Return an equal constraint whose terms are sorted and whose label does not matter."""
    if isinstance(constraint, Linear):
        return replace(constraint, label="", terms=tuple(sorted(constraint.terms, key=repr)))
    if any(f.name == "devices" for f in fields(constraint)) and getattr(constraint, "devices", None) is not None:
        return replace(constraint, devices=tuple(sorted(constraint.devices)))  # type: ignore[attr-defined, call-arg]
    return constraint
