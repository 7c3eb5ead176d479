"""The values of params: from outside, recorded in an answer, or by default; each with its type and domain."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl.core.base.units import NONE, RATE, SIZE, TIME, Dimension
from mtpp_dsl.core.errors import SpecError, did_you_mean
from mtpp_dsl.core.text.source import Diagnostic, Place, Source, Span, shortened
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import RESERVED, word_hint
from mtpp_dsl.language.syntax.mentions import mentions, ordered
from mtpp_dsl.language.syntax.parser import parse_expression
from mtpp_dsl.language.values.arithmetic import Mismatch, compare
from mtpp_dsl.language.values.complaints import Complaint, Unsettled, reserved
from mtpp_dsl.language.values.data_tables import read_table, table_of_records
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.origin import plain
from mtpp_dsl.language.values.outside import from_python, records_of
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DataTable, Quantity, Value, describe, shown
from mtpp_dsl.language.values.values import Sequence as Values

MAX_LISTED = 12
"""So many params are listed where one is not there."""

_TYPES: dict[str, Dimension] = {"int": NONE, "float": NONE, "time": TIME, "size": SIZE, "bandwidth": RATE}
_TEXT_TYPES = ("string", "path")
_SUCH_AS = {"int": "4", "float": "0.5", "time": "3ms", "size": "16GB", "bandwidth": "8GB/s", "bool": "true"}


@dataclass(frozen=True)
class Recorded:
    """The value of a param as an answer holds it.

    Attributes:
        value: a number, or text as ``-D`` takes it.
        path: where a path points now, as far as can be told: an answer has it as it was seen from where ``mtpp solve``
            was called; None for what is no path.
    """

    value: object
    path: Path | None = None


def _unknown(name: str, value: object, known: Collection[str]) -> str:
    """Return what to say of a value for a param that is not there."""
    if isinstance(value, Recorded):
        return f"the answer is of a spec with a param {name!r}, which this one does not have: is it of another spec?"
    return f"-D {name}: there is no param {name!r}{did_you_mean(name, known)}"


def _listed(known: Collection[str]) -> tuple[str, ...]:
    more = ", …" if len(known) > MAX_LISTED else ""
    return (f"the params are: {', '.join(list(known)[:MAX_LISTED])}{more}" if known else "the spec has no params",)


def bind_params(
    statements: Sequence[tuple[tree.Statement, Path]], given: Mapping[str, object], scope: SpecScope
) -> list[Diagnostic]:
    """Give every param its value, in order: *given* (``-D``, or :class:`Recorded`) first, else the default.

    Values given as text are read as the language reads them; paths among them start from the
    working folder, defaults from the folder of their file. Returns what was wrong.
    """
    wrong: list[Diagnostic] = []
    last: dict[str, tuple[tree.ParamStatement, Path]] = {}
    for statement, folder in statements:
        if isinstance(statement, tree.ParamStatement):
            name = statement.name.text
            if name in last and last[name][0].span.source is statement.span.source:
                first = last[name][0].name.span
                message = f"param {name!r} is already given at {first.place}"
                places = (Place(first, "first given here"),)
                wrong.append(Diagnostic(message, statement.name.span, code="MTPP-E102", places=places))
            last.pop(name, None)
            last[name] = (statement, folder)
    unread = scope.remarks.unsettled  # where a statement does not parse, it may be that of the param
    unknown = [name for name in given if name not in last and not unread & {name, "anything"}]
    wrong += [Diagnostic(_unknown(name, given[name], last), notes=_listed(last), code="MTPP-E707") for name in unknown]
    for name in _in_order({name: statement for name, (statement, _) in last.items()}, scope, wrong):
        statement, folder = last[name]
        try:
            if name in RESERVED:
                raise reserved(name, statement.name.span)
            scope.params[name] = _value(statement, folder, given, scope)
        except Unsettled:
            scope.remarks.unsettled.add(name)
        except Complaint as complaint:
            scope.remarks.unsettled.add(name)
            wrong.append(complaint.diagnostic)
    for name in last:  # in the order in which they are declared, whatever the order in which they get their values
        if name in scope.params:
            scope.params[name] = scope.params.pop(name)
    return wrong


def _in_order(params: Mapping[str, tree.ParamStatement], scope: SpecScope, wrong: list[Diagnostic]) -> list[str]:
    """Return the params in an order in which each comes after those that its default and its domain need.

    Lets and functions may stand between them. Params of a cycle get no value; *wrong* takes the complaint.
    """
    needs = {name: mentions(let.value) for name, let in scope.lets.items()}
    needs |= {name: mentions(function.value) for name, function in scope.defs.items()}
    for name, statement in params.items():
        path = {statement.table.value} if statement.table is not None and statement.table.is_name else set()
        needs[name] = mentions(statement.default) | mentions(statement.domain) | path
    order, cycles = ordered(needs)
    circular: set[str] = set()
    for chain in cycles:
        first = next((name for name in params if name in chain), None)
        circular |= set(chain) & set(params)
        if first is not None:
            at = chain.index(first)
            shown = " -> ".join([*chain[at:-1], *chain[:at], first])
            message = f"param {first!r} is defined by itself: {shown}"
            wrong.append(Diagnostic(message, params[first].name.span, code="MTPP-E712"))
    scope.remarks.unsettled |= circular
    return [name for name in order if name in params and name not in circular]


def _value(statement: tree.ParamStatement, folder: Path, given: Mapping[str, object], scope: SpecScope) -> Value:
    name = statement.name.text
    kind = None if statement.type is None else statement.type.text
    if kind == "table":
        return _table(statement, folder, given, scope)
    if statement.type is not None and kind not in (*_TYPES, *_TEXT_TYPES, "bool"):
        known = [*_TYPES, "bool", *_TEXT_TYPES, "table"]
        hint = word_hint(statement.type.text, known, "type")
        raise Complaint(
            f"there is no type {statement.type.text!r}{hint}",
            statement.type.span,
            [f"types are: {', '.join(known)}"],
            code="MTPP-E109",
        )
    default = None if statement.default is None else evaluate(statement.default, scope)
    if name in given:
        return _from_outside(statement, given[name], default, scope)
    if default is None:
        example = _SUCH_AS.get(kind or "", "…")
        raise Complaint(
            f"param {name!r} has no value: give it with -D {name}={example}", statement.name.span, code="MTPP-E704"
        )
    assert statement.default is not None
    typed = _typed(name, default, kind, folder, statement.default.span)
    _check_domain(statement, typed, statement.default.span, scope)
    return typed


def _table(statement: tree.ParamStatement, folder: Path, given: Mapping[str, object], scope: SpecScope) -> DataTable:
    """Return the table that a param stands for: of the file that it names, or that is given from outside."""
    name = statement.name.text
    if statement.default is not None or statement.domain is not None:
        span = (statement.default or statement.domain or statement.name).span
        raise Complaint(
            f"a table is read from a file: write 'param {name}: table from \"{name}.csv\"'", span, code="MTPP-E705"
        )
    if name in given:
        outside = given[name]
        if isinstance(outside, Recorded):
            outside = _recorded(name, outside, "path", None)
        try:
            if isinstance(outside, (str, os.PathLike)):
                return read_table(Path(outside), None)
            return table_of_records(f"table {name}", records_of(outside))
        except Complaint as complaint:
            raise complaint.noting(f"this is the table that -D {name} gives") from None
    path = statement.table
    if path is None:
        raise Complaint(
            f"param {name!r} has no value: give its file with -D {name}=….csv", statement.name.span, code="MTPP-E704"
        )
    file = folder / path.value
    if path.is_name:
        named = scope.params.get(path.value)
        if not isinstance(named, (str, Path)):
            raise Complaint(
                f"there is no param {path.value!r} of type path in front of this", path.span, code="MTPP-E101"
            )
        file = named if isinstance(named, Path) else folder / named
    return read_table(file, path.span)


def _from_outside(statement: tree.ParamStatement, outside: object, default: Value | None, scope: SpecScope) -> Value:
    """Return the value that ``-D`` or an answer gives a param; what is wrong is said of that, not of the spec."""
    name = statement.name.text
    kind = None if statement.type is None else statement.type.text
    shown = f"-D {name}={outside}"
    if isinstance(outside, Recorded):
        shown = f"{name} = {outside.value} in the answer"
        outside = _recorded(name, outside, kind, default)
    try:
        value = _typed(name, _given(name, outside, kind, default), kind, Path(), None)
        _check_unit(name, shown, value, kind, default, scope)
        _check_domain(statement, value, None, scope)
    except Complaint as complaint:
        diagnostic = complaint.diagnostic
        raise Complaint(
            f"{shortened(shown, 100)}: {diagnostic.message}", None, diagnostic.notes, code=diagnostic.code
        ) from None
    return value


def _check_unit(name: str, shown: str, value: Value, kind: str | None, default: Value | None, scope: SpecScope) -> None:
    """Refuse a number without a unit where the param's default has one; note it where the rest of the spec decides."""
    if not isinstance(value, Quantity) or value.bare_zero or value.dimension != NONE:
        return
    known = default.dimension if isinstance(default, Quantity) else NONE
    wanted = _TYPES.get(kind or "", NONE) if kind is not None else known
    if wanted == NONE:
        return
    example = next((_SUCH_AS[other] for other, dimension in _TYPES.items() if dimension == wanted), "…")
    remedy = f"write one, such as -D {name}={example}"
    if kind is not None and known == wanted:
        raise Complaint(f"it has no unit, and param {name!r} is {wanted}: {remedy}", None, code="MTPP-E705")
    scope.remarks.plain.append(f"{shown} has no unit, and other quantities of the spec have one: {remedy}")


def _recorded(name: str, recorded: Recorded, kind: str | None, default: Value | None) -> object:
    """Return the value of a param in an answer as it would be given from outside."""
    value = recorded.value
    if default is not None and kind != "path" and plain(default) == value:
        return default  # exactly: an answer holds a third as a decimal, and a long list by its length
    if isinstance(value, str) and re.fullmatch(r"[0-9]+ items", value):  # a long list is told by its length
        raise Complaint(
            f"the answer does not hold the {value} of param {name!r}: give them with -D {name}=…",
            None,
            code="MTPP-E704",
        )
    return recorded.path if kind == "path" and recorded.path is not None and recorded.path.exists() else value


def _given(name: str, value: object, kind: str | None, default: Value | None) -> Value:
    """Return a value given from outside: text as the language reads it, numbers as they are."""
    value = from_python(value)
    if not isinstance(value, str):
        return value
    if kind in _TEXT_TYPES or isinstance(default, str):
        return value
    source = Source(f"-D {name}", value)
    try:
        return evaluate(parse_expression(source), SpecScope())
    except SpecError as error:
        wrong = error.diagnostics[0].message
    except Complaint as complaint:
        if kind is None:
            return value
        wrong = complaint.diagnostic.message
    if kind is None:
        raise Complaint("this is no value; a text with spaces stands in double quotes", None, [wrong], code="MTPP-E705")
    raise Complaint(f"param {name!r} is of type {kind}, such as {_SUCH_AS[kind]}", None, [wrong], code="MTPP-E705")


def _typed(name: str, value: Value, kind: str | None, base: Path, span: Span | None) -> Value:
    such = f", such as {_SUCH_AS[kind]}" if span is None and kind in _SUCH_AS else ""
    wrong = Complaint(f"param {name!r} is of type {kind}{such}; this is {describe(value)}", span, code="MTPP-E705")
    if kind is None:
        return value
    if kind in _TEXT_TYPES:
        if not isinstance(value, str):
            raise wrong
        return base / value if kind == "path" else value
    if kind == "bool":
        if not isinstance(value, bool):
            raise wrong
        return value
    if isinstance(value, bool) or not isinstance(value, Quantity):
        raise wrong
    if value.dimension != _TYPES[kind] and not (value.dimension == NONE and kind not in ("int", "float")):
        raise wrong
    if kind == "int":
        if value.whole is None:
            raise Complaint(f"param {name!r} is of type int{such}; this is {shown(value)}", span, code="MTPP-E705")
        return Quantity(value.whole)
    return value


def _check_domain(statement: tree.ParamStatement, value: Value, span: Span | None, scope: SpecScope) -> None:
    if statement.domain is None:
        return
    domain = evaluate(statement.domain, scope)
    if not isinstance(domain, Values):
        raise Complaint(
            f"a domain is a list or a range, not {describe(domain)}", statement.domain.span, code="MTPP-E210"
        )

    def same(member: Value) -> bool:
        try:
            return compare(member, "==", value)
        except Mismatch:
            return False

    inside = value in domain if isinstance(domain.items, range) else any(same(member) for member in domain)
    if not inside:
        name, text = statement.name.text, statement.domain.span.text
        raise Complaint(f"param {name!r} must be in {text}", span, code="MTPP-E706")
