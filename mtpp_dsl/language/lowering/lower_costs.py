"""Times that a law makes of costs, where nothing else says what a node takes on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs, TimeSource
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.core.text.source import Diagnostic, Span
from mtpp_dsl.language.lowering.law import LAW, Law, law_of
from mtpp_dsl.language.lowering.lower_times import TimeTables
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.attributes import settled_costs
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.scope import SpecScope

__all__ = ["has_costs", "model_times", "with_times"]

MAX_NAMED = 3
"""Nodes or operators that a message names."""


def has_costs(graph: Graph) -> bool:
    """Return whether a graph says what any operator does."""
    return graph.costs is not None or any(phase.graph.costs is not None for phase in graph.phases)


def with_times(graph: Graph, devices: Sequence[Device]) -> Graph:
    """Return a graph with the times that the law of the package makes of its costs on devices.

    Specs and builders do the same by themselves; this is for problems that are put together by
    :meth:`mtpp_dsl.Problem.create`.

    >>> from mtpp_dsl.problem import Device
    >>> from mtpp_dsl.core.problem.costs import Costs
    >>> costs = Costs.create([0], flop=[6e12], read=1e9, write=0.0, dtypes=["bf16"])
    >>> gpu = Device("gpu", peak={"bf16": 3e14}, bandwidth=2e12)
    >>> with_times(Graph.create(["a"], [], costs=costs, size_unit="B"), [gpu]).device_times["gpu"].tolist()
    [0.02]

    Raises:
        SpecError: a device lacks a figure that the law asks for, or the operations of a node are unknown.
    """
    scope, findings = SpecScope(), Findings()
    scope.set_graph(graph)
    scope.set_devices(tuple(devices))
    tables = TimeTables(graph, scope, UnitKeeper("times"), findings)
    model_times(tables, ())
    findings.stop_if_wrong()
    return tables.result()


def model_times(tables: TimeTables, statements: Sequence[tree.Statement]) -> None:
    """Give *tables* the times that the law makes of costs; complaints go to the tables' findings.

    They are those of nodes with costs, unless the node has work, or a statement, an option or the graph's file says the
    time. On a device without a peak and a bandwidth, nodes that do anything need a time, unless the law is the spec's.

    Args:
        tables: of the times, with all that is said of them.
        statements: of the spec, for the places of what is wrong.

    Raises:
        Complaint: the spec's own law does not take a node and a device.
    """
    law = law_of(tables.scope)
    tables.law = law.text
    graph = tables.graph
    known: dict[object, float] = {}
    seen: set[Device] = set()
    for phase in [(part.name, part.graph) for part in graph.phases] or [("", graph)]:
        for complaint in _in_phase(law, tables, *phase, statements, known, seen):
            tables.findings.add(complaint)


def _in_phase(
    law: Law,
    tables: TimeTables,
    phase: str,
    graph: Graph,
    statements: Sequence[tree.Statement],
    known: dict[object, float],
    seen: set[Device],
) -> Iterator[Diagnostic]:
    """Give *tables* the times of one phase, "" where there are none, and yield what is wrong.

    *seen* are the devices, without their names, of which something was found wrong: one complaint each is enough.
    """
    place = _graph_place(statements)
    try:
        costs = settled_costs(graph)
    except UsageError as error:
        yield Diagnostic(str(error), place, code="MTPP-E310")
        return
    if costs is None:
        return
    wanted = {d: _wanted(tables, d, phase, graph, costs) for d in range(len(tables.devices))}
    uncounted, classes = np.isnan(costs.flop), law.classes(costs)
    costly = costs.per_node(costs.flop + costs.read + costs.write, graph.n) != 0
    for d, nodes in wanted.items():
        device = tables.devices[d]
        alike = replace(device, name="")
        if alike in seen or not nodes.any():
            pass
        elif (uncounted & nodes[costs.owner]).any():
            seen.add(alike)
            yield _uncounted(graph, costs, np.flatnonzero(uncounted & nodes[costs.owner]).tolist(), device, place)
        elif not (device.peak or device.bandwidth is not None or law.own) and (nodes & costly).any():
            seen.add(alike)
            yield _no_peak(graph, nodes & costly, device, device_place(device, statements) or place)
        if nodes.any() and alike not in seen:
            try:
                row = law.times(tables.scope, costs, classes, d, nodes, known)
                tables.put(d, phase, nodes, row, device_place(device, statements) or place, TimeSource.MODELLED)
            except Complaint as complaint:
                seen.add(alike)
                yield _placed(complaint, law, device, device_place(device, statements) or place)


def _wanted(tables: TimeTables, d: int, phase: str, graph: Graph, costs: Costs) -> Bools:
    """Return [n] the nodes whose times on a device the law computes."""
    device = tables.devices[d]
    nodes = np.zeros(graph.n, np.bool_)
    if {device.name, device.type} & {*graph.times} or device.name in graph.device_times:
        return nodes
    nodes[costs.nodes] = True
    nodes &= graph.work == 0
    nodes &= np.array([kind not in device.unsupported for kind in graph.kinds], np.bool_)
    return nodes & ~tables.given(d, phase)


def _uncounted(graph: Graph, costs: Costs, items: list[int], device: Device, place: Span | None) -> Diagnostic:
    names = [costs.names[item] or graph.names[int(costs.owner[item])] for item in items]
    node = graph.names[int(costs.owner[items[0]])]
    operators = f"operators {_listed(names)}" if names[1:] else f"operator {names[0]}"
    message = (
        f"the operations of {operators} are unknown: give each node of them a time on {device.name}, as in "
        f"'time {node} on {device.name} = 3 ms', or its work"
    )
    if graph.origin is not None:
        message += "; or import the model anew with --flop 'OPERATION=FORMULA'"
    return Diagnostic(message, place, code="MTPP-E310")


def _no_peak(graph: Graph, nodes: Bools, device: Device, place: Span | None) -> Diagnostic:
    names = [graph.names[v] for v in np.flatnonzero(nodes).tolist()]
    message = (
        f"device {device.name!r} has no peak, and {_listed(names)} {'have' if names[1:] else 'has'} no time there: say "
        "(peak = 20 TFLOP/s, bandwidth = 800 GB/s), or give the times"
    )
    notes = []
    if device.type != Device.type:
        notes = [f"a type that 'type' declares is written without quotation marks: (type = {device.type})"]
    return Diagnostic(message, place, notes=tuple(notes), code="MTPP-E310")


def _placed(complaint: Complaint, law: Law, device: Device, place: Span | None) -> Diagnostic:
    """Return what is wrong with a time; where the law is that of the package, at the device that lacks something."""
    diagnostic = complaint.diagnostic
    if law.own:
        return replace(
            diagnostic, notes=(*diagnostic.notes, f"in '{LAW}', the law that makes times of costs, on {device.name}")
        )
    remedy = "or give the time itself: 'time … on … = 3 ms'"
    note = f"the law of the package is in use, see 'include \"laws/{LAW}.mtpp\"'; {remedy}"
    return replace(diagnostic, span=place, notes=(note,), code="MTPP-E310", places=())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(repr, names[:MAX_NAMED])) + more


def _graph_place(statements: Sequence[tree.Statement]) -> Span | None:
    kinds = (tree.GraphBlock, tree.GraphFile, tree.GraphGenerator, tree.ImportStatement)
    return next((statement.span for statement in reversed(statements) if isinstance(statement, kinds)), None)


def device_place(device: Device, statements: Sequence[tree.Statement]) -> Span | None:
    """Return the place of the statement that declares a device; None if an import brought it."""
    family = device.name.partition("[")[0]
    devices = (statement for statement in reversed(statements) if isinstance(statement, tree.DeviceStatement))
    return next((statement.span for statement in devices if statement.name.text == family), None)
