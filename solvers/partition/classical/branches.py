"""Branchings contracted to single nodes, as PipeDream's optimizer needs it (tarnawski2020, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.ideals.classes import Classes
from mtpp_dsl.solvers.algorithms.ideals.nets import Nets

__all__ = ["contract_branches", "merged"]

SLIGHT = 0.1
"""What takes no time and sends at most this share of the mean tensor is no branching of its own."""


def contract_branches(problem: Problem, classes: Classes) -> Classes:
    """Return *classes* with every branching made one class.

    A branching is a biconnected component of the undirected graph of ``before``: what lies between two classes that
    all ways lead through. The tails of its arcs, that is all of it but where it ends, become one class; so do classes
    that then wait for each other. Arcs from passed-over classes do not count, see :func:`_passed_over`.
    """
    import networkx as nx

    passed = _passed_over(problem, classes)
    arcs = [(a, b) for a, b in classes.before if not passed[a]]
    tails = {frozenset(arc): arc[0] for arc in arcs}
    home = nx.utils.UnionFind(range(classes.n))
    for component in nx.biconnected_component_edges(nx.Graph(arcs)):
        home.union(*sorted(tails[frozenset(edge)] for edge in component))
    waits = nx.DiGraph((home[a], home[b]) for a, b in classes.before)
    for component in nx.strongly_connected_components(waits):
        home.union(*sorted(component))
    return merged(classes, [home[v] for v in range(classes.n)])


def _passed_over(problem: Problem, classes: Classes) -> Bools:
    """Return [n] whether each takes no time and sends next to nothing: an input, or a mask, that is read everywhere.

    PipeDream does not take these for layers; the program of tarnawski2020 lists them by number for its inputs.
    """
    cost = problem.tensor_time
    sent = np.array([cost[list(nodes)].sum() for nodes in classes.members]).reshape(-1)
    timeless = (np.where(np.isfinite(classes.time), classes.time, 0.0) == 0).all(axis=1)
    typical = cost[cost > 0].mean() if (cost > 0).any() else 0.0
    return np.asarray(timeless & (sent <= SLIGHT * typical), np.bool_)


def merged(classes: Classes, home: Sequence[int]) -> Classes:
    """Return the classes of which each is the union of those with one *home*, numbered by their first members."""
    kept = list(dict.fromkeys(home))
    number = {h: i for i, h in enumerate(kept)}
    into: Ints = np.array([number[h] for h in home], dtype=np.int64)
    members: list[list[int]] = [[] for _ in kept]
    for v, c in enumerate(into.tolist()):
        members[c] += classes.members[v]
    time = np.zeros((len(kept), classes.time.shape[1]))
    np.add.at(time, into, classes.time)
    pairs = {(int(into[a]), int(into[b])) for a, b in classes.before}
    nets = Nets((into[list(pins)].tolist(), cost) for pins, cost in classes.tensors)
    return Classes(
        members=tuple(tuple(sorted(nodes)) for nodes in members),
        before=tuple(sorted((a, b) for a, b in pairs if a != b)),
        tensors=tuple(nets.items()),
        time=time,
        size=np.bincount(into, weights=classes.size, minlength=len(kept)).astype(np.float64),
        params=np.bincount(into, weights=classes.params, minlength=len(kept)).astype(np.float64),
    )
