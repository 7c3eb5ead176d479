"""Define what expressions evaluate to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isinf
from pathlib import Path
from typing import TypeAlias

from mtpp_dsl.core.base.exact_numbers import Exact, plain_number
from mtpp_dsl.core.base.units import NONE, Dimension, format_exact
from mtpp_dsl.core.constraints import Decision
from mtpp_dsl.core.text.source import Span


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class Quantity:
    """A number in base units with its dimension.

    ``value`` is exact: whole, a fraction, or infinite. ``bare_zero``: a literal 0 without a unit, which goes with
    every dimension.
    """

    value: Exact
    dimension: Dimension = NONE

    @property
    def bare_zero(self) -> bool:
        """Return whether this is a zero without a unit, which can be compared with every dimension."""
        return self.value == 0 and self.dimension == NONE

    @property
    def fits_all(self) -> bool:
        """Return whether this goes with every dimension: 0 and inf without a unit."""
        return self.dimension == NONE and (self.value == 0 or self.infinite)

    @property
    def infinite(self) -> bool:
        """Return whether this is ``inf`` or ``-inf``."""
        return isinstance(self.value, float) and isinf(self.value)

    @property
    def whole(self) -> int | None:
        """Return the whole number without a unit that this is; None for any other."""
        return self.value if isinstance(self.value, int) and self.dimension == NONE else None


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class NodeRef:
    """A node, by number."""

    index: int


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class DeviceRef:
    """A device, by number."""

    index: int


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class EdgeRef:
    """An edge, by number."""

    index: int


@dataclass(frozen=True, eq=False)
class Sequence:
    """A set, a list or a range; ``range`` is kept lazy.

    Two sets are equal if they have the same members, whatever their order; a list and a range are equal if they have
    the same members in the same order. A set keeps the order in which it was written.

    ``weight``: the number of its members, with those of the sequences in it.
    """

    items: tuple[Value, ...] | range
    kind: str = "list"

    @cached_property
    def weight(self) -> int:
        """Return the number of members, with those of the sequences in it."""
        inner = () if isinstance(self.items, range) else self.items
        return len(self.items) + sum(item.weight for item in inner if isinstance(item, (Sequence, MapValue)))

    @cached_property
    def members(self) -> frozenset[Value]:
        """Return the members without their order."""
        return frozenset(self)

    def __iter__(self) -> Iterator[Value]:
        if isinstance(self.items, range):
            return (Quantity(i) for i in self.items)
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, value: object) -> bool:
        if isinstance(value, Quantity) and value.value == 0:  # 0 goes with every dimension
            zeros = (m for m in self if isinstance(m, Quantity) and m.value == 0)
            return any(m.dimension == value.dimension or NONE in (m.dimension, value.dimension) for m in zeros)
        if isinstance(self.items, range):
            return isinstance(value, Quantity) and value.whole in self.items
        return value in self.members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        if "set" in (self.kind, other.kind):
            return self.kind == other.kind and self.members == other.members
        if isinstance(self.items, range) and isinstance(other.items, range):
            return self.items == other.items
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(self.members) if self.kind == "set" else hash(tuple(self))


Key: TypeAlias = "str | Quantity"
"""What a map is looked up by."""


@dataclass(frozen=True, eq=False)
class MapValue:
    """A map from strings and numbers to values."""

    entries: Mapping[Key, Value]

    @cached_property
    def weight(self) -> int:
        """Return the number of entries, with those of the sequences and maps in them."""
        inner = (value.weight for value in self.entries.values() if isinstance(value, (Sequence, MapValue)))
        return len(self.entries) + sum(inner)

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if isinstance(other, MapValue) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.entries.items()))


@dataclass(frozen=True)
class NodeTime:
    """Times of a node that its own options give.

    Attributes:
        times: by what the key names; under "" for every device.
        span: of the option.
    """

    times: dict[str, Quantity]
    span: Span


@dataclass(frozen=True, eq=False)
class DataTable:
    """A table of a file: columns by name, in their order; None where a cell is empty.

    Attributes:
        path: of the file; None for a table that Python gives.
        name: what messages call it.
        columns: by name, each with a value per row.
        rows: number of the row by the text in its first column; None for a text that several rows have.
        places: where each row stands, for messages: ``file:line``.
    """

    path: Path | None
    name: str
    columns: Mapping[str, tuple[Value | None, ...]]
    rows: Mapping[str, int | None]
    places: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class TableRow:
    """A row of a table, by number."""

    table: DataTable
    index: int


@dataclass(frozen=True)
class Affine:
    """A constant plus a weighted sum of decisions, all in one dimension; its numbers are exact."""

    terms: Mapping[Decision, Exact]
    constant: Exact = 0
    dimension: Dimension = field(default=NONE)


_LONG = 10**15

Value: TypeAlias = (
    Quantity | str | bool | Path | NodeRef | DeviceRef | EdgeRef | Sequence | MapValue | DataTable | TableRow | Affine
)


def describe(value: Value) -> str:
    """Return what kind of thing a value is, for messages."""
    match value:
        case bool():
            return "true or false"
        case Quantity(dimension=dimension):
            return "inf" if value.infinite and dimension == NONE else str(dimension)
        case Sequence(kind=kind):
            return f"a {kind}"
        case _:
            return _KINDS.get(type(value), "a path")


_KINDS = {
    str: "a string",
    NodeRef: "a node",
    DeviceRef: "a device",
    EdgeRef: "an edge",
    MapValue: "a map",
    DataTable: "a table",
    TableRow: "a row of a table",
    Affine: "an expression over decisions",
}


def shown(value: Quantity | Exact) -> str:
    """Return a number for messages, with its unit.

    >>> shown(Quantity(1234567)), shown(Quantity(3, Dimension(time=1))), shown(10**20)
    ('1234567', '3 s', '1e+20')
    """
    if isinstance(value, Quantity):
        return format_exact(value.value, value.dimension) if value.dimension != NONE else shown(value.value)
    return str(value) if isinstance(value, int) and abs(value) < _LONG else f"{plain_number(value):g}"
