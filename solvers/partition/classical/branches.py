"""Branchings contracted to single nodes, as PipeDream's optimizer needs it (tarnawski2020, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.changing_nets import ChangingNets
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, contracted

SLIGHT = 0.1
"""A node that takes no time and sends at most this share of the mean tensor does not count as a branch."""


def contract_branches(problem: Problem, supernodes: OrderedSupernodes) -> OrderedSupernodes:
    """Return *supernodes* with every branching made one supernode.

    A branching is a biconnected component of the undirected graph of ``before``: what lies between two supernodes that
    all ways lead through. The tails of its arcs, that is all of it but where it ends, become one supernode; so do
    supernodes that then wait for each other. Arcs from passed-over supernodes do not count, see :func:`_passed_over`.
    """
    import networkx as nx

    passed = _passed_over(problem, supernodes)
    arcs = [(a, b) for a, b in supernodes.before if not passed[a]]
    tails = {frozenset(arc): arc[0] for arc in arcs}
    root = nx.utils.UnionFind(range(supernodes.n))
    for component in nx.biconnected_component_edges(nx.Graph(arcs)):
        root.union(*sorted(tails[frozenset(edge)] for edge in component))
    waits = nx.DiGraph((root[a], root[b]) for a, b in supernodes.before)
    for component in nx.strongly_connected_components(waits):
        root.union(*sorted(component))
    return united(supernodes, [root[v] for v in range(supernodes.n)])


def _passed_over(problem: Problem, supernodes: OrderedSupernodes) -> Bools:
    """Return [n] whether each takes no time and sends next to nothing: an input, or a mask, that is read everywhere.

    PipeDream does not take these for layers; the program of tarnawski2020 lists them by number for its inputs.
    """
    cost = problem.tensor_time
    sent = np.array([cost[list(nodes)].sum() for nodes in supernodes.members]).reshape(-1)
    timeless = (np.where(np.isfinite(supernodes.time), supernodes.time, 0.0) == 0).all(axis=1)
    typical = cost[cost > 0].mean() if (cost > 0).any() else 0.0
    return np.asarray(timeless & (sent <= SLIGHT * typical), np.bool_)


def united(supernodes: OrderedSupernodes, representative: Sequence[int]) -> OrderedSupernodes:
    """Return the union of the supernodes of each *representative*, numbered by their first members."""
    number: dict[int, int] = {}
    into: Ints = np.array([number.setdefault(r, len(number)) for r in representative], dtype=np.int64)
    nets = ChangingNets((into[list(pins)].tolist(), cost) for pins, cost in supernodes.nets)
    return contracted(supernodes, into, supernodes.before, nets.items())
