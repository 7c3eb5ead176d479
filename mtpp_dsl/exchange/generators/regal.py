"""Look-alikes of the synthetic graphs of archer2024, Appendix C.2 (after Paliwal et al., 2020)."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.common import at_least, base_edges, check_size, generator, one_of

__all__ = ["regal"]


def regal(nodes: int = 100, model: str = "er", reading: str = "literal", seed: int = 0) -> Graph:
    """Return a random graph whose tensors have sizes near 50 and whose nodes cost what they read and write, and more.

    A look-alike: the paper's own graphs are filtered by a criterion it does not give, and no reading of
    its text reproduces its Table 3. **Figures on these graphs are not figures on REGAL.** Abstract units.

    * edges: of an undirected random graph, directed along a random order of its nodes.
    * ``output`` ~ max(1, N(50, 10)), one tensor per node, also where nobody reads it.
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
