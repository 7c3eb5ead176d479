"""Parse parts of a text by the tables of the grammar."""

from __future__ import annotations

from functools import cache

from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax.build import TreeBuilder
from mtpp_dsl.language.syntax.grammar_data import grammar_data
from mtpp_dsl.language.syntax.tables import Tables

MAX_WORDS = 1_000_000
"""Words and marks of a spec with all that it includes; one that has more is refused."""


@cache
def _tables() -> Tables:
    return Tables(grammar_data())


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
