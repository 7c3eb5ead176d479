"""Offer what all pictures share: sizes, fonts, text that cannot break them, and files that are the same each time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font_names
from matplotlib.ft2font import FT2Font
from matplotlib.patches import Patch
from matplotlib.text import Text

from mtpp_dsl.core.text.visible import code, visible
from mtpp_dsl.show.report.palette import LINES, Tint

__all__ = [
    "BASE",
    "COLUMN",
    "FALLBACKS",
    "PAGE",
    "Picture",
    "bar_style",
    "fall_back",
    "headed",
    "ink",
    "key",
    "legend",
    "new_picture",
    "short",
    "signs",
]

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

    A character that no font has, or that is invisible, is drawn as its code: names that differ stay different.

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
        string = text.get_text()
        if (
            not string.isascii()
            and text.get_fontfamily() == [BASE]
            and not _characters(BASE).issuperset(map(ord, string))
        ):
            text.set_fontfamily([BASE, *_installed()])


COLUMN, PAGE = 3.5, 7.16
"""Widths of a column and of a page in inches, as IEEE and ACM have them."""
STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": LINES["muted"][0],
    "axes.grid.axis": "x",
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 7.5,
    "axes.unicode_minus": False,
    "figure.dpi": 150,
    "font.family": BASE,
    "font.size": 7,
    "grid.color": LINES["grid"][0],
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.4,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 300,
    "svg.hashsalt": "mtpp",
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
}
_UNDATED = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {"Software": None}}


class Picture(Figure):
    """A figure that is saved with the fonts and lines that it was made with, and shows itself in notebooks."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as :meth:`matplotlib.figure.Figure.savefig` does: fonts embedded, without a date."""
        suffix = Path(fname).suffix.lower() if isinstance(fname, str | Path) else f".{options.get('format', 'png')}"
        options.setdefault("metadata", _UNDATED.get(suffix, {}))
        with style():
            super().savefig(fname, **options)

    def draw(self, renderer: Any) -> None:
        """Draw all parts, by fonts that have the characters of each text."""
        fall_back(self)
        super().draw(renderer)

    def _repr_svg_(self) -> str:
        """Return what notebooks show."""
        text = io.StringIO()
        self.savefig(text, format="svg")
        svg = text.getvalue()
        return svg[svg.index("<svg") :]


@contextmanager
def style() -> Iterator[None]:
    """Have matplotlib's own defaults with :data:`STYLE`, whatever the user's settings are."""
    with rc_context():
        from matplotlib import rcdefaults, rcParams

        backend = rcParams._get("backend")
        rcdefaults()
        rcParams["backend"] = backend
        rcParams.update(STYLE)
        yield


def new_picture(width: float, height: float) -> Picture:
    """Return an empty picture of that size in inches, whose parts leave room for each other."""
    figure = Picture(figsize=(width, height), layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.03, h_pad=0.03)
    FigureCanvasAgg(figure)
    return figure


def short(text: str, most: int) -> str:
    """Return *text* on one line, its middle left out beyond the width of *most* letters; codes for what no font has.

    >>> short("encoder.layer.11.attention", 13), short("a$b", 9)
    ('encode…ention', 'a$b')
    """
    text = text[: 4 * most] + text[-4 * most :] if len(text) > 8 * most else text
    drawn = _stripped(signs(text))
    if sum(width for _, width in drawn) > most:
        drawn = [*_within(drawn, most // 2), ("…", 1), *reversed(_within(drawn[::-1], most - 1 - most // 2))]
    return "".join(sign for sign, _ in drawn)


def _stripped(drawn: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the signs with one blank in place of several, and none at either end."""
    kept = [one for one, before in zip(drawn, [(" ", 1), *drawn], strict=False) if one[0] != " " or before[0] != " "]
    return kept[:-1] if kept and kept[-1][0] == " " else kept


def _within(drawn: list[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """Return the first signs, as many as fit into the width of *most* letters."""
    ends = accumulate(width for _, width in drawn)
    return [one for one, end in zip(drawn, ends, strict=True) if end <= most]


def ink(name: str) -> str:
    """Return the colour of a line or of text, on white."""
    return LINES[name][0]


def bar_style(tint: Tint) -> dict[str, Any]:
    """Return how matplotlib fills a bar with a tint."""
    return {"facecolor": tint.fill(), "hatch": tint.hatch, "edgecolor": ink("text"), "linewidth": 0.4}


def key(tint: Tint, label: str) -> Patch:
    """Return the line of a legend that explains a tint."""
    return Patch(label=label, **bar_style(tint))


def legend(figure: Picture, handles: list[Any], columns: int = 4) -> None:
    """Put a legend below all panels."""
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=min(columns, len(handles)),
            handlelength=1.6,
            columnspacing=1.2,
            borderaxespad=0.2,
        )


def headed(name: str | None, title: str, most: int = 24) -> str:
    """Return a title: the file of the spec, and what is said of it."""
    where = short(Path(name).name, most) if name else ""
    return f"{where}: {title}" if where else title
