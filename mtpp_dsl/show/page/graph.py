"""The graph of the problem as stages side by side, with modules that fold."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import counted, format_share
from mtpp_dsl.show.page.graph_facts import ItemFacts
from mtpp_dsl.show.page.layout.forest import forest
from mtpp_dsl.show.page.layout.lines import EdgeBundle, bundled, labelled
from mtpp_dsl.show.page.layout.places import HEAD, Box, PlacedBoxes, arranged, opened
from mtpp_dsl.show.page.markup import Child, Markup, coordinate, data_block, name, packed, short, tag
from mtpp_dsl.show.page.tables import fold, table
from mtpp_dsl.show.page.traffic import tensor_size
from mtpp_dsl.show.page.view import Section, SpecText, View
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import STAGES

__all__ = ["drawn", "outline", "section"]

MAX_IDLE = 8
"""So many devices that run nothing are named, or families of them."""
MAX_NAME = 300


def section(view: View) -> Section | None:
    """Return the section of the graph; None for a problem without nodes."""
    if view.problem.graph.n == 0:
        return None
    facts = ItemFacts(view, forest(view.problem, view.plan))
    first = opened(facts.forest)
    picture = arranged(facts.forest, first)
    lines = bundled(facts.forest, picture, facts.carried)
    body = tag(
        "",
        tag("p", _introduction(facts)),
        _controls(),
        tag("div", drawn(facts, picture, lines), class_="graph-frame", id="graph-frame"),
        tag("div", tag("p", HINT), class_="chosen-figures", id="graph-details", role="status"),
        outline(facts),
        data_block("graph-data", _data(facts, first)),
    )
    return Section("graph", "The graph", body)


HINT = "Choose a box for its figures. A module opens and folds by a click, Enter or the space bar; arrow keys move."


def _introduction(facts: ItemFacts) -> str:
    graph, placed = facts.view.problem.graph, facts.forest.placed
    sentence = f"{counted(graph.n, 'node')} and {counted(graph.m, 'edge')}"
    if facts.view.plan is None:
        return f"{sentence}. There is no plan: the graph stands in one column."
    if len(placed.stages) > 1:
        pipeline = facts.view.plan.order is not None
        order = "in the order of the pipeline" if pipeline else "by where they come in the graph"
        sentence += f" in {counted(len(placed.stages), 'stage')}, from left to right {order}."
    else:
        sentence += " in one stage."
    if placed.idle:
        sentence += (
            f" Nothing runs on {fold_names([facts.view.problem.devices[d].name for d in placed.idle], MAX_IDLE)}."
        )
    return f"{sentence} The bar in a box is its time, as a share of the stage with most work."


def _controls() -> Markup:
    """Return the search and the buttons; they do nothing without the script, and are hidden until it runs."""
    return tag(
        "div",
        tag("label", "Find a node", for_="graph-search"),
        tag("input", type="search", id="graph-search", autocomplete="off", spellcheck="false"),
        tag("button", "Unfold a level", type="button", id="graph-more"),
        tag("button", "Fold a level", type="button", id="graph-less"),
        tag("button", "Fit the width", type="button", id="graph-fit", aria_pressed="true"),
        tag("p", id="graph-found", role="status"),
        tag("ul", id="graph-results", class_="results"),
        class_="controls",
        id="graph-controls",
        hidden=True,
    )


def _lines(spec: SpecText | None) -> list[dict[str, Any]]:
    """Return of each file that makes nodes what links to its lines begin with, and [n] the line that makes a node."""
    return [
        {"file": file.called, "anchor": file.anchor, "line": packed([float(line) for line in file.nodes])}
        for file in (() if spec is None else spec.files)
        if any(file.nodes)
    ]


def _data(facts: ItemFacts, first: set[int]) -> dict[str, Any]:
    """Return what the script needs to draw any part of the graph: items by number, nodes by number."""
    problem, forest = facts.view.problem, facts.forest
    graph = problem.graph
    leaves = [item for item, node in enumerate(forest.node) if node >= 0]
    return {
        "unit": {
            "time": problem.time_unit,
            "size": graph.size_unit,
            "memory": graph.memory_unit,
            "decimal": problem.origin.decimal,
        },
        "planned": facts.view.plan is not None,
        "columns": [
            [forest.name[c], facts.headline(c), facts.count(c), forest.name[c], facts.length[c]]
            for c in range(forest.columns)
        ],
        "parent": forest.parent,
        "row": packed([float(row) for row in forest.row]),
        "node": forest.node,
        "modules": [name for name, node in zip(forest.name, forest.node, strict=True) if node < 0],
        "open": sorted(first),
        "time": packed([facts.time[item] for item in leaves]),
        "names": [short(name, MAX_NAME) for name in graph.names],
        "kinds": packed(graph.kinds) if any(graph.kinds) else None,
        "labels": packed(graph.labels) if any(graph.labels) else None,
        "memory": packed(graph.memory.tolist()),
        "params": packed(graph.params.tolist()) if graph.params.any() else None,
        "output": packed(graph.output.tolist()),
        "lines": _lines(facts.view.spec),
        "source": forest.source,
        "target": forest.target,
        "carried": packed([float(size) for size in np.asarray(facts.carried)]),
    }


# The picture of the graph, as SVG.

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
        viewBox=f"-1 -1 {coordinate(width)} {coordinate(height)}",
        width=coordinate(width),
        height=coordinate(height),
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
    start, *others = [f"{coordinate(x)},{coordinate(y)}" for x, y in line.points]
    return tag(
        "path",
        tag("title", f"{forest.name[line.source]} to {forest.name[line.target]}: {_amount(facts, line)}"),
        d=f"M{start}C{' '.join(others)}",
        stroke_width=coordinate(1.2 + 2.2 * (line.size / largest if largest > 0 else 0.0)),
        class_="flow" if forest.column[line.source] == forest.column[line.target] else "flow between",
        data_from=line.source,
        data_to=line.target,
    )


def _amount(facts: ItemFacts, line: EdgeBundle) -> str:
    """Return what a line carries, in words."""
    size = tensor_size(facts.view.problem, line.size)
    return f"{line.tensors:,} tensors, {size}" if line.tensors > 1 else size


def _label(facts: ItemFacts, line: EdgeBundle, x: float, y: float) -> Markup:
    return tag("text", tensor_size(facts.view.problem, line.size), x=coordinate(x), y=coordinate(y), class_="carried")


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
        width = coordinate(max((box.width - 10) * min(facts.time[item] / length, 1.0), 1.0))
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


# The stages and modules as a table: what the picture shows, for those who do not see it.

MAX_OUTLINE_ROWS = 400
"""Levels are listed as long as the table has no more rows."""
MAX_OUTLINE_NAME = 80


def outline(facts: ItemFacts) -> Markup:
    """Return stages with their modules, and of a small graph with their nodes, each with what it takes."""
    forest = facts.forest
    depth = [0] * forest.n
    for item, parent in enumerate(forest.parent):
        depth[item] = depth[parent] + 1 if parent >= 0 else 0
    counts = np.bincount(depth)
    deepest = int(np.searchsorted(np.cumsum(counts), MAX_OUTLINE_ROWS, side="right")) - 1
    order = sorted(range(forest.n), key=lambda item: (forest.column[item], item))  # each stage with what is in it
    rows = [_outline_row(facts, item, depth[item]) for item in order if depth[item] <= max(deepest, 0)]
    left = forest.n - len(rows)
    more = f"{left:,} deeper modules and nodes are not listed; the search finds them." if left else None
    heads = ["Stage or module", "Nodes", "Time", "Of the stage", "Memory"]
    return fold(
        "The same as a table: stages and modules with what they take",
        table("Stages, modules and what they take", heads, rows),
        tag("p", more) if more else None,
        class_="outline",
    )


def _outline_row(facts: ItemFacts, item: int, depth: int) -> list[Child]:
    forest, view = facts.forest, facts.view
    time, whole = facts.time[item], facts.time[forest.column[item]]
    share = format_share(time / whole) if np.isfinite(time) and whole > 0 else ""
    return [
        tag("span", name(forest.name[item], MAX_OUTLINE_NAME), class_=f"depth-{min(depth, 5)}"),
        f"{forest.size[item]:,}" if forest.node[item] < 0 else "",
        view.time(time) if np.isfinite(time) else "",
        share,
        view.problem.size(facts.memory[item]),
    ]
