"""Text that may be shown: control characters of specs, data files and paths never reach a terminal."""

from __future__ import annotations

import re

_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_UNSEEN = "\u200b\u2028\u2029\u2060-\u2065\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_HARMFUL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_UNSEEN}\ud800-\udfff]")
_NO_CHARACTER = re.compile(
    "[\ufdd0-\ufdef" + "".join(map(chr, (p << 16 | e for p in range(17) for e in (0xFFFE, 0xFFFF)))) + "]"
)


def visible(text: str) -> str:
    r"""Return *text* with one sign in place of each character that a terminal would obey or hide.

    Those are control characters except newlines and tabs, marks that turn the direction of writing, characters of no
    width, and halves of pairs of surrogates, which cannot be written. The text keeps its length, and so does what is
    aligned under it.

    >>> visible("a\x1b[31mb\u202ec\r\n")
    'a␛[31mb�c␍\n'
    """
    return text if text.isascii() and text.isprintable() else _HARMFUL.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def on_a_line(text: str) -> str:
    """Return what :func:`visible` does with blanks in place of line breaks, for comments of any language."""
    return visible(text.replace("\n", " ").replace("\r", " "))


def printable(text: str) -> str:
    """Return what :func:`visible` does, with a sign in place of what is no character as well: XML may have it."""
    return _NO_CHARACTER.sub("\ufffd", visible(text))


def coded(text: str) -> str:
    r"""Return *text* with the code of each of those characters, and of what is no character, as Python has them.

    It can be read back if every backslash of *text* was doubled before.

    >>> coded("turned \u202e")
    'turned \\u202e'
    """
    return _NO_CHARACTER.sub(_code, _HARMFUL.sub(_code, text))


def code(char: str) -> str:
    r"""Return the code of a character as Python has it.

    >>> code("\u6ce8"), code("\U0001f9fe")
    ('\\u6ce8', '\\U0001f9fe')
    """
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _code(match: re.Match[str]) -> str:
    return code(match[0])


def escaped(json: str) -> str:
    r"""Return JSON text with those characters escaped: it says the same, and may be shown.

    >>> escaped('{"a": "\u202e\x7f"}')
    '{"a": "\\u202e\\u007f"}'
    """
    return _HARMFUL.sub(lambda match: "".join(f"\\u{unit:04x}" for unit in _units(match[0])), json)


def _units(char: str) -> list[int]:
    """Return the one or two units of UTF-16 that JSON escapes a character by."""
    code = ord(char)
    return [code] if code < 0x10000 else [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)]
