"""The syntax tree: one small frozen class per construct, each with its place in the text.

Places do not take part in comparison: two texts that say the same have equal trees. All classes are public: other
modules import this one, and say ``tree.Name``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mtpp_dsl.language.syntax.tree_expressions import (
    Binder,
    Call,
    Chain,
    Clauses,
    Compare,
    Conditional,
    Entry,
    Expression,
    Family,
    ListOf,
    ListWhere,
    Logic,
    MapOf,
    MapWhere,
    Name,
    Negate,
    Not,
    Number,
    Option,
    Part,
    Path,
    Quantifier,
    RangeOf,
    Select,
    SetOf,
    SetWhere,
    Text,
    Tree,
    Word,
)

__all__ = [
    "AssertStatement", "Binder", "BlockStatement", "Call", "Chain", "Clauses", "Compare", "Conditional",
    "ConstraintStatement", "DefStatement", "DeviceStatement", "EdgeItem", "Entry", "Expression", "Family",
    "GraphBlock", "GraphFile", "GraphGenerator", "ImportPlan", "ImportStatement", "IncludeStatement",
    "InterconnectStatement", "Item", "LabelledConstraint", "LetStatement", "LinkStatement", "ListOf",
    "ListWhere", "Logic", "MapOf", "MapWhere", "Name", "Negate", "NodeItem", "Not", "Number",
    "ObjectiveStatement", "Option", "ParamStatement", "Part", "Path", "PhaseName", "PhaseStatement", "PortItem",
    "Quantifier", "RangeOf", "ScenarioStatement", "Select", "SetOf", "SetWhere", "Statement", "SwitchStatement",
    "TargetStatement", "Text", "TimeStatement", "TimesFile", "TransferStatement", "Tree", "TypeStatement",
    "UseItem", "VersionStatement", "Word",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Statement(Tree):
    """Root of the statements."""


@dataclass(frozen=True, kw_only=True)
class VersionStatement(Statement):
    """``mtpp 1``."""

    version: Number


@dataclass(frozen=True, kw_only=True)
class ParamStatement(Statement):
    """``param k: int = 4 in 2..64``, or ``param t: table from "t.csv"``."""

    name: Word
    type: Word | None
    default: Expression | None
    domain: Expression | None
    table: Path | None = None


@dataclass(frozen=True, kw_only=True)
class LetStatement(Statement):
    """``let heavy = { v in nodes if work(v) >= 4 ms }``."""

    name: Word
    value: Expression


@dataclass(frozen=True, kw_only=True)
class DefStatement(Statement):
    """``def share(v) = work(v) / total``."""

    name: Word
    params: tuple[Word, ...]
    value: Expression


@dataclass(frozen=True, kw_only=True)
class AssertStatement(Statement):
    """``assert k > 2, "message"``."""

    condition: Expression
    message: Expression | None


@dataclass(frozen=True, kw_only=True)
class IncludeStatement(Statement):
    """``include "quickstart.mtpp"``."""

    path: Path
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class ScenarioStatement(Statement):
    """``scenario night { … }``: statements that count where the scenario is chosen."""

    name: Word
    statements: tuple[Statement, ...]


@dataclass(frozen=True, kw_only=True)
class ImportStatement(Statement):
    """``import "GoogLeNet.json" (format = moirai)``: graph and devices."""

    path: Path
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class ImportPlan(Statement):
    """``import plan "old.json"``: an earlier answer, whose places ``moved`` speaks of."""

    path: Path
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class NodeItem(Tree):
    """``node attn[i in 0..3] (work = 3 ms)``."""

    name: Word
    family: Family | None
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class EdgeItem(Tree):
    """``edge a -> b -> c (size = 4 MiB)``."""

    ends: tuple[Expression, ...]
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class UseItem(Tree):
    """``use layer as decoder[i in 0..<80]``: instances of a block; without ``as``, ``name`` is that of the block."""

    block: Word
    name: Word
    family: Family | None
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class PortItem(Tree):
    """``input in = attn, norm`` in a block: what ``layer[3].in`` stands for in edges."""

    way: Literal["input", "output"]
    name: Word
    ends: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class BlockStatement(Statement):
    """``block layer(i) { ... }``: a part of a graph that may be used many times."""

    name: Word
    params: tuple[Word, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True)
class GraphBlock(Statement):
    """``graph { ... }``."""

    items: tuple[Item, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class GraphFile(Statement):
    """``graph from "file" (format = msr)``."""

    path: Path
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class GraphGenerator(Statement):
    """``graph from generator regal (nodes = 100)``."""

    name: Word
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceStatement(Statement):
    """``device stage[k] (memory = 256 MiB)``."""

    name: Word
    family: Family | None
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class TypeStatement(Statement):
    """``type a100_80gb (peak = {bf16: 312 TFLOP/s}, memory = 80 GB)``: options that devices of the type have."""

    name: Word
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class TargetStatement(Statement):
    """``target vllm``, or ``target llama_cpp (grain = layer)``: the runtime whose limits are constraints."""

    name: Word
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InterconnectStatement(Statement):
    """``interconnect shared (bandwidth = 8 GiB/s)``."""

    name: Word
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class SwitchStatement(Statement):
    """``switch server[2] (uplink = 12 GB/s, under = rack)``."""

    name: Word
    family: Family | None
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class LinkStatement(Statement):
    """``link cpu <-> gpu (bandwidth = 12 GiB/s, latency = 10 us)``."""

    first: Expression
    second: Expression
    both_ways: bool
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class PhaseName(Tree):
    """One phase with its options, as in ``decode (weight = 200)``."""

    name: Word
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class PhaseStatement(Statement):
    """``phase prefill, decode (weight = 200)``."""

    phases: tuple[PhaseName, ...]


@dataclass(frozen=True, kw_only=True)
class TimeStatement(Statement):
    """``time conv[i] on gpu[0] at batch 4 = 5 ms for i in 0..3``; ``batch`` is None where none is said."""

    nodes: tuple[Expression, ...]
    devices: tuple[Expression, ...]
    batch: Expression | None
    phase: Expression | None
    value: Expression
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class TransferStatement(Statement):
    """``time a -> b on gpu[0] -> gpu[1] = 3 ms``: what the transfer along an edge takes between two devices."""

    tail: Expression
    head: Expression
    first: Expression
    second: Expression
    value: Expression
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class TimesFile(Statement):
    """``times from "profile.csv" (unit = ms)``."""

    path: Path
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class ObjectiveStatement(Statement):
    """``minimize bottleneck``, or ``minimize cost: sum(price(d) * used(d) for d in devices) (within = 1%)``."""

    sense: str
    label: Word | None
    value: Expression
    options: tuple[Option, ...]
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class ConstraintStatement(Statement):
    """A constraint with a name of its own, such as ``constraint pin embed on stage[0]``.

    Attributes:
        rule: the first word.
        members: nodes or devices between the rule and ``on``.
        devices: after ``on``.
        amount: after ``at most``, ``up to`` or ``in``.
        by: after ``by``.
    """

    rule: Word
    members: tuple[Expression, ...] = ()
    devices: tuple[Expression, ...] | None = None
    amount: Expression | None = None
    by: Word | None = None
    options: tuple[Option, ...] = ()
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class LabelledConstraint(Statement):
    """``constraint cap: forall d in devices: load(d) <= 3 ms``."""

    label: Word
    quantifiers: tuple[Quantifier, ...]
    body: Expression
    options: tuple[Option, ...] = ()
    clauses: Clauses | None = None


Item: TypeAlias = NodeItem | EdgeItem | UseItem | PortItem | AssertStatement
"""What stands in a graph or a block; ports only in a block."""
