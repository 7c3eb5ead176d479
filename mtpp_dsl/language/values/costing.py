"""Answer functions of expressions with what a law speaks of: costs of operators, and figures of devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan

import numpy as np

from mtpp_dsl.core.base.exact import from_float
from mtpp_dsl.core.base.units import COMPUTE, NONE, RATE, SIZE, TIME, WORK, Dimension
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.decisions import device_of, node_of
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, Value, describe

__all__ = ["COSTING", "OF_DEVICES", "OF_OPERATORS", "kind_of", "settled_costs"]


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
        operator = scope.operator
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
        name = _graph(scope).names[v] if scope.operator is None else scope.operator.called(_graph(scope))
        raise Mismatch(f"{what} of {name} is not known")
    return Quantity(from_float(number), dimension)


def _word(column: str, what: str) -> Callable[[SpecScope, Value], Value]:
    """Return the function that gives a word about an operator; of a node, the one that all its operators have."""

    def function(scope: SpecScope, value: Value) -> Value:
        v = node_of(scope, value)
        operator = scope.operator
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
    operator = scope.operator
    graph = _graph(scope)
    if operator is not None and operator.node == v:
        return operator.costs.kinds[operator.item]
    return graph.kinds[v]


def _graph(scope: SpecScope) -> Graph:
    assert scope.graph is not None
    scope.need("weights")
    return scope.graph


def _device(scope: SpecScope, value: Value) -> Device:
    d = device_of(scope, value)
    scope.need("options")
    assert scope.devices is not None
    return scope.devices[d]


def _text(value: Value, what: str) -> str:
    if not isinstance(value, str):
        raise Mismatch(f"{what} is a string here, not {describe(value)}")
    return value


def _peak(scope: SpecScope, device: Value, dtype: Value) -> Value:
    machine, wanted = _device(scope, device), _text(dtype, "a type of numbers")
    found = machine.peak_of(wanted)
    if found is not None:
        return Quantity(from_float(found), COMPUTE)
    if not machine.peak:
        raise Mismatch(f"device {machine.name!r} has no peak given: say (peak = 20 TFLOP/s)")
    known = ", ".join(machine.peak)
    by = "" if scope.operator is None else f", in which {scope.operator.called(_graph(scope))} computes"
    if not wanted:
        who = "the node" if scope.operator is None else scope.operator.called(_graph(scope))
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
    return Quantity(from_float(_device(scope, device).efficiency_of(_text(kind, "a kind of operators"))), NONE)


def _overhead(scope: SpecScope, device: Value) -> Value:
    machine = _device(scope, device)
    graph = _graph(scope)
    seconds = graph.costs is not None or any(phase.graph.costs is not None for phase in graph.phases)
    return Quantity(from_float(machine.overhead), TIME if seconds or scope.time_unit else NONE)


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
"""The functions that, where a law is asked for an operator's time, are about that operator alone."""

OF_DEVICES = frozenset(
    ("peak", "bandwidth", "efficiency", "overhead", "type", "speed", "memory", "group", "price", "power")
)
"""The functions of a device that are equal for devices that differ in their names alone."""
