"""Guess which block is the heavy one (archer2024, 3.3): the least of k bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.relaxations.three import SCOPE, BoundOnly, ThreeShares, three_superblocks

__all__ = ["Guess", "GuessAt"]


class Guess(Scoped, CutoffFormulation):
    """The bounds of all k guesses; a plan's heavy block stands somewhere, so the least is a bound."""

    name = "guess"
    exact = False
    role: Role = "relaxation"
    summary = "the least of k bounds, one for each position of the heaviest block (archer2024, 3.3)"
    floor = "archer2024, Lemma 3.3"
    scopes = (SCOPE,)

    def members(self, problem: Problem) -> Sequence[GuessAt]:
        """Return the guesses 1..k."""
        return [GuessAt(j, problem.k, self.cost) for j in range(1, problem.k + 1)]


class GuessAt(BoundOnly):
    """The guess that block j of k holds its share of the work.

    The j-1 blocks before it cost at most j-1 bottlenecks together, the k-j after it at most k-j.
    """

    exact = False
    role: Role = "relaxation"
    summary = "bound on the plans that have their heaviest block at one position"

    def __init__(self, j: int, k: int, cost: float | None = None) -> None:
        self.j = j
        self.k = k
        self.cost = cost
        self.name = f"guess-j{j}"

    def build(self, problem: Problem) -> Any:
        """Return the model; see :func:`mtpp_dsl.models.relaxations.three.three_superblocks`."""
        return three_superblocks(problem, self.name, ThreeShares(before=self.j - 1, after=self.k - self.j), self.cost)
