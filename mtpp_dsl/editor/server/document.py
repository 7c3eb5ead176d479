"""A text that is open in an editor."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mtpp_dsl.editor.server.positions import Lines, plain
from mtpp_dsl.editor.server.uris import path_of

__all__ = ["Document", "Replacement"]


@dataclass(frozen=True)
class Replacement:
    """A change of a text: from a line and column up to another one; None for the whole text."""

    text: str
    range: tuple[tuple[int, int], tuple[int, int]] | None = None


@dataclass
class Document:
    """A text that is open in an editor.

    Attributes:
        uri: as the editor writes it.
        text: as the editor has it, with line ends of any kind.
        version: that the editor counts.
        encoding: in whose units columns are counted.
    """

    uri: str
    text: str
    version: int = 0
    encoding: str = "utf-16"
    _lines: Lines | None = field(default=None, repr=False)

    @property
    def path(self) -> Path | None:
        """The path of its file; None where it is in none."""
        return path_of(self.uri)

    @property
    def lines(self) -> Lines:
        """The lines of the text as the editor has it."""
        if self._lines is None or self._lines.text is not self.text:
            self._lines = Lines(self.text, self.encoding)
        return self._lines

    @property
    def plain(self) -> str:
        """The text as the language reads it."""
        return plain(self.text)

    def change(self, change: Replacement, version: int | None = None) -> None:
        """Make a change; a place that is not in the text is the nearest one that is."""
        if change.range is None:
            self.text = change.text
        else:
            (line, column), (last, end) = change.range
            start = self.lines.offset(line, column)
            stop = max(start, self.lines.offset(last, end))
            self.text = self.text[:start] + change.text + self.text[stop:]
        if version is not None:
            self.version = version
