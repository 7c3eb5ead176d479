"""Values of expressions in words: as the user would write them, and in base units."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from mtpp_dsl.core.base.exact_numbers import exact_number, plain_number
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, UNITS, format_quantity
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, ReadingStopped, Steps
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    EdgeRef,
    MapValue,
    NodeRef,
    Quantity,
    Sequence,
    TableRow,
    Value,
    describe,
    shown,
)

_FEW = 4


def short(value: Value, scope: SpecScope, few: int = _FEW) -> str:
    """Return a value in a few words."""
    match value:
        case bool():
            return "true" if value else "false"
        case Quantity():
            return _quantity(value, scope)
        case str():
            return f'"{value}"' if len(value) < 60 else f'"{value[:56]}…"'
        case Path():
            return f'"{value}"'
        case NodeRef() | DeviceRef():
            return scope.name_of(value)
        case EdgeRef(index) if scope.graph is not None and index < scope.graph.m:
            graph = scope.graph
            return f"{graph.names[graph.tails[index]]} -> {graph.names[graph.heads[index]]}"
        case Sequence():
            return _sequence(value, scope, few)
        case MapValue(entries=entries):
            inside = ", ".join(
                f"{key if isinstance(key, str) else shown(key)}: {short(entry, scope, 2)}"
                for key, entry in islice(entries.items(), few)
            )
            return f"{{{inside}{', …' if len(entries) > few else ''}}}"
        case DataTable():
            return f"{value.name}: {len(value):,} rows of {', '.join(list(value.columns)[:6])}"
        case TableRow(table, index):
            return f"row {index} of {table.name}"
        case Affine(terms=terms):
            return f"an expression over {len(terms):,} decisions"
        case _:
            return describe(value)


def _quantity(value: Quantity, scope: SpecScope) -> str:
    """Return a number in the unit that fits it, exactly where that is as short."""
    if value.infinite or value.dimension == NONE:
        return shown(value)
    exact = shown(value)
    if value.dimension in (TIME, SIZE):
        near = amount(float(value.value), "s" if value.dimension == TIME else "B", scope)
        return exact if len(exact) <= len(near) + 2 else f"{near}"
    return exact


def amount(value: float, unit: str, scope: SpecScope) -> str:
    """Return a figure in the unit that fits; a size in units of 1,000 or 1,024, whichever it is a round number of."""
    quantity = format_quantity(value, unit, decimal=scope.units.decimal)
    if unit != "B" or _exact(quantity, value):
        return quantity
    other = format_quantity(value, unit, decimal=not scope.units.decimal)
    return other if _exact(other, value) else quantity


def _exact(quantity: str, value: float) -> bool:
    number, _, unit = quantity.partition(" ")
    return float(exact_number(number) * UNITS[unit][0]) == value


def in_base(value: Value) -> str:
    """Return a quantity in base units; "" of what has none, or is written in them.

    >>> in_base(Quantity(96 * 2**20, SIZE)), in_base(Quantity(3))
    ('100,663,296 B', '')
    """
    if not isinstance(value, Quantity) or value.dimension == NONE or value.infinite:
        return ""
    number = plain_number(value.value)
    text = f"{number:,}" if isinstance(number, int) else f"{number:.12g}"
    return f"{text} {value.dimension.unit}"


def listed(names: list[str], count: int, few: int = _FEW) -> str:
    """Return the first names of several, and how many there are."""
    return ", ".join(names[:few]) + (", …" if count > few else "")


def _sequence(value: Sequence, scope: SpecScope, few: int) -> str:
    if isinstance(value.items, range):
        items = value.items
        return f"{items[0]}..{items[-1]}" if len(items) and items.step == 1 else f"a range of {len(items):,}"
    opened, closed = ("{", "}") if value.kind == "set" else ("[", "]")
    inside = ", ".join(short(entry, scope, 2) for entry in islice(value, few))
    return f"{opened}{inside}{', …' if len(value) > few else ''}{closed}"


# Values of expressions of a text, within a few steps, and never with an error.

MAX_EVALUATED = 20_000
"""Steps that the value of one expression may take."""


def value_of(reading: TextReading, expression: tree.Expression) -> Value | None:
    """Return the value of an expression without free variables; None where it has none, or takes many steps."""
    if reading.analysis is None or not reading.current:
        return None
    scope = reading.scope
    remarks, evaluated = scope.remarks, scope.evaluated
    warnings, unsettled = list(remarks.warnings), set(remarks.unsettled)
    pending, calls = list(evaluated.pending), list(evaluated.calls)
    steps, scope.steps = scope.steps, Steps(MAX_EVALUATED)
    try:
        return evaluate(expression, scope)
    except (Complaint, MtppError, ReadingStopped, RecursionError, ArithmeticError):
        return None
    finally:
        scope.steps, remarks.warnings = steps, warnings
        evaluated.pending[:], evaluated.calls[:] = pending, calls
        remarks.unsettled.clear()
        remarks.unsettled.update(unsettled)
