"""The three-superblock bound (archer2024, 3.2): its size does not depend on k."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.contracts import Role
from mtpp_dsl.models.relaxations.three import BoundOnly, Shares, refusal, three_superblocks
from mtpp_dsl.problem import Problem

__all__ = ["Superblock"]


class Superblock(BoundOnly):
    """The least cost of a block that holds its share of the work, wherever it stands."""

    name = "superblock"
    exact = False
    role: Role = "relaxation"
    summary = "a lower bound from one block between two superblocks (archer2024, 3.2)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why this problem cannot be formulated, or None."""
        return refusal(self.name, problem)

    def build(self, problem: Problem) -> Any:
        """Return the model; see :func:`mtpp_dsl.models.relaxations.three.three_superblocks`."""
        return three_superblocks(problem, self.name, Shares(before=None, after=None))
