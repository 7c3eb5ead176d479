"""Colours for specs by Pygments: in the documentation, in notebooks, and wherever else Pygments is used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

TOKENS = {
    "comment": Comment.Single,
    "constant.character.escape": String.Escape,
    "constant.language": Keyword.Constant,
    "constant.numeric": Number,
    "entity.name.function": Name.Function,
    "entity.name.label": Name.Label,
    "entity.name.section": Name.Namespace,
    "entity.name.tag": Name.Entity,
    "entity.name.type": Name.Class,
    "entity.other.attribute-name": Name.Attribute,
    "keyword.control": Keyword,
    "keyword.operator": Operator,
    "keyword.operator.word": Operator.Word,
    "keyword.other": Keyword,
    "keyword.other.rule": Keyword.Pseudo,
    "keyword.other.statement": Keyword.Declaration,
    "keyword.other.unit": Keyword.Type,
    "punctuation": Punctuation,
    "string": String.Double,
    "support.function": Name.Builtin,
    "support.type": Name.Builtin.Pseudo,
    "variable.other": Name.Variable,
    "variable.other.name": Name,
}
"""Tokens of Pygments by the beginnings of scopes; the longest that fits counts."""


class _Pattern(NamedTuple):
    """A pattern of the TextMate grammar: what the whole match is, or what its groups are."""

    match: re.Pattern[str]
    groups: tuple[_TokenType, ...]
    inside: tuple[_Pattern, ...]


class MtppLexer(Lexer):  # type: ignore[misc]
    """Lexer of mtpp specs, made of the patterns of the TextMate grammar."""

    name = "mtpp"
    aliases: ClassVar[list[str]] = ["mtpp"]
    filenames: ClassVar[list[str]] = ["*.mtpp"]
    mimetypes: ClassVar[list[str]] = ["text/x-mtpp"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield offset, token and text of each piece of a text; the pieces together are the text."""
        return _pieces(text, 0, len(text), _patterns(), Text)


def _pieces(
    text: str, at: int, end: int, patterns: tuple[_Pattern, ...], other: _TokenType
) -> Iterator[tuple[int, _TokenType, str]]:
    """Yield the pieces of a part of a text; what no pattern matches is white space, or else *other*."""
    unmatched = at
    while at < end:
        matches = ((pattern, match) for pattern in patterns if (match := pattern.match.match(text, at, end)))
        pattern, match = next(matches, (None, None))
        if pattern is None or match is None:
            at += 1
            continue
        yield from _rest(text, unmatched, at, other)
        yield from _groups(match, pattern)
        at = unmatched = match.end()
    yield from _rest(text, unmatched, end, other)


def _rest(text: str, begin: int, end: int, other: _TokenType) -> Iterator[tuple[int, _TokenType, str]]:
    """Yield what no pattern matches as one piece, if there is any."""
    if begin < end:
        yield begin, Whitespace if text[begin:end].isspace() else other, text[begin:end]


def _groups(match: re.Match[str], pattern: _Pattern) -> Iterator[tuple[int, _TokenType, str]]:
    """Yield the pieces of one match: those of its groups, and what is between them."""
    if not match.re.groups:
        kind = pattern.groups[0]
        yield from (
            _pieces(match.string, match.start(), match.end(), pattern.inside, kind)
            if pattern.inside
            else [(match.start(), kind, match[0])]
        )
        return
    at = match.start()
    for number, kind in enumerate(pattern.groups, start=1):
        begin, stop = match.span(number)
        if begin > at:
            yield at, Whitespace, match.string[at:begin]
        yield begin, kind, match.string[begin:stop]
        at = stop
    if at < match.end():
        yield at, Whitespace, match.string[at : match.end()]


@cache
def _patterns() -> tuple[_Pattern, ...]:
    grammar = json.loads(files("mtpp_dsl.language.words").joinpath("mtpp.tmLanguage.json").read_text("utf-8"))
    return tuple(_pattern(rule) for rule in grammar["patterns"])


def _pattern(rule: Mapping[str, Any]) -> _Pattern:
    captures = rule.get("captures", {})
    inside = tuple(_pattern(part) for part in captures.get("0", {}).get("patterns", ()))
    names = [rule["name"]] if "name" in rule else [captures[str(i + 1)]["name"] for i in range(len(captures))]
    return _Pattern(re.compile(rule["match"], re.MULTILINE), tuple(map(_token, names)), inside)


def _token(scope: str) -> _TokenType:
    parts = scope.split(".")
    return next(TOKENS[start] for n in range(len(parts), 0, -1) if (start := ".".join(parts[:n])) in TOKENS)
