"""The statements of a text that is broken somewhere: those that parse, and what the others would have declared."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.grammar import MAX_WORDS
from mtpp_dsl.language.syntax.keywords import RULES
from mtpp_dsl.language.syntax.lexing import Lexeme
from mtpp_dsl.language.syntax.parser import Unparsed, parse_counted
from mtpp_dsl.language.syntax.pieces import Parsed, beginnings_of_items, items_before, meant
from mtpp_dsl.language.syntax.rules import custom_rules
from mtpp_dsl.language.syntax.tables import Failure


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


def parse_partial(source: Source, most: int = MAX_WORDS, begin: int = 0, end: int | None = None) -> Partial:
    """Return the statements of a text that parse, and what is wrong with the others; *most* words are read.

    With *begin* and *end* those of a part of the text.
    """
    broken: list[Broken] = []
    end = len(source.text) if end is None else end
    try:
        statements, count = parse_counted(source, most, begin, end)
    except Unparsed as error:
        sound = tuple(_with_rules(_salvaged(error.parsed, error.failure, broken), broken))
        return Partial(sound, error.diagnostics, tuple(broken))
    except SpecError as error:
        sound = ()
        if any(diagnostic.span is not None and diagnostic.span.stop > 1 for diagnostic in error.diagnostics):
            made = Parsed(source, end).run("start", begin, end)
            sound = () if isinstance(made, Failure) else tuple(_with_rules(made.value, broken))
        return Partial(sound, error.diagnostics, tuple(broken) or (Broken("", "", Span(source, 0, 0)),))
    return Partial(statements, words=count)


def _salvaged(parsed: Parsed, failure: Failure, broken: list[Broken]) -> Iterator[tree.Statement]:
    """Yield the statements that parse, behind the first that does not piece by piece; note the others."""
    yield from failure.before
    every = parsed.words(failure.pending)
    offsets = [word.offset for word in every]
    for begin, stop in parsed.pieces(failure.pending):
        fails_here = begin <= failure.at < stop and begin == failure.pending
        made = failure if fails_here else parsed.run("start", begin, stop)
        if not isinstance(made, Failure):
            yield from made.value
            continue
        yield from () if fails_here else made.before
        start = max(begin, made.pending)
        inside = every[bisect_left(offsets, start) : bisect_left(offsets, stop)]
        if inside:
            yield from _salvaged_piece(parsed, inside, stop, broken, made)


def _salvaged_piece(
    parsed: Parsed, inside: Sequence[Lexeme], stop: int, broken: list[Broken], failure: Failure
) -> Iterator[tree.Statement]:
    """Yield what a statement that does not parse declares: the items of a graph, a device without its options."""
    kind, span = meant(inside[0].text), Span(parsed.source, inside[0].offset, stop)
    name = inside[1].text if inside[1:] and inside[1].text.isidentifier() else ""
    if kind == "graph":
        items, whole = _items(parsed, inside, stop, items_before(failure))
        if items:
            yield tree.GraphBlock(span=span, items=tuple(items))
            kind = "weights" if whole else kind
    elif inside[0].text == "device":
        device = _without_options(parsed, "statement", inside, stop)
        if device is not None:
            yield cast("tree.Statement", device)
            kind = "options"
    broken.append(Broken(kind, name, span))


def _items(parsed: Parsed, inside: Sequence[Lexeme], stop: int, done: list[tree.Item]) -> tuple[list[tree.Item], bool]:
    """Return the items of a graph that parse, and whether they are all of its nodes, some of them without options.

    Those at its beginning that are *done* are not parsed again.
    """
    sound = done[-1].span.stop if done else 0
    starts = [number for number in beginnings_of_items(inside) if inside[number].offset >= sound]
    end = parsed.source.text.rfind("}", inside[0].offset, stop)
    end = end if end > inside[0].offset else stop
    items = [*done]
    whole = True
    for number, following in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
        last = max(end, inside[number].offset) if following is None else inside[following].offset
        made = parsed.run("item", inside[number].offset, last)
        if not isinstance(made, Failure):
            items.append(made.value)
            continue
        item = _without_options(parsed, "item", inside[number:following], last)
        if item is not None and inside[number].text == "node":
            items.append(cast("tree.Item", item))
        elif inside[number].text != "edge":
            whole = False
    return items, whole


def _without_options(parsed: Parsed, start: str, inside: Sequence[Lexeme], stop: int) -> object:
    """Return a declaration up to its options; None if that does not parse either."""
    end = next((word.offset for word in inside if word.text in ("(", "{")), stop)
    made = parsed.run(start, inside[0].offset, end)
    return None if isinstance(made, Failure) else made.value


def _with_rules(statements: Iterable[tree.Statement], broken: list[Broken]) -> Iterator[tree.Statement]:
    """Yield the statements except constraints by unknown rules, which are noted."""
    for statement in statements:
        if _has_rule(statement):
            yield statement
        else:
            broken.append(Broken("constraint", "", statement.span))


def _has_rule(statement: tree.Statement) -> bool:
    """Return whether a statement is anything but a constraint by an unknown rule."""
    if not isinstance(statement, tree.ConstraintStatement):
        return True
    return statement.rule.text in RULES or statement.rule.text in custom_rules()
