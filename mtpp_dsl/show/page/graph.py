"""The graph of the problem as stages side by side, with modules that fold."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.show.page.graph_facts import ItemFacts
from mtpp_dsl.show.page.graph_outline import outline
from mtpp_dsl.show.page.graph_picture import drawn
from mtpp_dsl.show.page.layout.forest import forest
from mtpp_dsl.show.page.layout.lines import bundled
from mtpp_dsl.show.page.layout.places import arranged, opened
from mtpp_dsl.show.page.markup import Markup, data_block, short, tag
from mtpp_dsl.show.page.packed import packed
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.view import SpecText, View
from mtpp_dsl.show.report.names import fold_names

__all__ = ["section"]

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
    told = f"{counted(graph.n, 'node')} and {counted(graph.m, 'edge')}"
    if facts.view.plan is None:
        return f"{told}. There is no plan: the graph stands in one column."
    if len(placed.stages) > 1:
        pipeline = facts.view.plan.order is not None
        order = "in the order of the pipeline" if pipeline else "by where they come in the graph"
        told += f" in {counted(len(placed.stages), 'stage')}, from left to right {order}."
    else:
        told += " in one stage."
    if placed.idle:
        told += f" Nothing runs on {fold_names([facts.view.problem.devices[d].name for d in placed.idle], MAX_IDLE)}."
    return f"{told} The bar in a box is its time, as a share of the stage with most work."


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
        {"file": each.called, "anchor": each.anchor, "line": packed([float(line) for line in each.nodes])}
        for each in (() if spec is None else spec.files)
        if any(each.nodes)
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
