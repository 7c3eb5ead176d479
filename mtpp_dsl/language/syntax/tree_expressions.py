"""The syntax tree of expressions, and of the parts that statements share."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from mtpp_dsl.core.text.source import Span


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
    """``96 MiB``: the number as it is written, exactly, and its unit."""

    value: int | Fraction
    unit: Word | None


@dataclass(frozen=True, kw_only=True)
class Text(Expression):
    """A string."""

    value: str


@dataclass(frozen=True, kw_only=True)
class Part(Tree):
    """``.attn[2]`` or ``[2]`` behind a name, a call or brackets.

    Attributes:
        name: after the dot; None for subscripts alone.
        subscripts: between ``[`` and ``]``; a range, a set or a list among them takes several members.
    """

    name: str | None
    subscripts: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Name(Expression):
    """``attn[i]`` or ``layer[3].attn``: a param, a let, a loop variable, a node, a device, or a family of them."""

    name: str
    subscripts: tuple[Expression, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Select(Expression):
    """``f(x)[0]``: parts of what is no name."""

    base: Expression
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """``sum(on(v, d) for v in heavy)``.

    Attributes:
        function: its name.
        arguments: by position.
        named: ``name = value`` among the arguments. No function takes any: what the statement's options are has been
            taken off the last name before.
        clauses: of a comprehension.
    """

    function: Word
    arguments: tuple[Expression, ...]
    named: tuple[Option, ...] = ()
    clauses: Clauses | None = None


@dataclass(frozen=True, kw_only=True)
class Conditional(Expression):
    """``if c then a else b``."""

    condition: Expression
    then: Expression
    otherwise: Expression


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
    """``0..3``, both ends included; ``0..<3`` is open: without its last end."""

    first: Expression
    last: Expression
    open: bool = False


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
class ListWhere(Expression):
    """``[work(v) for v in nodes if v != a]``."""

    item: Expression
    clauses: Clauses


@dataclass(frozen=True, kw_only=True)
class SetWhere(Expression):
    """``{ color(v) for v in nodes }``; ``{ v in nodes if work(v) >= 4 ms }`` has *v* for its item."""

    item: Expression
    clauses: Clauses


@dataclass(frozen=True, kw_only=True)
class Entry(Tree):
    """``cpu: 3 ms`` in a map; a bare name as key is its own text, one in parentheses is a :class:`Select`."""

    key: Expression
    value: Expression


@dataclass(frozen=True, kw_only=True)
class MapOf(Expression):
    """``{cpu: 3 ms, gpu[0]: 1 ms}``."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class MapWhere(Expression):
    """``{d: speed(d) for d in devices}``."""

    entry: Entry
    clauses: Clauses


# Parts of statements


@dataclass(frozen=True, kw_only=True)
class Binder(Tree):
    """``i in 0..3``."""

    name: Word
    domain: Expression


@dataclass(frozen=True, kw_only=True)
class Clauses(Tree):
    """``for i in 0..3, j in 0..i if j > 0``; without binders ``if strict``, which takes a statement or leaves it."""

    binders: tuple[Binder, ...]
    condition: Expression | None


@dataclass(frozen=True, kw_only=True)
class Quantifier(Tree):
    """``forall d in devices, i in 0..3 if c:``."""

    binders: tuple[Binder, ...]
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
