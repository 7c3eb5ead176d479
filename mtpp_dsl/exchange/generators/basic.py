"""Chains and layered graphs, in abstract units (no units at all, as the papers' costs)."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, check_size, generator, share, weights

__all__ = ["chain", "layered"]


MAX_DRAWN = 300_000_000
"""Pairs of nodes of neighbouring layers for which it is drawn whether there is an edge."""


def chain(
    nodes: int = 16, work: float = 10.0, output: float = 1.0, params: float = 1.0, spread: float = 0.5, seed: int = 0
) -> Graph:
    """Return the chain ``v[0] -> v[1] -> …``.

    Args:
        nodes: how many.
        work: mean running time of a node, abstract.
        output: mean size of a node's tensor, abstract.
        params: mean size of a node's parameters, abstract.
        spread: weights lie evenly within this share of their mean; 0 makes all equal.
        seed: of the weights.

    Raises:
        UsageError: no nodes, more than a million, a negative weight, a spread outside [0, 1].

    >>> chain(3, spread=0.0).work.tolist()
    [10.0, 10.0, 10.0]
    """
    at_least("nodes", nodes, 1)
    check_size(nodes, nodes)
    drawn = weights(work, output, params, spread, nodes, generator(seed))
    return Graph.create([f"v[{v}]" for v in range(nodes)], [(v, v + 1) for v in range(nodes - 1)], **drawn)


def layered(
    nodes: int = 32,
    width: int = 4,
    p: float = 0.5,
    work: float = 10.0,
    output: float = 1.0,
    params: float = 1.0,
    spread: float = 0.5,
    seed: int = 0,
) -> Graph:
    """Return a graph of layers, each node reading nodes of the layer before: at least one, each other with p.

    Args:
        nodes: how many; ``v[0] .. v[width - 1]`` are the first layer, and the last may be narrower.
        width: nodes of a layer.
        p: probability of an edge between nodes of neighbouring layers.
        work: mean running time of a node, abstract.
        output: mean size of a node's tensor, abstract.
        params: mean size of a node's parameters, abstract.
        spread: weights lie evenly within this share of their mean; 0 makes all equal.
        seed: of edges and weights.

    Raises:
        UsageError: no nodes, more than a million, more than two million edges to be expected, a width
            below 1, a negative weight, p or spread outside [0, 1], more pairs of nodes to draw than are drawn.
    """
    at_least("nodes", nodes, 1)
    at_least("width", width, 1)
    share("p", p)
    check_size(nodes, max(0, nodes - width) * (1 + p * (width - 1)))
    if max(0, nodes - width) * width > MAX_DRAWN:
        raise UsageError(
            f"{nodes:,} nodes in layers of {width:,} have {(nodes - width) * width:,} pairs in neighbouring layers; "
            f"at most {MAX_DRAWN:,} are drawn"
        )
    random = generator(seed)
    edges: list[tuple[int, int]] = []
    for v in range(width, nodes):
        first = v // width * width - width
        reads = random.random(width) < p
        reads[random.integers(width)] = True
        edges += [(first + int(u), v) for u in np.flatnonzero(reads)]
    drawn = weights(work, output, params, spread, nodes, random)
    return Graph.create([f"v[{v}]" for v in range(nodes)], edges, **drawn)
