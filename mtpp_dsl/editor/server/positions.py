"""Lines and columns as the protocol counts them, and offsets as Python does.

The protocol ends a line at CR LF, LF or CR and at nothing else, and counts columns in units of UTF-16 unless client
and server agree on something else.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname

_END = re.compile("\r\n?|\n")
_HALVES = re.compile("[\ud800-\udfff]")

ENCODINGS: Final[dict[str, Callable[[str], int]]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}
"""How many units of an encoding a text has."""


class Lines:
    r"""The lines of a text.

    >>> lines = Lines("a\r\nb𝛼c")
    >>> lines.position(5), lines.offset(1, 3)
    ((1, 3), 5)

    Args:
        text: any text.
        encoding: of :data:`ENCODINGS`, in whose units columns are counted.
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text, self.encoding = text, encoding
        self.starts = [0, *(match.end() for match in _END.finditer(text))]
        self._units = ENCODINGS[encoding]
        self._narrow = encoding == "utf-32" or text.isascii()

    def __len__(self) -> int:
        return len(self.starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column, both from 0, of an offset; one beyond the text is its end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        return line, offset - start if self._narrow else self._units(self.text[start:offset])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and a column; a column beyond the line is its end, one in a character its start.

        A line beyond the text is the end of the text.
        """
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start, stop = self.starts[line], self.end(line)
        column = max(0, column)
        if self._narrow:
            return min(start + column, stop)
        text = self.text[start:stop]
        if text.isascii():
            return start + min(column, len(text))
        for number, character in enumerate(text):
            column -= self._units(character)
            if column < 0:
                return start + number
        return stop

    def end(self, line: int) -> int:
        """Return the offset where a line ends, before its line end."""
        if line + 1 >= len(self.starts):
            return len(self.text)
        stop = self.starts[line + 1] - 1
        return stop - (self.text[stop - 1 : stop + 1] == "\r\n")


def plain(text: str) -> str:
    r"""Return a text as the language reads it, which has the same lines and columns.

    Line ends become newlines, as in a file that is read; a byte order mark becomes a space, and half of a pair of
    surrogates, which can be in no file, a replacement character.

    >>> plain("\ufeffa\r\nb\rc\ud800")
    ' a\nb\nc�'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


# URIs of files, as editors write them, and paths.


def path_of(uri: str) -> Path | None:
    """Return the path of a ``file:`` URI; None of any other, such as ``untitled:Untitled-1``.

    >>> path_of("file:///a%20b/%C3%A9.mtpp").as_posix()
    '/a b/é.mtpp'
    """
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or "\0" in (name := os.fsdecode(unquote_to_bytes(parts.path))) or not name:
            return None
        if os.name == "nt":
            name = url2pathname(parts.path)
        return Path(f"//{parts.netloc}{name}" if parts.netloc not in ("", "localhost") else name)
    except ValueError:
        return None


def uri_of(path: Path) -> str:
    """Return the URI of a file, whatever its name.

    >>> uri_of(Path("/a b/é.mtpp"))
    'file:///a%20b/%C3%A9.mtpp'
    """
    return Path(os.path.normpath(path.absolute())).as_uri()
