"""The rows of a schedule on links as zhang2023 prints them, with one large constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain

BIG = 1e5
"""M^s, M^l and M^r of the published programme."""


def published_times(model: Any, graph: Graph, time: Floats, after: Bools, on: On) -> None:
    """Add starts ``S`` and completions ``C`` of nodes and links, the makespan and the objective: eq. 4, 4a and 4b.

    Formula: ``C_i <= S_j`` for all direct and indirect successors j of i in the graph whose links are nodes too;
    ``C_i = S_i + sum_k p_ik x_ik``. Exact. The links are numbered after the nodes.

    Args:
        model: with ``N`` and ``D``.
        graph: n nodes.
        time: [n, k], ``inf`` where x is fixed to 0.
        after: [n, n] whether a path leads from one node to another.
        on: where nodes are.
    """
    n = graph.n
    model.A = pyo.RangeSet(0, n + graph.m - 1)
    model.S = pyo.Var(model.A, domain=pyo.NonNegativeReals)
    model.C = pyo.Var(model.A, domain=pyo.NonNegativeReals)
    model.makespan = pyo.Var(domain=pyo.NonNegativeReals)
    model.successors = pyo.Set(initialize=list(_successors(graph, after)), dimen=2)
    constrain(model, "precedence", model.successors, rule=lambda m, i, j: m.C[i] <= m.S[j])
    where = np.isfinite(time)
    model.completes = pyo.Constraint(
        model.N,
        rule=lambda m, i: (
            m.C[i] == m.S[i] + sum(float(time[i, k]) * on(i, k) for k in np.flatnonzero(where[i]).tolist())
        ),
    )
    constrain(model, "last", model.N, rule=lambda m, i: m.makespan >= m.C[i])
    model.objective = pyo.Objective(expr=model.makespan)


def _successors(graph: Graph, after: Bools) -> Iterator[tuple[int, int]]:
    """Yield all pairs of the augmented graph: nodes, and links as n + e."""
    n = graph.n
    reach = after | np.eye(n, dtype=np.bool_)
    yield from ((int(i), int(j)) for i, j in np.argwhere(after))
    ends = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    for e, (u, v) in enumerate(ends):
        yield from ((int(i), n + e) for i in np.flatnonzero(reach[:, u]))
        yield from ((n + e, int(j)) for j in np.flatnonzero(reach[v]))
        yield from ((n + e, n + g) for g, (w, _) in enumerate(ends) if reach[v, w])


def published_overlap(model: Any, time: Floats, after: Bools, on: On) -> None:
    """Add that nodes of one device do not overlap: eq. 6, with a binary for each pair without precedence.

    A node that takes no time on a device is left out there: it overlaps with nothing, and the rows would forbid it to
    run while another does.
    """
    n, k = time.shape
    free = [(i, j) for i, j in combinations(range(n), 2) if not (after[i, j] or after[j, i])]
    takes = np.isfinite(time) & (time > 0)
    rows = [(i, j, d) for i, j in free for d in range(k) if takes[i, d] and takes[j, d]]
    part = model.overlap = pyo.Block(concrete=True)
    part.delta = pyo.Var(sorted({(i, j) for i, j, _ in rows}), domain=pyo.Binary)
    part.rows = pyo.Set(initialize=rows, dimen=3)
    m = model
    constrain(
        part,
        "after",
        part.rows,
        rule=lambda b, i, j, d: m.S[i] >= m.C[j] - BIG * b.delta[i, j] - BIG * (2 - on(i, d) - on(j, d)),
    )
    constrain(
        part,
        "before",
        part.rows,
        rule=lambda b, i, j, d: m.S[j] >= m.C[i] - BIG * (1 - b.delta[i, j]) - BIG * (2 - on(i, d) - on(j, d)),
    )


def published_transfers(model: Any, graph: Graph, carry: Floats, on: On) -> None:
    """Add the links, eq. 7: ``z`` whether one is used, ``u`` between which devices; missing ways are fixed to 0."""
    n, k = graph.n, len(model.D)
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    part = model.links = pyo.Block(concrete=True)
    part.E = pyo.RangeSet(0, graph.m - 1)
    part.P = pyo.Set(initialize=pairs, dimen=2)
    part.z = pyo.Var(part.E, domain=pyo.Binary)
    part.u = pyo.Var(part.E, part.P, domain=pyo.Binary)
    ends = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    part.none = pyo.Constraint(
        part.E, model.D, rule=lambda b, q, d: b.z[q] <= 2 - on(ends[q][0], d) - on(ends[q][1], d)
    )
    part.left = pyo.Constraint(part.E, model.D, rule=lambda b, q, d: b.z[q] >= on(ends[q][0], d) - on(ends[q][1], d))
    part.entered = pyo.Constraint(part.E, model.D, rule=lambda b, q, d: b.z[q] >= on(ends[q][1], d) - on(ends[q][0], d))
    part.one = pyo.Constraint(part.E, rule=lambda b, q: sum(b.u[q, p] for p in pairs) == b.z[q])
    part.channel = pyo.Constraint(
        part.E, part.P, rule=lambda b, q, d, f: b.u[q, d, f] >= on(ends[q][0], d) + on(ends[q][1], f) - 1
    )
    for q in range(graph.m):
        for d, f in pairs:
            if not np.isfinite(carry[q, d, f]):
                part.u[q, d, f].fix(0)
    part.completes = pyo.Constraint(
        part.E,
        rule=lambda b, q: (
            model.C[n + q]
            == model.S[n + q]
            + sum(float(carry[q, d, f]) * b.u[q, d, f] for d, f in pairs if np.isfinite(carry[q, d, f]))
        ),
    )


def published_congestion(model: Any, graph: Graph, timed: Sequence[int], after: Bools, on: On) -> None:
    """Add that transfers which leave one device, or reach one, do not overlap: eq. 8.

    Args:
        model: with the rows of :func:`published_transfers`.
        graph: the graph.
        timed: the links that take time wherever they go; the others need no order.
        after: [n, n] whether a path leads from one node to another.
        on: where nodes are.
    """
    n, ends = graph.n, list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    reach = after | np.eye(n, dtype=np.bool_)
    free = [
        (q, r)
        for q, r in combinations(timed, 2)
        if not (reach[ends[q][1], ends[r][0]] or reach[ends[r][1], ends[q][0]])
    ]
    part = model.congestion = pyo.Block(concrete=True)
    part.delta = pyo.Var(free, domain=pyo.Binary)
    part.rows = pyo.Set(initialize=[(q, r, *ends[q], *ends[r], k) for q, r in free for k in model.D], dimen=7)
    S, C, z = model.S, model.C, model.links.z

    def both(b: Any, q: Any, r: Any, away: Any) -> tuple[Any, Any]:
        """Return what (8) adds to either order: nothing where *away*, of the four places, is 2."""
        loose = BIG * (2 - z[q] - z[r]) - BIG * (away - 2)
        return BIG * b.delta[q, r] + loose, BIG * (1 - b.delta[q, r]) + loose

    def left(u: Any, v: Any, w: Any, x: Any, k: Any) -> Any:
        return on(u, k) + on(w, k) - on(v, k) - on(x, k)

    rules: dict[str, Callable[..., Any]] = {
        "sent_after": lambda b, q, r, u, v, w, x, k: S[n + q] >= C[n + r] - both(b, q, r, left(u, v, w, x, k))[0],
        "sent_before": lambda b, q, r, u, v, w, x, k: S[n + r] >= C[n + q] - both(b, q, r, left(u, v, w, x, k))[1],
        "got_after": lambda b, q, r, u, v, w, x, k: S[n + q] >= C[n + r] - both(b, q, r, left(v, u, x, w, k))[0],
        "got_before": lambda b, q, r, u, v, w, x, k: S[n + r] >= C[n + q] - both(b, q, r, left(v, u, x, w, k))[1],
    }
    for name, rule in rules.items():
        constrain(part, name, part.rows, rule=rule)
