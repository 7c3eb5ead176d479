"""Hints within the lines: how many members a family has, what a definition comes to, rates in bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lsprotocol import types

from mtpp_dsl.core.base.units import RATE, UNITS
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.features.values import short, value_of
from mtpp_dsl.editor.server.index import walk
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.values import DataTable, MapValue, Quantity, Sequence, Value

KINDS = ("families", "values", "rates")
"""The kinds of hints; an editor may ask for some of them."""

_LONGEST = 60


def hints(reading: TextReading, first: int, last: int, kinds: Collection[str] = KINDS) -> list[types.InlayHint]:
    """Return the hints of the lines *first* to *last*, counted from 0, of the given kinds; () while values are unknown.

    What can be read off the text has none: the size of ``gpu[4]``, the value of a literal.
    """
    if not reading.current:
        return []
    lines = reading.lines()
    start = lines.offset(first, 0)
    stop = lines.end(min(max(last, 0), len(lines) - 1))
    shown: list[types.InlayHint] = []
    for statement in reading.statements:
        if statement.span.start > stop or statement.span.stop < start:
            continue
        for at, text in _of(reading, statement, kinds, start, stop):
            if start <= at <= stop and text:
                line, column = lines.position(at)
                label = visible(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…").replace("\n", " ")
                shown.append(types.InlayHint(types.Position(line, column), label, padding_left=True))
    return shown


def _of(
    reading: TextReading, statement: tree.Statement, kinds: Collection[str], start: int, stop: int
) -> Iterator[tuple[int, str]]:
    """Yield offsets and hints of a statement; of a graph, of the items between *start* and *stop*."""
    if isinstance(statement, (tree.GraphBlock, tree.BlockStatement)):
        whole = isinstance(statement, tree.GraphBlock)
        for item in statement.items:
            if item.span.start <= stop and item.span.stop >= start:
                if "families" in kinds and isinstance(item, (tree.NodeItem, tree.UseItem)):
                    yield from _family(reading, item, whole=whole)
                if "rates" in kinds:
                    yield from _rates(item)
        return
    if isinstance(statement, tree.ScenarioStatement):
        for inner in statement.statements:
            yield from _of(reading, inner, [kind for kind in kinds if kind == "rates"], start, stop)
        return
    if "families" in kinds and isinstance(statement, (tree.DeviceStatement, tree.SwitchStatement)):
        yield from _family(reading, statement, whole=True)
    if "values" in kinds and isinstance(statement, (tree.LetStatement, tree.ParamStatement)):
        yield from _value(reading, statement)
    if "rates" in kinds:
        yield from _rates(statement)


_WHAT = {
    tree.NodeItem: "node",
    tree.UseItem: "instance",
    tree.DeviceStatement: "device",
    tree.SwitchStatement: "switch",
}


def _family(
    reading: TextReading,
    item: tree.NodeItem | tree.UseItem | tree.DeviceStatement | tree.SwitchStatement,
    *,
    whole: bool,
) -> Iterator[tuple[int, str]]:
    """Yield how many members a family has, behind its brackets; of one with a plain number nothing."""
    family = item.family
    if family is None or isinstance(family.size, tree.Number):
        return
    count = _members(reading, item.name) if whole and isinstance(item, (tree.NodeItem, tree.DeviceStatement)) else None
    if count is None:
        count = _counted(reading, family)
    if count is not None:
        what = _WHAT[type(item)]
        plural = "es" if what == "switch" else "s"
        yield family.span.stop, f"{count:,} {what}{'' if count == 1 else plural}"


def _members(reading: TextReading, name: tree.Word) -> int | None:
    try:
        members = reading.scope.member(name.text, name.span)
    except Complaint:  # a name of a node and a device
        return None
    return len(members) if isinstance(members, Sequence) else None


def _counted(reading: TextReading, family: tree.Family) -> int | None:
    """Return the size of a family whose loops depend on nothing around it; None of another one."""
    if family.size is not None:
        value = value_of(reading, family.size)
        return value.whole if isinstance(value, Quantity) else None
    total = 1
    for binder in family.binders:
        value = value_of(reading, binder.domain)
        if not isinstance(value, (Sequence, MapValue, DataTable)):
            return None
        total *= len(value.entries) if isinstance(value, MapValue) else len(value)
    return total


def _value(reading: TextReading, statement: tree.LetStatement | tree.ParamStatement) -> Iterator[tuple[int, str]]:
    """Yield what a definition or a default comes to, where that cannot be read off it."""
    scope, name = reading.scope, statement.name.text
    if isinstance(statement, tree.ParamStatement):
        value: Value | None = scope.params.get(name)
        written = statement.default
        if written is None and statement.table is None:
            return
        at = (written or statement.table or statement.name).span.stop
        own = None if written is None else value_of(reading, written)
        literal = written is not None and _literal(written)
        if value is None or (literal and (own is None or own == value)):
            return
    else:
        if _literal(statement.value):
            return
        value, at = scope.evaluated.lets.get(name), statement.value.span.stop
        if value is None:
            value = value_of(reading, tree.Name(span=statement.name.span, name=name))
    if value is None:
        return
    if isinstance(value, Sequence) and value.kind == "set":
        count = len(value)
        yield at, f"= {count:,} {'member' if count == 1 else 'members'}: {short(value, scope, 3)}"
    else:
        yield at, f"= {short(value, scope, 3)}"


def _literal(node: tree.Expression) -> bool:
    """Return whether a value can be read off an expression."""
    match node:
        case tree.Number() | tree.Text() | tree.RangeOf():
            return True
        case tree.Negate(operand=operand):
            return _literal(operand)
        case tree.ListOf(items=items) | tree.SetOf(items=items):
            return all(_literal(item) or isinstance(item, tree.Name) for item in items)
        case tree.MapOf(entries=entries):
            return all(_literal(entry.value) for entry in entries)
        case tree.Name(name="true" | "false" | "inf"):
            return True
        case _:
            return False


def _rates(node: tree.Tree) -> Iterator[tuple[int, str]]:
    """Yield the rates in bits per second in bytes per second."""
    for part in walk(node):
        if isinstance(part, tree.Number) and part.unit is not None and "bit/s" in part.unit.text:
            factor, dimension = UNITS.get(part.unit.text, (0, None))
            if dimension == RATE and factor:
                yield part.span.stop, f"= {_bytes(float(part.value * factor))}"


def _bytes(rate: float) -> str:
    for unit, factor in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if rate >= factor:
            return f"{rate / factor:.5g} {unit}"
    return f"{rate:.5g} B/s"
