"""Decisions in expressions: ``on(v, d)``, ``load(d)``, ``used(d)``, ``start(v)``, ``finish(v)``."""

from __future__ import annotations

from mtpp_dsl.core.base.units import NONE, SIZE, TIME, WORK, counted
from mtpp_dsl.core.constraints import Bottleneck, Decision, Finish, Latency, Load, On, Start, Used
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Affine, DeviceRef, NodeRef, Sequence, Value, describe

DIMENSIONS = {"s": TIME, "B": SIZE, "FLOP": WORK, "": NONE}
"""Dimension by base unit."""


def decision(what: Decision, scope: SpecScope) -> Affine:
    """Return a decision as an expression; all but ``on`` and ``used`` are times."""
    if isinstance(what, (On, Used)):
        return Affine({what: 1})
    scope.remarks.need("time unit")
    return Affine({what: 1}, 0, DIMENSIONS[scope.units.time])


def node_of(scope: SpecScope, value: Value) -> int:
    """Return the number of a node.

    Raises:
        Mismatch: it is something else.
    """
    if not isinstance(value, NodeRef) or scope.graph is None:
        raise Mismatch(f"a node is wanted here, not {_set_of(value, 'node')}")
    return value.index


def device_of(scope: SpecScope, value: Value) -> int:
    """Return the number of a device.

    Raises:
        Mismatch: it is something else.
    """
    if not isinstance(value, DeviceRef) or scope.devices is None:
        raise Mismatch(f"a device is wanted here, not {_set_of(value, 'device')}")
    return value.index


def _set_of(value: Value, what: str) -> str:
    """Return what a value is, for messages; of a set also how many it has, and how they are said one by one."""
    if not isinstance(value, Sequence):
        return describe(value)
    kind, name = (NodeRef, "v") if what == "node" else (DeviceRef, "d")
    several = f" of {counted(len(value), what)}" if value and all(isinstance(member, kind) for member in value) else ""
    return f"{describe(value)}{several}; take its members one by one: 'for {name} in …'"


def on(scope: SpecScope, node: Value, device: Value) -> Value:
    """Return 1 if a node is on a device, else 0."""
    return decision(On(node_of(scope, node), device_of(scope, device)), scope)


def load(scope: SpecScope, device: Value, phase: Value | None = None) -> Value:
    """Return the load of a device, in one phase or in all together."""
    return decision(Load(device_of(scope, device), None if phase is None else phase_name(scope, phase)), scope)


def bottleneck(scope: SpecScope, phase: Value) -> Value:
    """Return the largest load in one phase."""
    return decision(Bottleneck(phase_name(scope, phase)), scope)


def latency(scope: SpecScope, phase: Value) -> Value:
    """Return the sum of the loads in one phase."""
    return decision(Latency(phase_name(scope, phase)), scope)


def phase_name(scope: SpecScope, value: Value) -> str:
    """Return the name of the phase that a value is.

    Raises:
        Mismatch: it is invalid.
    """
    if not isinstance(value, str):
        raise Mismatch(f"a phase is wanted here, not {describe(value)}")
    if value not in scope.phases:
        known = f"there are {', '.join(scope.phases)}" if scope.phases else "declare it: 'phase prefill, decode'"
        raise Mismatch(f"there is no phase {value!r}{did_you_mean(value, scope.phases)}; {known}")
    return value


def used(scope: SpecScope, device: Value) -> Value:
    """Return 1 if any node is on a device, else 0."""
    return decision(Used(device_of(scope, device)), scope)


def moved(scope: SpecScope, node: Value) -> Value:
    """Return 1 if a node is on another device than in the imported plan, else 0.

    A node that this plan does not have counts as not moved, one whose device is gone as moved. It is a decision all the
    same, so that objectives and rows are made of these whatever that plan holds.

    Raises:
        Mismatch: no plan was imported.
    """
    v = node_of(scope, node)
    scope.remarks.need("plan")
    if scope.declared.old_places is None:
        raise Mismatch("moved needs an earlier plan: write 'import plan \"old.json\"'")
    if v not in scope.declared.old_places:
        return Affine({})
    place = scope.declared.old_places[v]
    return Affine({}, 1) if place is None else Affine({On(v, place): -1}, 1)


def start(scope: SpecScope, node: Value) -> Value:
    """Return when a node starts."""
    return decision(Start(node_of(scope, node)), scope)


def finish(scope: SpecScope, node: Value) -> Value:
    """Return when a node ends."""
    return decision(Finish(node_of(scope, node)), scope)
