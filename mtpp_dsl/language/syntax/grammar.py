"""The grammar, and the tables by which texts are parsed."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

from lark import Lark

from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax.build import TreeBuilder
from mtpp_dsl.language.syntax.tables import Tables

MAX_WORDS = 1_000_000
"""Words and marks of a spec with all that it includes; one that has more is refused."""

_STARTS = ("start", "statement", "item", "block_item", "expression")


@cache
def grammar() -> Lark:
    """Return the grammar of the language, as Lark reads it."""
    return Lark.open_from_package(
        "mtpp_dsl.grammars",
        "mtpp.lark",
        parser="lalr",
        start=list(_STARTS),
        maybe_placeholders=True,
        cache=_cache() or False,
    )


@cache
def _tables() -> Tables:
    return Tables(grammar())


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
    parsed = _tables().run(source.text, start, begin, end, builder, most)
    if wrong is not None:
        wrong += builder.diagnostics()
    return parsed
