"""The blocks of lines in which a text of a spec is shown, and the addresses of its lines on the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.show.page.markup import Child, tag
from mtpp_dsl.show.page.view import Mark, SpecText

FOLDED = 24
"""A statement, or what stands between two, of more lines is folded."""
MAX_LINES = 20_000
"""Lines of the spec, and of all that it includes, that are shown."""


@dataclass(frozen=True)
class SpecBlock:
    """Lines of the spec.

    Attributes:
        first, last: numbers of the lines.
        marks: what they are about.
        parts: the blocks that they consist of, where some of them are about something by themselves.
    """

    first: int
    last: int
    marks: tuple[Mark, ...] = ()
    parts: tuple[SpecBlock, ...] = ()


def blocks(marks: Sequence[Mark], first: int, last: int) -> Iterator[SpecBlock]:
    """Yield the blocks of which the lines from *first* to *last* consist, with what is said of each."""
    at = first
    left = sorted(marks, key=lambda mark: (mark.first, -mark.last))
    while left:
        begin, end = max(left[0].first, at), min(left[0].last, last)
        own = [mark for mark in left if (mark.first, mark.last) == (left[0].first, left[0].last)]
        inner = [mark for mark in left[len(own) :] if mark.last <= left[0].last]
        left = left[len(own) + len(inner) :]
        if end < begin:
            continue
        if begin > at:
            yield SpecBlock(at, begin - 1)
        yield _whole(begin, end, tuple(own), tuple(blocks(inner, begin, end)) if inner else ())
        at = end + 1
    if at <= last:
        yield SpecBlock(at, last)


def _whole(first: int, last: int, marks: tuple[Mark, ...], parts: tuple[SpecBlock, ...]) -> SpecBlock:
    """Return a block of some parts; what is said of all of it stands beside its first line, unless it is folded."""
    if parts and not parts[0].marks and last - first < FOLDED:
        return SpecBlock(first, last, parts=(replace(parts[0], marks=marks), *parts[1:]))
    return SpecBlock(first, last, marks, parts)


def addresses(file: SpecText) -> Callable[[int], str | None]:
    """Return what gives the address on the page of a line of a file: of the lines with which it is shown; or None."""
    count = 0 if file.text is None else min(MAX_LINES, file.text.removesuffix("\n").count("\n") + 1)
    firsts = sorted(block.first for block in _leaves(blocks(file.marks, 1, count)))

    def address(line: int) -> str | None:
        return f"#{file.anchor}{firsts[bisect_right(firsts, line) - 1]}" if 1 <= line <= count else None

    return address


def linked(spec: SpecText | None) -> Callable[[str], Child]:
    """Return what gives words with links at places such as ``spec.mtpp:3``, to the lines of the spec on the page."""
    files = {file.name: addresses(file) for file in (() if spec is None else spec.files)}
    if not files:
        return lambda words: words
    names = "|".join(map(re.escape, sorted(files, key=len, reverse=True)))
    place = re.compile(rf"(?<![\w./-])({names}):([0-9]{{1,9}})(?![\w])")

    def links(words: str) -> Child:
        parts: list[Child] = []
        at = 0
        for match in place.finditer(words):
            address = files[match[1]](int(match[2]))
            parts += [words[at : match.start()], match[0] if address is None else tag("a", match[0], href=address)]
            at = match.end()
        return [*parts, words[at:]]

    return links


def _leaves(parts: Iterable[SpecBlock]) -> Iterator[SpecBlock]:
    for part in parts:
        yield from _leaves(part.parts) if part.parts else (part,)
