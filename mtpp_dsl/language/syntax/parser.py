"""Text to syntax tree, with every syntax error found in one run.

A text that parses is parsed once. One that does not is cut at the words that begin a statement
(and a graph block at its nodes and edges), and each piece reports its own first error.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import cast

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.explain import explain
from mtpp_dsl.language.syntax.grammar import MAX_WORDS, run
from mtpp_dsl.language.syntax.keywords import RULES, STATEMENTS
from mtpp_dsl.language.syntax.lexing import Lexeme, brackets, words
from mtpp_dsl.language.syntax.pieces import Parsed, beginnings_of_items, items_before, pieces
from mtpp_dsl.language.syntax.rules import custom_rules, unknown_rule
from mtpp_dsl.language.syntax.tables import Failure

__all__ = [
    "MAX_DEPTH",
    "MAX_ERRORS",
    "MAX_WORDS",
    "Unparsed",
    "begins_with_statement",
    "parse",
    "parse_counted",
    "parse_expression",
]

MAX_DEPTH = 100
"""Brackets nested deeper than this are refused."""

MAX_ERRORS = 20
"""Syntax errors reported in one run."""


class Unparsed(SpecError):
    """A text that does not parse.

    Attributes:
        failure: the first one.
        parsed: what has been parsed of it.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], failure: Failure, parsed: Parsed) -> None:
        super().__init__(diagnostics)
        self.failure, self.parsed = failure, parsed


def parse(source: Source) -> tuple[tree.Statement, ...]:
    """Return the statements of a text.

    Raises:
        SpecError: with every syntax error found, up to :data:`MAX_ERRORS`; brackets nested deeper than
            :data:`MAX_DEPTH`; more words than :data:`MAX_WORDS`.
    """
    return parse_counted(source, MAX_WORDS)[0]


def parse_counted(
    source: Source, most: int, begin: int = 0, end: int | None = None
) -> tuple[tuple[tree.Statement, ...], int]:
    """Return the statements of a text and the number of its words, of which *most* are read; see :func:`parse`.

    With *begin* and *end* those of a part of the text, which holds whole statements or what was meant to be some.
    """
    end = len(source.text) if end is None else end
    _refuse_deep_nesting(source, begin, end)
    wrong: list[Diagnostic] = []
    try:
        built, count = run(source, "start", begin, end, most, wrong)
    except OverflowError:
        message = f"the spec has more than {MAX_WORDS:,} words and marks, with all that it includes; that is the most"
        notes = ('a large graph is better read from a file: graph from "graph.json"',)
        raise SpecError([Diagnostic(message, Span(source, 0, 1), notes=notes, code="MTPP-E901")]) from None
    except Failure as failure:
        parsed = Parsed(source, end)
        complete = [*wrong, *_unknown_rules(failure.before)]
        errors = list(islice(chain(complete, _recover(failure, parsed)), MAX_ERRORS))
        errors = errors or [explain(source, failure, "start", failure.pending, end)]
        raise Unparsed(errors, failure, parsed) from None
    statements = cast("tuple[tree.Statement, ...]", built)
    wrong = list(islice(chain(wrong, _unknown_rules(statements)), MAX_ERRORS))
    if wrong:
        raise SpecError(wrong)
    return statements, count


def begins_with_statement(source: Source) -> bool:
    """Return whether the first word of a text begins a statement."""
    first = next(words(source.text, 0, len(source.text)), None)
    return first is not None and first.text in STATEMENTS


def parse_expression(source: Source) -> tree.Expression:
    """Return the one expression that a text holds (a value given with ``-D``).

    Raises:
        SpecError: it is invalid.
    """
    _refuse_deep_nesting(source)
    wrong: list[Diagnostic] = []
    try:
        expression = cast("tree.Expression", run(source, "expression", 0, len(source.text), MAX_WORDS, wrong)[0])
    except OverflowError:
        raise SpecError(
            [Diagnostic(f"this has more than {MAX_WORDS:,} words", Span(source, 0, 1), code="MTPP-E901")]
        ) from None
    except Failure as failure:
        raise SpecError([explain(source, failure, "expression", 0, len(source.text))]) from None
    if wrong:
        raise SpecError(wrong)
    return expression


def _refuse_deep_nesting(source: Source, begin: int = 0, end: int | None = None) -> None:
    depth = 0
    for match in brackets(source.text, begin, end):
        depth += 1 if match[0] in "([{" else -1
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise SpecError([Diagnostic(message, Span(source, match.start(), match.end()), code="MTPP-E901")])


def _recover(failure: Failure, parsed: Parsed) -> Iterator[Diagnostic]:
    """Yield the first error of every statement that has one, from the one that failed."""
    yield from _errors_of_pieces(parsed, parsed.words(failure.pending), parsed.pieces(failure.pending), failure)


def _errors_of_pieces(
    parsed: Parsed, every: Sequence[Lexeme], cut: Iterable[tuple[int, int]], failure: Failure | None = None
) -> Iterator[Diagnostic]:
    """Yield the errors of the pieces of the words *every*, of which one may be known to have a failure."""
    offsets = [word.offset for word in every]
    for start, stop in cut:
        known = failure if failure is not None and start <= failure.at < stop else None
        inside = every[bisect_left(offsets, start) : bisect_left(offsets, stop)]
        if known is not None and inside and inside[0].text in ("graph", "block"):
            yield from _errors(parsed, start, stop, inside, known)
            continue
        error = _first_error(parsed, "statement", start, stop)
        if error is not None:
            yield from _errors(parsed, start, stop, inside, error)


def _errors(
    parsed: Parsed, begin: int, stop: int, inside: Sequence[Lexeme], error: Diagnostic | Failure
) -> Iterator[Diagnostic]:
    """Yield what is wrong in a piece: the first error of each item of a graph, of each statement of a scenario.

    Args:
        parsed: what has been parsed of the source.
        begin: offset of the piece.
        stop: offset of its end.
        inside: its words.
        error: its first one, which is told where its parts have none.
    """
    closing = parsed.source.text.rfind("}", begin, stop)
    last = closing if closing >= 0 else stop
    errors: list[Diagnostic] = []
    kind = inside[0].text if inside else ""
    if kind in ("graph", "block"):
        done = items_before(error) if isinstance(error, Failure) else []
        sound = done[-1].span.stop if done else 0
        starts = [at for number in beginnings_of_items(inside) if (at := inside[number].offset) >= sound]
        start = "item" if kind == "graph" else "block_item"
        pairs = zip(starts, [*starts[1:], max([last, *starts[-1:]])][: len(starts)], strict=True)
        wrong = (item for a, b in pairs if (item := _first_error(parsed, start, a, b)) is not None)
        errors = list(islice(wrong, MAX_ERRORS))
    elif kind == "scenario" and inside[2:3] and inside[2].text == "{":
        inner = [word for word in inside[3:] if word.offset < last]
        cut = pieces(parsed.source, inner, inner[0].offset, last) if inner else ()
        errors = list(islice(_errors_of_pieces(parsed, inner, cut), MAX_ERRORS))
    if not errors:
        whole = _first_error(parsed, "statement", begin, stop) if isinstance(error, Failure) else error
        errors = [whole] if whole is not None else []
    yield from errors


def _unknown_rules(statements: Iterable[object]) -> Iterator[Diagnostic]:
    """Yield the errors of constraints whose first word is a rule neither of the language nor of a plug-in."""
    rules = (statement.rule for statement in statements if isinstance(statement, tree.ConstraintStatement))
    for rule in rules:
        if rule.text not in RULES and rule.text not in custom_rules():
            yield unknown_rule(rule.span)


def _first_error(parsed: Parsed, start: str, begin: int, end: int) -> Diagnostic | None:
    """Return the first error of a piece; there may be several statements in one."""
    several = "start" if start == "statement" else start
    outcome = parsed.run(several, begin, end)
    if not isinstance(outcome, Failure):
        statements = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
        return next(chain(outcome.wrong, _unknown_rules(statements)), None)
    if several != start:
        outcome = parsed.run(start, outcome.pending, end)
    return explain(parsed.source, outcome, start, begin, end) if isinstance(outcome, Failure) else None
