"""A problem as the facts about its plans see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.interconnects import Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, Net
from mtpp_dsl.models.facts.user_rows import PASSED

__all__ = ["RelaxedInstance", "asked_of"]


@dataclass(frozen=True, eq=False)
class RelaxedInstance:
    """An acyclic problem, and what no load of its plans is above.

    Attributes:
        k: how many blocks there may be.
        cost: of a plan, so that no load of the best is more.
        work: [nodes] the least that each takes on any device, in the unit of *cost*.
        edges: between nodes, without a cycle.
        nets: what every block pays that holds some and not all pins; the producer comes first.
        needs: [kinds, nodes] other things, of each of which a block has room for 1.
    """

    k: int
    cost: float
    work: Floats
    edges: Sequence[tuple[int, int]]
    nets: Sequence[Net]
    needs: Floats


def asked_of(problem: Problem, view: Hypergraph, nets: Sequence[Net], unit: float, cost: float) -> RelaxedInstance:
    """Return *problem*, which is acyclic over a graph without a backward part, in a model's *unit*.

    Devices may differ: a block has at most the room of the largest. Nodes need hard memory; and where parameters are
    streamed, a load of at most U is ``work + params / B`` of at most ``U + limit / B`` (archer2024, eq. 2).

    Args:
        problem: what is asked.
        view: its nodes.
        nets: in the model's unit; left out where some device does not pay.
        unit: of the model's costs.
        cost: of a plan of the problem, in the problem's unit.
    """
    graph = problem.graph
    work = view.least_work / unit
    needs: list[Floats] = []
    room = float(problem.memory_limit.max())
    if 0 < room < np.inf:
        needs.append(view.memory / (room * (1 + PASSED)))
    kept = float(problem.overflow_limit.max())
    if kept < np.inf:
        per_size = 1.0 / (problem.channel.bandwidth * unit)
        needs.append((work + view.params * per_size) / (cost / unit + kept * per_size))
    paying = isinstance(problem.interconnect, Shared) or all(device.pays_io for device in problem.devices)
    return RelaxedInstance(
        k=problem.k,
        cost=cost / unit,
        work=work,
        edges=view.edges(graph.tails, graph.heads),
        nets=tuple(nets) if paying else (),
        needs=np.array(needs).reshape(-1, view.n),
    )
