"""Scotch's files: a graph with whole weights, and a mapping (Scotch user's guide, 5.1 and 5.5)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes

__all__ = ["graph_file", "read_mapping"]

MAX_WEIGHTS = 2**30
"""Scotch adds up weights, times the number of parts, in 32 bits with a sign."""


def graph_file(problem: Problem, units: OrderedSupernodes, time: Floats, parts: int) -> str:
    """Return the graph of units in Scotch's format.

    The weight of an edge is what the tensors cost that one end sends to the other, each once for every unit that
    reads it. Sums of weights, over both directions of every edge, stay below ``MAX_WEIGHTS / parts``.

    Args:
        problem: the problem.
        units: vertices.
        time: [units] running time of each.
        parts: how many parts are asked for.
    """
    between = _between(problem, units)
    most = MAX_WEIGHTS // parts
    loads = _whole(time, most)
    weights = dict(zip(between, _whole(np.array(list(between.values()), np.float64), most // 2).tolist(), strict=True))
    rows: list[list[str]] = [[] for _ in range(units.n)]
    for (a, b), weight in sorted(weights.items()):
        rows[a].append(f"{max(1, weight)} {b}")
        rows[b].append(f"{max(1, weight)} {a}")
    lines = [f"{load} {len(row)} {' '.join(row)}".rstrip() for load, row in zip(loads.tolist(), rows, strict=True)]
    return "\n".join(["0", f"{units.n} {2 * len(weights)}", "0 011", *lines, ""])


def _between(problem: Problem, units: OrderedSupernodes) -> dict[tuple[int, int], float]:
    graph, cost, of = problem.graph, problem.tensor_time, units.of
    sent: dict[tuple[int, int], float] = defaultdict(float)
    for u in np.flatnonzero(cost > 0).tolist():
        a = int(of[u])
        for b in set(of[graph.successors(u)].tolist()) - {a}:
            sent[min(a, b), max(a, b)] += float(cost[u])
    return sent


def _whole(weights: Floats, most: int) -> Ints:
    """Return weights in proportion, rounded down to whole numbers of a sum of at most *most*."""
    total = float(weights.sum())
    return np.floor(weights * (most / total)).astype(np.int64) if total > 0 else np.zeros(len(weights), np.int64)


def read_mapping(path: Path, n: int) -> list[int] | None:
    """Return [n] the part of every vertex, or None if the file does not give one to each."""
    if not path.is_file():
        return None
    words = path.read_text(encoding="ascii").split()
    if len(words) != 2 * n + 1:
        return None
    parts = dict(zip(map(int, words[1::2]), map(int, words[2::2]), strict=True))
    return [parts[v] for v in range(n)] if set(parts) == set(range(n)) else None
