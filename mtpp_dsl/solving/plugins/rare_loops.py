"""Problems for which methods compile loops that no small sample needs."""

from __future__ import annotations

from itertools import pairwise

from mtpp_dsl.core.constraints import Acyclic, Copies, Memory, Sharing, Used
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered

__all__ = ["rare"]

CHAINS, LONG = 4, 12
"""(12 + 1)^4 ideals are so many that the search goes without the lattice of all."""


def rare(method: str) -> list[Problem]:
    """Return the problems for one method: a price, a long order on two device types, many ideals, or copies."""
    devices = [Device(f"d[{d}]", memory=40.0, speed=1.0 + d % 2) for d in range(4)]
    if method == "annealing":
        price = Objective.linear([(Used(d), 1.0 + d) for d in range(4)])
        return [Problem.create(_row(), devices, Shared(1.0), price, [Memory()])]
    if method == "slicegraph":
        return [Problem.create(layered(2_000, 10, seed=1), devices, Shared(1.0), constraints=[Acyclic()])]
    if method == "ideals":
        edges = [(chain * LONG + v, chain * LONG + w) for chain in range(CHAINS) for v, w in pairwise(range(LONG))]
        many = Graph.create([str(v) for v in range(CHAINS * LONG)], edges, work=1.0, output=0.1)
        return [Problem.create(many, devices[:2], Shared(1.0), constraints=[Acyclic()])]
    if method == "copies":
        row, other = _row(), _row((0, 3))
        cases: list[tuple[Graph, Sharing]] = [
            (row, "ranges"), (row, "pipelines"), (row, "stages"), (other, "pipelines"), (other, "stages")
        ]  # fmt: skip
        rules = [(graph, [Acyclic(), Memory(), Copies(most=4, share=share)]) for graph, share in cases]
        return [Problem.create(graph, devices, Shared(1.0), Objective("throughput"), rule) for graph, rule in rules]
    return []


def _row(*more: tuple[int, int]) -> Graph:
    """Return eight nodes in a row, with *more* edges."""
    names = [str(v) for v in range(8)]
    return Graph.create(names, [*pairwise(range(8)), *more], work=1.0, output=0.1, memory=4.0)
