"""Our own JSON for graphs: all that a graph is, with phases and the costs of single operators."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.core.base.json_record import JsonRecord, load
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.text.visible import escaped
from mtpp_dsl.exchange.formats.graph_rows import (
    COSTS,
    MAX_EDGES,
    MAX_NODES,
    NODE_FIELDS,
    TIME_ON,
    WORDS,
    GraphRows,
    graph_of,
    rows_of,
)
from mtpp_dsl.exchange.formats.workload import Workload, says_format

FORMAT = "mtpp-graph"
VERSION = 1
MAX_ITEMS = 1_000_000
"""Operators of all nodes."""

_ITEM = (*COSTS, "kind", "dtype", "weight_type", "name")
_UNITS = {"work": ("s", "FLOP", ""), "size": ("B", ""), "memory": ("B", "")}
_TOP = ("format", "version", "units", "nodes", "edges", "phases")


class GraphJson:
    """JSON files of graphs: ``{"format": "mtpp-graph", "version": 1, "units": …, "nodes": […], "edges": […]}``.

    Numbers are in the units that ``units`` says: "s" or "FLOP" for ``work``, "B" for ``size`` and ``memory``, or "" for
    none. A node has the fields of CSV files, times by types of devices, and ``operators``: the costs of each.
    """

    name = "graph"
    suffixes = (".json",)

    def claims(self, path: Path) -> bool:
        """Return whether the file says that it is of this format."""
        return says_format(path, FORMAT)

    def read(self, path: Path) -> Workload:
        """Return the graph in *path*.

        Raises:
            UsageError: it is missing or broken, or says what no graph has; names the file and the field.
        """
        file = load(path)
        if file.data.get("format") != FORMAT:
            raise file.error("format", f"expected {FORMAT!r}: this is no graph that mtpp wrote")
        if file.data.get("version") != VERSION:
            raise file.error(
                "version", f"found {str(file.data.get('version'))[:20]}; this mtpp reads version {VERSION}"
            )
        _only(file, _TOP)
        if "phases" not in file:
            return Workload(_graph(file, file))
        graphs, weights = {}, {}
        for phase in file.records("phases", most=100):
            _only(phase, ("name", "weight", "nodes", "edges"))
            name = phase.text("name")
            if name in graphs:
                raise phase.error("name", f"a second {name[:60]!r}")
            graphs[name], weights[name] = _graph(phase, file), phase.number("weight", 1.0)
        try:
            return Workload(phased_graph(graphs, weights))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def write(self, workload: Workload, path: Path) -> tuple[Path, ...]:
        """Write the graph, and return the path.

        Raises:
            UsageError: the graph has times of batches or of single devices, or a law, which come from specs.
        """
        graph = workload.graph
        for one_graph in (graph, *(phase.graph for phase in graph.phases)):
            if one_graph.batch_times or one_graph.device_times or one_graph.law:
                raise UsageError(
                    "JSON of graphs cannot say times of batches or of single devices, nor laws: keep the spec"
                )
        units = {"work": graph.work_unit, "size": graph.size_unit, "memory": graph.memory_unit}
        head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "units": units}
        parts = [f'"{name}": {_dumped(value)}' for name, value in head.items()]
        if graph.phases:
            phases = [
                f'{{"name": {_dumped(phase.name)}, "weight": {phase.weight!r},\n{_body(phase.graph)}}}'
                for phase in graph.phases
            ]
            parts.append('"phases": [\n' + ",\n".join(phases) + "\n]")
        else:
            parts.append(_body(graph))
        write_text(path, "{" + ",\n".join(parts) + "\n}\n")
        return (path,)


def _dumped(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _body(graph: Graph) -> str:
    """Return the text of the nodes and edges of a graph."""
    rows = rows_of(graph)
    lines = []
    for v, (name, row) in enumerate(zip(rows.names, rows.nodes, strict=True)):
        times = {what.removeprefix(TIME_ON): row.pop(what) for what in [*row] if what.startswith(TIME_ON)}
        for what in (*COSTS, "dtype", "weight_type"):
            row.pop(what, None)
        operators = _operators(graph, v)
        own_times = (
            {"times": {kind: "inf" if time == np.inf else time for kind, time in times.items()}} if times else {}
        )
        lines.append(_dumped({"name": name} | row | own_times | ({"operators": operators} if operators else {})))
    edges = [
        _dumped({"source": rows.names[u], "target": rows.names[v]} | ({} if size is None else {"size": size}))
        for (u, v), size in zip(rows.edges, rows.sizes, strict=True)
    ]
    return '"nodes": [\n' + ",\n".join(lines) + '\n],\n"edges": [\n' + ",\n".join(edges) + "\n]"


def _operators(graph: Graph, v: int) -> list[dict[str, Any]]:
    """Return what the operators of a node do, one after the other."""
    costs, items = graph.costs, []
    for item in costs.items_of(v) if costs is not None else ():
        row: dict[str, Any] = {
            what: float(getattr(costs, what)[item]) for what in COSTS if not np.isnan(getattr(costs, what)[item])
        }
        assert costs is not None
        words = (costs.kinds[item], costs.dtypes[item], costs.weight_types[item], costs.names[item])
        items.append(row | {what: word for what, word in zip(_ITEM[3:], words, strict=True) if word})
    return items


def _only(record: JsonRecord, known: tuple[str, ...]) -> None:
    for name in record.data:
        if name not in known:
            raise record.error(name[:60], f"there is no such field{did_you_mean(name, known)}")


def _graph(record: JsonRecord, file: JsonRecord) -> Graph:
    """Return the graph whose nodes and edges *record* has, in the units of the file."""
    rows = GraphRows(units=_units(file))
    fields = (
        "name",
        "times",
        "operators",
        *(what for what in NODE_FIELDS if what not in (*COSTS, "dtype", "weight_type")),
    )
    owners: list[int] = []
    items: list[JsonRecord] = []
    for node in record.records("nodes", most=MAX_NODES):
        _only(node, fields)
        rows.names.append(node.text("name"))
        row = {what: _value(node, what) for what in node.data if what not in ("name", "times", "operators")}
        if "times" in node:
            times = JsonRecord(f"{node.place}: times", node.data["times"])
            row |= {f"{TIME_ON}{kind}": _time(times, kind) for kind in times.data}
        rows.nodes.append(row)
        if "operators" in node:
            items += node.records("operators", most=MAX_ITEMS)
            owners += [len(rows.names) - 1] * (len(items) - len(owners))
    index = {name: v for v, name in enumerate(rows.names)}
    for edge in record.records("edges", most=MAX_EDGES) if "edges" in record else ():
        _only(edge, ("source", "target", "size"))
        ends = [edge.text(end) for end in ("source", "target")]
        for what, end in zip(("source", "target"), ends, strict=True):
            if end not in index:
                raise edge.error(what, f"there is no node {end[:60]!r}")
        rows.edges.append((index[ends[0]], index[ends[1]]))
        rows.sizes.append(edge.number("size") if "size" in edge else None)
    return _with_costs(graph_of(file.place, rows), owners, items)


def _with_costs(graph: Graph, owners: list[int], items: list[JsonRecord]) -> Graph:
    """Return the graph with the costs of its operators."""
    if not items:
        return graph
    for item in items:
        _only(item, _ITEM)
    numbers = {what: [item.number(what) if what in item else np.nan for item in items] for what in COSTS}
    words = [[item.text(what, "") for item in items] for what in _ITEM[3:]]
    costs = Costs.create(owners, **numbers, kinds=words[0], dtypes=words[1], weight_types=words[2], names=words[3])
    return replace(graph, costs=costs)


def _units(file: JsonRecord) -> dict[str, str]:
    given = JsonRecord(f"{file.place}: units", file.data.get("units") or {})
    _only(given, tuple(_UNITS))
    units = {what: given.text(what, known[0] if not given.data else "") for what, known in _UNITS.items()}
    for what, unit in units.items():
        if unit not in _UNITS[what]:
            raise given.error(what, f"expected {' or '.join(map(repr, _UNITS[what]))}, found {unit[:20]!r}")
    return units


def _value(node: JsonRecord, what: str) -> Any:
    if what in WORDS:
        return node.text(what)
    return node.integer(what) if what == "color" else node.number(what)


def _time(times: JsonRecord, kind: str) -> float:
    return float("inf") if times.data[kind] == "inf" else times.number(kind)
