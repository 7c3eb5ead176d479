"""Read what a law makes times of: the options ``peak``, ``bandwidth`` and ``efficiency`` of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import COMPUTE, NONE, RATE, Dimension
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import Complaint
from mtpp_dsl.language.values.values import MapValue, Quantity, shown

__all__ = ["FIGURES", "figures"]

FIGURES = ("peak", "bandwidth", "efficiency")
"""The options."""

OTHER = "other"
"""The key of a map that stands for what has no key of its own."""


def figures(options: Options) -> dict[str, Any]:
    """Return the fields of a device that its options give: those that are not given are left out.

    Raises:
        Complaint: a value in another unit, a figure of zero, a share of more than 100 %.
    """
    found: dict[str, Any] = {}
    for name, dimension in (("peak", COMPUTE), ("efficiency", NONE)):
        if name in options:
            found[name] = _by_key(options, name, (dimension,))
    bandwidth = options.quantity("bandwidth", (RATE,))
    if bandwidth is not None:
        found["bandwidth"] = _positive(options, "bandwidth", bandwidth)
    for kind, share in found.get("efficiency", {}).items():
        if share > 1:
            of = f" of {kind}" if kind else ""
            message = f"an efficiency{of} is more than 0 %, at most 100 %; this is {100 * share:g} %"
            raise Complaint(message, options.span("efficiency"), code="MTPP-E214")
    return found


def _by_key(options: Options, name: str, dimensions: Sequence[Dimension]) -> Mapping[str, float]:
    """Return the numbers of a map from words; of one number alone, that number for whatever it is asked for."""
    value = options.value(name)
    if not isinstance(value, MapValue):
        number = options.quantity(name, dimensions)
        assert number is not None
        return {"": _positive(options, name, number)}
    found: dict[str, float] = {}
    for key, each in value.entries.items():
        if not isinstance(key, str):
            example = "{bf16: 312 TFLOP/s}" if name == "peak" else "{matmul: 60 %}"
            message = f"the keys of {name} are words, as in {example}; this is {shown(key)}"
            raise Complaint(message, options.span(name), code="MTPP-E210")
        found["" if key == OTHER else key] = _positive(options, name, options.checked(name, each, dimensions))
    return found


def _positive(options: Options, name: str, value: Quantity) -> float:
    if not value.value > 0:
        raise Complaint(f"{name} must be more than zero", options.span(name), code="MTPP-E214")
    return float(value.value)
