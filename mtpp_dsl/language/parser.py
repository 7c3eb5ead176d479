"""Text to syntax tree, with every syntax error found in one run.

A text that parses is parsed once. One that does not is cut at the words that begin a statement
(and a graph block at its nodes and edges), and each piece reports its own first error.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, cast

from lark import Lark

from mtpp_dsl.errors import SpecError, did_you_mean
from mtpp_dsl.language import tree
from mtpp_dsl.language.build import TreeBuilder
from mtpp_dsl.language.syntax_errors import EXAMPLES, RULES, STATEMENTS, TERMINALS
from mtpp_dsl.language.tables import Failure, Tables, Token
from mtpp_dsl.source import Diagnostic, Source, Span

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

MAX_WORDS = 1_000_000
"""Words and marks of a spec with all that it includes; one that has more is refused."""

_LEX = re.compile(r'"(?:\\.|[^"\\\n])*+"|#[^\n]*+|[A-Za-z_][A-Za-z0-9_]*+|[^\s]')
_BRACKETS = re.compile(r'"(?:\\.|[^"\\\n])*+"|#[^\n]*+|[()\[\]{}]')
_STARTS = ("start", "statement", "item", "expression")
_RECOVERED = 300_000
"""Words behind the first error among which further ones are looked for."""
_GUESSED = 2_000
"""Words that begin a line that are held against the words that begin a statement, where a text does not parse."""


class _Word(NamedTuple):
    text: str
    offset: int
    begins_line: bool


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
    try:
        return cast("tuple[tuple[tree.Statement, ...], int]", _run(source, "start", 0, len(source.text), most))
    except OverflowError:
        message = f"the spec has more than {MAX_WORDS:,} words and marks, with all that it includes; that is the most"
        notes = ('a large graph is better read from a file: graph from "graph.json"',)
        raise SpecError([Diagnostic(message, Span(source, 0, 1), notes=notes)]) from None
    except Failure as failure:
        found = list(islice(_recover(source, failure), MAX_ERRORS))
        raise SpecError(found or [_explain(source, failure, "start", failure.pending, len(source.text))]) from None


def begins_with_statement(source: Source) -> bool:
    """Return whether the first word of a text begins a statement."""
    first = next(_words(source, 0, len(source.text)), None)
    return first is not None and first.text in STATEMENTS


def parse_expression(source: Source) -> tree.Expression:
    """Return the one expression that a text holds (a value given with ``-D``).

    Raises:
        SpecError: it is none.
    """
    _refuse_deep_nesting(source)
    try:
        return cast("tree.Expression", _run(source, "expression", 0, len(source.text), MAX_WORDS)[0])
    except OverflowError:
        raise SpecError([Diagnostic(f"this has more than {MAX_WORDS:,} words", Span(source, 0, 1))]) from None
    except Failure as failure:
        raise SpecError([_explain(source, failure, "expression", 0, len(source.text))]) from None


@cache
def _tables() -> Tables:
    return Tables(
        Lark.open_from_package(
            "mtpp_dsl.grammars",
            "mtpp.lark",
            parser="lalr",
            start=list(_STARTS),
            maybe_placeholders=True,
            cache=_cache() or False,
        )
    )


def _cache() -> str | None:
    """Return the file that keeps the parser's tables, beside the compiled modules; None where none can be written.

    Lark makes it, and makes it again when the grammar, Lark or Python have changed.
    """
    folder = Path(str(files("mtpp_dsl.grammars"))) / "__pycache__"
    writable = os.access(folder if folder.is_dir() else folder.parent, os.W_OK)
    if sys.dont_write_bytecode or not writable:
        return None
    folder.mkdir(exist_ok=True)
    return str(folder / "mtpp.lark.tables")


def _run(source: Source, start: str, begin: int, end: int, most: int = MAX_WORDS) -> tuple[object, int]:
    return _tables().run(source.text, start, begin, end, TreeBuilder(source), most)


def _words(source: Source, begin: int, end: int) -> Iterator[_Word]:
    """Yield words, brackets and other marks with their offsets; no strings, no comments."""
    before = begin
    fresh = begin == 0 or source.text[begin - 1] == "\n"
    for match in _LEX.finditer(source.text, begin, end):
        text, offset = match[0], match.start()
        fresh = fresh or "\n" in source.text[before:offset]
        if text[0] not in '"#' or text == '"':
            yield _Word(text, offset, fresh)
        if text[0] != "#":
            fresh = False
        before = match.end()


def _refuse_deep_nesting(source: Source) -> None:
    depth = 0
    for match in _BRACKETS.finditer(source.text):
        text = match[0]
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise SpecError([Diagnostic(message, Span(source, match.start(), match.end()))])


def _recover(source: Source, failure: Failure) -> Iterator[Diagnostic]:
    """Yield the first error of every statement that has one, from the one that failed."""
    words = list(islice(_words(source, failure.pending, len(source.text)), _RECOVERED))
    starts = [words[0].offset] if words else [failure.pending]
    near: dict[str, bool] = {}
    for before, word in pairwise(words):
        after_block = before.text == "}" and word.text not in ("node", "edge", "}", ")", "]", ",")
        if _begins_statement(word) or after_block or _looks_like_statement(word, near):
            starts.append(word.offset)
    end = len(source.text) if len(words) < _RECOVERED else words[-1].offset
    for begin, stop in zip(starts, [*starts[1:], end], strict=True):
        error = _first_error(source, "statement", begin, stop)
        if error is None:
            continue
        inner = []
        if source.text.startswith("graph", begin):
            inner = [word.offset for word in words if begin <= word.offset < stop and word.text in ("node", "edge")]
        if inner:
            yield from _recover_items(source, inner, stop, error)
        else:
            yield error


def _begins_statement(word: _Word) -> bool:
    """Return whether a word is a statement's keyword; ``time`` is often a name or a type, unless it begins a line."""
    return word.text in STATEMENTS and (word.text not in ("time", "times") or word.begins_line)


def _looks_like_statement(word: _Word, known: dict[str, bool]) -> bool:
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


def _first_error(source: Source, start: str, begin: int, end: int) -> Diagnostic | None:
    try:
        _run(source, start, begin, end)
    except Failure as failure:
        return _explain(source, failure, start, begin, end)
    except OverflowError:
        return None
    return None


def _explain(source: Source, failure: Failure, start: str, begin: int, stop: int) -> Diagnostic:
    """Return a message for a syntax error: from the table, else what was found and expected."""
    token = failure.token
    if token is None:
        return _unexpected_character(source, failure.at)
    at = stop if token.kind == "$END" else token.start
    unknown = _unknown_rule(source, begin, at)
    if unknown is not None:
        return unknown
    opened = _unclosed(source, begin, stop) if at == stop else None
    if opened is not None:
        return Diagnostic(f"{opened.text!r} is not closed", opened, notes=(f"expected {_expected(failure)}",))
    span = _last_mark(source, begin, stop) if at == stop else Span(source, at, token.stop)
    expected = _expected(failure)
    message = _from_table(failure, token, start, _first_word(source, begin, stop)) or _unexpected(token)
    return Diagnostic(message + _hint(failure, token), span, notes=(f"expected {expected}",) if expected else ())


def _unexpected_character(source: Source, offset: int) -> Diagnostic:
    char = source.text[offset]
    if char != '"':
        return Diagnostic(f"unexpected character {char!r}", Span(source, offset, offset + 1))
    stop = source.text.find("\n", offset)
    return Diagnostic(
        "a string is not closed on its line", Span(source, offset, len(source.text) if stop < 0 else stop)
    )


def _last_mark(source: Source, begin: int, stop: int) -> Span:
    """Return the place of the last character before *stop* that is neither space nor comment."""
    ends = [match.end() for match in _LEX.finditer(source.text, begin, stop) if match[0][0] != "#"]
    last = max(ends, default=begin)
    return Span(source, max(begin, last - 1), last)


def _unclosed(source: Source, begin: int, stop: int) -> Span | None:
    """Return the place of the innermost bracket that is open at *stop*."""
    opened: list[int] = []
    for word in _words(source, begin, stop):
        if word.text in ("(", "[", "{"):
            opened.append(word.offset)
        elif word.text in (")", "]", "}") and opened:
            opened.pop()
    return Span(source, opened[-1], opened[-1] + 1) if opened else None


def _unknown_rule(source: Source, begin: int, at: int) -> Diagnostic | None:
    """Return the message for ``constraint acylic``, whose error is only seen one word later."""
    first = list(islice(_words(source, begin, at), 3))
    if len(first) != 2 or first[0].text != "constraint" or first[1].text in RULES or not first[1].text.isidentifier():
        return None
    word, offset, _ = first[1]
    hint = did_you_mean(word, RULES) or "; a labelled constraint has ':' after its label"
    return Diagnostic(
        f"there is no constraint {word!r}{hint}",
        Span(source, offset, offset + len(word)),
        notes=(f"constraints are: {', '.join(RULES)}; or a label and ':'",),
    )


def _unexpected(token: Token) -> str:
    return "the text ends too early" if token.kind == "$END" else f"unexpected {token.text!r}"


def _expected(failure: Failure) -> str:
    names = sorted({TERMINALS.get(name, f"'{name.lower().strip('_')}'") for name in failure.expected})
    return ", ".join(names) if 0 < len(names) <= 12 else ""


def _hint(failure: Failure, token: Token) -> str:
    """Return a did-you-mean when a keyword was expected and a near miss was found."""
    if token.kind not in ("NAME", "UNIT"):
        return ""
    keywords = [name.lower() for name in failure.expected if name not in TERMINALS]
    return did_you_mean(token.text, [*keywords, *(STATEMENTS if "$END" in failure.expected else ())])


def _first_word(source: Source, begin: int, stop: int) -> str:
    """Return the word that begins a statement or an item, and the rule of a constraint."""
    words = [match[0] for match in islice(_LEX.finditer(source.text, begin, stop), 2)]
    if words[:1] == ["constraint"] and words[1:] and words[1] in RULES:
        return " ".join(words)
    return words[0] if words and words[0] in (*STATEMENTS, "node", "edge") else ""


def _from_table(failure: Failure, token: Token, start: str, word: str) -> str | None:
    """Return the message of the example that fails in the same way.

    That is: in a statement with the same first *word*, in the same parser state, at the same kind
    of token. Where all examples that fail in a state have one message, it serves every other token.
    """
    by_token, by_state = _examples(start)
    return by_token.get((word, failure.state, token.kind)) or by_state.get((word, failure.state))


@cache
def _examples(start: str) -> tuple[dict[tuple[str, int, str], str], dict[tuple[str, int], str]]:
    by_token: dict[tuple[str, int, str], str] = {}
    messages: dict[tuple[str, int], dict[str, str]] = {}
    for message, snippets in EXAMPLES.items():
        for snippet in snippets:
            if start == "item" and not snippet.startswith("graph { "):
                continue
            text = snippet.removeprefix("graph { ").removesuffix(" }") if start == "item" else snippet
            source = Source("", text)
            try:
                _run(source, start, 0, len(text))
            except Failure as failure:
                key = _first_word(source, 0, len(text)), failure.state
                kind = "" if failure.token is None else failure.token.kind
                by_token.setdefault((*key, kind), message)
                messages.setdefault(key, {}).setdefault(kind, message)
    return by_token, {
        key: next(iter(found.values())) for key, found in messages.items() if len(found) > 1 == len(set(found.values()))
    }
