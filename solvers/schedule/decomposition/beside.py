"""Find the nodes beside a chain of modules, and which module each belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Graph, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule

__all__ = ["Sides", "beside"]

MAX_BESIDE = 250
"""Of more nodes beside one module the rest is dropped."""


@dataclass(frozen=True)
class Beside:
    """Nodes beside one module, and edges that join them to each other or to it.

    Attributes:
        nodes: in topological order.
        edges: numbers, each given to one module alone.
        far: edges from the hub, an anchor that is no end of this module.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    far: tuple[int, ...]


@dataclass(frozen=True)
class Sides:
    """The nodes beside every module.

    Attributes:
        of: [modules].
        hub: number of the module whose exit is read by most of the nodes beside later modules; -1 if there is none.
    """

    of: tuple[Beside, ...]
    hub: int


def beside(graph: Graph, modules: Sequence[CutModule], kept: Bools) -> Sides:
    """Return for every module the nodes that are not *kept* and belong to it.

    A node belongs to the first module that reads a result of it, or else to the last module that it reads from.
    """
    home = _homes(graph, modules, kept)
    count = np.zeros(len(modules), np.int64)
    exits = {module.exit: j for j, module in enumerate(modules) if module.exit != NONE}
    entries = {module.entry: j for j, module in enumerate(modules)}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if u in exits and not kept[v] and home[v] not in (exits[u], entries.get(u)):
            count[exits[u]] += 1
    hub = int(count.argmax()) if count.any() else -1
    groups = []
    for j, module in enumerate(modules):
        nodes = [v for v in graph.topological_order.tolist() if not kept[v] and home[v] == j][-MAX_BESIDE:]
        near = np.zeros(graph.n, np.bool_)
        near[nodes] = True
        inside = near.copy()
        inside[list(module.members)] = True
        joins = (near[graph.tails] & inside[graph.heads]) | (inside[graph.tails] & near[graph.heads])
        reads = near[graph.heads] & (graph.tails == modules[hub].exit) if hub >= 0 else np.zeros(graph.m, np.bool_)
        far = np.flatnonzero(reads & ~joins)
        groups.append(Beside(tuple(nodes), tuple(np.flatnonzero(joins).tolist()), tuple(far.tolist())))
    return Sides(tuple(groups), hub)


def _homes(graph: Graph, modules: Sequence[CutModule], kept: Bools) -> Ints:
    """Return [n] the module that every node is in or belongs to."""
    own = np.full(graph.n, -1)
    for j, module in enumerate(modules):
        own[[*module.nodes, *([module.exit] if module.exit != NONE else [])]] = j
    last = len(modules)
    reader = np.where(kept, own, last)
    for v in graph.topological_order[::-1].tolist():
        if not kept[v] and len(graph.successors(v)):
            reader[v] = reader[graph.successors(v)].min()
    read = np.where(kept, own, 0)
    for v in graph.topological_order.tolist():
        if not kept[v] and len(graph.predecessors(v)):
            read[v] = read[graph.predecessors(v)].max()
    homes: Ints = np.where(kept, own, np.where(reader < last, reader, read))
    return homes
