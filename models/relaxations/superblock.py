"""The three-superblock bound (archer2024, 3.2): its size does not depend on k."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.relaxations.three import BoundOnly, ThreeShares, three_superblocks

__all__ = ["Superblock"]


class Superblock(BoundOnly, CutoffFormulation):
    """The least cost of a block that holds its share of the work, wherever it stands.

    Args:
        cost: of a plan of the problem, if known.
        weights: [n] of the nodes, in place of their work: for any, some block has its share of them, so any give a
            bound (notes on bounds, 1).
    """

    name = "superblock"
    exact = False
    role: Role = "relaxation"
    summary = "bound from one block between two superblocks, by mixed-integer programming (archer2024, 3.2)"

    def __init__(self, cost: float | None = None, weights: Floats | None = None) -> None:
        super().__init__(cost)
        self.weights = weights

    def build(self, problem: Problem) -> Any:
        """Return the model; see :func:`mtpp_dsl.models.relaxations.three.three_superblocks`."""
        return three_superblocks(problem, self.name, ThreeShares(before=None, after=None), self.cost, self.weights)
