"""The functions of the language: attributes of nodes and devices, decisions, mathematics."""

from __future__ import annotations

from collections.abc import Callable

from mtpp_dsl.language.values import decisions
from mtpp_dsl.language.values.attributes import ATTRIBUTES
from mtpp_dsl.language.values.decisions import decision
from mtpp_dsl.language.values.mathematics import AGGREGATES, MATHEMATICS
from mtpp_dsl.language.values.values import Value

__all__ = ["AGGREGATES", "FUNCTIONS", "decision"]

FUNCTIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    **ATTRIBUTES,
    "on": (decisions.on, ("node", "device")),
    "load": (decisions.load, ("device", "phase?")),
    "bottleneck": (decisions.bottleneck, ("phase",)),
    "latency": (decisions.latency, ("phase",)),
    "used": (decisions.used, ("device",)),
    "moved": (decisions.moved, ("node",)),
    "start": (decisions.start, ("node",)),
    "finish": (decisions.finish, ("node",)),
    **MATHEMATICS,
}
"""Function and names of its arguments, by name; those that may be left out end in "?"."""
