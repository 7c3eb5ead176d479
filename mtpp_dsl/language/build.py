"""From Lark's parse tree to the syntax tree, bottom up and without recursion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from lark import Token, v_args
from lark.visitors import Transformer_NonRecursive

from mtpp_dsl.language import tree
from mtpp_dsl.source import Source, Span

if TYPE_CHECKING:
    from lark.tree import Meta

__all__ = ["TreeBuilder", "unquote"]

_ESCAPES = {"n": "\n", "t": "\t"}


def unquote(text: str) -> str:
    r"""Return the value of a string literal, quotes and escapes resolved.

    >>> unquote(r'"a\"b"')
    'a"b'
    """
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])


@v_args(meta=True)
class TreeBuilder(Transformer_NonRecursive[Token, Any]):
    """Turns a parse of *source* into its syntax tree: one method per rule of the grammar."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def span(self, meta: Meta) -> Span:
        """Return the place of a reduction; an empty one is a place of no width at the start."""
        if meta.empty:
            return Span(self.source, 0, 0)
        return Span(self.source, meta.start_pos, meta.end_pos)

    def word(self, token: Token) -> tree.Word:
        """Return a token as a word with its place."""
        return tree.Word(span=self.token_span(token), text=str(token))

    def token_span(self, token: Token) -> Span:
        """Return the place of a token."""
        return Span(self.source, cast("int", token.start_pos), cast("int", token.end_pos))

    # expressions

    def number(self, meta: Meta, children: list[Any]) -> tree.Number:
        digits, unit = children
        plain = str(digits).replace("_", "")
        value = int(plain) if plain.isdigit() and len(plain) < 400 else float(plain)
        return tree.Number(span=self.span(meta), value=value, unit=None if unit is None else self.word(unit))

    def text(self, meta: Meta, children: list[Any]) -> tree.Text:
        return tree.Text(span=self.span(meta), value=unquote(children[0]))

    def name(self, meta: Meta, children: list[Any]) -> tree.Name:
        name, subscript = children
        return tree.Name(span=self.span(meta), name=str(name), subscripts=subscript or ())

    def subscript(self, _: Meta, children: list[Any]) -> tuple[tree.Expression, ...]:
        return tuple(children)

    def reference(self, meta: Meta, children: list[Any]) -> tree.Name | tree.Text:
        if children[0].type == "STRING":
            return self.text(meta, children)
        return self.name(meta, children)

    def call(self, meta: Meta, children: list[Any]) -> tree.Call:
        function, *rest = children
        clauses = rest.pop() if rest and isinstance(rest[-1], tree.Clauses) else None
        arguments = tuple(child for child in rest if child is not None)
        return tree.Call(span=self.span(meta), function=self.word(function), arguments=arguments, clauses=clauses)

    def sum_(self, meta: Meta, children: list[Any]) -> tree.Expression:
        return tree.Chain(
            span=self.span(meta), operands=tuple(children[::2]), operators=tuple(str(sign) for sign in children[1::2])
        )

    product = sum_

    def unary(self, meta: Meta, children: list[Any]) -> tree.Expression:
        operand: tree.Expression = children[-1]
        return tree.Negate(span=self.span(meta), operand=operand) if len(children) % 2 == 0 else operand

    def range_(self, meta: Meta, children: list[Any]) -> tree.Expression:
        first, last = children
        return first if last is None else tree.RangeOf(span=self.span(meta), first=first, last=last)

    def relation(self, _: Meta, children: list[Any]) -> str:
        return str(children[0])

    def relation_in(self, _: Meta, __: list[Any]) -> str:
        return "in"

    def relation_not_in(self, _: Meta, __: list[Any]) -> str:
        return "not in"

    def compare(self, meta: Meta, children: list[Any]) -> tree.Expression:
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
        return pairs[0] if len(pairs) == 1 else tree.Logic(span=self.span(meta), operator="and", operands=pairs)

    def not_(self, meta: Meta, children: list[Any]) -> tree.Expression:
        operand: tree.Expression = children[-1]
        return tree.Not(span=self.span(meta), operand=operand) if len(children) % 2 == 0 else operand

    def and_(self, meta: Meta, children: list[Any]) -> tree.Logic:
        return tree.Logic(span=self.span(meta), operator="and", operands=tuple(children))

    def or_(self, meta: Meta, children: list[Any]) -> tree.Logic:
        return tree.Logic(span=self.span(meta), operator="or", operands=tuple(children))

    def list_(self, meta: Meta, children: list[Any]) -> tree.ListOf:
        return tree.ListOf(span=self.span(meta), items=tuple(c for c in children if c is not None))

    def set_(self, meta: Meta, children: list[Any]) -> tree.SetOf:
        return tree.SetOf(span=self.span(meta), items=tuple(c for c in children if c is not None))

    def set_where(self, meta: Meta, children: list[Any]) -> tree.SetWhere:
        return tree.SetWhere(span=self.span(meta), binder=children[0], condition=children[1])

    # parts of statements

    def binder(self, meta: Meta, children: list[Any]) -> tree.Binder:
        return tree.Binder(span=self.span(meta), name=self.word(children[0]), domain=children[1])

    def clauses(self, meta: Meta, children: list[Any]) -> tree.Clauses:
        return tree.Clauses(span=self.span(meta), binders=tuple(children[:-1]), condition=children[-1])

    def quantifier(self, meta: Meta, children: list[Any]) -> tree.Quantifier:
        name, domain, condition = children
        binder = tree.Binder(span=self.token_span(name).to(domain.span), name=self.word(name), domain=domain)
        return tree.Quantifier(span=self.span(meta), binder=binder, condition=condition)

    def options(self, _: Meta, children: list[Any]) -> tuple[tree.Option, ...]:
        return tuple(child for child in children if isinstance(child, tree.Option))

    def option(self, meta: Meta, children: list[Any]) -> tree.Option:
        return tree.Option(span=self.span(meta), name=self.word(children[0]), value=children[1])

    def hyphenated(self, meta: Meta, children: list[Any]) -> tree.Text:
        return tree.Text(span=self.span(meta), value=str(children[0]))

    def family(self, meta: Meta, children: list[Any]) -> tree.Family:
        return tree.Family(span=self.span(meta), size=None, binders=tuple(children))

    def family_size(self, meta: Meta, children: list[Any]) -> tree.Family:
        return tree.Family(span=self.span(meta), size=children[0], binders=())

    def path(self, meta: Meta, children: list[Any]) -> tree.Path:
        token = children[0]
        is_name = token.type == "NAME"
        return tree.Path(span=self.span(meta), value=str(token) if is_name else unquote(token), is_name=is_name)

    def members(self, _: Meta, children: list[Any]) -> tuple[tree.Expression, ...]:
        return tuple(children)

    def on(self, _: Meta, children: list[Any]) -> _On:
        return _On(children[0])

    # statements

    def start(self, _: Meta, children: list[Any]) -> tuple[tree.Statement, ...]:
        return tuple(children)

    def version(self, meta: Meta, children: list[Any]) -> tree.VersionStatement:
        number = tree.Number(span=self.token_span(children[0]), value=float(children[0].replace("_", "")), unit=None)
        return tree.VersionStatement(span=self.span(meta), version=number)

    def param(self, meta: Meta, children: list[Any]) -> tree.ParamStatement:
        name, kind, default, domain = children
        return tree.ParamStatement(
            span=self.span(meta),
            name=self.word(name),
            type=None if kind is None else self.word(kind),
            default=default,
            domain=domain,
        )

    def let(self, meta: Meta, children: list[Any]) -> tree.LetStatement:
        return tree.LetStatement(span=self.span(meta), name=self.word(children[0]), value=children[1])

    def include(self, meta: Meta, children: list[Any]) -> tree.IncludeStatement:
        path = tree.Path(span=self.token_span(children[0]), value=unquote(children[0]), is_name=False)
        return tree.IncludeStatement(span=self.span(meta), path=path)

    def import_(self, meta: Meta, children: list[Any]) -> tree.ImportStatement:
        return tree.ImportStatement(span=self.span(meta), path=children[0], options=_last(children, 1))

    def graph_block(self, meta: Meta, children: list[Any]) -> tree.GraphBlock:
        return tree.GraphBlock(span=self.span(meta), items=tuple(children))

    def graph_file(self, meta: Meta, children: list[Any]) -> tree.GraphFile:
        return tree.GraphFile(span=self.span(meta), path=children[0], options=_last(children, 1))

    def graph_generator(self, meta: Meta, children: list[Any]) -> tree.GraphGenerator:
        return tree.GraphGenerator(span=self.span(meta), name=self.word(children[0]), options=_last(children, 1))

    def node(self, meta: Meta, children: list[Any]) -> tree.NodeItem:
        name, *rest = children
        word = self.word(name)
        if name.type == "STRING":
            word = tree.Word(span=word.span, text=unquote(name))
        return tree.NodeItem(
            span=self.span(meta),
            name=word,
            family=next((child for child in rest if isinstance(child, tree.Family)), None),
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def edge(self, meta: Meta, children: list[Any]) -> tree.EdgeItem:
        ends = tuple(child for child in children if isinstance(child, (tree.Name, tree.Text)))
        return tree.EdgeItem(span=self.span(meta), ends=ends, options=_options(children), clauses=_clauses(children))

    def device(self, meta: Meta, children: list[Any]) -> tree.DeviceStatement:
        name, family, *rest = children
        return tree.DeviceStatement(span=self.span(meta), name=self.word(name), family=family, options=_options(rest))

    def interconnect(self, meta: Meta, children: list[Any]) -> tree.InterconnectStatement:
        return tree.InterconnectStatement(span=self.span(meta), name=self.word(children[0]), options=_last(children, 1))

    def link(self, meta: Meta, children: list[Any]) -> tree.LinkStatement:
        first, arrow, second, *rest = children
        return tree.LinkStatement(
            span=self.span(meta),
            first=first,
            second=second,
            both_ways=str(arrow) == "<->",
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def time(self, meta: Meta, children: list[Any]) -> tree.TimeStatement:
        nodes, devices, _, batch, value, *rest = children
        return tree.TimeStatement(
            span=self.span(meta),
            nodes=nodes,
            devices=devices.members,
            batch=batch,
            value=value,
            clauses=_clauses(rest),
        )

    def times(self, meta: Meta, children: list[Any]) -> tree.TimesFile:
        return tree.TimesFile(span=self.span(meta), path=children[0], options=_last(children, 1))

    def objective(self, meta: Meta, children: list[Any]) -> tree.ObjectiveStatement:
        return tree.ObjectiveStatement(
            span=self.span(meta), sense=str(children[0]), name=self.word(children[1]), options=_last(children, 2)
        )

    def algebra(self, meta: Meta, children: list[Any]) -> tree.LabelledConstraint:
        label, *quantifiers, body = children
        return tree.LabelledConstraint(
            span=self.span(meta), label=self.word(label), quantifiers=tuple(quantifiers), body=body
        )

    def rule(self, meta: Meta, children: list[Any]) -> tree.ConstraintStatement:
        rule, *rest = children
        members: tuple[tree.Expression, ...] = ()
        devices = None
        for child in rest:
            if isinstance(child, _On):
                devices = child.members
            elif isinstance(child, tuple) and child and isinstance(child[0], tree.Expression):
                members = child
        return tree.ConstraintStatement(
            span=self.span(meta),
            rule=self.word(rule),
            members=members,
            devices=devices,
            options=_options(rest),
            clauses=_clauses(rest),
        )

    def rule_amount(self, meta: Meta, children: list[Any]) -> tree.ConstraintStatement:
        rule, *rest = children
        amounts = [child for child in rest if isinstance(child, tree.Expression)]
        devices = next((child.members for child in rest if isinstance(child, _On)), None)
        members = next((child for child in rest if isinstance(child, tuple)), ())
        return tree.ConstraintStatement(
            span=self.span(meta),
            rule=self.word(rule),
            members=members,
            devices=devices,
            amount=amounts[0],
            options=_options(rest),
        )

    def colocate_by(self, meta: Meta, children: list[Any]) -> tree.ConstraintStatement:
        rule, by = children
        return tree.ConstraintStatement(span=self.span(meta), rule=self.word(rule), by=self.word(by))

    def break_symmetry(self, meta: Meta, children: list[Any]) -> tree.ConstraintStatement:
        rule, by, *rest = children
        return tree.ConstraintStatement(
            span=self.span(meta), rule=self.word(rule), by=self.word(by), options=_options(rest)
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
