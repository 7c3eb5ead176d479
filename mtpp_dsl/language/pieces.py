"""Where statements and items begin in a text that does not parse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from mtpp_dsl.language.grammar import Word
from mtpp_dsl.language.syntax_errors import ITEMS, STATEMENTS
from mtpp_dsl.text.source import Source

__all__ = ["CLOSING", "OPENING", "beginnings_of_items", "meant", "pieces"]

OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")
_OFTEN_NAMES = ("time", "times", "device", "graph", "link", "import", "block", "use", "assert", "scenario", "def")
"""Keywords that may be a name or a label within a line."""
_INNER = ("for", "if", "and", "or", "not", "in", "then", "else", "on", "at", "by", "to", "from", "as")
_GUESSED = 2_000
"""Words that begin a line that are held against the words that begin a statement, where a text does not parse."""


def pieces(source: Source, found: Sequence[Word], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the statements from *begin* to *end*, where *found* are the words, as far as can be told.

    A statement begins at a keyword outside of all brackets that begins a line, or can be nothing else; behind a block;
    and at a keyword in the first column, whatever is open.
    """
    depth, before = 0, ""
    starts = [begin]
    known: dict[str, bool] = {}
    for word in found:
        first_column = word.offset == 0 or source.text[word.offset - 1] == "\n"
        keyword = word.text in STATEMENTS or (word.begins_line and _is_near(word.text, known))
        within_line = word.text not in _OFTEN_NAMES and word.text in STATEMENTS and before not in (".", "constraint")
        after_block = (
            depth == 0 and before == "}" and word.text not in (*_INNER, *OPENING, *CLOSING, ",", ".", "-", "<")
        )
        if after_block or (keyword and (first_column or (depth == 0 and (word.begins_line or within_line)))):
            depth = 0
            starts.append(word.offset)
        elif word.text in OPENING:
            depth += 1
        elif word.text in CLOSING:
            depth = max(0, depth - 1)
        before = word.text
    starts = list(dict.fromkeys(starts))
    ends = [*starts[1:], end]
    yield from ((begin, stop) for begin, stop in zip(starts, ends, strict=True) if source.text[begin:stop].strip())


def meant(word: str) -> str:
    """Return the keyword that a statement begins with, or is meant to begin with; "" for none."""
    if word in STATEMENTS:
        return word
    near = get_close_matches(word, STATEMENTS, n=1, cutoff=0.8) if 3 <= len(word) <= 20 else []
    return near[0] if near else ""


def _is_near(word: str, known: dict[str, bool]) -> bool:
    """Return whether a word is nearly a keyword; *known* holds earlier answers."""
    if word not in known:
        if len(known) >= _GUESSED:
            return False
        known[word] = bool(meant(word))
    return known[word]


def beginnings_of_items(inside: Sequence[Word]) -> list[int]:
    """Return which words of a graph or block begin its items; the first is that of the statement."""
    depth, starts = 0, []
    for number, word in enumerate(inside):
        if depth == 1 and word.text != "}" and number and _begins_item(inside[number - 1], word):
            starts.append(number)
        depth += (word.text in OPENING) - (word.text in CLOSING)
        if depth > 1 and word.begins_line and word.text in ("node", "edge", "use"):  # a bracket was not closed
            depth = 1
            starts.append(number)
    return starts


def _begins_item(before: Word, word: Word) -> bool:
    """Return whether a word of a graph, outside of inner brackets, may begin an item: *before* must end one."""
    if before.text == "{":
        return True
    if before.text in (*ITEMS, *_INNER) or word.text in _INNER or not word.text.isidentifier():
        return False
    ends = before.text.isidentifier() or before.text.isdigit() or before.text in (*CLOSING, "%")
    return ends and (word.text in ITEMS or word.begins_line)
