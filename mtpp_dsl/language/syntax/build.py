"""From the rules of the grammar to the syntax tree, bottom up: statements, and what stands in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.build_expressions import ExpressionBuilder
from mtpp_dsl.language.syntax.tables import Token

K = TypeVar("K", bound=tree.Tree)


@dataclass(frozen=True)
class OnClause:
    """The devices after ``on``, told apart from other members while a statement is built."""

    members: tuple[tree.Expression, ...]


class RuleBuilder(ExpressionBuilder):
    """Makes objectives and constraints of a source."""

    # parts of statements

    def on(self, _: int, __: int, children: list[Any]) -> OnClause:
        """Mark the devices after ``on``."""
        return OnClause(children[0])

    def label(self, _: int, __: int, children: list[Any]) -> tree.Word:
        """Return a label, which may be the word of a rule."""
        return self.word(children[0])

    def last_options(
        self, members: tuple[tree.Expression, ...]
    ) -> tuple[tuple[tree.Expression, ...], tuple[tree.Option, ...]]:
        """Return members without the options behind the last one, and these."""
        if not self.named:
            return members, ()
        last, options = self.without_options(members[-1])
        return (*members[:-1], last), options

    def name_or_text(self, token: Token) -> tree.Word:
        """Return a name that may be written as a string."""
        word = self.word(token)
        return tree.Word(span=word.span, text=self.unquoted(token)) if token.kind == "STRING" else word

    def statement(self, kind: Callable[..., K], start: int, stop: int, children: list[Any], **parts: Any) -> K:
        """Return a statement or an item with its options and its clauses, which are among *children*."""
        return kind(
            span=Span(self.source, start, stop), options=options_of(children), clauses=clauses_of(children), **parts
        )

    # objectives and constraints

    def objective(self, start: int, stop: int, children: list[Any]) -> tree.ObjectiveStatement:
        """Build an objective."""
        sense, label, whole, *rest = children
        value, options = self.without_options(whole)
        return tree.ObjectiveStatement(
            span=Span(self.source, start, stop),
            sense=sense.text,
            label=None if label is None else self.word(label),
            value=value,
            options=options or options_of(rest),
            clauses=clauses_of(rest),
        )

    def algebra(self, start: int, stop: int, children: list[Any]) -> tree.LabelledConstraint:
        """Build a labelled constraint."""
        label, *rest = children
        quantifiers = tuple([child for child in rest if isinstance(child, tree.Quantifier)])
        body, options = self.without_options(next(child for child in rest if isinstance(child, tree.Expression)))
        return tree.LabelledConstraint(
            span=Span(self.source, start, stop),
            label=label,
            quantifiers=quantifiers,
            body=body,
            options=options or options_of(rest),
            clauses=clauses_of(rest),
        )

    def rule(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build a constraint with a word of its own, its members and its devices."""
        rule, *rest = children
        members: tuple[tree.Expression, ...] = ()
        devices: tuple[tree.Expression, ...] | None = None
        options: tuple[tree.Option, ...] = ()
        for child in rest:
            if isinstance(child, OnClause):
                devices, options = self.last_options(child.members)
            elif isinstance(child, tuple) and child and isinstance(child[0], tree.Expression):
                members = child
        if devices is None and members:
            members, options = self.last_options(members)
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop),
            rule=self.word(rule),
            members=members,
            devices=devices,
            options=options or options_of(rest),
            clauses=clauses_of(rest),
        )

    def rule_amount(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build a constraint with a number, such as ``subgraphs at most 2``."""
        rule, *rest = children
        amount = next(child for child in rest if isinstance(child, tree.Expression))
        devices = next((child.members for child in rest if isinstance(child, OnClause)), None)
        members = next((c for c in rest if isinstance(c, tuple) and c and isinstance(c[0], tree.Expression)), ())
        options: tuple[tree.Option, ...] = ()
        if isinstance(rest[-1] if clauses_of(rest) is None else rest[-2], OnClause):
            devices, options = self.last_options(cast("Any", devices))
        else:
            amount, options = self.without_options(amount)
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop),
            rule=self.word(rule),
            members=members,
            devices=devices,
            amount=amount,
            options=options or options_of(rest),
            clauses=clauses_of(rest),
        )

    def rule_by(self, start: int, stop: int, children: list[Any]) -> tree.ConstraintStatement:
        """Build ``colocate by`` or ``break symmetry by``."""
        rule, by, *rest = children
        return self.statement(tree.ConstraintStatement, start, stop, rest, rule=self.word(rule), by=self.word(by))


def options_of(children: list[Any]) -> tuple[tree.Option, ...]:
    """Return the options among the parts of a statement."""
    for child in children:
        if child.__class__ is tuple and child and child[0].__class__ is tree.Option:
            return cast("tuple[tree.Option, ...]", child)
    return ()


def clauses_of(children: list[Any]) -> tree.Clauses | None:
    """Return the clauses behind a statement, which are its last part."""
    return children[-1] if children and children[-1].__class__ is tree.Clauses else None


class TreeBuilder(RuleBuilder):
    """Makes the syntax tree of *source*: one method per rule of the grammar, called with the offsets of its text."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.known: dict[str, Callable[[int, int, list[Any]], Any]] = {}

    def __getitem__(self, rule: str) -> Callable[[int, int, list[Any]], Any]:
        """Return what makes the value of a rule."""
        made = self.known.get(rule)
        if made is None:
            made = self.known[rule] = getattr(self, rule)
        return made

    def diagnostics(self) -> list[Diagnostic]:
        """Return what the grammar let pass and is an error all the same."""
        self.refuse_named()
        return self.wrong

    def declaration(self, kind: Callable[..., K], start: int, stop: int, children: list[Any]) -> K:
        """Return the declaration of one thing, or of a family."""
        name, *rest = children
        family = rest[0] if rest and isinstance(rest[0], tree.Family) else None
        return self.statement(kind, start, stop, rest, name=self.name_or_text(name), family=family)

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

    def param_table(self, start: int, stop: int, children: list[Any]) -> tree.ParamStatement:
        """Build ``param t: table from "t.csv"``."""
        name, kind, path = children
        if kind.text != "table":
            message = f"'from' reads a table: write 'param {name.text}: table from …'"
            self.wrong.append(Diagnostic(message, self.token_span(kind), code="MTPP-E002"))
        return tree.ParamStatement(
            span=Span(self.source, start, stop),
            name=self.word(name),
            type=self.word(kind),
            default=None,
            domain=None,
            table=path,
        )

    def let(self, start: int, stop: int, children: list[Any]) -> tree.LetStatement:
        """Build a ``let`` statement."""
        return tree.LetStatement(span=Span(self.source, start, stop), name=self.word(children[0]), value=children[1])

    def def_(self, start: int, stop: int, children: list[Any]) -> tree.DefStatement:
        """Build a ``def`` statement."""
        name, params, value = children
        return tree.DefStatement(span=Span(self.source, start, stop), name=self.word(name), params=params, value=value)

    def assert_(self, start: int, stop: int, children: list[Any]) -> tree.AssertStatement:
        """Build an ``assert`` statement."""
        condition, message = children
        return tree.AssertStatement(span=Span(self.source, start, stop), condition=condition, message=message)

    def include(self, start: int, stop: int, children: list[Any]) -> tree.IncludeStatement:
        """Build an ``include`` statement."""
        path = tree.Path(span=self.token_span(children[0]), value=self.unquoted(children[0]), is_name=False)
        return tree.IncludeStatement(span=Span(self.source, start, stop), path=path, clauses=clauses_of(children))

    def import_(self, start: int, stop: int, children: list[Any]) -> tree.ImportStatement:
        """Build an ``import`` statement."""
        return self.statement(tree.ImportStatement, start, stop, children, path=children[0])

    def import_plan(self, start: int, stop: int, children: list[Any]) -> tree.ImportPlan:
        """Build ``import plan``."""
        return self.statement(tree.ImportPlan, start, stop, children, path=children[1])

    def scenario(self, start: int, stop: int, children: list[Any]) -> tree.ScenarioStatement:
        """Build ``scenario NAME { … }``."""
        name, *statements = children
        return tree.ScenarioStatement(
            span=Span(self.source, start, stop), name=self.word(name), statements=tuple(statements)
        )

    # graphs

    def graph_block(self, start: int, stop: int, children: list[Any]) -> tree.GraphBlock:
        """Build ``graph { … }``."""
        clauses = clauses_of(children)
        items = tuple(children if clauses is None else children[:-1])
        return tree.GraphBlock(span=Span(self.source, start, stop), items=items, clauses=clauses)

    def graph_file(self, start: int, stop: int, children: list[Any]) -> tree.GraphFile:
        """Build ``graph from "file"``."""
        return self.statement(tree.GraphFile, start, stop, children, path=children[0])

    def graph_generator(self, start: int, stop: int, children: list[Any]) -> tree.GraphGenerator:
        """Build ``graph from generator``."""
        return self.statement(tree.GraphGenerator, start, stop, children, name=self.word(children[0]))

    def block(self, start: int, stop: int, children: list[Any]) -> tree.BlockStatement:
        """Build ``block layer(i) { … }``."""
        name, *items = children
        params: tuple[tree.Word, ...] = items.pop(0) if items and isinstance(items[0], tuple) else ()
        return tree.BlockStatement(
            span=Span(self.source, start, stop), name=self.word(name), params=params, items=tuple(items)
        )

    def node(self, start: int, stop: int, children: list[Any]) -> tree.NodeItem:
        """Build a node, or a family of nodes."""
        return self.declaration(tree.NodeItem, start, stop, children)

    def edge(self, start: int, stop: int, children: list[Any]) -> tree.EdgeItem:
        """Build an edge, or a chain of edges."""
        ends = tuple([child for child in children if isinstance(child, tree.Expression)])
        return self.statement(tree.EdgeItem, start, stop, children, ends=ends)

    def use(self, start: int, stop: int, children: list[Any]) -> tree.UseItem:
        """Build ``use layer as decoder[i in 0..<80]``."""
        block, name, family, *rest = children
        return self.statement(
            tree.UseItem, start, stop, rest, block=self.word(block), name=self.word(name or block), family=family
        )

    def port(self, start: int, stop: int, children: list[Any]) -> tree.PortItem:
        """Build ``input in = attn``."""
        way, name, *ends = children
        return tree.PortItem(span=Span(self.source, start, stop), way=way.text, name=self.word(name), ends=tuple(ends))

    # devices

    def device(self, start: int, stop: int, children: list[Any]) -> tree.DeviceStatement:
        """Build a ``device`` statement."""
        return self.declaration(tree.DeviceStatement, start, stop, children)

    def type_(self, start: int, stop: int, children: list[Any]) -> tree.TypeStatement:
        """Build a ``type`` statement."""
        return tree.TypeStatement(
            span=Span(self.source, start, stop), name=self.word(children[0]), options=options_of(children)
        )

    def target(self, start: int, stop: int, children: list[Any]) -> tree.TargetStatement:
        """Build a ``target`` statement."""
        token = children[0]
        text = self.unquoted(token) if token.text.startswith('"') else token.text
        name = tree.Word(span=self.token_span(token), text=text)
        return tree.TargetStatement(span=Span(self.source, start, stop), name=name, options=options_of(children))

    def interconnect(self, start: int, stop: int, children: list[Any]) -> tree.InterconnectStatement:
        """Build an ``interconnect`` statement."""
        return self.statement(tree.InterconnectStatement, start, stop, children, name=self.word(children[0]))

    def switch(self, start: int, stop: int, children: list[Any]) -> tree.SwitchStatement:
        """Build a ``switch`` statement."""
        return self.declaration(tree.SwitchStatement, start, stop, children)

    def link(self, start: int, stop: int, children: list[Any]) -> tree.LinkStatement:
        """Build a ``link`` statement."""
        first, arrow, second, *rest = children
        return self.statement(
            tree.LinkStatement, start, stop, rest, first=first, second=second, both_ways=arrow.text == "<->"
        )

    def phase(self, start: int, stop: int, children: list[Any]) -> tree.PhaseStatement:
        """Build a ``phase`` statement."""
        return tree.PhaseStatement(span=Span(self.source, start, stop), phases=tuple(children))

    def phase_name(self, start: int, stop: int, children: list[Any]) -> tree.PhaseName:
        """Build one phase of a ``phase`` statement, with its options."""
        return tree.PhaseName(
            span=Span(self.source, start, stop), name=self.word(children[0]), options=options_of(children)
        )

    def time(self, start: int, stop: int, children: list[Any]) -> tree.TimeStatement:
        """Build a ``time`` statement."""
        nodes, devices, _, batch, phase, value, *rest = children
        return tree.TimeStatement(
            span=Span(self.source, start, stop),
            nodes=nodes,
            devices=devices.members,
            batch=batch,
            phase=phase,
            value=value,
            clauses=clauses_of(rest),
        )

    def transfer(self, start: int, stop: int, children: list[Any]) -> tree.TransferStatement:
        """Build a ``time`` statement of a transfer."""
        tail, _, head, first, _, second, value, *rest = children
        return tree.TransferStatement(
            span=Span(self.source, start, stop),
            tail=tail,
            head=head,
            first=first,
            second=second,
            value=value,
            clauses=clauses_of(rest),
        )

    def times(self, start: int, stop: int, children: list[Any]) -> tree.TimesFile:
        """Build a ``times from`` statement."""
        return self.statement(tree.TimesFile, start, stop, children, path=children[0])
