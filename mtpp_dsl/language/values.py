"""What expressions evaluate to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from mtpp_dsl.base.units import NONE, Dimension
from mtpp_dsl.constraints import Decision

__all__ = ["Affine", "DeviceRef", "NodeRef", "Quantity", "Sequence", "Value", "describe"]


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class Quantity:
    """A number in base units with its dimension.

    ``bare_zero``: a literal 0 without a unit, which goes with every dimension.
    """

    value: int | float
    dimension: Dimension = NONE

    @property
    def bare_zero(self) -> bool:
        """Return whether this is a zero without a unit, which can be compared with every dimension."""
        return self.value == 0 and self.dimension == NONE


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class NodeRef:
    """A node, by number."""

    index: int


@dataclass(slots=True, unsafe_hash=True)  # not frozen: made by the million
class DeviceRef:
    """A device, by number."""

    index: int


@dataclass(frozen=True)
class Sequence:
    """An ordered set, a list or a range; ``range`` is kept lazy.

    ``weight``: the number of its members, with those of the sequences in it.
    """

    items: tuple[Value, ...] | range
    kind: str = "list"

    @cached_property
    def weight(self) -> int:
        """Return the number of members, with those of the sequences in it."""
        inner = () if isinstance(self.items, range) else self.items
        return len(self.items) + sum(item.weight for item in inner if isinstance(item, Sequence))

    def __iter__(self) -> Iterator[Value]:
        if isinstance(self.items, range):
            return (Quantity(i) for i in self.items)
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, value: object) -> bool:
        if isinstance(self.items, range):
            return isinstance(value, Quantity) and value.dimension == NONE and value.value in self.items
        return value in self.items


@dataclass(frozen=True)
class Affine:
    """A constant plus a weighted sum of decisions, all in one dimension."""

    terms: Mapping[Decision, float]
    constant: float = 0.0
    dimension: Dimension = field(default=NONE)


Value: TypeAlias = Quantity | str | bool | Path | NodeRef | DeviceRef | Sequence | Affine


def describe(value: Value) -> str:
    """Return what kind of thing a value is, for messages."""
    match value:
        case bool():
            return "true or false"
        case str():
            return "a string"
        case Path():
            return "a path"
        case Quantity(dimension=dimension):
            return str(dimension)
        case NodeRef():
            return "a node"
        case DeviceRef():
            return "a device"
        case Sequence(kind=kind):
            return f"a {kind}"
        case Affine():
            return "an expression over decisions"
