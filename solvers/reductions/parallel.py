"""Bundle the edges between groups of nodes: all from one group to another become one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.problem.devices import Interconnect, Links
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Bundles", "bundled"]


@dataclass(frozen=True, eq=False)
class Bundles:
    """Edges between groups.

    Attributes:
        edges: between groups, sorted, each once.
        sizes: of each bundle, the largest size of its edges.
        of: [m] the bundle of each edge of the graph; -1 for an edge within a group.
        interconnect: on which a bundle takes as long as its longest edge, or with exclusive links as all its edges.
    """

    edges: list[tuple[int, int]]
    sizes: list[float]
    of: Ints
    interconnect: Interconnect


def bundled(problem: Problem, cluster: Ints) -> Bundles:
    """Return the edges between the groups of *cluster* ([n])."""
    graph = problem.graph
    tails, heads = cluster[graph.tails], cluster[graph.heads]
    outer = np.flatnonzero(tails != heads)
    pairs, inverse = np.unique(np.stack([tails[outer], heads[outer]], axis=1), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1).astype(np.int64)
    of = np.full(graph.m, -1, np.int64)
    of[outer] = inverse
    sizes = np.zeros(len(pairs))
    np.maximum.at(sizes, inverse, graph.sizes[outer])
    edges = [(int(a), int(b)) for a, b in pairs]
    return Bundles(edges, sizes.tolist(), of, _carrying(problem, outer, inverse, len(pairs)))


def _carrying(problem: Problem, outer: Ints, inverse: Ints, count: int) -> Interconnect:
    link = problem.interconnect
    if not isinstance(link, Links):
        return link
    together = any(problem.of(ExclusiveLinks)) and count < len(outer)
    if link.transfers is None and not together:
        return link
    transfers = problem.transfers
    times = (
        transfers.latency
        + transfers.size[outer, None, None] * transfers.inverse
        + transfers.table[transfers.row[outer]]
    )
    total: Floats = np.zeros((count, problem.k, problem.k))
    (np.add if together else np.maximum).at(total, inverse, times)
    total[:, np.arange(problem.k), np.arange(problem.k)] = 0.0
    return replace(link, transfers=frozen(total, np.float64))
