"""Stages in the order of devices: what has to hold of the constraint, and the one order of all devices it may give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mtpp_dsl.core.constraints import Acyclic, Constraint, InOrder
from mtpp_dsl.core.errors import ConstraintError


class Line(NamedTuple):
    """One order of all devices of a problem.

    Attributes:
        devices: numbers of all devices, in the order in which data flow.
        filled: numbers of those that have to have a node.
    """

    devices: tuple[int, ...]
    filled: frozenset[int]


def listed_devices(rule: InOrder, k: int) -> tuple[int, ...]:
    """Return the devices of *rule* in their order; there are *k* in all."""
    return tuple(range(k)) if rule.devices is None else rule.devices


def check_order(constraints: Sequence[Constraint], names: Sequence[str]) -> None:
    """Check that no device stands twice in an order; *names* are those of all devices.

    Raises:
        ConstraintError: one does.
    """
    for rule in constraints:
        seen: set[int] = set()
        for d in listed_devices(rule, len(names)) if isinstance(rule, InOrder) else ():
            if d in seen:
                raise ConstraintError(f"constraint {rule} names {names[d]} twice: a device has one place", rule.origin)
            seen.add(d)


def in_line(constraints: Sequence[Constraint], k: int) -> Line | None:
    """Return the order of all *k* devices that the constraints give; None where they give none, or two.

    >>> in_line([InOrder(devices=(1, 0)), InOrder(devices=(0,), empty="never")], 2)
    Line(devices=(1, 0), filled=frozenset({0}))
    """
    rules = [rule for rule in constraints if isinstance(rule, InOrder)]
    orders = [listed_devices(rule, k) for rule in rules]
    devices = next((order for order in orders if len(order) == k), None)
    if devices is None:
        return None
    place = {d: i for i, d in enumerate(devices)}
    if any([place[d] for d in order] != sorted(place[d] for d in order) for order in orders):
        return None
    return Line(
        devices, frozenset(d for rule, order in zip(rules, orders, strict=True) if rule.empty == "never" for d in order)
    )


def ordered_devices(constraints: Sequence[Constraint], k: int) -> bool:
    """Return whether the quotient graph has no cycle, by ``acyclic`` or as all of *k* devices stand in an order."""
    return any(isinstance(rule, Acyclic) for rule in constraints) or in_line(constraints, k) is not None
