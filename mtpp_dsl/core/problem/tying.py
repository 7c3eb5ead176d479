"""Weights that several nodes share: a model's ties as constraints of every problem of its graph."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.constraints import Colocate, Constraint
from mtpp_dsl.core.problem.graph import Graph

__all__ = ["with_ties"]


def with_ties(graph: Graph, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return *constraints* with one ``colocate`` for each tie of the graph's model that they do not have.

    In messages these are named by their weights: "colocate (tied weights wte.weight, lm_head.weight)".
    """
    origin = graph.origin
    if origin is None or len(origin.members) != graph.n:
        return tuple(constraints)
    ties = [Colocate(nodes=tie.nodes, origin=tie.name) for tie in origin.ties]
    return (*constraints, *(tie for tie in ties if tie not in constraints))
