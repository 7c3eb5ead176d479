"""Write what a spec means as plain data: the problem by names and numbers in base units, or the codes of its messages.

Nothing here knows how the language is read. Whatever has the value that it has by default is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from mtpp_dsl.core.constraints import Bottleneck, Constraint, Finish, Largest, Latency, Linear, Load, On, Start, Used
from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic

Data = dict[str, Any]

COLUMNS = ("work", "params", "output", "reduce", "cache", "workspace")
"""What a node has, 0 by default."""


def meaning_of_problem(problem: Problem) -> Data:
    """Return a problem as data, as docs/conformance.md describes it."""
    graph = problem.graph
    data: Data = {
        "units": {"time": problem.time_unit, "size": graph.size_unit, "memory": graph.memory_unit},
        "nodes": _nodes(graph),
        "edges": [[graph.names[u], graph.names[v], _number(size)] for u, v, size in _edges(graph)],
        "devices": {device.name: _device(device) for device in problem.devices},
        "interconnect": _interconnect(problem),
        "time": _times(problem.time, graph),
        "objectives": [_objective(objective, problem) for objective in problem.objectives],
        "constraints": [_constraint(rule, problem) for rule in _stated(problem)],
    }
    if graph.work_unit != problem.time_unit:
        data["units"]["work"] = graph.work_unit
    if graph.phases:
        data["phases"] = {phase.name: _phase(problem, phase.name, phase.weight) for phase in graph.phases}
    if problem.objective.batch is not None:
        batching = problem.batching
        data["batches"] = {
            "chunk": batching.chunk,
            "sizes": [list(sizes) for sizes in batching.sizes],
            "time": {name: [_row(row) for row in batching.time[v]] for v, name in enumerate(graph.names)},
        }
    if problem.target is not None:
        data["target"] = problem.target.name
    return data


def messages_of(diagnostics: tuple[Diagnostic, ...], main: str) -> list[list[Any]]:
    """Return the code of each message and the line where it is, with the name of the file if that is another one."""
    rows: list[list[Any]] = []
    for item in diagnostics:
        row: list[Any] = [item.code]
        if item.span is not None:
            row.append(item.span.source.position(item.span.start)[0])
            if item.span.source.name != main:
                row.append(item.span.source.name)
        rows.append(row)
    return rows


def _stated(problem: Problem) -> tuple[Constraint, ...]:
    """Return the constraints that the spec states: those of its runtime change with the runtime."""
    return problem.constraints if problem.target is None else problem.target.stated


def _nodes(graph: Graph) -> Data:
    return {name: _node(graph, v) for v, name in enumerate(graph.names)}


def _node(graph: Graph, v: int) -> Data:
    data = {column: _number(getattr(graph, column)[v]) for column in COLUMNS if getattr(graph, column)[v]}
    usual = {
        "memory": graph.params[v] + graph.output[v] + graph.cache[v],
        "saved": graph.output[v],
        "state": graph.params[v],
        "forward_share": 0.0 if graph.backward[v] else 1.0,
    }
    data |= {
        name: _number(getattr(graph, name)[v]) for name, value in usual.items() if getattr(graph, name)[v] != value
    }
    for name in ("deviation", "deviation_share"):
        column = getattr(graph, name)
        if len(column) and not math.isnan(column[v]):
            data[name] = _number(column[v])
    words = {"kind": graph.kinds[v], "label": graph.labels[v], "part": "backward" if graph.backward[v] else ""}
    data |= {name: word for name, word in words.items() if word}
    if graph.colors[v] >= 0:
        data["color"] = int(graph.colors[v])
    operators = list(_operators(graph, v))
    if operators:
        data["operators"] = operators
    return data


def _operators(graph: Graph, v: int) -> Iterator[Data]:
    """Yield the costs of the operators of a node, as far as they are given."""
    costs = graph.costs
    for i in range(len(costs)) if costs is not None else ():
        if costs is not None and costs.owner[i] == v:
            numbers = {name: getattr(costs, name)[i] for name in ("flop", "read", "write")}
            words = {"kind": costs.kinds[i], "dtype": costs.dtypes[i], "weight_type": costs.weight_types[i]}
            yield {name: _number(value) for name, value in numbers.items() if not math.isnan(value)} | {
                name: word for name, word in words.items() if word
            }


def _edges(graph: Graph) -> Iterator[tuple[int, int, float]]:
    return zip(graph.tails.tolist(), graph.heads.tolist(), graph.sizes.tolist(), strict=True)


def _device(device: Device) -> Data:
    return {name: value for name, value in _changed(device).items() if name != "name"}


def _interconnect(problem: Problem) -> Data:
    joined, names = problem.interconnect, [device.name for device in problem.devices]
    data: Data = {"kind": joined.keyword}
    if isinstance(joined, Links):
        data |= {name: getattr(joined, name) for name in ("routing", "overlap", "send", "duplex")}
        data["links"] = [
            [names[d], names[e], _number(joined.bandwidth[d, e]), _number(joined.latency[d, e])]
            for d in range(problem.k)
            for e in range(problem.k)
            if d != e and joined.bandwidth[d, e] > 0
        ]
        if joined.transfers is not None:
            graph = problem.graph
            data["transfers"] = [
                [graph.names[u], graph.names[v], [_row(row) for row in joined.transfers[e]]]
                for e, (u, v, _) in enumerate(_edges(graph))
            ]
    elif isinstance(joined, Tree):
        every = [*names, *joined.switches]
        data |= {"overlap": joined.overlap, "send": joined.send}
        data["uplinks"] = {
            name: {
                "under": every[problem.k + parent] if (parent := int(joined.parents[i])) >= 0 else None,
                "bandwidth": _number(joined.uplink[i]),
                "latency": _number(joined.latency[i]),
                "duplex": "half" if joined.half[i] else "full",
            }
            for i, name in enumerate(every)
        }
    else:
        data |= _changed(joined)
    return data


def _times(time: Any, graph: Graph) -> Data:
    """Return the running times of each node on the devices, one number where it is the same on all."""
    rows = {name: _row(time[v]) for v, name in enumerate(graph.names)}
    return {name: row[0] if row and all(value == row[0] for value in row) else row for name, row in rows.items()}


def _phase(problem: Problem, name: str, weight: float) -> Data:
    """Return what is of one phase alone."""
    graph = next(phase.graph for phase in problem.graph.phases if phase.name == name)
    return {
        "weight": _number(weight),
        "output": {node: _number(graph.output[v]) for v, node in enumerate(graph.names) if graph.output[v]},
        "edges": [[graph.names[u], graph.names[v], _number(size)] for u, v, size in _edges(graph)],
        "time": _times(problem.each_phase[name].time, graph),
    }


def _objective(objective: Objective, problem: Problem) -> Data:
    data = {name: value for name, value in _changed(objective).items() if name not in ("terms", "maximized", "timed")}
    data = {"sense": objective.sense, **data}
    if objective.within:
        data["within_is"] = objective.within_is
    if objective.terms and objective.name != "latency":
        data["terms"] = _terms(objective.terms, problem)
    return data


def _constraint(rule: Constraint, problem: Problem) -> Data:
    """Return a constraint, with nodes and devices by name."""
    graph, data = problem.graph, _changed(rule)
    if isinstance(rule, Linear):
        data["terms"] = _terms(rule.terms, problem)
        if rule.unit:
            data["unit"] = rule.unit
    names = {"nodes": graph.names, "devices": [device.name for device in problem.devices]}
    for name, every in names.items():
        if data.get(name) is not None:
            data[name] = [every[i] for i in data[name]]
    return {"rule": "row" if isinstance(rule, Linear) else rule.keyword, **data}


def _terms(terms: Any, problem: Problem) -> Data:
    return {_decision(decision, problem): _number(factor) for decision, factor in terms}


def _decision(decision: Any, problem: Problem) -> str:
    """Return a decision as the language writes it."""
    nodes, devices = problem.graph.names, [device.name for device in problem.devices]
    match decision:
        case On():
            return f"on({nodes[decision.node]}, {devices[decision.device]})"
        case Load(phase=None):
            return f"load({devices[decision.device]})"
        case Load():
            return f"load({devices[decision.device]}, {decision.phase})"
        case Used():
            return f"used({devices[decision.device]})"
        case Start() | Finish():
            return f"{type(decision).__name__.lower()}({nodes[decision.node]})"
        case Bottleneck() | Latency() if decision.phase is not None:
            return f"{type(decision).__name__.lower()}({decision.phase})"
        case Largest():
            sums = [f"{_terms(terms, problem)} + {constant!r}" for terms, constant in decision.sums]
            return f"max({'; '.join(sums)})"
    return type(decision).__name__.lower()


def _changed(item: Any) -> Data:
    """Return the fields of an object of ours that are not as they are by default, as plain data."""
    data: Data = {}
    for field in fields(item):
        value = getattr(item, field.name)
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if field.name != "origin" and value != usual:
            data[field.name] = _plain(value)
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        return _changed(value)
    if hasattr(value, "items"):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _row(values: Any) -> list[float | str]:
    return [_number(value) for value in values]


def _number(value: Any) -> float | int | str:
    """Return a number that JSON can hold: whole where it is whole, and "inf" for what has no end."""
    number = float(value)
    if math.isnan(number) or math.isinf(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
