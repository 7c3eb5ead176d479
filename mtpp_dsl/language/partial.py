"""The statements of a text that is broken somewhere: those that parse, and what the others would have declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from mtpp_dsl.errors import SpecError
from mtpp_dsl.language import tree
from mtpp_dsl.language.grammar import MAX_WORDS, Word, run, words
from mtpp_dsl.language.parser import parse_counted
from mtpp_dsl.language.pieces import beginnings_of_items, meant, pieces
from mtpp_dsl.language.rules import custom_rules
from mtpp_dsl.language.syntax_errors import RULES
from mtpp_dsl.language.tables import Failure
from mtpp_dsl.text.source import Diagnostic, Source, Span

__all__ = ["Broken", "Partial", "parse_partial"]


@dataclass(frozen=True)
class Broken:
    """A statement that does not parse.

    Attributes:
        kind: the word that begins it, or the keyword that is near to it; "" if none is; "weights" and "options" of a
            graph and of a device of which only the options are wrong.
        name: the word after it, which may be what it declares; "" if there is none.
        span: its place.
    """

    kind: str
    name: str
    span: Span


@dataclass(frozen=True)
class Partial:
    """What can be read of a text.

    Attributes:
        statements: those that parse, in their order; of a graph that does not, the nodes and edges that do.
        diagnostics: the syntax errors.
        broken: the statements that do not parse, graphs of which some items do among them.
        words: how many words and marks the text has; 0 where that is not known.
    """

    statements: tuple[tree.Statement, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    broken: tuple[Broken, ...] = field(default=())
    words: int = 0


def parse_partial(source: Source, most: int = MAX_WORDS) -> Partial:
    """Return the statements of a text that parse, and what is wrong with the others; *most* words are read."""
    try:
        statements, count = parse_counted(source, most)
    except SpecError as error:
        broken: list[Broken] = []
        found: tuple[tree.Statement, ...] = ()
        if any(diagnostic.span is not None and diagnostic.span.stop > 1 for diagnostic in error.diagnostics):
            found = tuple(_salvaged(source, broken))
        return Partial(found, error.diagnostics, tuple(broken))
    return Partial(statements, words=count)


def _salvaged(source: Source, broken: list[Broken]) -> Iterator[tree.Statement]:
    """Yield the statements that parse, piece by piece; the others are added to *broken*."""
    found = list(words(source, 0, len(source.text)))
    for begin, stop in pieces(source, found, 0, len(source.text)):
        try:
            statements = cast("tuple[tree.Statement, ...]", run(source, "start", begin, stop)[0])
        except (Failure, OverflowError):
            inside = [word for word in found if begin <= word.offset < stop]
            if inside:
                yield from _salvaged_piece(source, inside, stop, broken)
            continue
        for statement in statements:
            if _has_rule(statement):
                yield statement
            else:
                broken.append(Broken("constraint", "", statement.span))


def _salvaged_piece(
    source: Source, inside: Sequence[Word], stop: int, broken: list[Broken]
) -> Iterator[tree.Statement]:
    """Yield what a statement that does not parse declares: the items of a graph, a device without its options."""
    kind, span = meant(inside[0].text), Span(source, inside[0].offset, stop)
    name = inside[1].text if inside[1:] and inside[1].text.isidentifier() else ""
    if kind == "graph":
        items, whole = _items(source, inside, stop)
        if items:
            yield tree.GraphBlock(span=span, items=tuple(items))
            kind = "weights" if whole else kind
    elif inside[0].text == "device":
        device = _without_options(source, "statement", inside, stop)
        if device is not None:
            yield cast("tree.Statement", device)
            kind = "options"
    broken.append(Broken(kind, name, span))


def _items(source: Source, inside: Sequence[Word], stop: int) -> tuple[list[tree.Item], bool]:
    """Return the items of a graph that parse, and whether they are all of its nodes, some of them without options."""
    starts = beginnings_of_items(inside)
    end = source.text.rfind("}", inside[0].offset, stop)
    end = end if end > inside[0].offset else stop
    items: list[tree.Item] = []
    whole = True
    for number, following in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
        last = end if following is None else inside[following].offset
        try:
            items.append(cast("tree.Item", run(source, "item", inside[number].offset, last)[0]))
        except (Failure, OverflowError):
            item = _without_options(source, "item", inside[number:following], last)
            if item is not None and inside[number].text == "node":
                items.append(cast("tree.Item", item))
            elif inside[number].text != "edge":
                whole = False
    return items, whole


def _without_options(source: Source, start: str, inside: Sequence[Word], stop: int) -> object:
    """Return a declaration up to its options; None if that does not parse either."""
    end = next((word.offset for word in inside if word.text in ("(", "{")), stop)
    try:
        return run(source, start, inside[0].offset, end)[0]
    except (Failure, OverflowError):
        return None


def _has_rule(statement: tree.Statement) -> bool:
    """Return whether a statement is no constraint by a rule that nobody knows."""
    if not isinstance(statement, tree.ConstraintStatement):
        return True
    return statement.rule.text in RULES or statement.rule.text in custom_rules()
