"""What lies beside a chain of anchors, given to its modules: for loads and links, if not for times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.graph import Bools, Graph
from mtpp_dsl.solvers.decomposition.cuts import Module

__all__ = ["Beside", "beside"]

MOST = 250
"""Of more nodes beside one module the rest is dropped: they would make it too hard."""


@dataclass(frozen=True)
class Beside:
    """Nodes beside one module, and edges that join them to each other or to it.

    Attributes:
        nodes: in topological order.
        edges: numbers, each given to one module alone.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]


def beside(graph: Graph, modules: Sequence[Module], kept: Bools) -> list[Beside]:
    """Return for every module the nodes that are not *kept* and go with it.

    A node goes with the first module that reads what comes of it, or, where none does, with the last that it reads of.
    """
    own = np.full(graph.n, -1)
    for j, module in enumerate(modules):
        own[[*module.nodes, *([module.exit] if module.exit >= 0 else [])]] = j
    last = len(modules)
    reader = np.where(kept, own, last)
    for v in graph.topological_order[::-1].tolist():
        if not kept[v] and len(graph.successors(v)):
            reader[v] = reader[graph.successors(v)].min()
    read = np.where(kept, own, 0)
    for v in graph.topological_order.tolist():
        if not kept[v] and len(graph.predecessors(v)):
            read[v] = read[graph.predecessors(v)].max()
    home = np.where(kept, own, np.where(reader < last, reader, read))
    found = []
    for j, module in enumerate(modules):
        nodes = [v for v in graph.topological_order.tolist() if not kept[v] and home[v] == j][-MOST:]
        near = np.zeros(graph.n, np.bool_)
        near[nodes] = True
        inside = near.copy()
        inside[list(module.members)] = True
        joins = (near[graph.tails] & inside[graph.heads]) | (inside[graph.tails] & near[graph.heads])
        found.append(Beside(tuple(nodes), tuple(np.flatnonzero(joins).tolist())))
    return found
