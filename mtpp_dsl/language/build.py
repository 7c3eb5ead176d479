"""From the rules of the grammar to the syntax tree, bottom up."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mtpp_dsl.language import tree
from mtpp_dsl.language.tables import Token
from mtpp_dsl.text.source import Diagnostic, Source, Span

__all__ = ["TreeBuilder", "exact", "unquote"]

MAX_DIGITS = 400
"""Digits of a number, before and after the point."""
_LARGEST = Fraction(sys.float_info.max)

_ESCAPES = {"n": "\n", "t": "\t"}


def unquote(text: str) -> str:
    r"""Return the value of a string literal, quotes and escapes resolved.

    >>> unquote(r'"a\"b"')
    'a"b'
    """
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])


def exact(text: str) -> int | Fraction:
    """Return the number that *text* writes, exactly.

    Raises:
        OverflowError: it is larger than floats are, or has more than :data:`MAX_DIGITS` digits.

    >>> exact("1_000"), exact("0.25"), exact("5e-1")
    (1000, Fraction(1, 4), Fraction(1, 2))
    """
    plain = text.replace("_", "")
    if plain.isdigit() and len(plain) <= 308:
        return int(plain)
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, places = mantissa.partition(".")
    power = int(exponent or 0) if len(exponent) < 10 else MAX_DIGITS * (-1 if exponent[0] == "-" else 1)
    if len(whole) + abs(power) > MAX_DIGITS or len(places) > MAX_DIGITS:
        raise OverflowError
    power -= len(places)
    value = Fraction(int(whole + places) * 10 ** max(power, 0), 10 ** max(-power, 0))
    if value > _LARGEST:
        raise OverflowError
    return value if power < 0 and value.denominator > 1 else int(value)


class TreeBuilder:
    """Makes the syntax tree of *source*: one method per rule of the grammar, called with the offsets of its text.

    Attributes:
        wrong: what the grammar lets pass and is an error all the same.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.wrong: list[Diagnostic] = []

    def __getitem__(self, rule: str) -> Callable[[int, int, list[Any]], Any]:
        """Return what makes the value of a rule."""
        made: Callable[[int, int, list[Any]], Any] = getattr(self, rule)
        return made

    def word(self, token: Token) -> tree.Word:
        """Return a token as a word with its place."""
        return tree.Word(span=self.token_span(token), text=token.text)

    def token_span(self, token: Token) -> Span:
        """Return the place of a token."""
        return Span(self.source, token.start, token.stop)

    # expressions

    def number(self, start: int, stop: int, children: list[Any]) -> tree.Number:
        """Build a number, with its unit if it has one."""
        digits, unit = children
        return tree.Number(
            span=Span(self.source, start, stop),
            value=self.exact(digits),
            unit=None if unit is None else self.word(unit),
        )

    def exact(self, digits: Token) -> int | Fraction:
        """Return the value of a number, and note one that is too large."""
        try:
            return exact(digits.text)
        except OverflowError:
            limit = f"the largest is 1e308, and numbers have at most {MAX_DIGITS} digits"
            self.wrong.append(
                Diagnostic("the number is too large or too long", self.token_span(digits), notes=(limit,))
            )
            return 0

    def text(self, start: int, stop: int, children: list[Any]) -> tree.Text:
        """Build a string, without quotes and escapes."""
        return tree.Text(span=Span(self.source, start, stop), value=unquote(children[0].text))

    def name(self, start: int, stop: int, children: list[Any]) -> tree.Name:
        """Build a name, with its subscripts."""
        name, subscript = children
        return tree.Name(span=Span(self.source, start, stop), name=name.text, subscripts=subscript or ())

    def subscript(self, _: int, __: int, children: list[Any]) -> tuple[tree.Expression, ...]:
        """Collect the subscripts of a name."""
        return tuple(children)

    def reference(self, start: int, stop: int, children: list[Any]) -> tree.Name | tree.Text:
        """Build a name, or a string that stands for one."""
        if children[0].kind == "STRING":
            return self.text(start, stop, children)
        return self.name(start, stop, children)

    def call(self, start: int, stop: int, children: list[Any]) -> tree.Call:
        """Build a call of a function, with its arguments or its comprehension."""
        function, *rest = children
        clauses = rest.pop() if rest and isinstance(rest[-1], tree.Clauses) else None
        arguments = tuple(child for child in rest if child is not None)
        return tree.Call(
            span=Span(self.source, start, stop), function=self.word(function), arguments=arguments, clauses=clauses
        )

    def sum_(self, start: int, stop: int, children: list[Any]) -> tree.Expression:
        """Build a chain of sums, or of products."""
        return tree.Chain(
            span=Span(self.source, start, stop),
            operands=tuple(children[::2]),
            operators=tuple(sign.text for sign in children[1::2]),
        )

    product = sum_

    def unary(self, start: int, stop: int, children: list[Any]) -> tree.Expression:
        """Build an expression with its signs: an even number of minuses cancels out."""
        operand: tree.Expression = children[-1]
        return tree.Negate(span=Span(self.source, start, stop), operand=operand) if len(children) % 2 == 0 else operand

    def range_of(self, start: int, stop: int, children: list[Any]) -> tree.Expression:
        """Build a range such as ``0..3``."""
        first, last = children
        return tree.RangeOf(span=Span(self.source, start, stop), first=first, last=last)

    def relation(self, _: int, __: int, children: list[Any]) -> str:
        """Return the sign of a comparison."""
        return str(children[0].text)

    def relation_in(self, _: int, __: int, ___: list[Any]) -> str:
        """Return the relation ``in``."""
        return "in"

    def relation_not_in(self, _: int, __: int, ___: list[Any]) -> str:
        """Return the relation ``not in``."""
        return "not in"

    def compare(self, start: int, stop: int, children: list[Any]) -> tree.Expression:
        """Fold ``a <= b <= c`` into ``a <= b and b <= c``."""
        pairs = tuple(
            tree.Compare(
                span=children[i].span.to(children[i + 2].span),
                left=children[i],
                operator=children[i + 1],
                right=children[i + 2],
            )
            for i in range(0, len(children) - 2, 2)
        )
        return (
            pairs[0]
            if len(pairs) == 1
            else tree.Logic(span=Span(self.source, start, stop), operator="and", operands=pairs)
        )

    def not_(self, start: int, stop: int, children: list[Any]) -> tree.Expression:
        """Build a negation: an even number of ``not`` cancels out."""
        operand: tree.Expression = children[-1]
        return tree.Not(span=Span(self.source, start, stop), operand=operand) if len(children) % 2 == 0 else operand

    def and_(self, start: int, stop: int, children: list[Any]) -> tree.Logic:
        """Build a conjunction."""
        return tree.Logic(span=Span(self.source, start, stop), operator="and", operands=tuple(children))

    def or_(self, start: int, stop: int, children: list[Any]) -> tree.Logic:
        """Build a disjunction."""
        return tree.Logic(span=Span(self.source, start, stop), operator="or", operands=tuple(children))

    def list_(self, start: int, stop: int, children: list[Any]) -> tree.ListOf:
        """Build a list such as ``[1, 2]``."""
        return tree.ListOf(span=Span(self.source, start, stop), items=tuple(c for c in children if c is not None))

    def set_(self, start: int, stop: int, children: list[Any]) -> tree.SetOf:
        """Build a set such as ``{a, b}``."""
        return tree.SetOf(span=Span(self.source, start, stop), items=tuple(c for c in children if c is not None))

    def set_where(self, start: int, stop: int, children: list[Any]) -> tree.SetWhere:
        """Build a set by a condition, such as ``{v in nodes if …}``: its item is the variable."""
        binder, condition = children
        span = Span(self.source, start, stop)
        clauses = tree.Clauses(span=span, binders=(binder,), condition=condition)
        return tree.SetWhere(span=span, item=tree.Name(span=binder.name.span, name=binder.name.text), clauses=clauses)

    # parts of statements

    def binder(self, start: int, stop: int, children: list[Any]) -> tree.Binder:
        """Build one ``name in domain`` of a comprehension or a family."""
        return tree.Binder(span=Span(self.source, start, stop), name=self.word(children[0]), domain=children[1])

    def clauses(self, start: int, stop: int, children: list[Any]) -> tree.Clauses:
        """Build the ``for`` and ``if`` clauses of a comprehension."""
        return tree.Clauses(span=Span(self.source, start, stop), binders=tuple(children[:-1]), condition=children[-1])

    def quantifier(self, start: int, stop: int, children: list[Any]) -> tree.Quantifier:
        """Build a ``forall … if …:``."""
        name, domain, condition = children
        binder = tree.Binder(span=self.token_span(name).to(domain.span), name=self.word(name), domain=domain)
        return tree.Quantifier(span=Span(self.source, start, stop), binders=(binder,), condition=condition)

    def options(self, _: int, __: int, children: list[Any]) -> tuple[tree.Option, ...]:
        """Collect the options in parentheses."""
        return tuple(child for child in children if isinstance(child, tree.Option))

    def option(self, start: int, stop: int, children: list[Any]) -> tree.Option:
        """Build one ``name = value``."""
        return tree.Option(span=Span(self.source, start, stop), name=self.word(children[0]), value=children[1])

    def hyphenated(self, start: int, stop: int, children: list[Any]) -> tree.Text:
        """Build a word with a hyphen, such as ``per-input``, as a string."""
        return tree.Text(span=Span(self.source, start, stop), value=children[0].text)

    def family(self, start: int, stop: int, children: list[Any]) -> tree.Family:
        """Build the subscripts of a family with variables, as in ``attn[i in 0..3]``."""
        return tree.Family(span=Span(self.source, start, stop), size=None, binders=tuple(children))

    def family_size(self, start: int, stop: int, children: list[Any]) -> tree.Family:
        """Build the size of a family, as in ``gpu[4]``."""
        return tree.Family(span=Span(self.source, start, stop), size=children[0], binders=())

    def path(self, start: int, stop: int, children: list[Any]) -> tree.Path:
        """Build a path: a string, or the name of a param."""
        token = children[0]
        is_name = token.kind == "NAME"
        return tree.Path(
            span=Span(self.source, start, stop), value=token.text if is_name else unquote(token.text), is_name=is_name
        )

    def members(self, _: int, __: int, children: list[Any]) -> tuple[tree.Expression, ...]:
        """Collect the members that a statement names."""
        return tuple(children)

    def on(self, _: int, __: int, children: list[Any]) -> _On:
        """Mark the devices after ``on``."""
        return _On(children[0])

    # statements

    def start(self, _: int, __: int, children: list[Any]) -> tuple[tree.Statement, ...]:
        """Collect the statements of a spec."""
        return tuple(children)

    def version(self, start: int, stop: int, children: list[Any]) -> tree.VersionStatement:
        """Build ``mtpp 1``."""
        number = tree.Number(span=self.token_span(children[0]), value=self.exact(children[0]), unit=None)
        return tree.VersionStatement(span=Span(self.source, start, stop), version=number)

    def param(self, start: int, stop: int, children: list[Any]) -> tree.ParamStatement:
        """Build a ``param`` statement."""
        name, kind, default, domain = children
        return tree.ParamStatement(
            span=Span(self.source, start, stop),
            name=self.word(name),
            type=None if kind is None else self.word(kind),
            default=default,
            domain=domain,
        )

    def let(self, start: int, stop: int, children: list[Any]) -> tree.LetStatement:
        """Build a ``let`` statement."""
        return tree.LetStatement(span=Span(self.source, start, stop), name=self.word(children[0]), value=children[1])

    def include(self, start: int, stop: int, children: list[Any]) -> tree.IncludeStatement:
        """Build an ``include`` statement."""
        path = tree.Path(span=self.token_span(children[0]), value=unquote(children[0].text), is_name=False)
        return tree.IncludeStatement(span=Span(self.source, start, stop), path=path)

    def import_(self, start: int, stop: int, children: list[Any]) -> tree.ImportStatement:
        """Build an ``import`` statement."""
        return tree.ImportStatement(span=Span(self.source, start, stop), path=children[0], options=_last(children, 1))

    def graph_block(self, start: int, stop: int, children: list[Any]) -> tree.GraphBlock:
        """Build ``graph { … }``."""
        return tree.GraphBlock(span=Span(self.source, start, stop), items=tuple(children))

    def graph_file(self, start: int, stop: int, children: list[Any]) -> tree.GraphFile:
        """Build ``graph from "file"``."""
        return tree.GraphFile(span=Span(self.source, start, stop), path=children[0], options=_last(children, 1))

    def graph_generator(self, start: int, stop: int, children: list[Any]) -> tree.GraphGenerator:
        """Build ``graph from generator``."""
        return tree.GraphGenerator(
            span=Span(self.source, start, stop), name=self.word(children[0]), options=_last(children, 1)
        )

    def node(self, start: int, stop: int, children: list[Any]) -> tree.NodeItem:
        """Build a node, or a family of nodes."""
        name, *rest = children
        word = self.word(name)
        if name.kind == "STRING":
            word = tree.Word(span=word.span, text=unquote(name.text))
        return tree.NodeItem(
            span=Span(self.source, start, stop),
            name=word,
            family=next((child for child in rest if isinstance(child, tree.Family)), None),
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def edge(self, start: int, stop: int, children: list[Any]) -> tree.EdgeItem:
        """Build an edge, or a chain of edges."""
        ends = tuple(child for child in children if isinstance(child, (tree.Name, tree.Text)))
        return tree.EdgeItem(
            span=Span(self.source, start, stop), ends=ends, options=_options(children), clauses=_clauses(children)
        )

    def device(self, start: int, stop: int, children: list[Any]) -> tree.DeviceStatement:
        """Build a ``device`` statement."""
        name, family, *rest = children
        return tree.DeviceStatement(
            span=Span(self.source, start, stop), name=self.word(name), family=family, options=_options(rest)
        )

    def interconnect(self, start: int, stop: int, children: list[Any]) -> tree.InterconnectStatement:
        """Build an ``interconnect`` statement."""
        return tree.InterconnectStatement(
            span=Span(self.source, start, stop), name=self.word(children[0]), options=_last(children, 1)
        )

    def link(self, start: int, stop: int, children: list[Any]) -> tree.LinkStatement:
        """Build a ``link`` statement."""
        first, arrow, second, *rest = children
        return tree.LinkStatement(
            span=Span(self.source, start, stop),
            first=first,
            second=second,
            both_ways=arrow.text == "<->",
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def time(self, start: int, stop: int, children: list[Any]) -> tree.TimeStatement:
        """Build a ``time`` statement."""
        nodes, devices, _, batch, value, *rest = children
        return tree.TimeStatement(
            span=Span(self.source, start, stop),
            nodes=nodes,
            devices=devices.members,
            batch=batch,
            value=value,
            clauses=_clauses(rest),
        )

    def times(self, start: int, stop: int, children: list[Any]) -> tree.TimesFile:
        """Build a ``times from`` statement."""
        return tree.TimesFile(span=Span(self.source, start, stop), path=children[0], options=_last(children, 1))

    def objective(self, start: int, stop: int, children: list[Any]) -> tree.ObjectiveStatement:
        """Build an objective."""
        name = self.word(children[1])
        return tree.ObjectiveStatement(
            span=Span(self.source, start, stop),
            sense=children[0].text,
            label=None,
            value=tree.Name(span=name.span, name=name.text),
            options=_last(children, 2),
        )

    def algebra(self, start: int, stop: int, children: list[Any]) -> tree.LabelledConstraint:
        """Build a labelled constraint."""
        label, *quantifiers, body = children
        return tree.LabelledConstraint(
            span=Span(self.source, start, stop), label=self.word(label), quantifiers=tuple(quantifiers), body=body
        )

    def rule(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build a constraint with a keyword, its members and its devices."""
        rule, *rest = children
        members: tuple[tree.Expression, ...] = ()
        devices = None
        for child in rest:
            if isinstance(child, _On):
                devices = child.members
            elif isinstance(child, tuple) and child and isinstance(child[0], tree.Expression):
                members = child
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop),
            rule=self.word(rule),
            members=members,
            devices=devices,
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def rule_amount(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build a constraint with a number, such as ``subgraphs at most 2``."""
        rule, *rest = children
        amounts = [child for child in rest if isinstance(child, tree.Expression)]
        devices = next((child.members for child in rest if isinstance(child, _On)), None)
        members = next((child for child in rest if isinstance(child, tuple)), ())
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop),
            rule=self.word(rule),
            members=members,
            devices=devices,
            amount=amounts[0],
            options=_options(rest),
        )

    def colocate_by(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build ``colocate by``."""
        rule, by = children
        return tree.ConstraintStatement(span=Span(self.source, start, stop), rule=self.word(rule), by=self.word(by))

    def break_symmetry(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build ``break symmetry by``."""
        rule, by, *rest = children
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop), rule=self.word(rule), by=self.word(by), options=_options(rest)
        )


class _On:
    """The devices after ``on``, told apart from other members while a statement is built."""

    def __init__(self, members: tuple[tree.Expression, ...]) -> None:
        self.members = members


def _last(children: list[Any], position: int) -> tuple[tree.Option, ...]:
    return children[position] if len(children) > position else ()


def _options(children: list[Any]) -> tuple[tree.Option, ...]:
    found = (c for c in children if isinstance(c, tuple) and c and isinstance(c[0], tree.Option))
    return next(found, ())


def _clauses(children: list[Any]) -> tree.Clauses | None:
    return next((c for c in children if isinstance(c, tree.Clauses)), None)
