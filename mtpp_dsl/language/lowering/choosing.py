"""Which statements count: those of the chosen scenario, and of files that are included under a condition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.expressions import iterate
from mtpp_dsl.language.values.scope import SpecScope

Placed: TypeAlias = tuple[tree.Statement, Path]
"""A statement, and the folder that its paths start from."""


@dataclass(frozen=True, kw_only=True)
class Group(tree.Statement):
    """Statements that count under a condition.

    Attributes:
        scenario: by whose name they are chosen; None for those of a file.
        clauses: of an ``include``.
        path: of the file that is included.
        inner: the statements.
    """

    scenario: tree.Word | None
    clauses: tree.Clauses | None
    path: Path | None
    inner: tuple[Placed, ...]


def all_of(statements: Sequence[Placed]) -> Iterator[tree.Statement]:
    """Yield all statements, with those that count under a condition."""
    for statement, _ in statements:
        if isinstance(statement, Group):
            yield from all_of(statement.inner)
        else:
            yield statement


def scenarios(statements: Sequence[Placed]) -> list[str]:
    """Return the names of the scenarios that there are."""
    names: dict[str, None] = {}
    for statement, _ in statements:
        if isinstance(statement, Group):
            if statement.scenario is not None:
                names[statement.scenario.text] = None
            names.update(dict.fromkeys(scenarios(statement.inner)))
    return list(names)


def chosen(statements: Sequence[Placed], scenario: str | None, findings: Findings) -> list[Placed]:
    """Return the statements with those of a scenario at their end, as if a file had them that includes the rest.

    Args:
        statements: of the spec.
        scenario: that counts; None for no one.
        findings: takes the complaint that there is none of that name.
    """
    known = scenarios(statements)
    if scenario is not None and scenario not in known:
        hint = did_you_mean(scenario, known)
        listed = (f"scenarios are: {', '.join(known)}",) if known else ("the spec has no scenario",)
        message = f"there is no scenario {scenario!r}{hint}"
        findings.add(Diagnostic(message, None, notes=listed, code="MTPP-E710"))
    first: dict[tuple[str, Source], tree.Word] = {}
    late: list[Placed] = []
    return [*_without(statements, scenario, late, first, findings), *late]


def _without(
    statements: Sequence[Placed],
    scenario: str | None,
    late: list[Placed],
    first: dict[tuple[str, Source], tree.Word],
    findings: Findings,
) -> list[Placed]:
    """Return the statements without their scenarios; those of the chosen one go to *late*."""
    kept: list[Placed] = []
    for statement, folder in statements:
        if not isinstance(statement, Group):
            kept.append((statement, folder))
        elif statement.scenario is None:
            inner = _without(statement.inner, scenario, late, first, findings)
            kept.append((replace(statement, inner=tuple(inner)), folder))
        else:
            name = statement.scenario
            twin = first.setdefault((name.text, name.span.source), name)
            if twin is not name:
                complaint = Complaint(
                    f"scenario {name.text!r} is already given at {twin.span.place}",
                    name.span,
                    code="MTPP-E102",
                    second=(twin.span, "first given here"),
                )
                findings.add(complaint.diagnostic)
            if name.text == scenario:
                sources: dict[Source, Source] = {}
                late += [(_relocated(inner, sources), where) for inner, where in statement.inner]
    return kept


def _relocated(node: Any, sources: dict[Source, Source]) -> Any:
    """Return a statement whose places are in copies of their sources: it then overrides, as one of another file."""
    if isinstance(node, Span):
        if node.source not in sources:
            sources[node.source] = replace(node.source)
        return Span(sources[node.source], node.start, node.stop)
    if isinstance(node, tuple):
        return tuple(_relocated(part, sources) for part in node)
    if isinstance(node, tree.Tree):
        return replace(node, **{part.name: _relocated(getattr(node, part.name), sources) for part in fields(node)})
    return node


def opened(
    statements: Sequence[Placed], scope: SpecScope, included: Collection[Path | None], findings: Findings
) -> tuple[list[Placed], bool]:
    """Return the statements with those of groups whose condition is true in their place, and whether there are groups.

    Args:
        statements: without scenarios; conditional includes may still be among them.
        scope: knows the params and lets.
        included: files that are included without a condition, which count once.
        findings: takes the complaints about conditions.
    """
    kept: list[Placed] = []
    more = False
    for statement, folder in statements:
        if not isinstance(statement, Group):
            kept.append((statement, folder))
            continue
        if findings.attempt(unrepeated, statement.clauses, "an include", scope) and (statement.path not in included):
            kept += statement.inner
            more |= any(isinstance(inner, Group) for inner, _ in statement.inner)
    return kept, more


def unrepeated(clauses: tree.Clauses | None, what: str, scope: SpecScope) -> bool:
    """Return whether a statement of which one counts is to be read: whether its condition is true.

    Raises:
        Complaint: it has a loop.
    """
    if clauses is None:
        return True
    if clauses.binders:
        raise Complaint(f"'for' would repeat {what}, of which one counts; write 'if'", clauses.span, code="MTPP-E713")
    return any(True for _ in iterate(clauses, scope))
