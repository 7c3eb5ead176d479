"""The stages and modules of the graph as a table: what the picture shows, for those who do not see it."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.graph_facts import ItemFacts
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import fold, table

__all__ = ["outline"]

ROWS = 400
"""Levels are listed as long as the table has no more rows."""
MAX_NAME = 80


def outline(facts: ItemFacts) -> Markup:
    """Return stages with their modules, and of a small graph with their nodes, each with what it takes."""
    forest = facts.forest
    depth = [0] * forest.n
    for item, parent in enumerate(forest.parent):
        depth[item] = depth[parent] + 1 if parent >= 0 else 0
    counts = np.bincount(depth)
    deepest = int(np.searchsorted(np.cumsum(counts), ROWS, side="right")) - 1
    order = sorted(range(forest.n), key=lambda item: (forest.column[item], item))  # each stage with what is in it
    rows = [_row(facts, item, depth[item]) for item in order if depth[item] <= max(deepest, 0)]
    left = forest.n - len(rows)
    more = f"{left:,} deeper modules and nodes are not listed; the search finds them." if left else None
    heads = ["Stage or module", "Nodes", "Time", "Of the stage", "Memory"]
    return fold(
        "The same as a table: stages and modules with what they take",
        table("Stages, modules and what they take", heads, rows),
        tag("p", more) if more else None,
        class_="outline",
    )


def _row(facts: ItemFacts, item: int, depth: int) -> list[Child]:
    forest, view = facts.forest, facts.view
    time, whole = facts.time[item], facts.time[forest.column[item]]
    share = format_share(time / whole) if np.isfinite(time) and whole > 0 else ""
    return [
        tag("span", name(forest.name[item], MAX_NAME), class_=f"depth-{min(depth, 5)}"),
        f"{forest.size[item]:,}" if forest.node[item] < 0 else "",
        view.time(time) if np.isfinite(time) else "",
        share,
        view.problem.size(facts.memory[item]),
    ]
