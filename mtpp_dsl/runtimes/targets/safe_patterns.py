"""Regular expressions of foreign files, searched for in a time that is bounded whatever they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from mtpp_dsl.core.errors import UsageError

Ends: TypeAlias = Sequence[int]
"""For each place of a text the places where a match from there may end, as the bits of a number."""
Piece: TypeAlias = Callable[[str], Ends]
MOST_CHARACTERS, MOST_DEPTH, MOST_REPEATS = 2000, 20, 8
"""Characters of a pattern, brackets within brackets, and pieces that are repeated, at most."""
_REPEATED = re.compile(r"[*+?]|\{(\d{1,3})(?:(,)(\d{0,3}))?\}")
_CHARACTER = re.compile(r"\\[^A-Za-z0-9]|\\[dDwW]|\[\^?\]?(?:[^\]\\]|\\.)*\]|[^\\*+?{})\]\[(|^$]")


def searcher(pattern: str) -> Callable[[str], bool]:
    r"""Return what says whether *pattern* is somewhere in a text.

    It knows what patterns of tensors' names are made of: characters, ``.``, ``\.``, ``\d``, ``[0-9]``, brackets,
    ``|``, ``*``, ``+``, ``?``, ``{2,3}``, ``^`` and ``$``. Each piece of a pattern is looked at once for each text: it
    takes every place to those where a match from there may end.

    Raises:
        UsageError: the pattern is damaged, too long, or has something else in it.

    >>> finds = searcher(r"blk\.(8|9)\.ffn_.*_exps\.")
    >>> finds("blk.8.ffn_up_exps.weight"), finds("blk.88.ffn_up_exps.weight")
    (True, False)
    """
    if len(pattern) > MOST_CHARACTERS:
        raise UsageError(f"the pattern {pattern[:60]!r}… has more than {MOST_CHARACTERS} characters")
    piece = _Parser(pattern).whole()
    return lambda text: any(piece(text))


class _Parser:
    """Reads one pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth, self.repeats = pattern, 0, 0, 0

    def whole(self) -> Piece:
        """Read all of it."""
        piece = self.choice()
        if self.at < len(self.pattern):
            raise self.unread()
        return piece

    def unread(self) -> UsageError:
        """Return the error for what is damaged, or not known."""
        return UsageError(f"the pattern {self.pattern[:60]!r} cannot be read from character {self.at + 1} on")

    def next_is(self, marks: str) -> bool:
        """Return whether the next character is one of *marks*."""
        return self.at < len(self.pattern) and self.pattern[self.at] in marks

    def choice(self) -> Piece:
        """Read alternatives, which ``|`` parts."""
        pieces = [self.sequence()]
        while self.next_is("|"):
            self.at += 1
            pieces.append(self.sequence())
        return lambda text: [_union(ends) for ends in zip(*(piece(text) for piece in pieces), strict=True)]

    def sequence(self) -> Piece:
        """Read pieces that follow each other."""
        pieces: list[Piece] = []
        while self.at < len(self.pattern) and not self.next_is("|)"):
            pieces.append(self.repeated())

        def run(text: str) -> Ends:
            ends: Ends = _nothing(text)
            for piece in pieces:
                ends = _then(ends, piece(text))
            return ends

        return run

    def repeated(self) -> Piece:
        """Read a piece, and how often it comes; whether as often or as seldom as possible changes no place."""
        piece = self.single()
        counts = _REPEATED.match(self.pattern, self.at)
        if counts is None:
            return piece
        self.at, self.repeats = counts.end(), self.repeats + 1
        if self.next_is("?"):
            self.at += 1
        if self.next_is("*+?{") or self.repeats > MOST_REPEATS:
            raise self.unread()
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(counts[0], (0, None))
        if counts[1] is not None:
            low = int(counts[1])
            high = int(counts[3]) if counts[3] else (None if counts[2] else low)
        if high is not None and high < low:
            raise self.unread()
        return lambda text: _times(piece(text), low, high)

    def single(self) -> Piece:
        """Read a character, a class of them, a place, or what stands in brackets."""
        if self.next_is("("):
            return self.group()
        if self.next_is("^$"):
            first = self.next_is("^")
            self.at += 1
            return lambda text: [1 << i if i == (0 if first else len(text)) else 0 for i in range(len(text) + 1)]
        character = _CHARACTER.match(self.pattern, self.at)
        if character is None:
            raise self.unread()
        try:
            one = re.compile(character[0], re.ASCII)
        except re.error:
            raise self.unread() from None
        self.at = character.end()
        return lambda text: [*(2 << i if one.fullmatch(mark) else 0 for i, mark in enumerate(text)), 0]

    def group(self) -> Piece:
        """Read what stands in brackets."""
        self.at += 3 if self.pattern.startswith("(?:", self.at) else 1
        self.depth += 1
        if self.depth > MOST_DEPTH or self.next_is("?"):
            raise self.unread()
        piece = self.choice()
        if not self.next_is(")"):
            raise self.unread()
        self.at += 1
        self.depth -= 1
        return piece


def _nothing(text: str) -> Ends:
    return [1 << i for i in range(len(text) + 1)]


def _union(sets: Sequence[int]) -> int:
    union = 0
    for one in sets:
        union |= one
    return union


def _then(first: Ends, second: Ends) -> list[int]:
    """Return where a match of *first* and then of *second* may end."""
    ends = []
    for places in first:
        reached = 0
        while places:
            lowest = places & -places
            reached |= second[lowest.bit_length() - 1]
            places ^= lowest
        ends.append(reached)
    return ends


def _times(ends: Ends, low: int, high: int | None) -> Ends:
    """Return where *low* to *high* matches may end, one after the other; None: as many as there are."""
    reached: Ends = [1 << i for i in range(len(ends))]
    for _ in range(low):
        before, reached = reached, _then(reached, ends)
        if reached == before:
            break
    count = low
    while high is None or count < high:
        more = [one | other for one, other in zip(reached, _then(reached, ends), strict=True)]
        if more == reached:
            break
        reached, count = more, count + 1
    return reached
