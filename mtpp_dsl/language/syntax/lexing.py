"""The lexer: the words and marks of a text, made from the grammar's terminals.

The parser's loop asks for what may come in its state (``tables.py``). Whoever looks at words without a parser, such as
the formatter, messages about broken text, completion and colours, takes them from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from mtpp_dsl.language.syntax.grammar_data import grammar_data

_NAMED = ("WHITESPACE", "COMMENT", "STRING", "NUMBER", "UNIT", "NAME")
_SAME_LINE = r"[ \t\f\r]*+"


class Lexeme(NamedTuple):
    """A word or a mark of a text.

    Attributes:
        text: as it is written.
        kind: "NAME" for names and keywords, "NUMBER", "UNIT" for what stands behind a number on its line, "STRING",
            "COMMENT", and "MARK" for anything else, such as "->" or a character that is not of the language.
        offset: where it begins.
        begins_line: whether nothing but remarks stands before it on its line.
    """

    text: str
    kind: str
    offset: int
    begins_line: bool

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.offset + len(self.text)


def lexemes(text: str, begin: int = 0, end: int | None = None) -> Iterator[Lexeme]:
    """Yield the words and marks of a text, or of a part of it; of a string that is not closed, its quotation mark."""
    pattern, keywords = _pattern()
    fresh = begin == 0 or text[begin - 1] == "\n"
    for match in pattern.finditer(text, begin, len(text) if end is None else end):
        kind = match.lastgroup or ""
        if kind == "WHITESPACE":
            fresh = fresh or "\n" in match[0]
            continue
        if kind == "UNIT":
            yield Lexeme(match["NUMBER"], "NUMBER", match.start(), fresh)
            fresh = False
            if match.start("UNIT") > match.end("NUMBER") and match["UNIT"] in keywords:
                kind = "NAME"
            yield Lexeme(match["UNIT"], kind, match.start("UNIT"), False)
            continue
        yield Lexeme(match[0], kind, match.start(), fresh)
        fresh = fresh and kind == "COMMENT"


def words(text: str, begin: int, end: int) -> Iterator[Lexeme]:
    """Yield words, brackets and other marks; no strings, no comments."""
    return (word for word in lexemes(text, begin, end) if word.kind not in ("STRING", "COMMENT"))


def brackets(text: str, begin: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Yield the brackets of a text that stand neither in strings nor in comments."""
    for match in _remark_or(r"[()\[\]{}]").finditer(text, begin, len(text) if end is None else end):
        if match.lastgroup is not None:
            yield match


def without_remarks(text: str) -> str:
    """Return a text without its strings and comments."""
    return _remark_or("(?!)").sub("", text)


@cache
def _pattern() -> tuple[re.Pattern[str], frozenset[str]]:
    """Return the pattern of all words and marks, and the keywords."""
    terminals = _terminals()
    keywords = frozenset(value for value in terminals.values() if value.isidentifier())
    marks = [pattern for name, pattern in terminals.items() if name not in _NAMED and pattern not in keywords]
    named = {name: f"(?P<{name}>{terminals[name]})" for name in _NAMED}
    number = f"{named['NUMBER']}(?:{_SAME_LINE}{named['UNIT']})?"
    choices = [named["WHITESPACE"], named["COMMENT"], named["STRING"], number, named["NAME"]]
    return re.compile("|".join([*choices, f"(?P<MARK>{'|'.join([*marks, '.'])})"])), keywords


def _terminals() -> dict[str, str]:
    """Return the regular expressions of the grammar's terminals by their names, those of longer words first."""
    ordered = sorted(grammar_data().terminals, key=lambda terminal: -terminal.width)
    return {terminal.name: terminal.pattern for terminal in ordered}


@cache
def _remark_or(pattern: str) -> re.Pattern[str]:
    """Return a pattern of strings, comments and, in a named group, something else."""
    terminals = _terminals()
    return re.compile(f"{terminals['STRING']}|{terminals['COMMENT']}|(?P<other>{pattern})")
