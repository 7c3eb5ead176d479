"""The option ``time`` of a node: what it takes on devices, by their names, families and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpp_dsl.core.base.units import NONE, TIME
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.values import DeviceRef, MapValue, NodeTime, Quantity, Sequence, describe, shown

if TYPE_CHECKING:
    from mtpp_dsl.language.values.options import Options

__all__ = ["devices_called", "time_option"]

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
    found: dict[str, Quantity] = {}
    for key, time in value.entries.items():
        if not isinstance(key, str):
            raise Complaint(
                f"the key {shown(key)} is no name of a device or of a type of device", span, code="MTPP-E210"
            )
        if not isinstance(time, Quantity):
            raise Complaint(f"the time on {key} must be a time; this is {describe(time)}", span, code="MTPP-E210")
        found[key] = _checked(time, span)
    return NodeTime(found, span)


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
    members = [each for each in known if isinstance(each, DeviceRef)] if isinstance(known, Sequence) else []
    if members:
        return FAMILY, tuple(each.index for each in members)
    typed = tuple(d for d in every if scope.devices[d].type == key)
    if typed:
        return TYPE, typed
    if known is not None:
        raise Complaint(f"a device is wanted as a key here, not {describe(known)}", span, code="MTPP-E210")
    raise scope.unknown(key, span)


def _checked(time: Quantity, span: Span) -> Quantity:
    if time.dimension not in (TIME, NONE) and not time.bare_zero:
        raise Complaint(f"a node takes a time, or a number; this is {time.dimension}", span, code="MTPP-E213")
    if time.value < 0:
        raise Complaint(f"a time must not be negative; this is {shown(time)}", span, code="MTPP-E214")
    return time
