"""Stages in the order of devices, none empty where that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain


def stages_in_order(model: Any, problem: Problem, home: Sequence[int], on: On) -> None:
    """Let data flow along the devices of every order, and let those have a node that are not to be empty.

    Formula: with the devices l_1, …, l_m of an order, for every edge (u,v) of the forward part and j = 1, …, m - 1
    ``sum_{i <= j} on(v,l_i) <= sum_{i <= j} on(u,l_i)``, and the other way round in the backward part. Where the order
    leaves devices out, ``after[v,j]`` of every node v is 1 if it comes from a device behind l_j, or is on one:
    ``after[v,j] >= sum_{i > j} on(v,l_i)``; ``after[v,j] >= after[u,j]`` for an edge (u,v); ``after[v,j] + sum_{i <= j}
    on(v,l_i) <= 1``. And ``sum_v on(v,d) >= 1`` of every device d that is not to be empty.
    Source -> target: ``constraint stages`` -> a row for each edge and place, or three and a continuous variable.
    Exact: along a path inside a part the devices of the order come in its order, and that is asked of every path.

    Args:
        model: with ``V`` and ``D``.
        problem: whose constraints.
        home: [n] what stands for each node in *on*.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
    """
    for number, rule in enumerate(problem.of(InOrder)):
        part = pyo.Block(concrete=True)
        model.add_component(f"stages_{number}", part)
        listed = listed_devices(rule, problem.k)
        part.filled = pyo.Set(initialize=listed if rule.empty == "never" else ())
        constrain(part, "some", part.filled, rule=lambda _, d: sum(on(v, d) for v in model.V) >= 1)
        part.places = pyo.RangeSet(1, len(listed) - 1)
        if len(listed) == problem.k:
            ends = {(home[u], home[v]) for u, v in _directed(problem)}
            part.edges = pyo.Set(initialize=sorted((u, v) for u, v in ends if u != v), dimen=2)
            constrain(
                part,
                "along",
                part.edges,
                part.places,
                rule=lambda _, u, v, j, row=listed: sum(on(v, d) for d in row[:j]) <= sum(on(u, d) for d in row[:j]),
            )
        else:
            _around_others(part, problem, listed, home, on)


def _around_others(part: Any, problem: Problem, listed: Sequence[int], home: Sequence[int], on: On) -> None:
    """Add the rows of an order that leaves devices out."""
    part.V = pyo.RangeSet(0, problem.graph.n - 1)
    part.edges = pyo.Set(initialize=sorted(set(_directed(problem))), dimen=2)
    part.after = pyo.Var(part.V, part.places, bounds=(0, 1))
    constrain(part, "there", part.V, part.places,
              rule=lambda b, v, j: b.after[v, j] >= sum(on(home[v], d) for d in listed[j:]))  # fmt: skip
    constrain(part, "along", part.edges, part.places, rule=lambda b, u, v, j: b.after[v, j] >= b.after[u, j])
    constrain(part, "ahead", part.V, part.places,
              rule=lambda b, v, j: b.after[v, j] + sum(on(home[v], d) for d in listed[:j]) <= 1)  # fmt: skip


def _directed(problem: Problem) -> list[tuple[int, int]]:
    """Return the edges inside each part, those of the backward part turned round."""
    graph = problem.graph
    tails, heads = graph.tails, graph.heads
    back = graph.backward[tails] & graph.backward[heads]
    inside = graph.backward[tails] == graph.backward[heads]
    first, then = np.where(back, heads, tails)[inside], np.where(back, tails, heads)[inside]
    return list(zip(first.tolist(), then.tolist(), strict=True))
