"""Chains, layered graphs and look-alikes of REGAL, in abstract units (no units at all, as the papers' costs)."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, base_edges, check_size, generator, one_of, share, weights

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


def regal(nodes: int = 100, model: str = "er", reading: str = "literal", seed: int = 0) -> Graph:
    """Return a random graph whose tensors have sizes near 50 and whose nodes cost what they read and write, and more.

    A look-alike: the paper's own graphs are filtered by a criterion it does not give, and no reading of
    its text reproduces its Table 3. **Figures on these graphs are not figures on REGAL.** Abstract units.

    * edges: of an undirected random graph, directed along a random order of its nodes.
    * ``output`` ~ max(1, N(50, 10)), one tensor per node, also where no node reads it.
    * ``work``, with io(v) = own output + the outputs it reads: ``literal`` takes the text at its word,
      io(v) + abs(r) * (sum of all outputs), r ~ N(0, 0.1), which fits the paper at k = 2 and loosely to 8;
      ``own-memory`` takes the node's own share, io(v) * (1 + r), which fits at k = 16 and is nearest beyond.

    Args:
        nodes: how many; the paper's have 50 to 200.
        model: base graph: ``er`` (p = 0.05), ``ba`` (2 links per node), ``ws`` (4 neighbours, 0.3 rewired)
            or ``sbm`` (4 equal blocks, 0.3 within and 0.01 between).
        reading: ``literal`` or ``own-memory``.
        seed: of everything.

    Raises:
        UsageError: too few nodes for the model, more than a million, more than ten million edges to be
            expected, an unknown model or reading.
    """
    at_least("nodes", nodes, 1)
    one_of("model", model, ("er", "ba", "ws", "sbm"))
    one_of("reading", reading, ("literal", "own-memory"))
    check_size(nodes, 0)
    random = generator(seed)
    pairs = _blocks(nodes, random) if model == "sbm" else base_edges(model, nodes, random, *_BASE[model])
    position = random.permutation(nodes)
    edges = [(u, v) if position[u] < position[v] else (v, u) for u, v in pairs]
    output = np.maximum(random.normal(50, 10, nodes), 1.0)
    r = random.normal(0, 0.1, nodes)
    io = output.copy()
    for u, v in edges:
        io[v] += output[u]
    work = io + np.abs(r) * output.sum() if reading == "literal" else io * np.maximum(1 + r, 0.0)
    return Graph.create([f"v[{v}]" for v in range(nodes)], edges, work=work, output=output)


_BASE = {"er": (0.05, 0, 0), "ws": (0.3, 4, 0), "ba": (0.0, 0, 2)}  # p, neighbours, links


def _blocks(n: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Return the edges of a stochastic block model of four blocks."""
    import networkx as nx

    at_least("nodes (sbm has 4 blocks)", n, 4)
    check_size(n, 0.3 * n * n / 8 + 0.01 * 3 * n * n / 8)
    sizes = [n // 4] * 3 + [n - 3 * (n // 4)]
    within = [[0.3 if a == b else 0.01 for b in range(4)] for a in range(4)]
    return list(nx.stochastic_block_model(sizes, within, seed=int(random.integers(2**31))).edges())
