"""Draw at random how one annealing between ordered devices goes, as none is best for all graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mtpp_dsl.solvers.partition.annealing.ordered_moves import OrderedMoves
from mtpp_dsl.solvers.partition.annealing.recipes import pick

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["OrderedRecipe", "recipe"]

HOT = (1.0, 0.5, 0.25)
COLD = (0.03, 0.02, 0.01)
POWERS = (4, 6, 8)
WORST = (0.6, 0.8, 0.95)
NEAR = 0.8
GROUPS = (0.2, 0.5, 0.8)
EXCHANGES = (0.1, 0.3, 0.5)


class OrderedRecipe(NamedTuple):
    """One annealing.

    Attributes:
        hot, cold: first and last temperature, in units of the energy of a supernode alone; it falls geometrically.
        power: of the loads in the energy.
        moves: what to try.
    """

    hot: float
    cold: float
    power: int
    moves: OrderedMoves


def recipe(random: Generator) -> OrderedRecipe:
    """Return what the next annealing does, by numbers drawn from *random*."""
    return OrderedRecipe(
        hot=pick(HOT, random),
        cold=pick(COLD, random),
        power=pick(POWERS, random),
        moves=OrderedMoves(
            worst=pick(WORST, random), near=NEAR, groups=pick(GROUPS, random), exchanges=pick(EXCHANGES, random)
        ),
    )
