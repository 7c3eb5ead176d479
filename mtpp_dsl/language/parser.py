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
from typing import Any, cast

from lark import Lark, TextSlice, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from mtpp_dsl.errors import SpecError, did_you_mean
from mtpp_dsl.language import tree
from mtpp_dsl.language.build import TreeBuilder
from mtpp_dsl.language.syntax_errors import EXAMPLES, RULES, STATEMENTS, TERMINALS
from mtpp_dsl.source import Diagnostic, Source, Span

__all__ = ["MAX_DEPTH", "MAX_ERRORS", "parse", "parse_expression"]

MAX_DEPTH = 100
"""Brackets nested deeper than this are refused."""

MAX_ERRORS = 20
"""Syntax errors reported in one run."""

_LEX = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*|[A-Za-z_][A-Za-z0-9_]*|[^\s]')
_STARTS = ("start", "statement", "item", "expression")


def parse(source: Source) -> tuple[tree.Statement, ...]:
    """Return the statements of a text.

    Raises:
        SpecError: with every syntax error found, up to :data:`MAX_ERRORS`.
    """
    tokens = _tokens(source)
    _refuse_deep_nesting(source, tokens)
    try:
        return cast("tuple[tree.Statement, ...]", _parse(source, "start", 0, len(source.text)))
    except UnexpectedInput as error:
        found = [diagnostic for _, diagnostic in zip(range(MAX_ERRORS), _recover(source, tokens), strict=False)]
        raise SpecError(found or [_explain(source, error, "start", 0, len(source.text))]) from None


def parse_expression(source: Source) -> tree.Expression:
    """Return the one expression that a text holds (a value given with ``-D``).

    Raises:
        SpecError: it is none.
    """
    _refuse_deep_nesting(source, _tokens(source))
    try:
        return cast("tree.Expression", _parse(source, "expression", 0, len(source.text)))
    except UnexpectedInput as error:
        raise SpecError([_explain(source, error, "expression", 0, len(source.text))]) from None


@cache
def _parser() -> Lark:
    return Lark.open_from_package(
        "mtpp_dsl.grammars",
        "mtpp.lark",
        parser="lalr",
        start=list(_STARTS),
        propagate_positions=True,
        maybe_placeholders=True,
        cache=_cache() or False,
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


def _parse(source: Source, start: str, begin: int, end: int) -> object:
    parsed = _parser().parse(TextSlice(source.text, begin, end), start=start)
    return TreeBuilder(source).transform(parsed)


def _tokens(source: Source) -> list[tuple[str, int]]:
    """Return words, brackets and other marks with their offsets; no strings, no comments."""
    found = ((match[0], match.start()) for match in _LEX.finditer(source.text))
    return [(text, offset) for text, offset in found if text[0] not in '"#' or text == '"']


def _refuse_deep_nesting(source: Source, tokens: list[tuple[str, int]]) -> None:
    depth = 0
    for text, offset in tokens:
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if depth > MAX_DEPTH:
            message = f"brackets are nested more than {MAX_DEPTH} deep"
            raise SpecError([Diagnostic(message, Span(source, offset, offset + 1))])


def _recover(source: Source, tokens: list[tuple[str, int]]) -> Iterator[Diagnostic]:
    """Yield the first error of every statement that has one."""
    starts = [offset for _, offset in tokens[:1]] or [0]
    for (before, _), (text, offset) in pairwise(tokens):
        after_block = before == "}" and text not in ("node", "edge", "}", ")", "]", ",")
        if _begins_statement(source, text, offset) or after_block or _looks_like_statement(source, text, offset):
            starts.append(offset)
    for begin, end in zip(starts, [*starts[1:], len(source.text)], strict=True):
        error = _first_error(source, "statement", begin, end)
        if error is None:
            continue
        inner = [offset for text, offset in tokens if begin <= offset < end and text in ("node", "edge")]
        if source.text.startswith("graph", begin) and inner:
            yield from _recover_items(source, inner, end, error)
        else:
            yield error


def _begins_statement(source: Source, text: str, offset: int) -> bool:
    """Return whether a word is a statement's keyword; ``time`` is often a name or a type, unless it begins a line."""
    return text in STATEMENTS and (text not in ("time", "times") or _begins_line(source, offset))


def _looks_like_statement(source: Source, text: str, offset: int) -> bool:
    """Return whether a word that begins a line is nearly a statement's keyword."""
    return _begins_line(source, offset) and bool(get_close_matches(text, STATEMENTS, n=1, cutoff=0.8))


def _begins_line(source: Source, offset: int) -> bool:
    return not source.text[source.text.rfind("\n", 0, offset) + 1 : offset].strip()


def _recover_items(source: Source, starts: list[int], end: int, error: Diagnostic) -> Iterator[Diagnostic]:
    """Yield the first error of every node and edge that has one, else that of the block."""
    closing = source.text.rfind("}", starts[-1], end)
    last = closing if closing >= 0 else end
    errors = [_first_error(source, "item", a, b) for a, b in zip(starts, [*starts[1:], last], strict=True)]
    found = [item for item in errors if item is not None]
    yield from found or [error]


def _first_error(source: Source, start: str, begin: int, end: int) -> Diagnostic | None:
    try:
        _parse(source, start, begin, end)
    except UnexpectedInput as error:
        return _explain(source, error, start, begin, end)
    return None


def _explain(source: Source, error: UnexpectedInput, start: str, begin: int, stop: int) -> Diagnostic:
    """Return a message for a syntax error: from the table, else what was found and expected."""
    if isinstance(error, UnexpectedCharacters):
        return _unexpected_character(source, cast("int", error.pos_in_stream))
    failure = cast("UnexpectedToken", error)
    at = stop if failure.token.type == "$END" else cast("int", failure.token.start_pos)
    unknown = _unknown_rule(source, at)
    if unknown is not None:
        return unknown
    opened = _unclosed(source, begin, stop)
    if at == stop and opened is not None:
        return Diagnostic(f"{opened.text!r} is not closed", opened, notes=(f"expected {_expected(failure)}",))
    span = _last_mark(source, begin, stop) if at == stop else Span(source, at, at + len(failure.token))
    expected = _expected(failure)
    message = _from_table(failure, start, _first_word(source.text[begin:stop])) or _unexpected(failure.token)
    return Diagnostic(message + _hint(failure), span, notes=(f"expected {expected}",) if expected else ())


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
    for text, offset in _tokens(source):
        if begin <= offset < stop and len(text) == 1:
            if text in "([{":
                opened.append(offset)
            elif text in ")]}" and opened:
                opened.pop()
    return Span(source, opened[-1], opened[-1] + 1) if opened else None


def _unknown_rule(source: Source, begin: int) -> Diagnostic | None:
    """Return the message for ``constraint acylic``, whose error is only seen one token later."""
    before = [(text, offset) for text, offset in _tokens(source) if offset < begin][-2:]
    if len(before) < 2 or before[0][0] != "constraint" or before[1][0] in RULES or not before[1][0].isidentifier():
        return None
    word, offset = before[1]
    hint = did_you_mean(word, RULES) or "; a labelled constraint has ':' after its label"
    return Diagnostic(
        f"there is no constraint {word!r}{hint}",
        Span(source, offset, offset + len(word)),
        notes=(f"constraints are: {', '.join(RULES)}; or a label and ':'",),
    )


def _unexpected(token: Token) -> str:
    return "the text ends too early" if token.type == "$END" else f"unexpected {str(token)!r}"


def _expected(error: UnexpectedToken) -> str:
    names = sorted({TERMINALS.get(name, f"'{name.lower().strip('_')}'") for name in error.accepts or error.expected})
    return ", ".join(names) if 0 < len(names) <= 12 else ""


def _hint(error: UnexpectedToken) -> str:
    """Return a did-you-mean when a keyword was expected and a near miss was found."""
    if error.token.type not in ("NAME", "UNIT"):
        return ""
    accepted = error.accepts or error.expected
    keywords = [name.lower() for name in accepted if name not in TERMINALS]
    return did_you_mean(str(error.token), [*keywords, *(STATEMENTS if "$END" in accepted else ())])


def _first_word(text: str) -> str:
    """Return the word that begins a statement or an item, and the rule of a constraint."""
    words = [match[0] for match in islice(_LEX.finditer(text), 2)]
    if words[:1] == ["constraint"] and words[1:] and words[1] in RULES:
        return " ".join(words)
    return words[0] if words and words[0] in (*STATEMENTS, "node", "edge") else ""


def _from_table(error: UnexpectedToken, start: str, word: str) -> str | None:
    """Return the message of the example that fails in the same way.

    That is: in a statement with the same first *word*, in the same parser state, at the same kind
    of token. Where all examples that fail in a state have one message, it serves every other token.
    """
    by_token, by_state = _examples(start)
    state = _state(error)
    return by_token.get((word, state, error.token.type)) or by_state.get((word, state))


@cache
def _examples(start: str) -> tuple[dict[tuple[str, int, str], str], dict[tuple[str, int], str]]:
    by_token: dict[tuple[str, int, str], str] = {}
    messages: dict[tuple[str, int], dict[str, str]] = {}
    for message, snippets in EXAMPLES.items():
        for snippet in snippets:
            if start == "item" and not snippet.startswith("graph { "):
                continue
            text = snippet.removeprefix("graph { ").removesuffix(" }") if start == "item" else snippet
            try:
                _parser().parse(text, start=start)
            except UnexpectedToken as error:
                key = _first_word(text), _state(error)
                by_token.setdefault((*key, error.token.type), message)
                messages.setdefault(key, {}).setdefault(error.token.type, message)
    return by_token, {
        key: next(iter(found.values())) for key, found in messages.items() if len(found) > 1 == len(set(found.values()))
    }


def _state(error: UnexpectedToken) -> int:
    return cast("int", cast("Any", error.state).position)
