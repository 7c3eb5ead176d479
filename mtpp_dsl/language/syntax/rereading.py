"""Parsing a text anew after an edit: the statements that have not changed are those of before, at their new places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from mtpp_dsl.core.text.source import MovingSpan, Source, TextAnchor
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.grammar import MAX_WORDS
from mtpp_dsl.language.syntax.lexing import words
from mtpp_dsl.language.syntax.partial import Partial, parse_partial
from mtpp_dsl.language.syntax.pieces import pieces

MAX_CHARACTERS = 500_000
"""Longer texts, which may have too many words, are always parsed whole."""
LONGEST_WORD = 14
"""Characters of the longest word that begins a statement or an item, and of what ends it."""
FEW = 20
"""Items of a graph that are parsed with it, whatever has changed."""
_BEFORE, _BEHIND = "graph {\n", "\n}"


@dataclass
class _Piece:
    """Statements that begin on one line, and the text up to the next ones.

    Attributes:
        anchors: of the piece, and of the items of a graph.
        statements: with spans that move.
        alone: whether the piece is one for those who look for statements in a broken text; None if not known yet.
    """

    anchors: list[TextAnchor]
    statements: tuple[tree.Statement, ...]
    alone: bool | None = None

    @property
    def start(self) -> int:
        return self.anchors[0].offset

    def move(self, source: Source, shift: int) -> None:
        """Have all spans of the piece be in *source*, later by *shift*."""
        for anchor in self.anchors:
            anchor.source = source
            anchor.offset += shift


class ParsedBefore:
    """What one text said when it was parsed last.

    :meth:`parse` gives what :func:`~mtpp_dsl.language.syntax.partial.parse_partial` does, apart from the number of
    words. The spans of statements that have not changed are in the text that was parsed last, whoever holds them.
    """

    def __init__(self) -> None:
        self.source: Source | None = None
        self._pieces: list[_Piece] = []
        self._dirty: tuple[int, int] | None = None

    def parse(self, source: Source, most: int = MAX_WORDS) -> Partial:
        """Return the statements of a text that parse, and what is wrong with the others; *most* words are read."""
        if len(source.text) > min(MAX_CHARACTERS, most):
            self.source, self._pieces, self._dirty = None, [], None
            return parse_partial(source, most)
        partial = None if self.source is None else self._edited(self.source.text, source)
        if partial is None:
            partial = parse_partial(source, most)
            self._pieces = [] if partial.diagnostics else _cut(partial.statements, source)
            self._dirty = (0, len(source.text)) if partial.diagnostics else None
            if not partial.diagnostics:
                partial = Partial(tuple(self._statements()), words=partial.words)
        self.source = source
        return partial

    def _statements(self) -> Iterator[tree.Statement]:
        for piece in self._pieces:
            yield from piece.statements

    def _edited(self, old: str, source: Source) -> Partial | None:
        """Return what the text says, from what is known of the *old* one; None where that cannot be told."""
        new = source.text
        first, last = _changed(old, new)
        shift = len(new) - len(old)
        if self._dirty is None:
            inner = self._within_graph(old, source, first, last, shift)
            if inner is not None:
                return inner
        else:
            first, last = min(first, self._dirty[0] + LONGEST_WORD), max(last, self._dirty[1])
        starts = [piece.start for piece in self._pieces]
        marks = [*starts, *([] if self._dirty is None else [self._dirty[0]])]
        begin = max((mark for mark in marks if mark + LONGEST_WORD <= first), default=0)
        head = self._pieces[: bisect_left(starts, begin)]
        tail = self._pieces[_behind(starts, old, last) :]
        end = tail[0].start + shift if tail else len(new)
        part = parse_partial(source, MAX_WORDS, begin, end)
        if part.diagnostics and not all(_is_alone(piece, old) for piece in tail):
            return None
        for piece in head:
            piece.move(source, 0)
        for piece in tail:
            piece.move(source, shift)
        if part.diagnostics:
            self._pieces, self._dirty = [*head, *tail], (begin, end)
            before, after = _all(head), _all(tail)
            return Partial((*before, *part.statements, *after), part.diagnostics, part.broken)
        self._pieces, self._dirty = [*head, *_cut(part.statements, source), *tail], None
        return Partial(tuple(self._statements()))

    def _within_graph(self, old: str, source: Source, first: int, last: int, shift: int) -> Partial | None:
        """Return what the text says where the change is within the items of one graph; None where it is not."""
        starts = [piece.start for piece in self._pieces]
        number = bisect_right(starts, first) - 1
        if number < 0:
            return None
        piece = self._pieces[number]
        graph = piece.statements[0]
        if not isinstance(graph, tree.GraphBlock) or len(piece.statements) > 1 or len(graph.items) < FEW:
            return None
        items = [anchor.offset for anchor in piece.anchors[1:]]
        begin = bisect_right(items, first - LONGEST_WORD) - 1
        end = _behind(items, old, last)
        if begin < 0 or end <= begin or end >= len(items):
            return None
        text = source.text[items[begin] : items[end] + shift]
        whole = Source("", f"{_BEFORE}{text}{_BEHIND}")
        part = parse_partial(whole)
        made = part.statements[0] if len(part.statements) == 1 and not part.diagnostics else None
        if not isinstance(made, tree.GraphBlock) or made.clauses is not None or made.span.stop != len(whole.text):
            return None
        fresh = [_anchored(item, source, items[begin] - len(_BEFORE)) for item in made.items]
        piece.anchors[begin + 1 : end + 1] = fresh
        for anchor in piece.anchors[: begin + 1]:
            anchor.source = source
        for anchor in piece.anchors[begin + 1 + len(fresh) :]:
            anchor.source, anchor.offset = source, anchor.offset + shift
        span = MovingSpan(piece.anchors[0], 0, graph.span.stop - graph.span.start + shift)
        items_now = (*graph.items[:begin], *made.items, *graph.items[end:])
        piece.statements, piece.alone = (replace(graph, span=span, items=items_now),), None
        for at, other in enumerate(self._pieces):
            if at != number:
                other.move(source, shift if at > number else 0)
        return Partial(tuple(self._statements()))


def _all(parts: Iterable[_Piece]) -> Iterator[tree.Statement]:
    for piece in parts:
        yield from piece.statements


def _changed(old: str, new: str) -> tuple[int, int]:
    """Return where two texts begin to differ, and where, in the old one, they no longer do."""
    least = min(len(old), len(new))
    before = _common(least, lambda n: old[:n] == new[:n])
    behind = _common(least - before, lambda n: old[len(old) - n :] == new[len(new) - n :])
    return before, len(old) - behind


def _common(most: int, same: Any) -> int:
    """Return the largest number up to *most* for which texts are the same, by halving."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if same(middle) else (low, middle - 1)
    return low


def _behind(starts: Sequence[int], text: str, last: int) -> int:
    """Return the number of the first piece whose line begins behind an offset, and behind a line end that is there."""
    number = bisect_right(starts, last)
    while number < len(starts) and text.rfind("\n", 0, starts[number]) < last:
        number += 1
    return number


def _cut(statements: Sequence[tree.Statement], source: Source) -> list[_Piece]:
    """Return the pieces of statements that were just parsed; their spans move from now on."""
    groups: list[list[tree.Statement]] = []
    for statement in statements:
        start = statement.span.start
        fresh = not source.text[source.text.rfind("\n", 0, start) + 1 : start].strip()
        if fresh or not groups:
            groups.append([])
        groups[-1].append(statement)
    return [_piece(tuple(group), source) for group in groups]


def _piece(statements: tuple[tree.Statement, ...], source: Source) -> _Piece:
    start = statements[0].span.start
    anchors = [TextAnchor(source, start)]
    graph = statements[0]
    if len(statements) == 1 and isinstance(graph, tree.GraphBlock):
        anchors += [_anchored(item, source, 0) for item in graph.items]
    for statement in statements:
        _move(statement, anchors[0], start)
    return _Piece(anchors, statements)


def _anchored(item: tree.Item, source: Source, shift: int) -> TextAnchor:
    """Return an anchor of its own for an item of a graph, whose spans were later by *shift* when it was parsed."""
    anchor = TextAnchor(source, item.span.start + shift)
    _move(item, anchor, item.span.start)
    return anchor


def _move(node: Any, anchor: TextAnchor, base: int) -> None:
    """Have the spans of a tree that was just parsed, where *base* is the anchor's place, move with an anchor.

    Parts that move already stay as they are.
    """
    if isinstance(node, tuple):
        for part in node:
            _move(part, anchor, base)
    elif isinstance(node, tree.Tree):
        values = node.__dict__
        span = values["span"]
        if isinstance(span, MovingSpan):
            return
        values["span"] = MovingSpan(anchor, span.start - base, span.stop - base)
        kind: Any = type(node)
        for name in _parts(kind):
            _move(values[name], anchor, base)


@cache
def _parts(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "span")


def _is_alone(piece: _Piece, text: str) -> bool:
    """Return whether those who look for statements in a broken text find this piece, as one, by its first column."""
    start = piece.start
    if start and text[start - 1] != "\n":
        return False
    if piece.alone is None:
        stop = max(statement.span.stop for statement in piece.statements)
        part = text[start:stop]
        cut = list(pieces(Source("", part), list(words(part, 0, len(part))), 0, len(part)))
        piece.alone = cut == [(0, stop - start)]
    return piece.alone
