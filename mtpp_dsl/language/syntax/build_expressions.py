"""From the rules of the grammar to the syntax tree, bottom up: expressions, and the parts that statements share."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.tables import Token

MAX_DIGITS = 400
"""Digits of a number, before and after the point."""
_LARGEST = Fraction(sys.float_info.max)

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
"""What stands for itself or for another character behind a backslash. Others are errors, so that they may be given a
meaning later."""


def unquote(text: str) -> str:
    r"""Return the value of a string literal, quotes and escapes resolved.

    >>> unquote(r'"a\"b"')
    'a"b'
    """
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text[1:-1])


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


_LAST = {
    tree.Chain: "operands",
    tree.Compare: "right",
    tree.Logic: "operands",
    tree.Negate: "operand",
    tree.Not: "operand",
    tree.RangeOf: "last",
    tree.Conditional: "otherwise",
}
"""What stands last in an expression of more than one part."""


MAX_PARTS = 200
"""Parts of a name, such as ``layers`` of ``model.layers``."""


class ExpressionBuilder:
    """Makes expressions of *source*: one method per rule of the grammar, called with the offsets of its text.

    Attributes:
        wrong: what the grammar lets pass and is an error all the same.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.wrong: list[Diagnostic] = []
        self.named: dict[int, tree.Call] = {}  # calls with named arguments, until a statement takes these

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
                Diagnostic(
                    "the number is too large or too long", self.token_span(digits), notes=(limit,), code="MTPP-E215"
                )
            )
            return 0

    def text(self, start: int, stop: int, children: list[Any]) -> tree.Text:
        """Build a string, without quotes and escapes."""
        return tree.Text(span=Span(self.source, start, stop), value=self.unquoted(children[0]))

    def unquoted(self, token: Token) -> str:
        """Return the value of a string; note the first backslash in it that has no meaning there."""
        if "\\" in token.text:
            pairs = re.finditer(r"\\(.)", token.text)
            match = next((match for match in pairs if match[1] not in _ESCAPES), None)
            if match is not None:
                message = f"{match[0]} has no meaning in a string; a backslash is written '\\\\'"
                place = Span(self.source, token.start + match.start(), token.start + match.end())
                self.wrong.append(Diagnostic(message, place, code="MTPP-E005"))
        return unquote(token.text)

    def name(self, start: int, stop: int, children: list[Any]) -> tree.Name:
        """Build a name, with its subscripts and the parts behind it."""
        if len(children) == 1:
            return tree.Name(span=Span(self.source, start, stop), name=children[0].text)
        parts = _joined(children[1:])
        if len(parts) > MAX_PARTS:
            message = f"a name has {len(parts):,} parts; at most {MAX_PARTS} are read"
            self.wrong.append(Diagnostic(message, self.token_span(children[0]), code="MTPP-E901"))
            parts = parts[:1]
        subscripts: tuple[tree.Expression, ...] = ()
        if parts[0].name is None:
            subscripts, parts = parts[0].subscripts, parts[1:]
        return tree.Name(
            span=Span(self.source, start, stop), name=children[0].text, subscripts=subscripts, parts=tuple(parts)
        )

    def select(self, start: int, stop: int, children: list[Any]) -> tree.Select:
        """Build parts of what is no name, such as ``f(x)[0]``."""
        base, *parts = children
        return tree.Select(span=Span(self.source, start, stop), base=base, parts=tuple(_joined(parts)))

    def part(self, start: int, stop: int, children: list[Any]) -> tree.Part:
        """Build ``.name`` behind a name."""
        return tree.Part(span=Span(self.source, start, stop), name=children[1].text)

    def subscript(self, start: int, stop: int, children: list[Any]) -> tree.Part:
        """Build subscripts behind a name."""
        return tree.Part(span=Span(self.source, start, stop), name=None, subscripts=tuple(children))

    def call(self, start: int, stop: int, children: list[Any]) -> tree.Call:
        """Build a call of a function, with its arguments or its comprehension."""
        function, *rest = children
        clauses = rest.pop() if rest and isinstance(rest[-1], tree.Clauses) else None
        made = tree.Call(
            span=Span(self.source, start, stop),
            function=self.word(function),
            arguments=tuple([child for child in rest if isinstance(child, tree.Expression)]),
            named=tuple([child for child in rest if isinstance(child, tree.Option)]),
            clauses=clauses,
        )
        if made.named:
            self.named[id(made)] = made
        return made

    def parenthesised(self, start: int, _: int, children: list[Any]) -> tree.Expression:
        """Pass on what stands between ``(`` and ``)``; options in there belong to no statement."""
        if self.named:
            self.refuse_named(start)
        inner: tree.Expression = children[0]
        return inner

    def conditional(self, start: int, stop: int, children: list[Any]) -> tree.Conditional:
        """Build ``if c then a else b``."""
        condition, then, otherwise = children
        return tree.Conditional(
            span=Span(self.source, start, stop), condition=condition, then=then, otherwise=otherwise
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
        """Build a range such as ``0..3`` or ``0..<4``."""
        first, dots, last = children
        return tree.RangeOf(span=Span(self.source, start, stop), first=first, last=last, open=dots.text == "..<")

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

    def list_where(self, start: int, stop: int, children: list[Any]) -> tree.ListWhere:
        """Build a list by a comprehension, such as ``[work(v) for v in nodes]``."""
        item, clauses = children
        return tree.ListWhere(span=Span(self.source, start, stop), item=item, clauses=clauses)

    def set_filter(self, start: int, stop: int, children: list[Any]) -> tree.SetWhere:
        """Build a set by a condition, such as ``{v in nodes if …}``: its item is the variable."""
        binder, condition = children
        span = Span(self.source, start, stop)
        clauses = tree.Clauses(span=span, binders=(binder,), condition=condition)
        return tree.SetWhere(span=span, item=tree.Name(span=binder.name.span, name=binder.name.text), clauses=clauses)

    def set_where(self, start: int, stop: int, children: list[Any]) -> tree.SetWhere:
        """Build a set by a comprehension, such as ``{color(v) for v in nodes}``."""
        item, clauses = children
        return tree.SetWhere(span=Span(self.source, start, stop), item=item, clauses=clauses)

    def entry(self, start: int, stop: int, children: list[Any]) -> tree.Entry:
        """Build ``key: value``; a key in parentheses is computed, and becomes a selection without parts."""
        key, value = children
        if key.span.start != start:
            key = tree.Select(span=key.span, base=key, parts=())
        return tree.Entry(span=Span(self.source, start, stop), key=key, value=value)

    def map_(self, start: int, stop: int, children: list[Any]) -> tree.MapOf:
        """Build a map such as ``{cpu: 3 ms}``."""
        entries = tuple(child for child in children if child is not None)
        return tree.MapOf(span=Span(self.source, start, stop), entries=entries)

    def map_where(self, start: int, stop: int, children: list[Any]) -> tree.MapWhere:
        """Build a map by a comprehension."""
        entry, clauses = children
        return tree.MapWhere(span=Span(self.source, start, stop), entry=entry, clauses=clauses)

    # parts of statements

    def binder(self, start: int, stop: int, children: list[Any]) -> tree.Binder:
        """Build one ``name in domain`` of a comprehension or a family."""
        return tree.Binder(span=Span(self.source, start, stop), name=self.word(children[0]), domain=children[1])

    def clauses(self, start: int, stop: int, children: list[Any]) -> tree.Clauses:
        """Build the ``for`` and ``if`` clauses of a comprehension."""
        return tree.Clauses(span=Span(self.source, start, stop), binders=tuple(children[:-1]), condition=children[-1])

    def flag(self, start: int, stop: int, children: list[Any]) -> tree.Clauses:
        """Build ``if strict`` behind a statement."""
        return tree.Clauses(span=Span(self.source, start, stop), binders=(), condition=children[0])

    def quantifier(self, start: int, stop: int, children: list[Any]) -> tree.Quantifier:
        """Build a ``forall … if …:``."""
        *binders, condition = children
        return tree.Quantifier(span=Span(self.source, start, stop), binders=tuple(binders), condition=condition)

    def options(self, _: int, __: int, children: list[Any]) -> tuple[tree.Option, ...]:
        """Collect the options in parentheses."""
        return tuple(child for child in children if isinstance(child, tree.Option))

    def option(self, start: int, stop: int, children: list[Any]) -> tree.Option:
        """Build one ``name = value``."""
        return tree.Option(span=Span(self.source, start, stop), name=self.word(children[0]), value=children[1])

    def family(self, start: int, stop: int, children: list[Any]) -> tree.Family:
        """Build the subscripts of a family with variables, as in ``attn[i in 0..3]``."""
        return tree.Family(span=Span(self.source, start, stop), size=None, binders=tuple(children))

    def family_size(self, start: int, stop: int, children: list[Any]) -> tree.Family:
        """Build the size of a family, as in ``gpu[4]``."""
        return tree.Family(span=Span(self.source, start, stop), size=children[0], binders=())

    def path(self, start: int, stop: int, children: list[Any]) -> tree.Path:
        """Build a path: a string, or the name of a param."""
        token = children[0]
        is_name = token.kind != "STRING"
        return tree.Path(
            span=Span(self.source, start, stop), value=token.text if is_name else self.unquoted(token), is_name=is_name
        )

    def members(self, _: int, __: int, children: list[Any]) -> tuple[tree.Expression, ...]:
        """Collect the members that a statement names."""
        return tuple(children)

    def parameters(self, _: int, __: int, children: list[Any]) -> tuple[tree.Word, ...]:
        """Collect the names of the parameters of a function or a block."""
        return tuple([self.word(child) for child in children if child is not None])

    # options behind a name

    def refuse_named(self, start: int = 0) -> None:
        """Note every call from offset *start* whose named arguments no statement has taken for its options."""
        for key, call in list(self.named.items()):
            if call.span.start >= start:
                del self.named[key]
                message = "options stand before 'for' and 'if', and functions take no 'name = value'"
                self.wrong.append(Diagnostic(message, call.named[0].span, code="MTPP-E007"))

    def without_options(self, node: tree.Expression) -> tuple[tree.Expression, tuple[tree.Option, ...]]:
        """Return *node* without the options behind its last name, which read as named arguments; and these."""
        if not self.named:
            return node, ()
        if isinstance(node, tree.Call):
            if id(node) not in self.named or node.arguments or node.clauses is not None:
                return node, ()
            del self.named[id(node)]
            return tree.Name(span=node.function.span, name=node.function.text), node.named
        for kind, place in _LAST.items():
            if isinstance(node, kind):
                last = getattr(node, place)
                inner, options = self.without_options(last[-1] if isinstance(last, tuple) else last)
                if options:
                    kept = (*last[:-1], inner) if isinstance(last, tuple) else inner
                    changes: dict[str, Any] = {
                        place: kept,
                        "span": Span(self.source, node.span.start, inner.span.stop),
                    }
                    node = replace(node, **changes)
                return node, options
        return node, ()


def _joined(parts: list[tree.Part]) -> list[tree.Part]:
    """Return parts with the subscripts behind a ``.name`` as its own."""
    joined: list[tree.Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if part.name is None and before is not None and before.name is not None and not before.subscripts:
            joined[-1] = replace(before, subscripts=part.subscripts, span=before.span.to(part.span))
        else:
            joined.append(part)
    return joined
