"""Say what a constraint of a spec asks of its problem: how many rows it makes, and of what."""

from __future__ import annotations

from dataclasses import fields

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import Bottleneck, Constraint, Decision, Finish, Latency, Linear, Load, Makespan, Start
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.editor.server.features.markdown import code, plain
from mtpp_dsl.editor.server.features.values import listed
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree

__all__ = ["rows_told"]

_FEW = 5
_TIMES = (Bottleneck, Finish, Latency, Load, Makespan, Start)


def rows_told(reading: TextReading, statement: tree.Tree) -> str:
    """Return what a constraint makes of the problem, as Markdown; "" where that is not known."""
    problem = reading.problem
    if problem is None or reading.analysis is None or not isinstance(statement, tree.Statement):
        return ""
    found = [
        constraint
        for constraint, spans in reading.analysis.places.stated.items()
        if any(span.source is statement.span.source and span.start == statement.span.start for span in spans)
    ]
    if not found:
        return "It asks nothing of this problem."
    if len(found) == 1:
        return _told(found[0], problem)
    lines = [f"- {_told(each, problem)}" for each in found[:_FEW]]
    more = [f"- and {len(found) - _FEW:,} more"] if len(found) > _FEW else []
    return "\n".join([f"{len(found):,} rows:", "", *lines, *more])


def _told(constraint: Constraint, problem: Problem) -> str:
    """Return one constraint in a line: its label, or its members."""
    if isinstance(constraint, Linear):
        soft = f", or {constraint.penalty:.5g} for each unit that is missing" if constraint.penalty is not None else ""
        return f"{code(constraint.label)}: {code(_row(constraint, problem))}{soft}"
    parts = []
    nodes = getattr(constraint, "nodes", None)
    if nodes is not None:
        names = [problem.graph.names[v] for v in nodes[:_FEW]]
        parts.append(f"{len(nodes):,} {'node' if len(nodes) == 1 else 'nodes'} ({_names(names, len(nodes))})")
    devices = getattr(constraint, "devices", None)
    if devices is None:
        parts.append("all devices" if hasattr(constraint, "devices") else "")
    else:
        names = [problem.devices[d].name for d in devices[:_FEW]]
        parts.append(f"{len(devices):,} {'device' if len(devices) == 1 else 'devices'} ({_names(names, len(devices))})")
    most = getattr(constraint, "most", None)
    if most is not None:
        parts.append(f"at most {most:,}")
    return f"{plain(constraint.keyword)}: {', '.join(filter(None, parts))}" if any(parts) else plain(constraint.keyword)


def _row(row: Linear, problem: Problem) -> str:
    """Return a row with its first terms; one of times alone with a unit, others in base units."""
    text = ""
    for decision, weight in row.terms[:_FEW]:
        factor = "" if abs(weight) == 1 else f"{abs(weight):.5g} * "
        sign = ("- " if weight < 0 else "+ ") if text else "-" if weight < 0 else ""
        text += f"{' ' if text else ''}{sign}{factor}{_decision(decision, problem)}"
    more = f" + … ({len(row.terms):,} terms)" if len(row.terms) > _FEW else ""
    timed = problem.time_unit == "s" and all(isinstance(each, _TIMES) for each, _ in row.terms)
    rhs = row.rhs + 0.0
    return f"{text or '0'}{more} {row.sense} {format_quantity(rhs, 's') if timed and rhs else f'{rhs:.6g}'}"


def _decision(decision: Decision, problem: Problem) -> str:
    """Return a decision as the language writes it."""
    words = []
    for each in fields(decision):
        value = getattr(decision, each.name)
        if each.name == "node":
            words.append(problem.graph.names[value])
        elif each.name == "device":
            words.append(problem.devices[value].name)
        elif value is not None:
            words.append(str(value))
    name, inside = type(decision).__name__.lower(), ", ".join(words)
    return f"{name}({inside})" if words else name


def _names(names: list[str], count: int) -> str:
    return listed([code(name) for name in names], count, _FEW)
