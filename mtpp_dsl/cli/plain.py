"""Output where not every character can be written: plain ones in their place, never an error."""

from __future__ import annotations

import codecs
import sys
from typing import TextIO

__all__ = ["be_plain", "encodes"]

_NAME = "mtpp-plain"
_PLAIN = {
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", " "),
    "▓": "%",
    "▒": "=",
    "░": ":",
    "▚": "&",
    "·": ".",
    "×": "x",
    "…": "...",
    "–": "-",
    "—": "-",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "µ": "u",
    "•": "*",
    "❱": ">",
    "\N{NO-BREAK SPACE}": " ",
    **dict.fromkeys([chr(code) for code in range(0x2400, 0x2422)] + ["\N{REPLACEMENT CHARACTER}"], "?"),
    **dict.fromkeys("─━═╌╍", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╞╡╪", "+"),
}
"""One character for one, where it can be: columns stay columns."""


def be_plain() -> None:
    """Let stdout and stderr write whatever they are given, in plain characters where their encoding has no others."""
    codecs.register_error(_NAME, _replaced)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_NAME)


def encodes(stream: TextIO, text: str) -> bool:
    """Return whether a stream can write *text* as it is."""
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return what stands in place of the characters that cannot be written: those without a like are escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or _escaped(char) for char in lost), error.end


def _escaped(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii")
