"""Tables, lists of facts and bars: the pieces that sections are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import PARTS

_HEIGHT = 16
FEW = 4
"""A phone has room for so many columns."""
LONG = 100
"""Signs of a fact that takes the whole width."""
_FULL = 100.0
"""Per cent: a bar is as wide as its cell."""


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Child]], *, figures: int = 1) -> Markup:
    """Return a table whose rows begin with what they are about, in a frame that scrolls where it is too wide.

    On a narrow page the cells of a row stand below each other where there are many columns.

    Args:
        caption: what it shows; it is read aloud, and stands above the table.
        head: a heading for each column.
        rows: one cell for each column.
        figures: the first column whose cells are figures, and aligned to the right.
    """
    stacked = len(head) > FEW
    shown = [_row(row, figures, head if stacked else [None] * len(head)) for row in rows]
    top = tag(
        "tr", [tag("th", text, scope="col", class_="figure" if i >= figures else None) for i, text in enumerate(head)]
    )
    return scrolled(
        caption,
        tag(
            "table",
            tag("caption", caption),
            tag("thead", top),
            tag("tbody", shown),
            class_="stacked" if stacked else None,
        ),
        label=caption,
    )


def _row(row: Sequence[Child], figures: int, heads: Sequence[str | None]) -> Markup:
    """Return a row; *heads* say what its cells are where they stand below each other."""
    cells = [
        tag("td", cell, class_="figure" if i >= figures else None, data_head=heads[i])
        for i, cell in enumerate(row)
        if i
    ]
    return tag("tr", tag("th", row[0], scope="row", data_head=heads[0]), cells)


def scrolled(title: str, *children: Child, label: str = "") -> Markup:
    """Return a frame that scrolls by itself, by the keyboard too, so that the page does not."""
    return tag("div", *children, class_="scroll", role="region", tabindex=0, aria_label=label or title)


def facts(pairs: Iterable[tuple[Child, Child]]) -> Markup:
    """Return names with what is known of them."""
    rows = [(key, tag("dd", value)) for key, value in pairs]
    return tag(
        "dl",
        [tag("div", tag("dt", key), shown, class_="long" if len(shown) > LONG else None) for key, shown in rows],
        class_="facts",
    )


def fold(summary: Child, *children: Child, is_open: bool = False, **attributes: object) -> Markup:
    """Return a part that is folded until somebody opens it; it is open on paper."""
    return tag("details", tag("summary", summary), *children, open=is_open, **attributes)


def bar(parts: Iterable[tuple[str, float]], most: float, marks: Iterable[tuple[str, float]] = ()) -> Markup:
    """Return a bar of several parts. It repeats what stands beside it in figures: screen readers pass over it.

    Args:
        parts: a part of :data:`mtpp_dsl.show.report.palette.PARTS` and a value, one after the other.
        most: the value that fills the width.
        marks: a line of the palette and the value at which it stands.
    """
    scale, at = (_FULL / most if most > 0 else 0.0), 0.0
    shown: list[Markup] = []
    for part, value in parts:
        width = max(0.0, min(value * scale, _FULL - at))
        if width > 0:
            shown += painted(part, x=f"{at:.3f}%", y=2, width=f"{width:.3f}%", height=_HEIGHT - 4)
        at += width
    lines = [
        tag("line", x1=f"{x:.3f}%", x2=f"{x:.3f}%", y1=0, y2=_HEIGHT, class_=f"mark {line}")
        for line, value in marks
        if (x := min(value * scale, _FULL)) >= value * scale - 1e-6
    ]
    return tag("svg", *shown, *lines, class_="bar", height=_HEIGHT, width="100%", aria_hidden="true", focusable="false")


def bars(caption: str, what: str, rows: Iterable[Child]) -> Markup:
    """Return a table of bars: a device, its bar, and *what* it is as a figure."""
    head = tag("tr", [tag("th", title, scope="col") for title in ("Device", "Bar", what)])
    columns = tag("colgroup", tag("col", class_="of-name"), tag("col"), tag("col", class_="of-figure"))
    return tag("table", tag("caption", caption), columns, tag("thead", head), tag("tbody", rows), class_="bars")


def painted(part: str, **place: object) -> list[Markup]:
    """Return a rectangle in the colour of a part of loads, and over it its pattern."""
    pattern = PARTS[part].pattern
    plain = tag("rect", **place, class_=f"part-{part}")
    return [plain] if pattern == "plain" else [plain, tag("rect", **place, fill=f"url(#{pattern})")]


def legend(parts: Iterable[tuple[str, str]]) -> Markup:
    """Return what the colours of bars stand for: a part, a line of the palette or a dot, and words."""
    return tag("ul", [tag("li", _swatch(kind), words) for kind, words in parts], class_="legend")


def _swatch(kind: str) -> Markup:
    if kind in PARTS:
        inner = painted(kind, x=1, y=1, width=14, height=14)
    elif kind == "dot":
        inner = [tag("circle", cx=8, cy=8, r=5, class_="dot")]
    else:
        inner = [tag("line", x1=8, x2=8, y1=0, y2=16, class_=f"mark {kind}")]
    return tag("svg", *inner, width=16, height=16, class_="swatch", aria_hidden="true", focusable="false")


# Devices that have one row: the replicas or shards of a stage whose figures are the same.

MAX_NAMES = 6


def alike_devices(view: View, devices: Iterable[int], figures: Callable[[int], Hashable]) -> list[list[int]]:
    """Return devices in groups, in the order of their firsts: those of one stage that have equal figures."""
    leads = range(view.problem.k) if view.plan is None else view.plan.leads(view.problem.k).tolist()
    groups: dict[tuple[int, Hashable], list[int]] = {}
    for d in devices:
        groups.setdefault((leads[d], figures(d)), []).append(d)
    return list(groups.values())


def device_names(view: View, group: Sequence[int], most: int | None = None) -> Markup:
    """Return the names of devices that have one row, isolated in the text around them."""
    text = fold_names([view.problem.devices[d].name for d in group], MAX_NAMES)
    return name(text) if most is None else name(text, most)
