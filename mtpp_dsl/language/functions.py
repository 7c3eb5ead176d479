"""The functions of the language: attributes of nodes and devices, decisions, mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from mtpp_dsl.base.units import COMPUTE, NONE, SIZE, TIME, WORK, Dimension
from mtpp_dsl.constraints import Decision, Finish, Load, On, Start
from mtpp_dsl.language.arithmetic import Mismatch, compare, total
from mtpp_dsl.language.scope import Scope
from mtpp_dsl.language.values import Affine, DeviceRef, NodeRef, Quantity, Value, describe
from mtpp_dsl.problem import Device

__all__ = ["AGGREGATES", "FUNCTIONS", "decision"]

_DIMENSIONS = {"s": TIME, "B": SIZE, "FLOP": WORK, "": NONE}


def decision(what: Decision, scope: Scope) -> Affine:
    """Return a decision as an expression; all but ``on`` are times."""
    if not isinstance(what, On):
        scope.need("time unit")
    dimension = NONE if isinstance(what, On) else _DIMENSIONS[scope.time_unit]
    return Affine({what: 1.0}, 0.0, dimension)


def _node(scope: Scope, value: Value) -> int:
    if not isinstance(value, NodeRef) or scope.graph is None:
        raise Mismatch(f"a node is wanted here, not {describe(value)}")
    return value.index


def _device(scope: Scope, value: Value) -> int:
    if not isinstance(value, DeviceRef) or scope.devices is None:
        raise Mismatch(f"a device is wanted here, not {describe(value)}")
    return value.index


def _graph_array(attribute: str, unit: str) -> Callable[[Scope, Value], Value]:
    def function(scope: Scope, value: Value) -> Value:
        v = _node(scope, value)
        scope.need("weights")
        return Quantity(float(getattr(scope.graph, attribute)[v]), _DIMENSIONS[getattr(scope.graph, unit)])

    return function


def _of_device(scope: Scope, value: Value) -> Device:
    d = _device(scope, value)
    scope.need("options")
    assert scope.devices is not None
    return scope.devices[d]


def _memory(scope: Scope, value: Value) -> Value:
    if isinstance(value, DeviceRef):
        scope.need("weights")
        device = _of_device(scope, value)
        if device.memory is None:
            raise Mismatch(f"device {device.name!r} has no memory given")
        return Quantity(device.memory, _memory_dimension(scope))
    return _graph_array("memory", "memory_unit")(scope, value)


def _memory_dimension(scope: Scope) -> Dimension:
    return _DIMENSIONS[scope.graph.memory_unit] if scope.graph is not None else NONE


def _speed(scope: Scope, value: Value) -> Value:
    dimension = COMPUTE if scope.graph is not None and scope.graph.work_unit == "FLOP" else NONE
    return Quantity(_of_device(scope, value).speed, dimension)


def _text(attribute: str) -> Callable[[Scope, Value], Value]:
    def function(scope: Scope, value: Value) -> Value:
        v = _node(scope, value)
        if attribute != "names":
            scope.need("weights")
        text: str = getattr(scope.graph, attribute)[v]
        return text

    return function


def _name(scope: Scope, value: Value) -> Value:
    if isinstance(value, DeviceRef):
        return _of_device(scope, value).name
    return _text("names")(scope, value)


def _color(scope: Scope, value: Value) -> Value:
    v = _node(scope, value)
    scope.need("weights")
    assert scope.graph is not None
    return Quantity(int(scope.graph.colors[v]))


def _part(scope: Scope, value: Value) -> Value:
    v = _node(scope, value)
    scope.need("weights")
    assert scope.graph is not None
    return "backward" if scope.graph.backward[v] else "forward"


def _on(scope: Scope, node: Value, device: Value) -> Value:
    return decision(On(_node(scope, node), _device(scope, device)), scope)


def _load(scope: Scope, device: Value) -> Value:
    return decision(Load(_device(scope, device)), scope)


def _start(scope: Scope, node: Value) -> Value:
    return decision(Start(_node(scope, node)), scope)


def _finish(scope: Scope, node: Value) -> Value:
    return decision(Finish(_node(scope, node)), scope)


def _plain(value: Value, what: str) -> Quantity:
    if isinstance(value, Affine):
        raise Mismatch(f"{what} of a decision is not linear")
    if not isinstance(value, Quantity):
        raise Mismatch(f"{what} needs a number, not {describe(value)}")
    return value


def _rounded(name: str, function: Callable[[float], int]) -> Callable[[Scope, Value], Value]:
    def rounding(_: Scope, value: Value) -> Value:
        quantity = _plain(value, name)
        if quantity.dimension != NONE:
            raise Mismatch(f"{name} needs a number without a unit, not {quantity.dimension}")
        return Quantity(function(quantity.value))

    return rounding


def _abs(_: Scope, value: Value) -> Value:
    quantity = _plain(value, "abs")
    return Quantity(abs(quantity.value), quantity.dimension)


def _real(name: str, function: Callable[[float], float]) -> Callable[[Scope, Value], Value]:
    def real(_: Scope, value: Value) -> Value:
        quantity = _plain(value, name)
        if quantity.dimension != NONE:
            raise Mismatch(f"{name} needs a number without a unit, not {quantity.dimension}")
        try:
            return Quantity(function(quantity.value))
        except ValueError:
            raise Mismatch(f"{name}({quantity.value:g}) is not defined") from None

    return real


def _mod(_: Scope, left: Value, right: Value) -> Value:
    a, b = _plain(left, "mod"), _plain(right, "mod")
    if not (isinstance(a.value, int) and isinstance(b.value, int) and b.value > 0):
        raise Mismatch("mod needs whole numbers, the second more than zero")
    return Quantity(a.value % b.value)


def _params(scope: Scope, value: Value) -> Value:
    if scope.graph is not None and scope.graph.memory_unit != scope.graph.size_unit:
        raise Mismatch("this graph's file gives no sizes of parameters; memory(v) is what a node takes")
    return _graph_array("params", "size_unit")(scope, value)


FUNCTIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    "work": (_graph_array("work", "work_unit"), ("node",)),
    "params": (_params, ("node",)),
    "output": (_graph_array("output", "size_unit"), ("node",)),
    "memory": (_memory, ("node or device",)),
    "kind": (_text("kinds"), ("node",)),
    "label": (_text("labels"), ("node",)),
    "name": (_name, ("node or device",)),
    "color": (_color, ("node",)),
    "part": (_part, ("node",)),
    "type": (lambda scope, device: _of_device(scope, device).type, ("device",)),
    "speed": (_speed, ("device",)),
    "on": (_on, ("node", "device")),
    "load": (_load, ("device",)),
    "start": (_start, ("node",)),
    "finish": (_finish, ("node",)),
    "abs": (_abs, ("number",)),
    "floor": (_rounded("floor", math.floor), ("number",)),
    "ceil": (_rounded("ceil", math.ceil), ("number",)),
    "round": (_rounded("round", round), ("number",)),
    "sqrt": (_real("sqrt", math.sqrt), ("number",)),
    "log2": (_real("log2", math.log2), ("number",)),
    "mod": (_mod, ("number", "number")),
}
"""Function and names of its arguments, by name."""


def _extreme(name: str, operator: str) -> Callable[[Iterable[Value]], Value]:
    def extreme(values: Iterable[Value]) -> Value:
        best: Quantity | None = None
        for value in values:
            quantity = _plain(value, name)
            if best is None or compare(quantity, operator, best):
                best = quantity
        if best is None:
            raise Mismatch(f"{name} of nothing")
        return best

    return extreme


AGGREGATES: dict[str, Callable[[Iterable[Value]], Value]] = {
    "sum": total,
    "min": _extreme("min", "<"),
    "max": _extreme("max", ">"),
    "count": lambda values: Quantity(sum(1 for _ in values)),
}
"""Functions of a set, a list, a comprehension or several arguments."""
