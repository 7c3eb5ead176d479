"""Say what names of a spec stand for, in Markdown: values, members, figures."""

from __future__ import annotations

from dataclasses import fields
from itertools import islice

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import Bottleneck, Constraint, Decision, Finish, Latency, Linear, Load, Makespan, Start
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Span, shortened
from mtpp_dsl.editor.server.features.markdown import block, code, plain
from mtpp_dsl.editor.server.features.values import amount, in_base, listed, short, value_of
from mtpp_dsl.editor.server.index import Occurrence
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER, entries
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Sequence, Value, describe

_FEW = 6
_LINES = 12


def hover_of_name(reading: TextReading, occurrence: Occurrence) -> str:
    """Return what a name stands for; "" where nothing is known of it."""
    lines = [f"{_KINDS.get(occurrence.kind, occurrence.kind) or 'name'} {code(occurrence.name)}"]
    declared = next((other for other in reading.index.same(occurrence) if other.role == "definition"), None)
    match occurrence.kind:
        case (
            "param"
            | "let"
            | "def"
            | "type"
            | "switch"
            | "phase"
            | "block"
            | "port"
            | "scenario"
            | "constraint"
            | "objective"
        ):
            lines += _declared(declared)
        case "variable":
            lines += _variable(reading, declared)
    if occurrence.kind in ("param", "let"):
        lines += _valued(reading, occurrence, declared)
    elif occurrence.kind in ("node", "device", "instance", "block", ""):
        members = _members(reading, occurrence)
        lines = members if members and members[0].startswith("node `") else lines + members
    elif occurrence.kind == "type":
        lines += _of_library(occurrence.name, declared)
    elif occurrence.kind == "phase" and occurrence.name in reading.scope.phases:
        lines.append(f"weight {code(f'{reading.scope.phases[occurrence.name]:g}')}")
    return "\n\n".join(lines) if len(lines) > 1 or occurrence.kind != "" else ""


_KINDS = {
    "def": "function",
    "type": "type of device",
    "variable": "variable",
    "constraint": "constraint",
    "instance": "instances",
    "": "",
}


def _declared(declared: Occurrence | None) -> list[str]:
    """Return the statement that declares a name, its first lines, with the remark above it."""
    if declared is None or not isinstance(declared.within, tree.Tree):
        return []
    span = declared.within.span
    lines = shortened(span.text).splitlines()
    text = "\n".join(lines[:_LINES] + (["…"] if len(lines) > _LINES else []))
    return [block(text), *_remark(span)]


def _remark(span: Span) -> list[str]:
    """Return the remarks on the lines above a statement, and behind it on its last line."""
    text = span.source.text
    lines: list[str] = []
    at = text.rfind("\n", 0, span.start)
    while at > 0 and len(lines) < 6:
        start = text.rfind("\n", 0, at) + 1
        line = text[start:at].strip()
        if not line.startswith("#"):
            break
        lines.insert(0, line.lstrip("#").strip())
        at = start - 1
    end = text.find("\n", span.stop)
    rest = text[span.stop : len(text) if end < 0 else end].strip()
    if rest.startswith("#"):
        lines.append(rest.lstrip("#").strip())
    path = span.source.path
    own = path is None or not path.is_relative_to(FOLDER)  # what the library says is no text of a user's
    return [plain(" ".join(lines)) if own else " ".join(lines)] if any(lines) else []


def _valued(reading: TextReading, occurrence: Occurrence, declared: Occurrence | None) -> list[str]:
    """Return the value of a param or a let, as it may be written and in base units."""
    scope = reading.scope
    value: Value | None = (
        scope.params.get(occurrence.name) if occurrence.kind == "param" else scope.evaluated.lets.get(occurrence.name)
    )
    if value is None and occurrence.kind == "let" and declared is not None:
        value = value_of(reading, tree.Name(span=occurrence.span, name=occurrence.name))
    if value is None:
        return []
    base = in_base(value)
    text = f"= {code(short(value, scope, _FEW))}"
    if base and base.replace(",", "") != short(value, scope):
        text += f", that is {code(base)}"
    if isinstance(value, Sequence):
        text += f": {describe(value)} of {len(value):,} {'member' if len(value) == 1 else 'members'}"
    stale = [] if reading.current else ["(as it was before the last change)"]
    return [text, *stale]


def _variable(reading: TextReading, declared: Occurrence | None) -> list[str]:
    """Return what a variable of a loop runs over."""
    if declared is None:
        return []
    if declared.home.startswith("def "):
        return [f"an argument of the function {code(declared.home.removeprefix('def '))}"]
    if declared.home.startswith("block "):
        return [f"a param of the block {code(declared.home.removeprefix('block '))}"]
    binder = next((candidate for candidate in _binders(declared.within) if candidate.name.span == declared.span), None)
    if binder is None:
        return []
    domain = binder.domain
    value = value_of(reading, domain)
    many = f", {len(value):,} values" if isinstance(value, Sequence) else ""
    return [f"in {code(domain.span.text)}{many}"]


def _binders(within: tree.Tree) -> list[tree.Binder]:
    from mtpp_dsl.editor.server.index import walk

    return [part for part in walk(within) if isinstance(part, tree.Binder)]


# nodes and devices


def _members(reading: TextReading, occurrence: Occurrence) -> list[str]:
    """Return what is known of a node, a device, or a family of them."""
    scope = reading.scope
    name = occurrence.name
    if occurrence.home.startswith("block "):
        return _declared(next((other for other in reading.index.same(occurrence) if other.role == "definition"), None))
    value = _whole(reading, occurrence)
    if value is None:
        try:
            value = scope.member(name, occurrence.span)
        except Exception:  # a name that is both, which is reported as an error
            return []
    if isinstance(value, NodeRef) and scope.graph is not None and value.index < scope.graph.n:
        return _node(reading, scope.graph, value.index)
    lines: list[str] = []
    if isinstance(value, DeviceRef) and scope.devices is not None and value.index < len(scope.devices):
        lines = _device(reading, value.index)
    elif isinstance(value, Sequence):
        lines = _family(reading, value)
    unread = "options" in scope.remarks.unsettled
    if occurrence.kind == "device" and unread:  # figures are not known: show what is written
        lines += _declared(
            next((other for other in reading.index.same(occurrence) if other.role == "definition"), None)
        )
    return lines


def _whole(reading: TextReading, occurrence: Occurrence) -> Value | None:
    """Return the value of the whole name around an occurrence, with its subscripts, where it has no free variables."""
    from mtpp_dsl.editor.server.index import walk

    for part in walk(occurrence.within):
        if isinstance(part, tree.Name) and part.span.start == occurrence.span.start and part.name == occurrence.name:
            return value_of(reading, part) if part.subscripts or part.parts else None
    return None


def _family(reading: TextReading, value: Sequence) -> list[str]:
    """Return how many members a family has, the first few, and what they are together."""
    scope = reading.scope
    names = [scope.name_of(member) for member in islice(value, _FEW)]
    refs = list(islice(value, 100_000))
    nodes = [member.index for member in refs if isinstance(member, NodeRef)]
    what = "nodes" if nodes else "devices"
    count = len(value)
    lines = [f"{count:,} {what if count != 1 else what[:-1]}: {listed([code(name) for name in names], count, _FEW)}"]
    graph = scope.graph
    if nodes and graph is not None and max(nodes) < graph.n:
        parts = []
        for column, unit in (("work", graph.work_unit), ("memory", graph.memory_unit)):
            total = float(np.asarray(getattr(graph, column))[nodes].sum())
            if total:
                parts.append(f"{column} {code(amount(total, unit, scope))}")
        lines += [f"together {', '.join(parts)}"] if parts else []
    elif refs and isinstance(refs[0], DeviceRef):
        lines += _device(reading, refs[0].index)
    return lines


def _node(reading: TextReading, graph: Graph, v: int) -> list[str]:
    """Return what a node takes on each device, its memory, and its edges."""
    scope, problem = reading.scope, reading.problem
    lines = [f"node {code(graph.names[v])}"]
    parts = [f"kind {code(graph.kinds[v])}"] if graph.kinds[v] else []
    units = {"work": graph.work_unit, "params": graph.size_unit, "output": graph.size_unit}
    units |= dict.fromkeys(("memory", "cache", "workspace"), graph.memory_unit)
    for column, unit in units.items():
        figure = float(getattr(graph, column)[v])
        if figure:
            parts.append(f"{column} {code(amount(figure, unit, scope))}")
    lines.append(", ".join(parts) or "no work and no memory")
    if problem is not None and problem.graph.n == graph.n:
        rows: dict[str, list[str]] = {}
        for d, device in enumerate(problem.devices[:1_000]):
            time = float(problem.time[v, d])
            shown = "cannot run" if time == float("inf") else amount(time, problem.time_unit, scope)
            rows.setdefault(shown, []).append(device.name)
        listed_times = [
            f"- {code(time) if time != 'cannot run' else time} on {listed([code(d) for d in names], len(names), 4)}"
            for time, names in islice(rows.items(), 8)
        ]
        lines.append("\n".join(listed_times))
    for word, near, far in (("reads", graph.heads, graph.tails), ("is read by", graph.tails, graph.heads)):
        others = far[near == v]
        names = [code(graph.names[u]) for u in others[:_FEW].tolist()]
        if names:
            lines.append(f"{word} {listed(names, len(others), _FEW)}")
    return lines[1:] if "[" not in graph.names[v] and "." not in graph.names[v] else lines


def _device(reading: TextReading, d: int) -> list[str]:
    """Return the figures of a device, with where those of its type are from."""
    scope = reading.scope
    assert scope.devices is not None
    device = scope.devices[d]
    parts = []
    if device.type != "accelerator":
        parts.append(f"type {code(device.type)}")
    memory_unit = "B" if scope.units.sizes or (scope.graph is not None and scope.graph.memory_unit == "B") else ""
    if device.memory is not None:
        parts.append(f"memory {code(amount(device.memory, memory_unit, scope))}")
    if device.reserve:
        parts.append(f"reserve {code(amount(device.reserve, memory_unit, scope))}")
    if device.speed != 1.0:
        flops = scope.graph is not None and scope.graph.work_unit == "FLOP"
        parts.append(f"speed {code(f'{device.speed:.5g}' + (' FLOP/s' if flops else ''))}")
    for kind, rate in islice(device.peak.items(), 6):
        parts.append(f"peak {code(f'{rate / 1e12:.5g} TFLOP/s')}{f' of {code(kind)}' if kind else ''}")
    if device.bandwidth is not None:
        parts.append(f"bandwidth {code(f'{device.bandwidth / 1e9:.5g} GB/s')}")
    if device.group is not None:
        parts.append(f"group {code(device.group)}")
    if device.price is not None:
        parts.append(f"price {code(amount(device.price, device.price_unit, scope))}")
    if device.power is not None:
        parts.append(f"power {code(amount(device.power, device.power_unit, scope))}")
    known = parts or "options" not in scope.remarks.unsettled
    lines = [", ".join(parts) or "no limits and a speed of 1"] if known else []
    entry = entries().get(device.type)
    kinds = reading.index.declared.kinds.get("type", frozenset())
    if entry is not None and entry.kind == "type" and device.type in kinds and _from_library(reading, device.type):
        lines.append(f"From {entry.file} of the library. {' '.join(entry.remarks)}")
    return lines


def _from_library(reading: TextReading, name: str) -> bool:
    places = reading.index.definitions.get(name, ())
    return any(
        declaration.span.source.path is not None and declaration.span.source.path.is_relative_to(FOLDER)
        for declaration in places
    )


def _of_library(name: str, declared: Occurrence | None) -> list[str]:
    """Return in which file of the library a type is; its remarks stand above it there."""
    if declared is None:
        entry = entries().get(name)
        if entry is None or entry.kind != "type":
            return []
        return [
            block(entry.text),
            plain(f"It is in {entry.file} of the library: include that. {' '.join(entry.remarks)}"),
        ]
    path = declared.span.source.path
    if path is None or not path.is_relative_to(FOLDER):
        return []
    return [plain(f"From {path.relative_to(FOLDER).as_posix()} of the library.")]


# What a constraint of a spec asks of its problem: how many rows it makes, and of what.

FEW_ROWS = 5
_TIMES = (Bottleneck, Finish, Latency, Load, Makespan, Start)


def hover_of_rows(reading: TextReading, statement: tree.Tree) -> str:
    """Return what a constraint makes of the problem, as Markdown; "" where that is not known."""
    problem = reading.problem
    if problem is None or reading.analysis is None or not isinstance(statement, tree.Statement):
        return ""
    constraints = [
        constraint
        for constraint, spans in reading.analysis.places.stated.items()
        if any(span.source is statement.span.source and span.start == statement.span.start for span in spans)
    ]
    if not constraints:
        return "It asks nothing of this problem."
    if len(constraints) == 1:
        return _constraint(constraints[0], problem)
    lines = [f"- {_constraint(rule, problem)}" for rule in constraints[:FEW_ROWS]]
    more = [f"- and {len(constraints) - FEW_ROWS:,} more"] if len(constraints) > FEW_ROWS else []
    return "\n".join([f"{len(constraints):,} rows:", "", *lines, *more])


def _constraint(constraint: Constraint, problem: Problem) -> str:
    """Return one constraint in a line: its label, or its members."""
    if isinstance(constraint, Linear):
        soft = f", or {constraint.penalty:.5g} for each unit that is missing" if constraint.penalty is not None else ""
        return f"{code(constraint.label)}: {code(_row(constraint, problem))}{soft}"
    parts = []
    nodes = getattr(constraint, "nodes", None)
    if nodes is not None:
        names = [problem.graph.names[v] for v in nodes[:FEW_ROWS]]
        parts.append(f"{len(nodes):,} {'node' if len(nodes) == 1 else 'nodes'} ({_names(names, len(nodes))})")
    devices = getattr(constraint, "devices", None)
    if devices is None:
        parts.append("all devices" if hasattr(constraint, "devices") else "")
    else:
        names = [problem.devices[d].name for d in devices[:FEW_ROWS]]
        parts.append(f"{len(devices):,} {'device' if len(devices) == 1 else 'devices'} ({_names(names, len(devices))})")
    most = getattr(constraint, "most", None)
    if most is not None:
        parts.append(f"at most {most:,}")
    return f"{plain(constraint.keyword)}: {', '.join(filter(None, parts))}" if any(parts) else plain(constraint.keyword)


def _row(row: Linear, problem: Problem) -> str:
    """Return a row with its first terms; one of times alone with a unit, others in base units."""
    text = ""
    for decision, weight in row.terms[:FEW_ROWS]:
        factor = "" if abs(weight) == 1 else f"{abs(weight):.5g} * "
        sign = ("- " if weight < 0 else "+ ") if text else "-" if weight < 0 else ""
        text += f"{' ' if text else ''}{sign}{factor}{_decision(decision, problem)}"
    more = f" + … ({len(row.terms):,} terms)" if len(row.terms) > FEW_ROWS else ""
    timed = problem.time_unit == "s" and all(isinstance(term, _TIMES) for term, _ in row.terms)
    rhs = row.rhs + 0.0
    return f"{text or '0'}{more} {row.sense} {format_quantity(rhs, 's') if timed and rhs else f'{rhs:.6g}'}"


def _decision(decision: Decision, problem: Problem) -> str:
    """Return a decision as the language writes it."""
    words = []
    for attribute in fields(decision):
        value = getattr(decision, attribute.name)
        if attribute.name == "node":
            words.append(problem.graph.names[value])
        elif attribute.name == "device":
            words.append(problem.devices[value].name)
        elif value is not None:
            words.append(str(value))
    name, inside = type(decision).__name__.lower(), ", ".join(words)
    return f"{name}({inside})" if words else name


def _names(names: list[str], count: int) -> str:
    return listed([code(name) for name in names], count, FEW_ROWS)
