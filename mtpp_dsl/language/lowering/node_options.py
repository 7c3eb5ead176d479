"""The options of nodes that say what their operators cost, and what they take on devices."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

from mtpp_dsl.core.base.units import NONE, SIZE, TIME, WORK
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.phases import per_phase
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, MapValue, NodeTime, Quantity, Sequence, describe, shown

TYPE, FAMILY, NAME = range(3)
"""What a key may name: of several about one device the last of these counts."""


def time_option(options: Options) -> NodeTime | None:
    """Return the times that the options of a node give, or None where they give none.

    Raises:
        Complaint: neither a time nor a map from devices to times; a time that is negative.
    """
    if "time" not in options:
        return None
    value, span = options.value("time"), options.span("time")
    if isinstance(value, Quantity):
        return NodeTime({"": _checked(value, span)}, span)
    if not isinstance(value, MapValue):
        message = f"time is a time, or a map from devices to times such as {{cpu: 3 ms}}; this is {describe(value)}"
        raise Complaint(message, span, code="MTPP-E210")
    times: dict[str, Quantity] = {}
    for key, time in value.entries.items():
        if not isinstance(key, str):
            raise Complaint(
                f"the key {shown(key)} is no name of a device or of a type of device", span, code="MTPP-E210"
            )
        if not isinstance(time, Quantity):
            raise Complaint(f"the time on {key} must be a time; this is {describe(time)}", span, code="MTPP-E210")
        times[key] = _checked(time, span)
    return NodeTime(times, span)


def devices_called(key: str, scope: SpecScope, span: Span) -> tuple[int, tuple[int, ...]]:
    """Return what a key names, a device, a family or a type of device, and the numbers of these devices.

    Raises:
        Complaint: it names none of them.
    """
    assert scope.devices is not None
    every = tuple(range(len(scope.devices)))
    if not key:
        return TYPE, every
    known = scope.device(key) or scope.member(key, span)
    if isinstance(known, DeviceRef):
        return NAME, (known.index,)
    members = [member for member in known if isinstance(member, DeviceRef)] if isinstance(known, Sequence) else []
    if members:
        return FAMILY, tuple(member.index for member in members)
    typed = tuple(d for d in every if scope.devices[d].type == key)
    if typed:
        return TYPE, typed
    if known is not None:
        raise Complaint(f"a device is wanted as a key here, not {describe(known)}", span, code="MTPP-E210")
    raise scope.unknown(key, span)


def _checked(time: Quantity, span: Span) -> Quantity:
    if time.dimension not in (TIME, NONE) and not time.bare_zero:
        raise Complaint(
            f"a node takes a time or a number without a unit; this is {time.dimension}",
            span,
            code="MTPP-E213",
        )
    if time.value < 0:
        raise Complaint(f"a time must not be negative; this is {shown(time)}", span, code="MTPP-E214")
    return time


AMOUNTS = (("flop", WORK), ("read", SIZE), ("write", SIZE))
WORDS = ("dtype", "weight_type")

COST_OPTIONS = (*(name for name, _ in AMOUNTS), *WORDS)
"""The options."""


def cost_options(name: str, options: Options, sizes: UnitKeeper) -> dict[str, Any]:
    """Return what the options of node *name* say of its costs: numbers, or numbers by phase, and words.

    Raises:
        Complaint: a value in another unit; options that say nothing without ``flop``.
    """
    costs: dict[str, Any] = {}
    for what, dimension in AMOUNTS:
        by_phase = per_phase(options, what, (dimension,))
        value = None if by_phase is not None else options.quantity(what, (dimension,))
        for given in by_phase.values() if by_phase is not None else () if value is None else (value,):
            if dimension == SIZE:
                sizes.add(given, f"{what} of {name}", options.span(what))
        if by_phase is not None:
            costs[what] = {phase: float(given.value) for phase, given in by_phase.items()}
        elif value is not None:
            costs[what] = float(value.value)
    for what in WORDS:
        word = options.label(what)
        if word is not None:
            costs[what] = word
    alone = next((what for what in costs if "flop" not in costs), None)
    if alone is not None:
        raise Complaint(
            f"{alone} says something of an operator whose operations are counted: give flop, too; flop = 0 FLOP where "
            "it computes nothing",
            options.span(alone),
            code="MTPP-E108",
        )
    return costs


def costs_of(nodes: Mapping[str, Mapping[str, object]], phase: str) -> Costs | None:
    """Return the costs that nodes have in a phase ("" where there are none), by what their options say; None for none.

    Args:
        nodes: what :func:`cost_options` returned, among other things, by name.
        phase: in which the costs are wanted.
    """
    owner = [v for v, attributes in enumerate(nodes.values()) if "flop" in attributes]
    if not owner:
        return None
    given = [attributes for attributes in nodes.values() if "flop" in attributes]

    def column(what: str, default: object) -> list[Any]:
        values = [attributes.get(what, default) for attributes in given]
        return [value[phase] if isinstance(value, dict) else value for value in values]

    return Costs.create(
        owner,
        flop=column("flop", nan),
        read=column("read", nan),
        write=column("write", nan),
        dtypes=column("dtype", ""),
        weight_types=column("weight_type", ""),
    )
