"""Part a graph into pieces of a size that searches are good at."""

from __future__ import annotations

from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow, split

__all__ = ["parted", "pieces"]

PIECE = 64
"""Nodes of a piece."""
FEW = 4
"""Pieces that are worth it, and the largest is no more than this part of the graph."""
MAX_NODES = 20_000


def pieces(problem: Problem, wanted: int | None = None) -> ModuleRow:
    """Return the graph as a row of pieces of about so many nodes, at boundaries that few tensors cross."""
    together = [c.nodes for c in problem.constraints if isinstance(c, Colocate | Separate)]
    return split(problem.graph, together=together, wanted=wanted or PIECE, cuts=False)


def parted(problem: Problem) -> bool:
    """Return whether few tensors part a graph into several pieces, each a small part of it."""
    n = problem.graph.n
    if n > MAX_NODES:
        return False
    row = pieces(problem)
    return len(row.modules) >= FEW and max(row.sizes) * FEW <= n
