"""Find what holds a cost where it is, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.show.explaining.called import called, called_all
from mtpp_dsl.show.explaining.pieces import LoadPiece

__all__ = ["Holder", "Unit", "part_words", "piece_words"]

MAX_PIECES = 5
"""Pieces of each kind that are told."""
KINDS = {"node": "runs", "read": "reads", "write": "writes", "carry": "carries"}

HolderKind = Literal["device", "channel", "link", "transfers", "term", "row"]


@dataclass(frozen=True)
class Unit:
    """How amounts of one objective are shown: *base* is their unit, *decimal* whether sizes are in GB."""

    base: str
    decimal: bool = False

    def shown(self, value: float) -> str:
        """Return an amount for people."""
        return format_quantity(value, self.base, decimal=self.decimal)


@dataclass(frozen=True, repr=False)
class Holder(Short):
    """What adds to a cost, or is as large as it.

    Attributes:
        kind: a device, a channel of a network, a link of a schedule, transfers that are in no load, a term of a linear
            objective, or a soft row that is broken.
        names: of the devices or channels that have it in common, such as replicas; the term as a spec writes it.
        amount: its load, or what it adds to the cost.
        role: what of the cost it is: "load", "forward", "backward", "sum", "path", "wait" or "paid".
        parts: what the amount consists of, by name: work, input, output and so on.
        pieces: the largest nodes and tensors of the load.
        pieces_left: how many smaller ones there are.
        shards: over how many of the devices each node is split.
    """

    kind: HolderKind
    names: tuple[str, ...]
    amount: float
    role: str = "load"
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    pieces: tuple[LoadPiece, ...] = ()
    pieces_left: int = 0
    shards: int = 1

    @classmethod
    def of_pieces(
        cls,
        kind: HolderKind,
        names: tuple[str, ...],
        amount: float,
        role: str,
        parts: Mapping[str, float],
        pieces: list[LoadPiece],
    ) -> Holder:
        """Return a holder with the largest of *pieces* of every kind."""
        kept = [p for what in KINDS for p in [piece for piece in pieces if piece.kind == what][:MAX_PIECES]]
        told = MappingProxyType({name: float(x) for name, x in parts.items() if x})
        return cls(kind, names, amount, role, told, tuple(kept), len(pieces) - len(kept))

    @property
    def named(self) -> str:
        """The names in a few words."""
        return called_all(self.names)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "names": list(self.names),
            "amount": self.amount,
            "role": self.role,
            "parts": dict(self.parts),
            "pieces": [piece.to_json() for piece in self.pieces],
            "pieces_left": self.pieces_left,
        }


def part_words(holder: Holder, unit: Unit) -> str:
    """Return what an amount consists of in words; "" where it is one thing.

    >>> part_words(Holder("device", ("gpu",), 3.0, parts={"work": 2.0, "input": 1.0}), Unit("s"))
    'work 2 s (67 %), input 1 s (33 %)'
    >>> part_words(Holder("device", ("gpu",), 2.0, parts={"work": 2.0, "input": 1.0}), Unit("s"))
    'work 2 s, input 1 s, at the same time'
    """
    if len(holder.parts) < 2:
        return "".join(f"all of it {name}" for name in holder.parts)
    at_once = sum(holder.parts.values()) > holder.amount * (1 + 1e-9)
    shares = [
        f"{name} {unit.shown(time)}" + ("" if at_once else f" ({100 * time / holder.amount:.0f} %)")
        for name, time in holder.parts.items()
    ]
    return ", ".join(shares) + (", at the same time" if at_once else "")


def piece_words(holder: Holder, unit: Unit) -> list[str]:
    """Return the largest nodes and tensors in words, a line for each kind."""
    found = []
    for kind, verb in KINDS.items():
        pieces = [piece for piece in holder.pieces if piece.kind == kind]
        if pieces:
            found.append(f"{verb} {', '.join(_piece(piece, unit) for piece in pieces)}")
    if holder.pieces_left and found:
        found[-1] += f"; and {counted(holder.pieces_left, 'smaller part')}"
    return found


def _piece(piece: LoadPiece, unit: Unit) -> str:
    ends = {"read": " from ", "write": " to ", "carry": " "}.get(piece.kind, "")
    where = " -> ".join(map(called, piece.devices)) if piece.kind == "carry" else called_all(piece.devices)
    return f"{called(piece.name)} {unit.shown(piece.time)}{ends}{where if ends else ''}"
