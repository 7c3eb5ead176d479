"""Parts of values: ``w[0]``, ``times["gpu"]``, ``table[2].column``, ``edge.source``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import Locals, evaluate, evaluates
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import (
    DataTable,
    DeviceRef,
    EdgeRef,
    Key,
    MapValue,
    NodeRef,
    Quantity,
    TableRow,
    Value,
    describe,
    shown,
)
from mtpp_dsl.language.values.values import Sequence as Values


@evaluates(tree.Select)
def _select(node: tree.Select, scope: SpecScope, local: Locals) -> Value:
    return select(evaluate(node.base, scope, local), node.parts, scope, local)


def select(value: Value, parts: Iterable[tree.Part], scope: SpecScope, local: Locals) -> Value:
    """Return the part of a value that dots and subscripts name, from the left.

    Raises:
        Complaint: the value has no such part.
    """
    for part in parts:
        if part.name is not None:
            value = _attribute(value, part.name, part.span, scope)
        for subscript in part.subscripts:
            value = _member(value, evaluate(subscript, scope, local), subscript.span, scope)
    return value


def _attribute(value: Value, name: str, span: Span, scope: SpecScope) -> Value:
    match value:
        case EdgeRef(index) if scope.graph is not None and name in ("source", "target"):
            return NodeRef(int((scope.graph.tails if name == "source" else scope.graph.heads)[index]))
        case TableRow(table, index):
            return _cell(table, name, index, span)
        case DataTable():
            _check_column(value, name, span)
            return Values(tuple(_cell(value, name, i, span) for i in range(len(value))))
    remedies: dict[type, str] = {
        EdgeRef: "an edge e has e.source and e.target, and size(e)",
        MapValue: f'a map is looked up by [ ]: ["{name}"]',
        NodeRef: f"what a node has is written {name}(…)",
        DeviceRef: f"what a device has is written {name}(…)",
    }
    notes = [remedies[type(value)]] if type(value) in remedies else []
    raise Complaint(f"{describe(value)} has no part {name!r}", span, notes, code="MTPP-E204")


def _check_column(table: DataTable, name: str, span: Span) -> None:
    if name not in table.columns:
        hint = did_you_mean(name, table.columns)
        listed = f"its columns are: {', '.join(table.columns)}"
        raise Complaint(f"{table.name} has no column {name!r}{hint}", span, [listed], code="MTPP-E204")


def _cell(table: DataTable, name: str, index: int, span: Span) -> Value:
    _check_column(table, name, span)
    value = table.columns[name][index]
    if value is None:
        place = table.places[index]
        raise Complaint(f"the cell of column {name!r} is empty at {place}", span, code="MTPP-E205")
    return value


def _member(value: Value, key: Value, span: Span, scope: SpecScope) -> Value:
    """Return ``value[key]``; several where the key is a range, a list or a set."""
    if isinstance(key, Values):
        scope.steps.spend(len(key), span)
        return Values(tuple(_member(value, one, span, scope) for one in key))
    match value:
        case Values(kind="set"):
            notes = ["[x for x in …] makes a list of a set", "a member of a family is named by the family: gpu[0]"]
            raise Complaint("a set has no order, so it has no subscripts", span, notes, code="MTPP-E204")
        case Values(items=items):
            i = _position(key, len(items), "a list" if value.kind == "list" else "a range", span)
            return Quantity(items[i]) if isinstance(items, range) else items[i]
        case MapValue():
            return _looked_up(value, key, span, scope)
        case DataTable() if isinstance(key, Quantity):
            return TableRow(value, _position(key, len(value), value.name, span))
        case DataTable():
            return TableRow(value, _row(value, key, span, scope))
        case TableRow(table, index) if isinstance(key, str):
            return _cell(table, key, index, span)
    raise Complaint(f"{describe(value)} has no subscripts", span, code="MTPP-E204")


def _position(key: Value, length: int, what: str, span: Span) -> int:
    number = key.whole if isinstance(key, Quantity) else None
    if number is None:
        raise Complaint(
            f"the members of {what} are counted from 0 by whole numbers; this is {describe(key)}",
            span,
            code="MTPP-E204",
        )
    if not 0 <= number < length:
        there = f"it has the members 0 to {length - 1}" if length else "it is empty"
        raise Complaint(f"{what} has no member {number}: {there}", span, code="MTPP-E204")
    return number


def key_of(value: Value, scope: SpecScope) -> Key | None:
    """Return what a value is looked up by: itself if it is a string or a number, the name of a node or a device."""
    if isinstance(value, (str, Quantity)):
        return value
    name = scope.name_of(value)
    return name or None


def _looked_up(mapping: MapValue, key: Value, span: Span, scope: SpecScope) -> Value:
    """Return the entry of a key; of a node or a device that of its full name, else of its family's name."""
    for name in _names(key, scope):
        if name in mapping.entries:
            return mapping.entries[name]
    raise _missing("the map", mapping.entries, key, span, scope)


def has_key(mapping: MapValue, key: Value, scope: SpecScope) -> bool:
    """Return whether a look-up by *key* finds an entry."""
    return any(name in mapping.entries for name in _names(key, scope))


def _row(table: DataTable, key: Value, span: Span, scope: SpecScope) -> int:
    for name in _names(key, scope):
        if isinstance(name, str) and name in table.rows:
            row = table.rows[name]
            if row is None:
                raise Complaint(f"{table.name} has several rows {name!r}", span, code="MTPP-E205")
            return row
    raise _missing(table.name, table.rows, key, span, scope)


def _names(key: Value, scope: SpecScope) -> Iterator[Key]:
    """Yield what a value may be known by, the most particular first.

    Of ``layer[3].head[1]``: itself, ``layer[3].head``, ``layer.head``, ``layer[3]``, ``layer``.
    """
    first = key_of(key, scope)
    if first is None:
        return
    yield first
    if isinstance(key, (NodeRef, DeviceRef)):
        assert isinstance(first, str)
        yield from _families(first)


def _families(name: str) -> Iterator[str]:
    if "[" not in name and "." not in name:
        return
    seen = {name}
    for shorter in _shorter(name):
        if shorter not in seen:
            seen.add(shorter)
            yield shorter


def _shorter(name: str) -> Iterator[str]:
    pieces = name.split(".")
    if pieces[-1].endswith("]"):
        yield ".".join([*pieces[:-1], pieces[-1].partition("[")[0]])
    yield ".".join(piece.partition("[")[0] for piece in pieces)
    for length in range(len(pieces) - 1, 0, -1):
        yield ".".join(pieces[:length])
        yield ".".join([*pieces[: length - 1], pieces[length - 1].partition("[")[0]])


def _missing(what: str, known: Iterable[Key], key: Value, span: Span, scope: SpecScope) -> Complaint:
    first = key_of(key, scope)
    if first is None:
        return Complaint(f"{what} is not looked up by {describe(key)}", span, code="MTPP-E204")
    texts = [name for name in known if isinstance(name, str)]
    hint = scope.near(first, texts) if isinstance(first, str) else ""
    return Complaint(f"{what} has no key {_shown_key(first)}{hint}", span, _listed(list(known)), code="MTPP-E204")


def _listed(known: Sequence[Key]) -> list[str]:
    if not known or len(known) > 12:
        return []
    return [f"its keys are: {', '.join(map(_shown_key, known))}"]


def _shown_key(key: Key) -> str:
    return repr(key) if isinstance(key, str) else shown(key)
