"""Offer what all pictures share: sizes, fonts, text that cannot break them, and files that are the same each time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mtpp_dsl.show.pictures.fonts import BASE, fall_back, signs
from mtpp_dsl.show.report.palette import LINES, Tint

__all__ = ["COLUMN", "PAGE", "Picture", "bar", "headed", "ink", "key", "legend", "new_picture", "short"]

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


def bar(tint: Tint) -> dict[str, Any]:
    """Return how matplotlib fills a bar with a tint."""
    return {"facecolor": tint.fill(), "hatch": tint.hatch, "edgecolor": ink("text"), "linewidth": 0.4}


def key(tint: Tint, label: str) -> Patch:
    """Return the line of a legend that explains a tint."""
    return Patch(label=label, **bar(tint))


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


def headed(name: str | None, said: str, most: int = 24) -> str:
    """Return a title: the file of the spec, and what is said of it."""
    where = short(Path(name).name, most) if name else ""
    return f"{where}: {said}" if where else said
