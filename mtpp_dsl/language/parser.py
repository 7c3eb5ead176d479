"""Text to syntax tree, with every syntax error found in one run.

A text that parses is parsed once. One that does not is cut at the words that begin a statement
(and a graph block at its nodes and edges), and each piece reports its own first error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import chain, islice, pairwise
from typing import Any, cast

from mtpp_dsl.errors import SpecError
from mtpp_dsl.language import tree
from mtpp_dsl.language.explain import explain
from mtpp_dsl.language.grammar import MAX_WORDS, Word, run, words
from mtpp_dsl.language.rules import custom_rules, unknown_rule
from mtpp_dsl.language.syntax_errors import RULES, STATEMENTS
from mtpp_dsl.language.tables import Failure
from mtpp_dsl.text.source import Diagnostic, Source, Span

__all__ = [
    "MAX_DEPTH",
    "MAX_ERRORS",
    "MAX_WORDS",
    "begins_with_statement",
    "parse",
    "parse_counted",
    "parse_expression",
]

MAX_DEPTH = 100
"""Brackets nested deeper than this are refused."""

MAX_ERRORS = 20
"""Syntax errors reported in one run."""

_BRACKETS = re.compile(r'"(?:\\.|[^"\\\n])*+"|#[^\n]*+|[()\[\]{}]')
_RECOVERED = 300_000
"""Words behind the first error among which further ones are looked for."""
_GUESSED = 2_000
"""Words that begin a line that are held against the words that begin a statement, where a text does not parse."""


def parse(source: Source) -> tuple[tree.Statement, ...]:
    """Return the statements of a text.

    Raises:
        SpecError: with every syntax error found, up to :data:`MAX_ERRORS`; brackets nested deeper than
            :data:`MAX_DEPTH`; more words than :data:`MAX_WORDS`.
    """
    return parse_counted(source, MAX_WORDS)[0]


def parse_counted(source: Source, most: int) -> tuple[tuple[tree.Statement, ...], int]:
    """Return the statements of a text and the number of its words, of which *most* are read; see :func:`parse`."""
    _refuse_deep_nesting(source)
    wrong: list[Diagnostic] = []
    try:
        found, count = run(source, "start", 0, len(source.text), most, wrong)
    except OverflowError:
        message = f"the spec has more than {MAX_WORDS:,} words and marks, with all that it includes; that is the most"
        notes = ('a large graph is better read from a file: graph from "graph.json"',)
        raise SpecError([Diagnostic(message, Span(source, 0, 1), notes=notes, code="MTPP-E901")]) from None
    except Failure as failure:
        before = run(source, "start", 0, failure.pending)[0]
        errors = list(islice(chain(_unknown_rules(cast("Any", before)), _recover(source, failure)), MAX_ERRORS))
        raise SpecError(errors or [explain(source, failure, "start", failure.pending, len(source.text))]) from None
    statements = cast("tuple[tree.Statement, ...]", found)
    wrong = list(islice(chain(wrong, _unknown_rules(statements)), MAX_ERRORS))
    if wrong:
        raise SpecError(wrong)
    return statements, count


def begins_with_statement(source: Source) -> bool:
    """Return whether the first word of a text begins a statement."""
    first = next(words(source, 0, len(source.text)), None)
    return first is not None and first.text in STATEMENTS


def parse_expression(source: Source) -> tree.Expression:
    """Return the one expression that a text holds (a value given with ``-D``).

    Raises:
        SpecError: it is none.
    """
    _refuse_deep_nesting(source)
    wrong: list[Diagnostic] = []
    try:
        found = cast("tree.Expression", run(source, "expression", 0, len(source.text), MAX_WORDS, wrong)[0])
    except OverflowError:
        raise SpecError(
            [Diagnostic(f"this has more than {MAX_WORDS:,} words", Span(source, 0, 1), code="MTPP-E901")]
        ) from None
    except Failure as failure:
        raise SpecError([explain(source, failure, "expression", 0, len(source.text))]) from None
    if wrong:
        raise SpecError(wrong)
    return found


def _refuse_deep_nesting(source: Source) -> None:
    depth = 0
    for match in _BRACKETS.finditer(source.text):
        text = match[0]
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise SpecError([Diagnostic(message, Span(source, match.start(), match.end()), code="MTPP-E901")])


def _recover(source: Source, failure: Failure) -> Iterator[Diagnostic]:
    """Yield the first error of every statement that has one, from the one that failed."""
    found = list(islice(words(source, failure.pending, len(source.text)), _RECOVERED))
    starts = [found[0].offset] if found else [failure.pending]
    near: dict[str, bool] = {}
    for before, word in pairwise(found):
        after_block = before.text == "}" and word.text not in ("node", "edge", "}", ")", "]", ",")
        if _begins_statement(word) or after_block or _looks_like_statement(word, near):
            starts.append(word.offset)
    end = len(source.text) if len(found) < _RECOVERED else found[-1].offset
    for begin, stop in zip(starts, [*starts[1:], end], strict=True):
        error = _first_error(source, "statement", begin, stop)
        if error is None:
            continue
        inner = []
        if source.text.startswith("graph", begin):
            inner = [word.offset for word in found if begin <= word.offset < stop and word.text in ("node", "edge")]
        if inner:
            yield from _recover_items(source, inner, stop, error)
        else:
            yield error


def _begins_statement(word: Word) -> bool:
    """Return whether a word is a statement's keyword; ``time`` is often a name or a type, unless it begins a line."""
    return word.text in STATEMENTS and (word.text not in ("time", "times") or word.begins_line)


def _looks_like_statement(word: Word, known: dict[str, bool]) -> bool:
    """Return whether a word that begins a line is nearly a statement's keyword; *known* holds earlier answers."""
    text = word.text
    if not word.begins_line or (text not in known and len(known) >= _GUESSED):
        return False
    if text not in known:
        known[text] = len(text) <= 20 and bool(get_close_matches(text, STATEMENTS, n=1, cutoff=0.8))
    return known[text]


def _recover_items(source: Source, starts: list[int], end: int, error: Diagnostic) -> Iterator[Diagnostic]:
    """Yield the first error of every node and edge that has one, else that of the block."""
    closing = source.text.rfind("}", starts[-1], end)
    last = closing if closing >= 0 else end
    errors = [_first_error(source, "item", a, b) for a, b in zip(starts, [*starts[1:], last], strict=True)]
    found = [item for item in errors if item is not None]
    yield from found or [error]


def _unknown_rules(statements: Iterable[object]) -> Iterator[Diagnostic]:
    """Yield the errors of constraints whose first word is a rule neither of the language nor of a plug-in."""
    rules = (statement.rule for statement in statements if isinstance(statement, tree.ConstraintStatement))
    for rule in rules:
        if rule.text not in RULES and rule.text not in custom_rules():
            yield unknown_rule(rule.span)


def _first_error(source: Source, start: str, begin: int, end: int) -> Diagnostic | None:
    wrong: list[Diagnostic] = []
    try:
        found = run(source, start, begin, end, MAX_WORDS, wrong)[0]
        return next(chain(wrong, _unknown_rules([found])), None)
    except Failure as failure:
        return explain(source, failure, start, begin, end)
    except OverflowError:
        return None
