"""Cut nodes of a directed acyclic graph, and the modules between them (ghannane2023, 3.3.1; here for nodes).

A cut node comes before or after every other node, and no edge bypasses it. Whatever lies between two
consecutive ones, tasks and transfers alike, happens after the first has ended and before the second starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Graph, Ints

NONE = -1
"""The virtual node before all sources, or behind all sinks."""


@dataclass(frozen=True)
class CutModule:
    """What lies between two consecutive cut nodes.

    Attributes:
        entry, exit: the cut nodes; :data:`NONE` for a virtual one.
        nodes: strictly between them, in topological order.
        edges: numbers of the edges among these nodes and the two ends.
    """

    entry: int
    exit: int
    nodes: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        """The entry where there is one, the nodes between, and the exit where there is one."""
        ends = (() if self.entry == NONE else (self.entry,), () if self.exit == NONE else (self.exit,))
        return (*ends[0], *self.nodes, *ends[1])


def modules(
    graph: Graph, *, kept: Bools | None = None, edges: Bools | None = None, bound: Iterable[Sequence[int]] = ()
) -> list[CutModule]:
    """Return the modules of the graph of the *kept* nodes and *edges*, in their order.

    Every kept node is in one of them, or a cut node between two. Without a cut node there is one module, the graph.

    Args:
        graph: the graph.
        kept: [n] nodes to look at; None for all.
        edges: [m] edges between them to look at; None for all.
        bound: nodes in a list stay in one module, its ends included: no cut node comes strictly between two of them.
    """
    kept = np.ones(graph.n, np.bool_) if kept is None else kept
    inside = kept[graph.tails] & kept[graph.heads]
    used = np.flatnonzero(inside if edges is None else inside & edges)
    order = graph.topological_order[kept[graph.topological_order]]
    place = np.full(graph.n, -1)
    place[order] = np.arange(len(order))
    tails, heads = place[graph.tails[used]], place[graph.heads[used]]
    cuts = _cuts(len(order), tails, heads, [place[list(nodes)] for nodes in bound])
    of_edge = np.searchsorted(cuts, heads)  # an edge is in the module that its head is in, or ends
    by_module = used[np.argsort(of_edge, kind="stable")]
    count = np.concatenate(([0], np.cumsum(np.bincount(of_edge, minlength=len(cuts) + 1))))
    parts = []
    for j in range(len(cuts) + 1):
        first = int(cuts[j - 1]) + 1 if j else 0
        last = int(cuts[j]) if j < len(cuts) else len(order)
        nodes = tuple(order[first:last].tolist())
        if j == len(cuts) and j and not nodes:
            break
        parts.append(
            CutModule(
                int(order[cuts[j - 1]]) if j else NONE,
                int(order[last]) if j < len(cuts) else NONE,
                nodes,
                tuple(by_module[count[j] : count[j + 1]].tolist()),
            )
        )
    return parts


def _cuts(n: int, tails: Ints, heads: Ints, bound: Iterable[Ints]) -> Ints:
    """Return the places of the cut nodes in a topological order of n nodes.

    Without an edge across, every node before a place leads to it unless there is a sink among them, and every one
    behind it comes from it unless there is a source: so one sweep finds them.
    """
    place = np.arange(n)
    farthest = place.copy()
    np.maximum.at(farthest, tails, heads)
    crossed = np.concatenate(([-1], np.maximum.accumulate(farthest)))[:n] > place
    leaves = np.bincount(tails, minlength=n) == 0
    enters = np.bincount(heads, minlength=n) == 0
    sinks_before = np.concatenate(([0], np.cumsum(leaves)))[:n]
    sources_behind = enters.sum() - np.cumsum(enters)
    kept = np.zeros(n + 1, np.int64)
    for places in bound:
        low, high = int(places.min()), int(places.max())
        if high - low > 1:
            kept[low + 1] += 1
            kept[high] -= 1
    return np.flatnonzero(~crossed & (sinks_before == 0) & (sources_behind == 0) & (np.cumsum(kept)[:n] == 0))
