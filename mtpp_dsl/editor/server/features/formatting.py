"""The one layout of ``mtpp fmt``, as the changes of spaces and line ends that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from mtpp_dsl.core.errors import MtppError, SpecError
from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.core.text.source import Edit, Source, Span
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import parse

_GAP = re.compile(r"\s*(?=\S|\Z)")
_WORDS = re.compile(r"\S+")


def format_text(reading: TextReading) -> list[Edit]:
    """Return the changes that set the text in the one layout; none where it does not parse.

    Each replaces the space between two marks, so that an editor keeps its cursor and folds where they are.
    """
    if reading.read.diagnostics and not _parses(reading.source):
        return []
    try:
        text = format_spec(reading.source)
    except MtppError:
        return []
    return _changes(reading.source, text)


def format_lines(reading: TextReading, first: int, last: int) -> list[Edit]:
    """Return those changes of the layout that are in the lines from *first* to *last*, counted from 0.

    None where the text with them would not say the same.
    """
    lines = reading.lines()
    if first >= len(lines):
        return []
    start, stop = lines.starts[max(0, first)], lines.end(min(last, len(lines) - 1))
    edits = [edit for edit in format_text(reading) if start <= edit.span.start and edit.span.stop <= stop]
    try:
        same = parse(Source("", edited(reading.text, edits))) == parse(reading.source)
    except SpecError:
        return []
    return edits if same else []


def _parses(source: Source) -> bool:
    try:
        parse(source)
    except SpecError:
        return False
    return True


def _changes(source: Source, text: str) -> list[Edit]:
    """Return the changes that make *text* of a source: of spaces alone, or of all that differs in one piece."""
    edits = list(_of_spaces(source, text))
    if edited(source.text, edits) == text:
        return edits
    old = source.text
    start = next((at for at, (a, b) in enumerate(zip_longest(old, text)) if a != b), None)
    if start is None:
        return []
    most = min(len(old), len(text)) - start
    same = next((n for n in range(most) if old[-1 - n] != text[-1 - n]), most)
    return [Edit(Span(source, start, len(old) - same), text[start : len(text) - same])]


def _of_spaces(source: Source, text: str) -> Iterator[Edit]:
    """Yield the spaces that differ, where both texts are the same marks in the same order."""
    old = source.text
    at = to = 0
    while True:
        gap, new = _GAP.match(old, at), _GAP.match(text, to)
        if gap is None or new is None:
            return
        if gap[0] != new[0]:
            yield Edit(Span(source, gap.start(), gap.end()), new[0])
        at, to = gap.end(), new.end()
        if at == len(old) or to == len(text):
            return
        word, other = _WORDS.match(old, at), _WORDS.match(text, to)
        assert word is not None
        assert other is not None
        length = min(len(word[0]), len(other[0]))
        at, to = at + length, to + length
