"""Places that move with their text while it is edited around them."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.text.source import Source, Span

__all__ = ["MovingSpan", "TextAnchor"]


class TextAnchor:
    """Where a piece of text begins now.

    Attributes:
        source: the text as it is now.
        offset: of the piece in it.
    """

    __slots__ = ("offset", "source")

    def __init__(self, source: Source, offset: int) -> None:
        self.source, self.offset = source, offset


class MovingSpan(Span):
    """A span of a piece, which is where its anchor has it.

    Args:
        anchor: of the piece.
        first: offset in the piece.
        last: offset in the piece, of the end.
    """

    def __init__(self, anchor: TextAnchor, first: int, last: int) -> None:
        self.__dict__.update(anchor=anchor, first=first, last=last)

    @property
    def source(self) -> Source:
        """The text as it is now."""
        anchor: TextAnchor = self.__dict__["anchor"]
        return anchor.source

    @property
    def start(self) -> int:
        """Where it begins now."""
        found: int = self.__dict__["anchor"].offset + self.__dict__["first"]
        return found

    @property
    def stop(self) -> int:
        """Where it ends now."""
        found: int = self.__dict__["anchor"].offset + self.__dict__["last"]
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and (self.source, self.start, self.stop) == (
            other.source,
            other.start,
            other.stop,
        )

    def __hash__(self) -> int:
        return hash((self.source, self.start, self.stop))

    def __reduce__(self) -> tuple[Any, ...]:
        return Span, (self.source, self.start, self.stop)
