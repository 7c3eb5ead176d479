"""The words of a text before a place, back to the beginning of its statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mtpp_dsl.language.syntax.keywords import STATEMENTS
from mtpp_dsl.language.syntax.lexing import Lexeme, lexemes

MAX_LOOKED = 4_000_000
"""Characters before the place among which the beginning of its statement is looked for."""

_FAR = 20_000
"""Characters before the place that are looked at where no statement begins in the first column."""

_LONG, _LAST = 4_000, 1_000
"""Characters of a graph from which on its first items are passed over, and how many before the place are not."""

_HOLDS = re.compile(r"(?:graph|block\s+[A-Za-z_]\w*\s*(?:\([^()]*\))?)\s*\{")
_ITEM_LINE = re.compile(r"[ \t]+(?:node|edge|use|assert|input|output)\b")

_BEGINS = re.compile(rf"^(?:{'|'.join(STATEMENTS)})\b", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class TextMark:
    """A word, a string, a number or a sign, where it stands, and whether that is the first column."""

    text: str
    offset: int
    begins_line: bool
    first: bool = False

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.offset + len(self.text)


def marks_before(text: str, offset: int) -> tuple[list[TextMark], bool, str | None, str]:
    """Return the marks before an offset, whether it is in a comment, and the beginning of a string or a word there."""
    begin = _begin(text, offset)
    marks: list[TextMark] = []
    for word in _words(text, begin, offset):
        at = word.offset
        if word.kind == "COMMENT":
            if word.stop == offset:
                return marks, True, None, ""
            continue
        if word.text == '"' and "\n" not in text[at:offset]:
            return marks, False, text[at + 1 : offset], ""
        if word.stop == offset and _WORD.match(word.text):
            return marks, False, None, word.text
        marks.append(TextMark(word.text, at, word.begins_line, at == 0 or text[at - 1] == "\n"))
    return marks, False, None, ""


def _begin(text: str, offset: int) -> int:
    """Return where a statement in the first column begins before an offset; a line near by where that is far."""
    least = max(0, offset - MAX_LOOKED)
    line = text.rfind("\n", 0, offset) + 1
    while line > least:
        if _BEGINS.match(text, line) and line + 1 < offset and not text[line:offset].isidentifier():
            return line
        line = text.rfind("\n", 0, line - 1) + 1
    return line if offset - line < _FAR else text.find("\n", offset - _FAR) + 1


def _words(text: str, begin: int, offset: int) -> Iterator[Lexeme]:
    """Yield the words from *begin* to *offset*; of a long graph or block its head, and those of the last items."""
    head = _HOLDS.match(text, begin)
    if head is None or offset - begin < _LONG:
        yield from lexemes(text, begin, offset)
        return
    line = text.rfind("\n", 0, offset) + 1
    while line > head.end() and (offset - line < _LAST or not _ITEM_LINE.match(text, line)):
        line = text.rfind("\n", 0, line - 1) + 1
    yield from lexemes(text, begin, head.end())
    yield from lexemes(text, max(line, head.end()), offset)
