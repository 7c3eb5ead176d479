"""Fonts of pictures: DejaVu Sans first, and for what it lacks those of a list of common ones that are installed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from matplotlib.font_manager import FontProperties, findfont, get_font_names
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from mtpp_dsl.core.text.visible import code, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BASE", "FALLBACKS", "fall_back", "signs"]

BASE = "DejaVu Sans"
"""The font of all text: matplotlib brings it along."""
FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans CJK TC",
    "Noto Sans SC",
    "Noto Sans JP",
    "Noto Sans KR",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans Symbols 2",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Symbola",
)
"""Fonts of outlines for the characters that :data:`BASE` lacks, those tried first before the others."""


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the characters of a font; none where its file cannot be read, or has no outlines."""
    try:
        font = FT2Font(findfont(FontProperties(family=[family]), fallback_to_default=False))
        if not font.scalable:  # a font of bitmaps, such as those of coloured emoji
            return frozenset()
        return frozenset(font.get_charmap())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


@cache
def _installed() -> tuple[str, ...]:
    """Return the fonts of :data:`FALLBACKS` that are there: looked for when a character is first lacking."""
    names = set(get_font_names())
    return tuple(name for name in FALLBACKS if name in names and _characters(name))


def _has(char: str) -> bool:
    """Return whether a font has a character."""
    point = ord(char)
    return point in _characters(BASE) or any(point in _characters(name) for name in _installed())


def signs(text: str) -> list[tuple[str, int]]:
    r"""Return what is drawn for each character of *text*, with its width in letters.

    A character that no font has, or that nobody would see, is drawn as its code: names that differ stay different.

    >>> signs("a\u202e\U0001f9fe\x1b")[:2]
    [('a', 1), ('\\u202e', 6)]
    """
    if text.isascii() and text.isprintable():
        return [(char, 1) for char in text]
    return [_sign(char) for char in text]


def _sign(char: str) -> tuple[str, int]:
    seen = visible(char)
    hidden = seen == "\ufffd" and char != seen
    if seen.isspace():
        return " ", 1
    if hidden or not _has(seen):
        return code(char), len(code(char))
    return seen, 2 if east_asian_width(seen) in "WF" else 1


def fall_back(figure: Figure) -> None:
    """Let each text of *figure* with characters that :data:`BASE` lacks be drawn by the fonts that have them."""
    for axes in figure.axes:  # names of rows are put into their texts when they are asked for
        axes.get_xticklabels()
        axes.get_yticklabels()
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        said = text.get_text()
        if not said.isascii() and text.get_fontfamily() == [BASE] and not _characters(BASE).issuperset(map(ord, said)):
            text.set_fontfamily([BASE, *_installed()])
