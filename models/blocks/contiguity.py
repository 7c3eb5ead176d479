"""A device's node set is convex: no path leaves it and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.colocation import convex_edges
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain


def contiguity(model: Any, problem: Problem, home: Sequence[int], on: On) -> None:
    """Make the node sets of devices convex, in each part of a training graph by itself.

    Formula: ``z[v,d] >= on(v,d)``; for every edge (u,v) ``z[v,d] <= z[u,d]`` and
    ``z[v,d] <= on(v,d) - on(u,d) + 1``: z is 1 wherever the set can be reached, and 0 where an edge leaves it.
    z is of nodes even where ``on`` is of classes: a path does not jump from a node to another that is with it.
    Source -> target: ``constraint contiguous`` -> continuous ``z`` on V × the devices it names.
    Exact; left out where ``acyclic`` implies it. Reference: tarnawski2020, Figure 3.

    Args:
        model: to add to.
        problem: whose constraints.
        home: [n] what stands for each node in *on*.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
    """
    for backward, (tails, heads, devices) in convex_edges(problem).items():
        part = pyo.Block(concrete=True)
        model.add_component("contiguous_backward" if backward else "contiguous_forward", part)
        edges = list(zip(tails.tolist(), heads.tolist(), strict=True))
        nodes = sorted({v for edge in edges for v in edge})
        part.E = pyo.Set(initialize=edges, dimen=2)
        part.V = pyo.Set(initialize=[(v, home[v]) for v in nodes], dimen=2)
        part.between = pyo.Set(
            initialize=sorted({(v, home[u], home[v]) for u, v in edges if home[u] != home[v]}), dimen=3
        )
        part.D = pyo.Set(initialize=devices)
        part.z = pyo.Var(nodes, part.D, bounds=(0, 1))
        constrain(part, "member", part.V, part.D, rule=lambda b, v, h, d: b.z[v, d] >= on(h, d))
        constrain(part, "reaches", part.E, part.D, rule=lambda b, u, v, d: b.z[v, d] <= b.z[u, d])
        constrain(part, "leaves", part.between, part.D, rule=lambda b, v, a, h, d: b.z[v, d] <= on(h, d) - on(a, d) + 1)
