"""Comparable nodes and the edges that bypass them, by their definitions."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.solvers.algorithms.comparable import comparable, without_bypasses
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, modules


def random_graph(random: np.random.Generator) -> Graph:
    """Return a graph of up to nine nodes in any order, often narrow."""
    n = int(random.integers(1, 10))
    relabel, reach = random.permutation(n), int(random.integers(1, n + 1))
    odds = random.choice([0.3, 0.6, 0.9])
    pairs = [(u, v) for u in range(n) for v in range(u + 1, min(n, u + 1 + reach)) if random.random() < odds]
    return Graph.create([f"v{v}" for v in range(n)], [(int(relabel[u]), int(relabel[v])) for u, v in pairs])


def reaches(graph: Graph) -> np.ndarray:
    """Return [n, n] whether a path leads from one node to another."""
    reached = np.zeros((graph.n, graph.n), bool)
    for v in graph.topological_order[::-1]:
        for w in graph.successors(v):
            reached[v] |= reached[w]
            reached[v, w] = True
    return reached


def test_comparable_nodes_and_bypasses() -> None:
    """Of random graphs, those nodes that all others lead to or come from; and dropped edges make them cut nodes."""
    random = np.random.default_rng(0)
    bypassed = 0
    for _ in range(300):
        graph = random_graph(random)
        below = reaches(graph)
        want = {v for v in range(graph.n) if all(below[v, w] or below[w, v] for w in range(graph.n) if w != v)}
        nodes, count = comparable(graph)
        assert set(nodes.tolist()) == want
        for v, crossing in zip(nodes.tolist(), count.tolist(), strict=True):
            edges = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
            assert crossing == sum(bool(below[u, v] and below[v, w]) for u, w in edges)
        exits = {part.exit for part in modules(graph)} - {NONE}
        assert exits == {int(v) for v, c in zip(nodes, count, strict=True) if c == 0}
        for most in (0, 1, 2):
            left = without_bypasses(graph, most)
            anchors = {int(v) for v, c in zip(nodes, count, strict=True) if c <= most}
            cuts = {part.exit for part in modules(graph, edges=left)}
            assert anchors <= cuts
            dropped = np.flatnonzero(~left)
            for e in dropped.tolist():
                assert any(below[graph.tails[e], v] and below[v, graph.heads[e]] for v in anchors)
            bypassed += len(dropped)
    assert bypassed > 100
