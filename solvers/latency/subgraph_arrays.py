"""A latency problem by subgraphs as arrays: what the searches and bounds of this folder work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.subgraphs import most_subgraphs, paying, scheduled
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable


@dataclass(frozen=True, eq=False)
class LatencyInstance:
    """Arrays of a latency problem; slots are as in :mod:`mtpp_dsl.solvers.latency.slot_latency`.

    Attributes:
        problem: where it came from.
        graph: the graph.
        pieces: how many slots are subgraphs; no device has more than there are nodes.
        home: [slots] the device of each. Of devices with ``io = free`` that are alike and without limit, one is there.
        alike: [devices] which device stands for each: another one where that is left out.
        time: [n, devices] running times; ``inf`` where a node may not be.
        tensor: [n] what it takes to read or to write the tensor of each node.
        memory: [n], and limit: [devices] what each may hold.
        group: [n] number of the colocated class of each node.
        member_offsets, members: the nodes of each class.
    """

    problem: Problem
    graph: Graph
    pieces: int
    home: Ints
    alike: Ints
    time: Floats
    tensor: Floats
    memory: Floats
    limit: Floats
    group: Ints
    member_offsets: Ints
    members: Ints

    @classmethod
    def of(cls, problem: Problem) -> LatencyInstance:
        """Return the instance of a problem that :func:`why_not` has nothing against."""
        graph, most, pays = problem.graph, most_subgraphs(problem), paying(problem)
        subgraphs = [d for d in range(problem.k) for _ in range(min(int(most[d]), max(graph.n, 1)))]
        alike = np.arange(problem.k)
        for members in interchangeable(problem):
            if not pays[members[0]] and np.isinf(problem.memory_limit[members[0]]):
                alike[list(members)] = members[0]
        free = [d for d in range(problem.k) if not pays[d] and alike[d] == d]
        group = colocated(problem)
        return cls(
            problem=problem,
            graph=graph,
            pieces=len(subgraphs),
            home=frozen([*subgraphs, *free], np.int64),
            alike=frozen(alike, np.int64),
            time=frozen(np.where(problem.allowed, problem.time, np.inf), np.float64),
            tensor=problem.tensor_time,
            memory=graph.memory,
            limit=problem.memory_room,
            group=group,
            member_offsets=frozen(np.concatenate(([0], np.cumsum(np.bincount(group)))), np.int64),
            members=frozen(np.argsort(group, kind="stable"), np.int64),
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.graph.n

    @property
    def longest(self) -> float:
        """What all nodes take in a row where they are slowest, each alone: no arrangement takes longer."""
        slowest = np.where(np.isfinite(self.time), self.time, 0.0).max(axis=1, initial=0.0)
        return float((slowest + self.tensor * (1 + np.diff(self.graph.offsets))).sum())

    @property
    def number(self) -> Ints:
        """[slots] which subgraph of its device each is; 0 for devices with ``io = free``."""
        first = {int(d): int(s) for s, d in reversed(list(enumerate(self.home)))}
        return np.array([s - first[int(d)] for s, d in enumerate(self.home)], np.int64)

    def plan(self, slot: Ints) -> Plan:
        """Return the plan of an arrangement, with the earliest times."""
        return scheduled(self.problem, self.home[slot], self.number[slot])
