"""Checks of generator parameters, random weights, and random base graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from mtpp_dsl.core.base.spec_limits import MAX_EDGES, MAX_NODES
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Floats

__all__ = ["at_least", "base_edges", "check_size", "generator", "one_of", "share", "weights"]

MOST_NODES = MAX_NODES
MOST_EDGES = MAX_EDGES


class NodeWeights(TypedDict):
    """Arguments of :meth:`Graph.create`, each [n]."""

    work: Floats
    output: Floats
    params: Floats


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value below *least*."""
    if not value >= least:
        raise UsageError(f"{name} must be at least {least:g}, not {value:g}")


def share(name: str, value: float) -> None:
    """Refuse a value outside [0, 1]."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must lie between 0 and 1, not {value:g}")


def one_of(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is not one of *choices*."""
    if value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}{did_you_mean(value, choices)}")


def generator(seed: int) -> np.random.Generator:
    """Return numpy's default generator; refuse a negative seed."""
    at_least("seed", seed, 0)
    return np.random.default_rng(seed)


def check_size(nodes: float, edges: float) -> None:
    """Refuse a graph beyond the caps before it is made; *edges* may be an expectation."""
    if nodes > MOST_NODES:
        raise UsageError(f"this would make {nodes:,.0f} nodes; at most {MOST_NODES:,} are made")
    if edges > MOST_EDGES:
        raise UsageError(f"this would make some {edges:,.0f} edges; at most {MOST_EDGES:,} are made")


def weights(
    work: float, output: float, params: float, spread: float, n: int, random: np.random.Generator
) -> NodeWeights:
    """Return the weights of n nodes, each drawn evenly from its mean times 1 - spread .. 1 + spread.

    Raises:
        UsageError: a negative mean, or a spread outside [0, 1].
    """
    for name, mean in (("work", work), ("output", output), ("params", params)):
        at_least(name, mean, 0.0)
    share("spread", spread)
    factors = random.uniform(1 - spread, 1 + spread, (3, n))
    return {"work": work * factors[0], "output": output * factors[1], "params": params * factors[2]}


def base_edges(
    model: str, n: int, random: np.random.Generator, p: float, neighbours: int, links: int
) -> list[tuple[int, int]]:
    """Return the edges of an undirected random graph on 0..n-1, by networkx.

    Args:
        model: "er" (Erdős–Rényi: every edge with probability p), "ws" (Watts–Strogatz: a ring joined to
            *neighbours* nearest, each edge rewired with probability p) or "ba" (Barabási–Albert: every
            new node joined to *links* earlier ones).
        n: number of nodes.
        random: where the seed comes from.
        p: of er and ws.
        neighbours: of ws.
        links: of ba.

    Raises:
        UsageError: fewer nodes than the model needs.
    """
    import networkx as nx

    seed = int(random.integers(2**31))
    if model == "er":
        check_size(n, p * n * (n - 1) / 2)
        return list(nx.fast_gnp_random_graph(n, p, seed=seed).edges())
    if model == "ws":
        check_size(n, n * neighbours / 2)
        at_least(f"nodes (ws joins {neighbours} neighbours)", n, neighbours + 1)
        return list(nx.watts_strogatz_graph(n, neighbours, p, seed=seed).edges())
    check_size(n, n * links)
    at_least(f"nodes (ba joins every node to {links})", n, links + 1)
    return list(nx.barabasi_albert_graph(n, links, seed=seed).edges())
