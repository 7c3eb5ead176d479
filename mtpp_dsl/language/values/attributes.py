"""Answer functions of expressions with what the graph, the devices and the costs of operators say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan

import numpy as np

from mtpp_dsl.core.base.exact_numbers import Exact, from_float
from mtpp_dsl.core.base.units import COMPUTE, NONE, RATE, SIZE, TIME, UNITS, WORK, Dimension
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.decisions import DIMENSIONS, device_of, node_of
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, EdgeRef, NodeRef, Quantity, Sequence, Value, describe


def settled_costs(graph: Graph) -> Costs | None:
    """Return the costs of a graph with what is read and written, and kinds, filled in; None where it has none.

    Raises:
        UsageError: one of several operators of a node does not say what it reads or writes, or sizes have no unit.
    """
    costs = graph.costs
    if costs is None:
        return None
    silent = np.isnan(costs.read) | np.isnan(costs.write)
    if silent.any() and graph.size_unit != "B" and (graph.params.any() or graph.output.any() or graph.sizes.any()):
        name = graph.names[int(costs.owner[silent][0])]
        raise UsageError(
            f"what node {name!r} reads and writes follows from sizes in B; those of the graph have no unit"
        )
    inputs = np.bincount(graph.heads, graph.sizes, graph.n).astype(np.float64)
    kinds = tuple(kind or graph.kinds[v] for kind, v in zip(costs.kinds, costs.owner.tolist(), strict=True))
    return replace(costs.settled(graph.params, inputs, graph.output), kinds=kinds)


def _amount(what: str, dimension: Dimension) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a number of an operator, or the sum over the operators of a node."""

    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        operator = scope.evaluated.operator
        if operator is not None and operator.node == v:
            return _known(float(getattr(operator.costs, what)[operator.item]), what, scope, v, dimension)
        graph = _graph(scope)
        parts = [(phase.weight, phase.graph) for phase in graph.phases] or [(1.0, graph)]
        total = 0.0
        for weight, part in parts:
            costs = settled_costs(part)
            items = range(0) if costs is None else costs.items_of(v)
            if costs is None or not items:
                raise Mismatch(f"node {graph.names[v]!r} has no {what}: give it (flop = …)")
            total += weight * float(getattr(costs, what)[items.start : items.stop].sum())
        return _known(total, what, scope, v, dimension)

    return function


def _known(number: float, what: str, scope: SpecScope, v: int, dimension: Dimension) -> Quantity:
    if isnan(number):
        operator, graph = scope.evaluated.operator, _graph(scope)
        name = graph.names[v] if operator is None else operator.shown_name(graph)
        raise Mismatch(f"{what} of {name} is not known")
    return Quantity(from_float(number), dimension)


def _word(column: str, what: str) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a word about an operator; of a node, the one that all its operators have."""

    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        operator = scope.evaluated.operator
        if operator is not None and operator.node == v:
            word: str = getattr(operator.costs, column)[operator.item]
            return word
        graph = _graph(scope)
        part = graph.phases[0].graph if graph.phases else graph
        costs = part.costs
        words = {} if costs is None else {getattr(costs, column)[item]: None for item in costs.items_of(v)}
        if len(words) > 1:
            listed = ", ".join(word or "none" for word in list(words)[:4])
            raise Mismatch(f"node {graph.names[v]!r} is a group of operators of several {what}: {listed}")
        return next(iter(words), "")

    return function


def kind_of(scope: SpecScope, value: Value) -> Value:
    """Return the kind of an operator, or of a node."""
    v = node_of(scope, value)
    operator = scope.evaluated.operator
    graph = _graph(scope)
    if operator is not None and operator.node == v:
        return operator.costs.kinds[operator.item]
    return graph.kinds[v]


def _checked_text(value: Value, what: str) -> str:
    if not isinstance(value, str):
        raise Mismatch(f"{what} is a string here, not {describe(value)}")
    return value


def _peak(scope: SpecScope, device: Value, dtype: Value) -> Value:
    machine, wanted = _device(scope, device), _checked_text(dtype, "a type of numbers")
    peak = machine.peak_of(wanted)
    if peak is not None:
        return Quantity(from_float(peak), COMPUTE)
    if not machine.peak:
        raise Mismatch(f"device {machine.name!r} has no peak given: say (peak = 20 TFLOP/s)")
    known = ", ".join(machine.peak)
    operator = scope.evaluated.operator
    who = "the node" if operator is None else operator.shown_name(_graph(scope))
    by = "" if operator is None else f", in which {who} computes"
    if not wanted:
        raise Mismatch(
            f"device {machine.name!r} has peaks by type of numbers ({known}), and {who} does not say in which it "
            "computes: give it (dtype = …)"
        )
    raise Mismatch(
        f"device {machine.name!r} has no peak for {wanted}{by}; it has peaks for {known}: give it one, as "
        f"in (peak = {{{wanted}: 20 TFLOP/s, …}})"
    )


def _bandwidth(scope: SpecScope, device: Value) -> Value:
    machine = _device(scope, device)
    if machine.bandwidth is None:
        raise Mismatch(f"device {machine.name!r} has no bandwidth given: say (bandwidth = 800 GB/s)")
    return Quantity(from_float(machine.bandwidth), RATE)


def _efficiency(scope: SpecScope, device: Value, kind: Value) -> Value:
    return Quantity(from_float(_device(scope, device).efficiency_of(_checked_text(kind, "a kind of operators"))), NONE)


def _overhead(scope: SpecScope, device: Value) -> Value:
    machine = _device(scope, device)
    graph = _graph(scope)
    seconds = graph.costs is not None or any(phase.graph.costs is not None for phase in graph.phases)
    return Quantity(from_float(machine.overhead), TIME if seconds or scope.units.time else NONE)


COSTING: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    "flop": (_amount("flop", WORK), ("node",)),
    "read": (_amount("read", SIZE), ("node",)),
    "write": (_amount("write", SIZE), ("node",)),
    "dtype": (_word("dtypes", "types of numbers"), ("node",)),
    "weight_type": (_word("weight_types", "types of weights"), ("node",)),
    "kind": (kind_of, ("node",)),
    "peak": (_peak, ("device", "dtype")),
    "bandwidth": (_bandwidth, ("device",)),
    "efficiency": (_efficiency, ("device", "kind")),
    "overhead": (_overhead, ("device",)),
}
"""Function and names of its arguments, by name."""

OF_OPERATORS = frozenset(("flop", "read", "write", "dtype", "weight_type", "kind"))
"""The functions that are about one operator alone while a law computes its time."""

OF_DEVICES = frozenset(
    ("peak", "bandwidth", "efficiency", "overhead", "type", "speed", "memory", "group", "price", "power")
)
"""The functions of a device that are equal for devices that differ in their names alone."""


def _graph(scope: SpecScope) -> Graph:
    assert scope.graph is not None
    scope.remarks.need("weights")
    return scope.graph


def _number(attribute: str, unit: str) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a number of the graph's for a node, as exactly as the spec gave it."""

    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        graph = _graph(scope)
        exact = scope.declared.exact.get((attribute, graph.names[v])) if scope.declared.exact else None
        number = from_float(float(getattr(graph, attribute)[v])) if exact is None else exact
        return Quantity(number, DIMENSIONS[getattr(graph, unit)])

    return function


def _text(attribute: str) -> Callable[[SpecScope, Value], Value]:
    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        text: str = getattr(_graph(scope), attribute)[v]
        return text

    return function


def _device(scope: SpecScope, value: Value) -> Device:
    d = device_of(scope, value)
    scope.remarks.need("options")
    assert scope.devices is not None
    return scope.devices[d]


def _of_device(scope: SpecScope, device: Device, attribute: str) -> Exact:
    """Return a number of a device, as exactly as the spec gave it."""
    exact = scope.declared.exact.get((f"{attribute} of a device", device.name)) if scope.declared.exact else None
    return from_float(float(getattr(device, attribute))) if exact is None else exact


def _params(scope: SpecScope, value: Value) -> Value:
    if scope.graph is not None and scope.graph.memory_unit != scope.graph.size_unit:
        raise Mismatch("this graph's file gives no sizes of parameters; memory(v) is what a node takes")
    return _number("params", "size_unit")(scope, value)


def _memory(scope: SpecScope, value: Value) -> Value:
    if not isinstance(value, DeviceRef):
        return _number("memory", "memory_unit")(scope, value)
    scope.remarks.need("weights")
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
    node = scope.node(scope.prefix + value) if isinstance(value, str) else value
    if node is None:
        scope.remarks.need("nodes")
        raise Mismatch(f"there is no node {value!r}{scope.near(str(value), scope.graph.names if scope.graph else ())}")
    return NodeRef(node_of(scope, node))


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
    scope.remarks.need("edges")
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
    if scope.evaluated.readers is None:
        scope.evaluated.readers = np.argsort(graph.heads, kind="stable")
    heads = graph.heads[scope.evaluated.readers]
    first, last = np.searchsorted(heads, [v, v + 1])
    return _nodes(scope, sorted(graph.tails[scope.evaluated.readers[first:last]].tolist()))


def _nodes(scope: SpecScope, numbers: list[int]) -> Sequence:
    scope.steps.taken += len(numbers)
    return Sequence(tuple(NodeRef(v) for v in numbers), "set")


def _time(scope: SpecScope, node: Value, device: Value) -> Value:
    """Return what a node takes on a device; ``inf`` where the device cannot run it."""
    v, machine = node_of(scope, node), _device(scope, device)
    graph = _graph(scope)
    own = graph.device_times.get(machine.name)
    table = graph.times.get(machine.name, graph.times.get(machine.type)) if own is None else own
    seconds = graph.work_unit in ("s", "FLOP") or bool(scope.units.time)
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
    time = Fraction(work, 1) / speed
    return time.numerator if time.denominator == 1 else time


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
