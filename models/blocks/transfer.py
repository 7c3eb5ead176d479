"""State what edges take between devices, and that nodes wait for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.facts.times import LinkTimes


def routed_edges(times: LinkTimes, graph: Graph, home: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return for every edge that may take time, or may not go everywhere, between which devices it may go."""
    may, routes = times.may, {}
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        crossing = times.crossing(e, u, v)
        anywhere = may[u][:, None] & may[v]
        if home[u] != home[v] and ((crossing != anywhere).any() or times.carry[e][crossing].any()):
            routes[e] = [(int(d), int(f)) for d, f in np.argwhere(crossing)]
    return routes


def transfer(
    model: Any,
    times: LinkTimes,
    graph: Graph,
    home: Ints,
    on: On,
    routes: dict[int, list[tuple[int, int]]],
    sent: Sequence[int],
) -> None:
    """Add where edges go, ``z``, and that heads start when what they read has arrived.

    Formula: ``sum_f z[e,d,f] = on(u,d)``, ``sum_d z[e,d,f] = on(v,f)`` for the edge e from u to v;
    ``s[v] >= f[u] + sum_{d,f} carry[e,d,f] z[e,d,f]``; of edges in *sent* with a start of their own,
    ``r[e] >= f[u]``, ``s[v] >= r[e] + sum carry z``.
    Source -> target: precedence and transfer times -> a continuous variable for every edge and pair of devices it may
    go between, and rows.
    Exact: with ``on`` 0 or 1 so is z. Direct arcs only, the others follow; no big-M (it is the
    transportation form, which dominates ``u >= x + x - 1``). Reference: zhang2023, eq. 4a and 7.

    Args:
        model: with ``s``, ``f`` and ``D``.
        times: in the model's unit.
        graph: whose edges.
        home: [n] the class of each node.
        on: of classes.
        routes: of :func:`routed_edges`.
        sent: the edges that need a start of their own; among the routes.
    """
    part = model.transfer = pyo.Block(concrete=True)
    keys = [(e, d, f) for e, pairs in routes.items() for d, f in pairs]
    part.z = pyo.Var(keys, bounds=(0, 1))
    tails, heads, k = graph.tails.tolist(), graph.heads.tolist(), len(model.D)
    leaves: dict[tuple[int, int], list[Any]] = {(e, d): [] for e in routes for d in range(k)}
    enters: dict[tuple[int, int], list[Any]] = {(e, d): [] for e in routes for d in range(k)}
    for e, d, f in keys:
        leaves[e, d].append(part.z[e, d, f])
        enters[e, f].append(part.z[e, d, f])
    part.out = pyo.Constraint(list(leaves), rule=lambda _, e, d: sum(leaves[e, d]) == on(int(home[tails[e]]), d))
    part.into = pyo.Constraint(list(enters), rule=lambda _, e, d: sum(enters[e, d]) == on(int(home[heads[e]]), d))

    def carried(e: int) -> Any:
        return sum(float(times.carry[e, d, f]) * part.z[e, d, f] for d, f in routes.get(e, ()) if times.carry[e, d, f])

    part.total = pyo.Expression(expr=sum(carried(e) for e in routes))
    own = set(sent)
    low, high = times.on_the_way
    part.r = pyo.Var(list(sent), bounds=lambda _, e: (float(low[tails[e]]), float(high[heads[e]])))
    part.a = pyo.Var(list(sent), bounds=lambda _, e: (float(low[tails[e]]), float(high[heads[e]])))
    rest = [e for e in range(graph.m) if e not in own]
    part.waits = pyo.Constraint(rest, rule=lambda _, e: model.s[heads[e]] >= model.f[tails[e]] + carried(e))
    part.made = pyo.Constraint(list(sent), rule=lambda b, e: b.r[e] >= model.f[tails[e]])
    part.takes = pyo.Constraint(list(sent), rule=lambda b, e: b.a[e] == b.r[e] + carried(e))
    part.read = pyo.Constraint(list(sent), rule=lambda b, e: model.s[heads[e]] >= b.a[e])


def ends(
    model: Any, times: LinkTimes, routes: dict[int, list[tuple[int, int]]], sent: Sequence[int]
) -> Callable[[Any, Any], Any]:
    """Add at which ends edges take time, ``w``; return ``w(e, thing)``: k senders, then k receivers.

    Formula: ``w[e,d] = sum_f z[e,d,f]``, ``w[e,k+f] = sum_d z[e,d,f]``, over the pairs between which e takes time.
    Source -> target: what exclusive transfers use -> a continuous variable and a row each. Exact.
    """
    part, k = model.transfer, len(model.D)
    using: dict[tuple[int, int], list[Any]] = {(e, thing): [] for e in sent for thing in range(2 * k)}
    for e in sent:
        for d, f in routes[e]:
            if times.carry[e, d, f] > 0:
                using[e, d].append(part.z[e, d, f])
                using[e, k + f].append(part.z[e, d, f])
    part.w = pyo.Var(list(using), bounds=(0, 1))
    part.uses = pyo.Constraint(list(using), rule=lambda b, e, thing: b.w[e, thing] == sum(using[e, thing]))
    return lambda e, thing: part.w[e, thing]
