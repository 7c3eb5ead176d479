"""Number the devices of a model: in the order of the quotient graph where they are alike (archer2024, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpp_dsl.core.problem.colocation import ordered_edges
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.core.views.symmetry import interchangeable

__all__ = ["DeviceNumbering", "layout_of"]


@dataclass(frozen=True)
class DeviceNumbering:
    """How a model numbers devices.

    Attributes:
        classes: devices that can be swapped in every plan.
        parts: for each part of the graph that must be split without a cycle, its edges.
        in_order: whether devices stand in the order of the quotient graph (Figure 3).
        home: [n] which node of the model stands for each node.
        first: a node for each of the model's.
    """

    classes: Sequence[tuple[int, ...]]
    parts: Sequence[Sequence[tuple[int, int]]]
    in_order: bool
    home: Sequence[int]
    first: Ints


def layout_of(problem: Problem, view: Hypergraph, *, symmetric: bool = True) -> DeviceNumbering:
    """Return how the model of *problem* numbers its devices; no two can be swapped where it is not *symmetric*.

    Figure 3 takes devices that are all alike, one graph to be split acyclically, and two blocks or more.
    """
    classes = interchangeable(problem) if symmetric else [(d,) for d in range(problem.k)]
    line = problem.line is not None  # its rows leave no cycle
    parts = [] if line else [view.edges(tails, heads) for tails, heads in ordered_edges(problem)]
    whole = problem.acyclic and not problem.graph.backward.any()
    alike = len(classes) == 1 and bool(problem.allowed.all())
    return DeviceNumbering(
        classes, parts, in_order=whole and alike and problem.k > 1, home=view.of.tolist(), first=view.first
    )
