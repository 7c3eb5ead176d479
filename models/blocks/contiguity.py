"""A device's node set is convex: no path leaves it and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.constraints import Acyclic, Contiguous
from mtpp_dsl.lazy import pyo
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.components import constrain
from mtpp_dsl.problem import Problem

__all__ = ["contiguity", "edges_of_part"]


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
    for side, name in ((False, "forward"), (True, "backward")):
        devices = _devices(problem, backward=side)
        if not devices or (side and not problem.graph.backward.any()):
            continue
        part = pyo.Block(concrete=True)
        model.add_component(f"contiguous_{name}", part)
        edges = edges_of_part(problem, backward=side)
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


def _devices(problem: Problem, *, backward: bool) -> list[int]:
    """Return the devices whose nodes of one part must be convex and are not so by ``acyclic``."""
    asked = {"both"} if backward else {"both", "forward"}
    if any(constraint.parts in asked for constraint in problem.of(Acyclic)):
        return []
    found: set[int] = set()
    for constraint in problem.of(Contiguous):
        if constraint.parts in asked:
            found.update(range(problem.k) if constraint.devices is None else constraint.devices)
    return sorted(found)


def edges_of_part(problem: Problem, *, backward: bool) -> list[tuple[int, int]]:
    """Return the edges within the forward, or the backward, part of the graph."""
    graph = problem.graph
    inside = (graph.backward[graph.tails] == backward) & (graph.backward[graph.heads] == backward)
    return list(zip(graph.tails[inside].tolist(), graph.heads[inside].tolist(), strict=True))
