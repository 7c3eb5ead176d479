"""Which names a statement declares and uses, and what each of them names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mtpp_dsl.editor.server.index import GLOBAL, KINDS, Declared, Index, Occurrence
from mtpp_dsl.editor.server.names_in_expressions import Env, Expressions, unquoted
from mtpp_dsl.language.lowering.choosing import all_of
from mtpp_dsl.language.lowering.graph_items import NODE_OPTIONS
from mtpp_dsl.language.lowering.lower_devices import DEVICE_OPTIONS
from mtpp_dsl.language.syntax import tree

__all__ = ["names_of"]


def index_of(statements: Sequence[tuple[tree.Statement, Path]], own: Iterable[tree.Statement]) -> Index:
    """Return the index of the statements of a spec, conditional ones among them, and of its text's own."""
    every = list({id(node): node for node in [*own, *all_of(statements)]}.values())
    declared = Declared.of(every)
    by_place: dict[tuple[int, int, int], Occurrence] = {}
    for statement in every:
        for node in names_of(statement, declared):
            key = id(node.span.source), node.span.start, node.span.stop
            if key not in by_place or node.role == "definition":
                by_place[key] = node
    return Index(tuple(by_place.values()), declared)


def names_of(statement: tree.Statement, declared: Declared) -> Iterator[Occurrence]:
    """Yield the names that a statement declares and uses, in no order; a name may come twice."""
    yield from _Names(statement, declared).statement(statement)


class _Names(Expressions):
    """Goes through statements and the items of graphs and blocks."""

    def statement(self, statement: tree.Statement) -> Iterator[Occurrence]:
        before, self.within = self.within, statement
        env: Env = {}
        match statement:
            case tree.ScenarioStatement(statements=inner):
                yield self.note(statement.name, "scenario")
                for part in inner:
                    yield from self.statement(part)
            case tree.GraphBlock(items=items):
                yield from self.clauses(statement.clauses, env)
                for item in items:
                    yield from self.item(item, env)
            case tree.BlockStatement():
                yield from self.block(statement)
            case tree.DefStatement(params=params):
                yield self.note(statement.name, "def")
                home = f"def {statement.name.text}"
                yield from (self.note(param, "variable", home=home) for param in params)
                yield from self.expression(statement.value, dict.fromkeys((param.text for param in params), home))
            case tree.PhaseStatement(phases=phases):
                for phase in phases:
                    yield self.note(phase.name, "phase")
                    yield from self.options(phase.options, env)
            case tree.LabelledConstraint():
                yield from self.labelled(statement)
            case _:
                yield from self.plain(statement, env)
        self.within = before

    def plain(self, statement: tree.Statement, env: Env) -> Iterator[Occurrence]:
        """Yield the names of a statement whose loops are its own, and which has no items."""
        name, kind = getattr(statement, "name", None), KINDS.get(type(statement), "")
        if kind and isinstance(name, tree.Word):
            yield self.note(name, kind)
        inner, occurrences = self.bound(getattr(statement, "clauses", None), env)
        yield from occurrences
        inner, occurrences = self.bound(getattr(statement, "family", None), inner)
        yield from occurrences
        match statement:
            case tree.ConstraintStatement(members=members, devices=devices, amount=amount):
                devices_first = statement.rule.text in ("replicate", "shard", "repeat", "batch")
                yield from self.members(members, inner, "device" if devices_first else "node")
                yield from self.members(devices or (), inner, "device")
                yield from self.expression(amount, inner)
            case tree.TimeStatement():
                yield from self.members(statement.nodes, inner, "node")
                yield from self.members(statement.devices, inner, "device")
                yield from self.expression((statement.batch, statement.phase, statement.value), inner)
            case tree.TransferStatement():
                yield from self.members((statement.tail, statement.head), inner, "node")
                yield from self.members((statement.first, statement.second), inner, "device")
                yield from self.expression(statement.value, inner)
            case tree.LinkStatement():
                yield from self.members((statement.first, statement.second), inner, "device")
            case tree.ObjectiveStatement(label=label, value=value):
                if label is not None:
                    yield self.note(label, "objective")
                yield from self.expression(value, inner)
            case tree.ParamStatement() | tree.LetStatement() | tree.AssertStatement():
                parts = [
                    getattr(statement, part, None) for part in ("default", "domain", "value", "condition", "message")
                ]
                yield from self.expression(tuple(parts), inner)
        match statement:
            case tree.ParamStatement(type=tree.Word(text="path"), default=tree.Text() as text):
                yield Occurrence(text.value, "file", "reference", unquoted(text.span), self.within)
        path = getattr(statement, "path", None) or getattr(statement, "table", None)
        if isinstance(path, tree.Path):
            yield self.path(path)
        self.siblings = DEVICE_OPTIONS if isinstance(statement, (tree.DeviceStatement, tree.TypeStatement)) else ()
        yield from self.options(getattr(statement, "options", ()), inner)
        self.siblings = ()

    def path(self, path: tree.Path) -> Occurrence:
        """Return the occurrence of a file, or of the param that names it."""
        if path.is_name:
            return Occurrence(path.value, "param", "reference", path.span, self.within)
        return Occurrence(path.value, "file", "reference", unquoted(path.span), self.within)

    def labelled(self, statement: tree.LabelledConstraint) -> Iterator[Occurrence]:
        """Yield the names of a constraint with a label, whose quantifiers stand before its row."""
        yield self.note(statement.label, "constraint")
        env: Env = {}
        for loop in (*statement.quantifiers, statement.clauses):
            env, occurrences = self.bound(loop, env)
            yield from occurrences
        yield from self.expression(statement.body, env)
        yield from self.options(statement.options, env)

    def block(self, block: tree.BlockStatement) -> Iterator[Occurrence]:
        """Yield the names of a block; its params are known in all its items."""
        yield self.note(block.name, "block")
        self.home = f"block {block.name.text}"
        yield from (self.note(param, "variable", home=self.home) for param in block.params)
        env = dict.fromkeys((param.text for param in block.params), self.home)
        for item in block.items:
            yield from self.item(item, env)
        self.home = GLOBAL

    def item(self, item: tree.Item, env: Env) -> Iterator[Occurrence]:
        """Yield the names of an item of a graph or a block."""
        before, self.within = self.within, item
        if isinstance(item, tree.AssertStatement):
            yield from self.plain(item, env)
            self.within = before
            return
        inner, occurrences = self.bound(getattr(item, "clauses", None), env)
        yield from occurrences
        match item:
            case tree.NodeItem():
                yield self.note(item.name, "node", home=self.home)
                inner, occurrences = self.bound(item.family, inner)
                yield from occurrences
                self.siblings = NODE_OPTIONS
                yield from self.options(item.options, inner)
                self.siblings = ()
            case tree.EdgeItem():
                yield from self.members(item.ends, inner, "node")
                yield from self.options(item.options, inner)
            case tree.UseItem():
                yield self.note(item.block, "block", "reference")
                if item.name is not item.block and item.name.span != item.block.span:
                    yield self.note(item.name, "instance", home=self.home)
                inner, occurrences = self.bound(item.family, inner)
                yield from occurrences
                for option in item.options:
                    yield self.note(option.name, "variable", "reference", f"block {item.block.text}")
                    yield from self.expression(option.value, inner)
            case tree.PortItem():
                yield self.note(item.name, "port", home=self.home)
                yield from self.members(item.ends, inner, "node")
        self.within = before
