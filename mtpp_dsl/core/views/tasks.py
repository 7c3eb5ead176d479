"""A makespan problem on links as arrays: what every scheduler works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks, Separate
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import Transfers
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph

__all__ = ["ScheduleInstance"]


@dataclass(frozen=True, eq=False)
class ScheduleInstance:
    """Arrays of a makespan problem on links.

    Attributes:
        problem: where it came from.
        graph: the graph; edges are numbered as there.
        time: [n, k] running time of every node on every device; ``inf`` where it may not go (support, pin, forbid).
        transfers: what edges take between devices; ``inf`` where no way leads.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
        memory: [n] what each node takes. limit: [k] what a device holds; ``inf`` without a limit.
        together: [n] number of the colocated class of each node, the same for nodes that must share a device.
        apart: lists of nodes of which no two may share a device.
    """

    problem: Problem
    graph: Graph
    time: Floats
    transfers: Transfers
    exclusive: bool
    memory: Floats
    limit: Floats
    together: Ints
    apart: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, problem: Problem) -> ScheduleInstance:
        """Return the instance of a makespan on links whose constraints have fields here."""
        return cls(
            problem=problem,
            graph=problem.graph,
            time=frozen(np.where(problem.allowed, problem.time, np.inf), np.float64),
            transfers=problem.transfers,
            exclusive=any(problem.of(ExclusiveLinks)),
            memory=problem.graph.memory,
            limit=problem.memory_room,
            together=colocated(problem),
            apart=tuple(constraint.nodes for constraint in problem.of(Separate)),
        )

    @cached_property
    def supernodes(self) -> Hypergraph:
        """The classes of colocated nodes, with their costs and conflict sets."""
        return hypergraph(self.problem, self.together)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.graph.n

    @property
    def m(self) -> int:
        """Number of edges."""
        return self.graph.m

    @property
    def k(self) -> int:
        """Number of devices."""
        return self.problem.k
