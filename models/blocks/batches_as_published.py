"""The rows of a batched schedule as ghannane2023 prints them, with large constants and a barrier."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain


def published_sizes(model: Any, takes: Floats, on: On) -> None:
    """Add of how many chunks batches are, ``b``, and that they make up the whole: eq. 3.4 to 3.6.

    Formula: ``sum_u sum_p p b[i,u,p] = L``; with ``g = sum_l x[i,u,l] - p``, M = 2L + 2, M' = 10 M and a binary
    ``delta[i,u,p]``: ``2 g - 1 <= M (1 - b)``, ``-2 g - 1 <= M (1 - b)``, ``2 g - 1 >= -M b - M' delta``,
    ``2 g + 1 <= M b + M' (1 - delta)``. Exact.

    Args:
        model: with ``D``.
        takes: [n, k, chunks + 1], ``inf`` for the sizes that a device does not run.
        on: of node i in copy l, as number ``l * n + i``.
    """
    n, _, count = takes.shape
    chunks = count - 1
    M = 2.0 * chunks + 2
    more = 10 * M
    keys = [(i, d, p) for i, d, p in np.argwhere(np.isfinite(takes)).tolist() if p]
    model.b = pyo.Var(keys, domain=pyo.Binary)
    model.delta = pyo.Var(keys, domain=pyo.Binary)
    model.adds_up = pyo.Constraint(
        sorted({i for i, _, _ in keys}),
        rule=lambda m, i: sum(p * m.b[i, d, p] for j, d, p in keys if j == i) == chunks,
    )
    model.copies = pyo.Set(initialize=[c * n for c in range(chunks)])

    def beyond(m: Any, i: Any, d: Any, p: Any) -> Any:
        return 2 * (sum(on(c + i, d) for c in m.copies) - p)

    rules = {
        "at_most": lambda m, i, d, p: beyond(m, i, d, p) - 1 <= M * (1 - m.b[i, d, p]),
        "at_least": lambda m, i, d, p: -beyond(m, i, d, p) - 1 <= M * (1 - m.b[i, d, p]),
        "more": lambda m, i, d, p: beyond(m, i, d, p) - 1 >= -M * m.b[i, d, p] - more * m.delta[i, d, p],
        "fewer": lambda m, i, d, p: beyond(m, i, d, p) + 1 <= M * m.b[i, d, p] + more * (1 - m.delta[i, d, p]),
    }
    for name, rule in rules.items():
        constrain(model, name, model.b.index_set(), rule=rule)


def _takes_of(model: Any, takes: Floats, i: int, d: int) -> Any:
    """Return what the batch of node *i* on device *d* takes; 0 if there is none."""
    sizes = np.flatnonzero(np.isfinite(takes[i, d, 1:])) + 1
    return sum(float(takes[i, d, p]) * model.b[i, d, p] for p in sizes.tolist())


def published_barrier(model: Any, graph: Graph, takes: Floats, carry: Floats, on: On) -> None:
    """Add starts ``s``, the makespan ``C``, the objective, and precedence with its barrier: eq. 3.2 and 3.3.

    Formula: ``s[i,u] + dur[i,u] <= C``; ``s[i,u] + dur[i,u] + carry[e,u,v] (x[j,v,l] + x[i,u,l] - 1) <= s[j,v]`` for
    every edge e from i to j, all devices u and v and all l, with *par(j)* where *par(i)* is printed;
    ``x[i,u,l] + x[j,v,l] <= 1`` where no link joins u and v.
    A restriction: whatever l the batch of i on u has, that of j on v waits for it.

    Args:
        model: as :func:`published_sizes` leaves it.
        graph: n nodes.
        takes: of batches.
        carry: [m, k, k] of edges, ``inf`` where no link joins two devices.
        on: of the nodes of all copies.
    """
    n, k, count = takes.shape
    model.s = pyo.Var(range(n), range(k), domain=pyo.NonNegativeReals)
    model.C = pyo.Var(domain=pyo.NonNegativeReals)
    ends = {(i, d): model.s[i, d] + _takes_of(model, takes, i, d) for i in range(n) for d in range(k)}
    model.last = pyo.Constraint(list(ends), rule=lambda m, i, d: ends[i, d] <= m.C)
    model.precedence = pyo.ConstraintList()
    for e, (i, j) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        for u, v in np.ndindex(k, k):
            joined = np.isfinite(carry[e, u, v])
            for c in (copy * n for copy in range(count - 1)):
                both = on(c + i, u) + on(c + j, v)
                if joined:
                    model.precedence.add(ends[i, u] + float(carry[e, u, v]) * (both - 1) <= model.s[j, v])
                else:
                    model.precedence.add(both <= 1)
            if not joined:
                model.precedence.add(ends[i, u] <= model.s[j, v])
    model.objective = pyo.Objective(expr=model.C)


def published_turns(model: Any, takes: Floats, after: Bools, most: float) -> None:
    """Add that batches on one device take turns: eq. 3.8, for the pairs that the barrier does not order.

    Formula: with a binary ``first`` and H = *most*: ``s[i,u] + dur[i,u] - s[j,u] <= H (1 - first) + H (2 - b_i - b_j)``
    and ``s[j,u] + dur[j,u] - s[i,u] <= H first + H (2 - b_i - b_j)``, where b is whether there is a batch that takes
    time. Mended: the second row has the duration of j, where that of i is printed, and the condition is of one device.

    Args:
        model: with ``s`` and ``b``.
        takes: of batches.
        after: [n, n] whether a path leads from one node to another.
        most: no schedule is longer.
    """
    n, k, _ = takes.shape
    sizes = {(i, d): [p for p in np.flatnonzero(np.isfinite(takes[i, d])).tolist() if takes[i, d, p] > 0]
             for i in range(n) for d in range(k)}  # fmt: skip
    pairs = [
        (i, j, d)
        for i, j in combinations(range(n), 2)
        for d in range(k)
        if not (after[i, j] or after[j, i]) and sizes[i, d] and sizes[j, d]
    ]
    model.first = pyo.Var(pairs, domain=pyo.Binary)

    def loose(m: Any, i: int, j: int, d: int) -> Any:
        there = sum(m.b[i, d, p] for p in sizes[i, d]) + sum(m.b[j, d, p] for p in sizes[j, d])
        return most * (2 - there)

    def before(m: Any, i: int, j: int, d: int) -> Any:
        end = m.s[i, d] + _takes_of(m, takes, i, d)
        return end - m.s[j, d] <= most * (1 - m.first[i, j, d]) + loose(m, i, j, d)

    def behind(m: Any, i: int, j: int, d: int) -> Any:
        end = m.s[j, d] + _takes_of(m, takes, j, d)
        return end - m.s[i, d] <= most * m.first[i, j, d] + loose(m, i, j, d)

    model.before = pyo.Constraint(pairs, rule=before)
    model.behind = pyo.Constraint(pairs, rule=behind)
