"""A generator: one node that many read."""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Graph


def star(readers: int = 5, work: float = 1.0) -> Graph:
    """Return a hub with *readers* readers."""
    names = ["hub", *(f"reader[{i}]" for i in range(readers))]
    return Graph.create(names, [(0, i + 1) for i in range(readers)], work=work, output=1.0)
