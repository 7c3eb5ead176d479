"""The graph as SVG: columns of boxes and the lines between them. ``graph.js`` draws all else in the same way."""

from __future__ import annotations

from mtpp_dsl.show.page.graph_facts import ItemFacts
from mtpp_dsl.show.page.layout.labels import labelled
from mtpp_dsl.show.page.layout.lines import EdgeBundle
from mtpp_dsl.show.page.layout.places import HEAD, Box, PlacedBoxes
from mtpp_dsl.show.page.markup import Markup, short, tag
from mtpp_dsl.show.page.traffic import tensor_size
from mtpp_dsl.show.report.palette import STAGES

__all__ = ["drawn"]

LETTER, TITLE = 7.2, 8.6
"""Widths of a letter: in a box and under a title, and of a title."""
BAR = 3
"""Height of the bar that says what a box takes."""


def drawn(facts: ItemFacts, picture: PlacedBoxes, lines: list[EdgeBundle]) -> Markup:
    """Return the picture; every box is a button that a key reaches, and says in words what it is."""
    boxes = list(picture.boxes.values())
    columns = [box for box in boxes if facts.forest.parent[box.item] < 0]
    modules = [box for box in boxes if box.open and facts.forest.parent[box.item] >= 0]
    shown = [box for box in boxes if facts.forest.parent[box.item] >= 0]
    width = max([picture.width, *(x + 6 for line in lines for x, _ in line.points)]) + 2
    height = max([picture.height, *(y + 6 for line in lines for _, y in line.points)]) + 2
    largest = max((line.size for line in lines), default=0.0)
    return tag(
        "svg",
        _arrow(),
        tag("g", [_column(facts, box) for box in columns], class_="columns"),
        tag("g", [_back(facts, box) for box in modules], class_="modules"),
        tag("g", [_line(facts, line, largest) for line in lines], class_="lines"),
        tag("g", [_box(facts, box, first=box is shown[0]) for box in shown], class_="boxes"),
        tag("g", [_label(facts, line, x, y) for line, x, y in labelled(lines, facts.forest, picture)], class_="labels"),
        aria_label="The graph: a column for each stage, boxes for nodes and folded modules, lines for tensors",
        viewBox=f"-1 -1 {_n(width)} {_n(height)}",
        width=_n(width),
        height=_n(height),
        role="group",
        class_="graph-picture fit",
        id="graph-picture",
    )


def _arrow() -> Markup:
    """Return the head of lines that the script leaves in its place."""
    head = tag("path", d="M0,0L7,3.5L0,7z", class_="arrow")
    where = {"refX": 6, "refY": 3.5, "markerWidth": 7, "markerHeight": 7, "markerUnits": "userSpaceOnUse"}
    return tag("defs", tag("marker", head, id="graph-arrow", orient="auto", **where))


def tint(column: int) -> str:
    """Return the class that gives a column its colour."""
    return f"s{column % len(STAGES)}"


def _column(facts: ItemFacts, box: Box) -> Markup:
    column = facts.forest.column[box.item]
    texts = (
        (facts.forest.name[column], 28, "title", TITLE),
        (facts.headline(column), 46, "small", LETTER),
        (facts.count(column), 62, "small", LETTER),
    )
    return tag(
        "g",
        tag("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=8, class_="column"),
        tag("rect", x=box.x, y=box.y, width=box.width, height=6, rx=3, class_="band"),
        [
            tag(
                "text",
                short(text, int((box.width - 12) / wide)),
                tag("title", text),
                x=box.x + 10,
                y=box.y + y,
                class_=kind,
            )
            for text, y, kind, wide in texts
        ],
        class_=tint(column),
    )


def _back(facts: ItemFacts, box: Box) -> Markup:
    column = facts.forest.column[box.item]
    return tag("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=6, class_=f"module {tint(column)}")


def _line(facts: ItemFacts, line: EdgeBundle, largest: float) -> Markup:
    forest = facts.forest
    start, *others = [f"{_n(x)},{_n(y)}" for x, y in line.points]
    return tag(
        "path",
        tag("title", f"{forest.name[line.source]} to {forest.name[line.target]}: {_amount(facts, line)}"),
        d=f"M{start}C{' '.join(others)}",
        stroke_width=_n(1.2 + 2.2 * (line.size / largest if largest > 0 else 0.0)),
        class_="flow" if forest.column[line.source] == forest.column[line.target] else "flow between",
        data_from=line.source,
        data_to=line.target,
    )


def _n(value: float) -> str:
    """Return a coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def _amount(facts: ItemFacts, line: EdgeBundle) -> str:
    """Return what a line carries, in words."""
    size = tensor_size(facts.view.problem, line.size)
    return f"{line.tensors:,} tensors, {size}" if line.tensors > 1 else size


def _label(facts: ItemFacts, line: EdgeBundle, x: float, y: float) -> Markup:
    return tag("text", tensor_size(facts.view.problem, line.size), x=_n(x), y=_n(y), class_="carried")


def _box(facts: ItemFacts, box: Box, *, first: bool) -> Markup:
    forest, item = facts.forest, box.item
    column, module = forest.column[item], forest.node[item] < 0
    name = forest.name[item]
    count = f"{forest.size[item]:,}" if module else ""
    sign = ("▾ " if box.open else "▸ ") if module else ""
    letters = int((box.width - 16) / LETTER) - len(count) - len(sign)
    height = HEAD if box.open else box.height
    parts = [
        tag("title", name),
        tag("rect", x=box.x, y=box.y, width=box.width, height=height, rx=5, class_="face"),
        tag("text", f"{sign}{short(name, max(letters, 4))}", x=box.x + 8, y=box.y + 18),
    ]
    if count:
        parts.append(tag("text", count, x=box.x + box.width - 8, y=box.y + 18, class_="count"))
    length = facts.length[column]
    if length > 0 and facts.time[item] > 0 and not box.open:
        width = _n(max((box.width - 10) * min(facts.time[item] / length, 1.0), 1.0))
        parts.append(tag("rect", x=box.x + 5, y=box.y + height - BAR - 2, width=width, height=BAR, class_="takes"))
    return tag(
        "g",
        parts,
        class_=f"box {tint(column)}{' open' if box.open else ' folded' if module else ''}",
        role="button",
        tabindex="0" if first else "-1",
        aria_expanded=("true" if box.open else "false") if module else None,
        aria_label=facts.said(item, folded=not box.open),
        data_item=item,
    )
