"""From the rules of the grammar to the syntax tree, bottom up: statements, and what stands in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.build_rules import RuleBuilder, clauses_of, options_of
from mtpp_dsl.language.syntax.literals import unquote

__all__ = ["TreeBuilder"]


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
            said = f"'from' reads a table: write 'param {name.text}: table from …'"
            self.wrong.append(Diagnostic(said, self.token_span(kind), code="MTPP-E002"))
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
        path = tree.Path(span=self.token_span(children[0]), value=unquote(children[0].text), is_name=False)
        return tree.IncludeStatement(span=Span(self.source, start, stop), path=path, clauses=clauses_of(children))

    def import_(self, start: int, stop: int, children: list[Any]) -> tree.ImportStatement:
        """Build an ``import`` statement."""
        return tree.ImportStatement(
            span=Span(self.source, start, stop),
            path=children[0],
            options=options_of(children),
            clauses=clauses_of(children),
        )

    def import_plan(self, start: int, stop: int, children: list[Any]) -> tree.ImportPlan:
        """Build ``import plan``."""
        return tree.ImportPlan(
            span=Span(self.source, start, stop),
            path=children[1],
            options=options_of(children),
            clauses=clauses_of(children),
        )

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
        return tree.GraphFile(
            span=Span(self.source, start, stop),
            path=children[0],
            options=options_of(children),
            clauses=clauses_of(children),
        )

    def graph_generator(self, start: int, stop: int, children: list[Any]) -> tree.GraphGenerator:
        """Build ``graph from generator``."""
        return tree.GraphGenerator(
            span=Span(self.source, start, stop),
            name=self.word(children[0]),
            options=options_of(children),
            clauses=clauses_of(children),
        )

    def block(self, start: int, stop: int, children: list[Any]) -> tree.BlockStatement:
        """Build ``block layer(i) { … }``."""
        name, *items = children
        params: tuple[tree.Word, ...] = items.pop(0) if items and isinstance(items[0], tuple) else ()
        return tree.BlockStatement(
            span=Span(self.source, start, stop), name=self.word(name), params=params, items=tuple(items)
        )

    def node(self, start: int, stop: int, children: list[Any]) -> tree.NodeItem:
        """Build a node, or a family of nodes."""
        name, *rest = children
        return tree.NodeItem(
            span=Span(self.source, start, stop),
            name=self.name_or_text(name),
            family=rest[0] if rest and isinstance(rest[0], tree.Family) else None,
            options=options_of(rest),
            clauses=clauses_of(rest),
        )

    def edge(self, start: int, stop: int, children: list[Any]) -> tree.EdgeItem:
        """Build an edge, or a chain of edges."""
        ends = tuple([child for child in children if isinstance(child, tree.Expression)])
        return tree.EdgeItem(
            span=Span(self.source, start, stop), ends=ends, options=options_of(children), clauses=clauses_of(children)
        )

    def use(self, start: int, stop: int, children: list[Any]) -> tree.UseItem:
        """Build ``use layer as decoder[i in 0..<80]``."""
        block, name, family, *rest = children
        return tree.UseItem(
            span=Span(self.source, start, stop),
            block=self.word(block),
            name=self.word(name or block),
            family=family,
            options=options_of(rest),
            clauses=clauses_of(rest),
        )

    def port(self, start: int, stop: int, children: list[Any]) -> tree.PortItem:
        """Build ``input in = attn``."""
        way, name, *ends = children
        return tree.PortItem(span=Span(self.source, start, stop), way=way.text, name=self.word(name), ends=tuple(ends))

    # devices

    def device(self, start: int, stop: int, children: list[Any]) -> tree.DeviceStatement:
        """Build a ``device`` statement."""
        name, *rest = children
        return tree.DeviceStatement(
            span=Span(self.source, start, stop),
            name=self.name_or_text(name),
            family=rest[0] if rest and isinstance(rest[0], tree.Family) else None,
            options=options_of(rest),
            clauses=clauses_of(rest),
        )

    def type_(self, start: int, stop: int, children: list[Any]) -> tree.TypeStatement:
        """Build a ``type`` statement."""
        return tree.TypeStatement(
            span=Span(self.source, start, stop), name=self.word(children[0]), options=options_of(children)
        )

    def target(self, start: int, stop: int, children: list[Any]) -> tree.TargetStatement:
        """Build a ``target`` statement."""
        said = children[0]
        text = unquote(said.text) if said.text.startswith('"') else said.text
        name = tree.Word(span=self.token_span(said), text=text)
        return tree.TargetStatement(span=Span(self.source, start, stop), name=name)

    def interconnect(self, start: int, stop: int, children: list[Any]) -> tree.InterconnectStatement:
        """Build an ``interconnect`` statement."""
        return tree.InterconnectStatement(
            span=Span(self.source, start, stop),
            name=self.word(children[0]),
            options=options_of(children),
            clauses=clauses_of(children),
        )

    def switch(self, start: int, stop: int, children: list[Any]) -> tree.SwitchStatement:
        """Build a ``switch`` statement."""
        name, *rest = children
        return tree.SwitchStatement(
            span=Span(self.source, start, stop),
            name=self.name_or_text(name),
            family=rest[0] if rest and isinstance(rest[0], tree.Family) else None,
            options=options_of(rest),
            clauses=clauses_of(rest),
        )

    def link(self, start: int, stop: int, children: list[Any]) -> tree.LinkStatement:
        """Build a ``link`` statement."""
        first, arrow, second, *rest = children
        return tree.LinkStatement(
            span=Span(self.source, start, stop),
            first=first,
            second=second,
            both_ways=arrow.text == "<->",
            options=options_of(rest),
            clauses=clauses_of(rest),
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
        return tree.TimesFile(
            span=Span(self.source, start, stop),
            path=children[0],
            options=options_of(children),
            clauses=clauses_of(children),
        )
