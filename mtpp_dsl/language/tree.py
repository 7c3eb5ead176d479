"""The syntax tree: one small frozen class per construct, each with its place in the text.

Places do not take part in comparison: two texts that say the same have equal trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mtpp_dsl.text.source import Span

__all__ = [
    "Binder",
    "Call",
    "Chain",
    "Clauses",
    "Compare",
    "ConstraintStatement",
    "DeviceStatement",
    "EdgeItem",
    "Expression",
    "Family",
    "GraphBlock",
    "GraphFile",
    "GraphGenerator",
    "ImportStatement",
    "IncludeStatement",
    "InterconnectStatement",
    "LabelledConstraint",
    "LetStatement",
    "LinkStatement",
    "ListOf",
    "Logic",
    "Name",
    "Negate",
    "NodeItem",
    "Not",
    "Number",
    "ObjectiveStatement",
    "Option",
    "ParamStatement",
    "Path",
    "Quantifier",
    "RangeOf",
    "SetOf",
    "SetWhere",
    "Statement",
    "Text",
    "TimeStatement",
    "TimesFile",
    "Tree",
    "VersionStatement",
    "Word",
]


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Root of the syntax tree."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Word(Tree):
    """An identifier where nothing is looked up: a declared name, an option, a keyword."""

    text: str


# Expressions


@dataclass(frozen=True, kw_only=True)
class Expression(Tree):
    """Root of the expressions."""


@dataclass(frozen=True, kw_only=True)
class Number(Expression):
    """``96 MiB``: an int or a float, and its unit."""

    value: int | float
    unit: Word | None


@dataclass(frozen=True, kw_only=True)
class Text(Expression):
    """A string."""

    value: str


@dataclass(frozen=True, kw_only=True)
class Name(Expression):
    """``attn[i]``: a param, a let, a loop variable, a node, a device, or a family of them."""

    name: str
    subscripts: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """``sum(on(v, d) for v in heavy)``."""

    function: Word
    arguments: tuple[Expression, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class Chain(Expression):
    """``a + b - c`` or ``a * b / c``, from the left."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Negate(Expression):
    """``-a``."""

    operand: Expression


@dataclass(frozen=True, kw_only=True)
class RangeOf(Expression):
    """``0..3``, both ends included."""

    first: Expression
    last: Expression


@dataclass(frozen=True, kw_only=True)
class Compare(Expression):
    """``a <= b``; ``operator`` may also be "in" or "not in"."""

    left: Expression
    operator: str
    right: Expression


@dataclass(frozen=True, kw_only=True)
class Not(Expression):
    """``not a``."""

    operand: Expression


@dataclass(frozen=True, kw_only=True)
class Logic(Expression):
    """``a and b and c``, or the same with ``or``."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class ListOf(Expression):
    """``[a, b]``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class SetOf(Expression):
    """``{a, b}``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class SetWhere(Expression):
    """``{ v in nodes if work(v) >= 4 ms }``."""

    binder: Binder
    condition: Expression | None


# Parts of statements


@dataclass(frozen=True, kw_only=True)
class Binder(Tree):
    """``i in 0..3``."""

    name: Word
    domain: Expression


@dataclass(frozen=True, kw_only=True)
class Clauses(Tree):
    """``for i in 0..3 for j in 0..i if j > 0``."""

    binders: tuple[Binder, ...]
    condition: Expression | None


@dataclass(frozen=True, kw_only=True)
class Quantifier(Tree):
    """``forall d in devices if c:``."""

    binder: Binder
    condition: Expression | None


@dataclass(frozen=True, kw_only=True)
class Option(Tree):
    """``memory = 256 MiB`` between parentheses."""

    name: Word
    value: Expression


@dataclass(frozen=True, kw_only=True)
class Family(Tree):
    """``[k]`` (then ``size``) or ``[i in 0..3, j in 0..1]`` (then ``binders``) after a declared name."""

    size: Expression | None
    binders: tuple[Binder, ...]


@dataclass(frozen=True, kw_only=True)
class Path(Tree):
    """A file: a string, or the name of a ``param`` of type path."""

    value: str
    is_name: bool


# Statements


@dataclass(frozen=True, kw_only=True)
class Statement(Tree):
    """Root of the statements."""


@dataclass(frozen=True, kw_only=True)
class VersionStatement(Statement):
    """``mtpp 1``."""

    version: Number


@dataclass(frozen=True, kw_only=True)
class ParamStatement(Statement):
    """``param k: int = 4 in 2..64``."""

    name: Word
    type: Word | None
    default: Expression | None
    domain: Expression | None


@dataclass(frozen=True, kw_only=True)
class LetStatement(Statement):
    """``let heavy = { v in nodes if work(v) >= 4 ms }``."""

    name: Word
    value: Expression


@dataclass(frozen=True, kw_only=True)
class IncludeStatement(Statement):
    """``include "quickstart.mtpp"``."""

    path: Path


@dataclass(frozen=True, kw_only=True)
class ImportStatement(Statement):
    """``import "GoogLeNet.json" (format = moirai)``: graph and devices."""

    path: Path
    options: tuple[Option, ...]


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

    ends: tuple[Name | Text, ...]
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class GraphBlock(Statement):
    """``graph { ... }``."""

    items: tuple[NodeItem | EdgeItem, ...]


@dataclass(frozen=True, kw_only=True)
class GraphFile(Statement):
    """``graph from "file" (format = msr)``."""

    path: Path
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class GraphGenerator(Statement):
    """``graph from generator regal (nodes = 100)``."""

    name: Word
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class DeviceStatement(Statement):
    """``device stage[k] (memory = 256 MiB)``."""

    name: Word
    family: Family | None
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class InterconnectStatement(Statement):
    """``interconnect shared (bandwidth = 8 GiB/s)``."""

    name: Word
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class LinkStatement(Statement):
    """``link cpu <-> gpu (bandwidth = 12 GiB/s, latency = 10 us)``."""

    first: Name | Text
    second: Name | Text
    both_ways: bool
    options: tuple[Option, ...]
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class TimeStatement(Statement):
    """``time conv[i] on gpu[0] at batch 4 = 5 ms for i in 0..3``."""

    nodes: tuple[Expression, ...]
    devices: tuple[Expression, ...]
    batch: Expression
    value: Expression
    clauses: Clauses | None


@dataclass(frozen=True, kw_only=True)
class TimesFile(Statement):
    """``times from "profile.csv" (unit = ms)``."""

    path: Path
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class ObjectiveStatement(Statement):
    """``minimize bottleneck``."""

    sense: str
    name: Word
    options: tuple[Option, ...]


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
