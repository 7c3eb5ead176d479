"""From the rules of the grammar to the syntax tree: objectives and constraints, and the options behind their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.build_expressions import ExpressionBuilder
from mtpp_dsl.language.syntax.literals import unquote
from mtpp_dsl.language.syntax.tables import Token

__all__ = ["OnClause", "RuleBuilder", "clauses_of", "options_of"]


@dataclass(frozen=True)
class OnClause:
    """The devices after ``on``, told apart from other members while a statement is built."""

    members: tuple[tree.Expression, ...]


class RuleBuilder(ExpressionBuilder):
    """Makes objectives and constraints of a source."""

    # parts of statements

    def members(self, _: int, __: int, children: list[Any]) -> tuple[tree.Expression, ...]:
        """Collect the members that a statement names."""
        return tuple(children)

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
        return tree.Word(span=word.span, text=unquote(token.text)) if token.kind == "STRING" else word

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
        return tree.ConstraintStatement(
            span=Span(self.source, start, stop),
            rule=self.word(rule),
            by=self.word(by),
            options=options_of(rest),
            clauses=clauses_of(rest),
        )


def options_of(children: list[Any]) -> tuple[tree.Option, ...]:
    """Return the options among the parts of a statement."""
    for child in children:
        if child.__class__ is tuple and child and child[0].__class__ is tree.Option:
            return cast("tuple[tree.Option, ...]", child)
    return ()


def clauses_of(children: list[Any]) -> tree.Clauses | None:
    """Return the clauses behind a statement, which are its last part."""
    return children[-1] if children and children[-1].__class__ is tree.Clauses else None
