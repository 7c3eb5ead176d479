"""When subgraphs start and end, and when the latency is over."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.subgraphs import Slots

SMALL = 1e-4
"""Times below this share of the longest are too small to keep subgraphs from waiting for each other."""


def latency(model: Any, graph: Graph, slots: Slots, time: Floats, tensor: Floats, head: Floats, most: float) -> None:
    """Add tensors that are read and written, starts, ends and the objective.

    Formula, for edges (u,v), subgraphs s and CPUs c: ``r[u,s] >= x[v,s] - x[u,s]``, ``w[u,s] >= x[u,s] - x[v,s]``;
    ``start[s] >= L[u] - most (1 - r[u,s])``; ``end(s) = start[s] + sum_v time x[v,s] + sum_u tensor (r + w)``;
    ``L[v] >= end(s) - (most - head[v]) (1 - x[v,s])``; ``L[v] >= L[u] + sum_c time x[v,c]``; ``start[s'] >= end(s)``
    for the next s' of its device; ``T >= L[v]``, ``T >= end(s)``. L[v] is when what v makes is in memory.
    Source -> target: ``minimize makespan`` on ``host`` and ``shared`` -> continuous variables, one row per edge and
    subgraph. Exact for plans that take at most *most*, but for subgraphs that wait for each other and take no time.
    Reference: tarnawski2020, appendix A, as in the published code, whose M is the time of all nodes on a CPU.

    Args:
        model: with ``V`` and ``x``.
        graph: the graph.
        slots: see :func:`mtpp_dsl.models.blocks.subgraphs.slots_of`.
        time: [n, devices] in the model's unit; 0 where a node may not be.
        tensor: [n] of one reading or writing.
        head: [n] no plan has what a node makes in memory sooner.
        most: the largest latency of interest.
    """
    part = model.times = pyo.Block(concrete=True)
    read = sorted(set(graph.tails.tolist()))
    part.U = pyo.Set(initialize=read)
    part.I = pyo.Set(initialize=list(range(slots.pieces)))
    part.C = pyo.Set(initialize=list(range(slots.pieces, len(slots.home))))
    part.E = pyo.Set(initialize=list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)), dimen=2)
    part.paid = pyo.Set(initialize=[u for u in read if tensor[u] > 0])
    part.dear = pyo.Set(initialize=[(u, v) for u, v in part.E if tensor[u] > 0], dimen=2)
    part.r = pyo.Var(part.U, part.I, bounds=(0, 1))
    part.w = pyo.Var(part.paid, part.I, bounds=(0, 1))
    part.start = pyo.Var(part.I, domain=pyo.NonNegativeReals)
    part.L = pyo.Var(model.V, bounds=lambda _, v: (float(head[v]), None))
    model.T = pyo.Var(bounds=(float(head.max(initial=0.0)), None))
    part.time = pyo.Param(model.V, model.S, initialize=lambda _, v, s: float(time[v, slots.home[s]]))
    part.tensor = pyo.Param(part.paid, initialize=lambda _, u: float(tensor[u]))
    part.slack = pyo.Param(model.V, initialize=lambda _, v: most - float(head[v]))
    x = model.x
    constrain(part, "read", part.E, part.I, rule=lambda b, u, v, s: b.r[u, s] >= x[v, s] - x[u, s])
    constrain(part, "written", part.dear, part.I, rule=lambda b, u, v, s: b.w[u, s] >= x[u, s] - x[v, s])
    part.end = pyo.Var(part.I, domain=pyo.NonNegativeReals)
    constrain(
        part,
        "ends",
        part.I,
        rule=lambda b, s: (
            b.end[s]
            == b.start[s]
            + sum(b.time[v, s] * x[v, s] for v in model.V)
            + sum(b.tensor[u] * (b.r[u, s] + b.w[u, s]) for u in b.paid)
        ),
    )
    constrain(part, "ready", part.U, part.I, rule=lambda b, u, s: b.start[s] >= b.L[u] - most * (1 - b.r[u, s]))
    constrain(part, "there", model.V, part.I, rule=lambda b, v, s: b.L[v] >= b.end[s] - b.slack[v] * (1 - x[v, s]))
    constrain(part, "alone", model.V, rule=lambda b, v: b.L[v] >= sum(b.time[v, c] * x[v, c] for c in b.C))
    constrain(part, "after", part.E, rule=lambda b, u, v: b.L[v] >= b.L[u] + sum(b.time[v, c] * x[v, c] for c in b.C))
    part.follows = pyo.Set(initialize=slots.follows, dimen=2)
    constrain(part, "in_turn", part.follows, rule=lambda b, s, t: b.start[t] >= b.end[s])
    part.last = pyo.Set(initialize=[v for v in model.V if v not in set(read)])
    constrain(part, "latest", part.last, rule=lambda b, v: b.L[v] <= model.T)
    constrain(part, "over", part.I, rule=lambda b, s: b.end[s] <= model.T)
    model.objective = pyo.Objective(expr=model.T)


def never_in_a_circle(model: Any, graph: Graph, slots: Slots, least: Floats, tensor: Floats, most: float) -> None:
    """Keep subgraphs from waiting for each other where that would take no time, or too little for a solver to see.

    Formula, for edges (u,v) with a small tensor between nodes of small times, and subgraphs s:
    ``o[s] >= p[u] + 1 - M (1 - r[u,s])``, ``p[v] >= o[s] + 1 - M (1 - x[v,s])`` for the nodes v of such edges,
    ``p[v] >= p[u]``, ``o[s'] >= o[s]`` for the next s' of a device; M is twice the number of subgraphs and 2.
    Source -> target: an order in which subgraphs can run -> positions ``o`` of subgraphs and ``p`` of nodes. Exact: all
    other circles take longer than solvers' tolerances.

    Args:
        model: with :func:`latency`.
        graph: the graph.
        slots: the slots.
        least: [n] the least time of each node.
        tensor: [n] of one reading or writing.
        most: the largest latency of interest.
    """
    small = (least <= SMALL * most) & (tensor <= SMALL * most)
    edges = [
        (u, v)
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
        if small[u] and least[v] <= SMALL * most
    ]
    if len(edges) < 2 or slots.pieces == 0:
        return
    part = model.positions = pyo.Block(concrete=True)
    far = 2.0 * slots.pieces + 2
    part.E = pyo.Set(initialize=edges, dimen=2)
    part.I = pyo.Set(initialize=list(range(slots.pieces)))
    part.U = pyo.Set(initialize=sorted({u for u, _ in edges}))
    part.W = pyo.Set(initialize=sorted({v for edge in edges for v in edge}))
    part.p = pyo.Var(part.W, bounds=(0, far))
    part.o = pyo.Var(part.I, bounds=(0, far))
    times = model.times
    constrain(part, "read", part.U, part.I, rule=lambda b, u, s: b.o[s] >= b.p[u] + 1 - (far + 1) * (1 - times.r[u, s]))
    constrain(part, "made", part.W, part.I, rule=lambda b, v, s: b.p[v] >= b.o[s] + 1 - (far + 1) * (1 - model.x[v, s]))
    constrain(part, "after", part.E, rule=lambda b, u, v: b.p[v] >= b.p[u])
    part.follows = pyo.Set(initialize=slots.follows, dimen=2)
    constrain(part, "in_turn", part.follows, rule=lambda b, s, t: b.o[t] >= b.o[s])
