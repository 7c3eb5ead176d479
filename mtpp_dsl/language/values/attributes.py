"""Answer functions of expressions with what the graph and the devices say of nodes, edges and devices."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

import numpy as np

from mtpp_dsl.core.base.exact import Exact, from_float
from mtpp_dsl.core.base.units import COMPUTE, NONE, TIME, UNITS, Dimension
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.costing import COSTING
from mtpp_dsl.language.values.decisions import DIMENSIONS, device_of, node_of
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, EdgeRef, NodeRef, Quantity, Sequence, Value, describe

__all__ = ["ATTRIBUTES"]


def _graph(scope: SpecScope) -> Graph:
    assert scope.graph is not None
    scope.need("weights")
    return scope.graph


def _number(attribute: str, unit: str) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a number of the graph's for a node, as exactly as the spec gave it."""

    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        graph = _graph(scope)
        exact = scope.exact.get((attribute, graph.names[v])) if scope.exact else None
        found = from_float(float(getattr(graph, attribute)[v])) if exact is None else exact
        return Quantity(found, DIMENSIONS[getattr(graph, unit)])

    return function


def _text(attribute: str) -> Callable[[SpecScope, Value], Value]:
    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        text: str = getattr(_graph(scope), attribute)[v]
        return text

    return function


def _device(scope: SpecScope, value: Value) -> Device:
    d = device_of(scope, value)
    scope.need("options")
    assert scope.devices is not None
    return scope.devices[d]


def _of_device(scope: SpecScope, device: Device, attribute: str) -> Exact:
    """Return a number of a device, as exactly as the spec gave it."""
    exact = scope.exact.get((f"{attribute} of a device", device.name)) if scope.exact else None
    return from_float(float(getattr(device, attribute))) if exact is None else exact


def _params(scope: SpecScope, value: Value) -> Value:
    if scope.graph is not None and scope.graph.memory_unit != scope.graph.size_unit:
        raise Mismatch("this graph's file gives no sizes of parameters; memory(v) is what a node takes")
    return _number("params", "size_unit")(scope, value)


def _memory(scope: SpecScope, value: Value) -> Value:
    if not isinstance(value, DeviceRef):
        return _number("memory", "memory_unit")(scope, value)
    scope.need("weights")
    device = _device(scope, value)
    if device.memory is None:
        raise Mismatch(f"device {device.name!r} has no memory given")
    unit = scope.graph.memory_unit if scope.graph is not None else ""
    return Quantity(_of_device(scope, device, "memory"), DIMENSIONS[unit])


def _speed(scope: SpecScope, value: Value) -> Value:
    flops = scope.graph is not None and scope.graph.work_unit == "FLOP"
    return Quantity(_of_device(scope, _device(scope, value), "speed"), COMPUTE if flops else NONE)


def _given(attribute: str) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a device's price or power, in its own unit."""

    def function(scope: SpecScope, value: Value) -> Value:
        device = _device(scope, value)
        if getattr(device, attribute) is None:
            raise Mismatch(f"device {device.name!r} has no {attribute} given")
        unit: str = getattr(device, f"{attribute}_unit")
        return Quantity(_of_device(scope, device, attribute), UNITS[unit][1] if unit else NONE)

    return function


def _name(scope: SpecScope, value: Value) -> Value:
    if isinstance(value, DeviceRef):
        device_of(scope, value)
    else:
        node_of(scope, value)
    return scope.name_of(value)


def _node(scope: SpecScope, value: Value) -> Value:
    """Return the node that bears a name itself, without those whose names begin with it."""
    if isinstance(value, Sequence):
        raise Mismatch(f'node takes the name of one node in quotes, as in node("a.b"); this is {describe(value)}')
    found = scope.node(scope.prefix + value) if isinstance(value, str) else value
    if found is None:
        scope.need("nodes")
        raise Mismatch(f"there is no node {value!r}{scope.near(str(value), scope.graph.names if scope.graph else ())}")
    return NodeRef(node_of(scope, found))


def _color(scope: SpecScope, value: Value) -> Value:
    v = node_of(scope, value)
    return Quantity(int(_graph(scope).colors[v]))


def _part(scope: SpecScope, value: Value) -> Value:
    v = node_of(scope, value)
    return "backward" if _graph(scope).backward[v] else "forward"


def _type(scope: SpecScope, value: Value) -> Value:
    return _device(scope, value).type


def _group(scope: SpecScope, value: Value) -> Value:
    return _device(scope, value).group or ""


def _size(scope: SpecScope, value: Value) -> Value:
    if not isinstance(value, EdgeRef):
        raise Mismatch(f"an edge is wanted here, not {describe(value)}; output(v) is the size of a node's tensor")
    graph = _graph(scope)
    return Quantity(from_float(float(graph.sizes[value.index])), DIMENSIONS[graph.size_unit])


def _check_edges(scope: SpecScope) -> None:
    """Refuse to speak of edges before all of them are known.

    Raises:
        Mismatch: the graph is being read.
    """
    scope.need("edges")
    if scope.drawing:
        raise Mismatch("the edges are not known here: the graph is still being read")


def _successors(scope: SpecScope, value: Value) -> Value:
    _check_edges(scope)
    v = node_of(scope, value)
    graph = _graph(scope)
    first, last = np.searchsorted(graph.tails, [v, v + 1])
    return _nodes(scope, graph.heads[first:last].tolist())


def _predecessors(scope: SpecScope, value: Value) -> Value:
    _check_edges(scope)
    v = node_of(scope, value)
    graph = _graph(scope)
    if scope.readers is None:
        scope.readers = np.argsort(graph.heads, kind="stable")
    heads = graph.heads[scope.readers]
    first, last = np.searchsorted(heads, [v, v + 1])
    return _nodes(scope, sorted(graph.tails[scope.readers[first:last]].tolist()))


def _nodes(scope: SpecScope, found: list[int]) -> Sequence:
    scope.steps += len(found)
    return Sequence(tuple(NodeRef(v) for v in found), "set")


def _time(scope: SpecScope, node: Value, device: Value) -> Value:
    """Return what a node takes on a device; ``inf`` where the device cannot run it."""
    v, machine = node_of(scope, node), _device(scope, device)
    graph = _graph(scope)
    own = graph.device_times.get(machine.name)
    table = graph.times.get(machine.name, graph.times.get(machine.type)) if own is None else own
    seconds = graph.work_unit in ("s", "FLOP") or bool(scope.time_unit)
    dimension: Dimension = TIME if seconds else NONE
    if graph.kinds[v] in machine.unsupported:
        return Quantity(inf, dimension)
    if table is not None:
        return Quantity(from_float(float(table[v])), dimension)
    work = _number("work", "work_unit")(scope, node)
    assert isinstance(work, Quantity)
    return Quantity(_quotient(work.value, _of_device(scope, machine, "speed")), dimension)


def _quotient(work: Exact, speed: Exact) -> Exact:
    if isinstance(work, float) or isinstance(speed, float):
        return from_float(float(work) / float(speed))
    found = Fraction(work, 1) / speed
    return found.numerator if found.denominator == 1 else found


ATTRIBUTES: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    "work": (_number("work", "work_unit"), ("node",)),
    "params": (_params, ("node",)),
    "output": (_number("output", "size_unit"), ("node",)),
    "memory": (_memory, ("node or device",)),
    "label": (_text("labels"), ("node",)),
    "name": (_name, ("node or device",)),
    "node": (_node, ("name",)),
    "color": (_color, ("node",)),
    "part": (_part, ("node",)),
    "successors": (_successors, ("node",)),
    "predecessors": (_predecessors, ("node",)),
    "size": (_size, ("edge",)),
    "type": (_type, ("device",)),
    "speed": (_speed, ("device",)),
    "group": (_group, ("device",)),
    "price": (_given("price"), ("device",)),
    "power": (_given("power"), ("device",)),
    "time": (_time, ("node", "device")),
    **COSTING,
}
"""Function and names of its arguments, by name."""
