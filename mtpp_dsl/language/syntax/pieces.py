"""Where statements and items begin in a text that does not parse."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.grammar import MAX_WORDS, run
from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, STATEMENTS
from mtpp_dsl.language.syntax.lexing import Lexeme, words
from mtpp_dsl.language.syntax.tables import Failure, Token

OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")
_OFTEN_NAMES = (
    "time",
    "times",
    "device",
    "type",
    "target",
    "graph",
    "link",
    "import",
    "block",
    "use",
    "assert",
    "scenario",
    "def",
    "phase",
)
"""Keywords that may be a name or a label within a line."""
_INNER = ("for", "if", "and", "or", "not", "in", "then", "else", "on", "at", "by", "to", "from", "as")
MAX_RECOVERED = 300_000
"""Words behind the first error among which further ones are looked for."""
_GUESSED = 2_000
"""Words that begin a line that are held against the words that begin a statement, where a text does not parse."""


class ParsedPiece(NamedTuple):
    """What a piece parses to, and what was noted as wrong in it."""

    value: Any
    wrong: list[Diagnostic]


class Parsed:
    """The pieces of a source, up to an offset, that have been parsed, each once."""

    def __init__(self, source: Source, end: int | None = None) -> None:
        self.source = source
        self.end = len(source.text) if end is None else end
        self._known: dict[tuple[str, int, int], ParsedPiece | Failure] = {}
        self._words: dict[int, list[Lexeme]] = {}
        self._pieces: dict[int, list[tuple[int, int]]] = {}

    def words(self, begin: int) -> list[Lexeme]:
        """Return the words from an offset on, :data:`MAX_RECOVERED` of them at most."""
        if begin not in self._words:
            self._words[begin] = list(islice(words(self.source.text, begin, self.end), MAX_RECOVERED))
        return self._words[begin]

    def pieces(self, begin: int) -> list[tuple[int, int]]:
        """Return the offsets of the statements among these words: see :func:`pieces`."""
        if begin not in self._pieces:
            every = self.words(begin)
            end = self.end if len(every) < MAX_RECOVERED else every[-1].offset
            self._pieces[begin] = list(pieces(self.source, every, begin, end))
        return self._pieces[begin]

    def run(self, rule: str, begin: int, end: int) -> ParsedPiece | Failure:
        """Parse a piece by a rule, unless that was done before; return its value, or why there is none."""
        key = rule, begin, end
        if key not in self._known:
            wrong: list[Diagnostic] = []
            try:
                self._known[key] = ParsedPiece(run(self.source, rule, begin, end, MAX_WORDS, wrong)[0], wrong)
            except Failure as failure:
                self._known[key] = failure
            except OverflowError:
                self._known[key] = ParsedPiece((), wrong)
        return self._known[key]


def pieces(source: Source, every: Sequence[Lexeme], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the statements from *begin* to *end*, where *every* has the words, as far as can be told.

    A statement begins at a keyword outside of all brackets that begins a line, or can be nothing else; behind a block;
    and at a keyword in the first column, whatever is open.
    """
    depth, before = 0, ""
    starts = [begin]
    known: dict[str, bool] = {}
    for word in every:
        first_column = word.offset == 0 or source.text[word.offset - 1] == "\n"
        keyword = word.text in STATEMENTS or (word.begins_line and _is_near(word.text, known))
        within_line = word.text not in _OFTEN_NAMES and word.text in STATEMENTS and before not in (".", "constraint")
        joins = word.text in (*_INNER, *OPENING, *CLOSING) or word.text[0] in ",.-<"
        after_block = depth == 0 and before == "}" and not joins
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


def beginnings_of_items(inside: Sequence[Lexeme]) -> list[int]:
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


def items_before(failure: Failure | None) -> list[tree.Item]:
    """Return the items of a graph or block that are complete before the one in which it fails."""
    made = failure.made if failure is not None else ()
    for brace, items in itertools.pairwise(made):
        if isinstance(brace, Token) and brace.text == "{" and isinstance(items, list):
            return [item for item in items if isinstance(item, tree.Item)]
    return []


def _begins_item(before: Lexeme, word: Lexeme) -> bool:
    """Return whether a word of a graph, outside of inner brackets, may begin an item: *before* must end one."""
    if before.text == "{":
        return True
    if before.text in (*BEGINS_ITEM, *_INNER) or word.text in _INNER or not word.text.isidentifier():
        return False
    ends = before.kind in ("NAME", "NUMBER", "UNIT") or before.text in CLOSING
    return ends and (word.text in BEGINS_ITEM or word.begins_line)
