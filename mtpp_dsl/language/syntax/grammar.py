"""The grammar's tables, and the words of a text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from lark import Lark

from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax.build import TreeBuilder
from mtpp_dsl.language.syntax.tables import Tables

__all__ = ["LEX", "MAX_WORDS", "TextWord", "run", "words"]

MAX_WORDS = 1_000_000
"""Words and marks of a spec with all that it includes; one that has more is refused."""

LEX = re.compile(r'"(?:\\.|[^"\\\n])*+"|#[^\n]*+|[A-Za-z_][A-Za-z0-9_]*+|[^\s]')
"""A string, a comment, a name, or any other character."""

_STARTS = ("start", "statement", "item", "block_item", "expression")


class TextWord(NamedTuple):
    """A word or a mark of a text, and where it stands."""

    text: str
    offset: int
    begins_line: bool


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


def run(
    source: Source, start: str, begin: int, end: int, most: int = MAX_WORDS, wrong: list[Diagnostic] | None = None
) -> tuple[object, int]:
    """Parse a part of a source by rule *start*, up to *most* words; return its tree and the number of words.

    Errors that the grammar lets pass, such as a number that is too large, are added to *wrong*.
    """
    builder = TreeBuilder(source)
    found = _tables().run(source.text, start, begin, end, builder, most)
    if wrong is not None:
        wrong += builder.diagnostics()
    return found


def words(source: Source, begin: int, end: int) -> Iterator[TextWord]:
    """Yield words, brackets and other marks with their offsets; no strings, no comments."""
    before = begin
    fresh = begin == 0 or source.text[begin - 1] == "\n"
    for match in LEX.finditer(source.text, begin, end):
        text, offset = match[0], match.start()
        fresh = fresh or "\n" in source.text[before:offset]
        if text[0] not in '"#' or text == '"':
            yield TextWord(text, offset, fresh)
        if text[0] != "#":
            fresh = False
        before = match.end()
