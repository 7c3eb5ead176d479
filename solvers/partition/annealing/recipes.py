"""Draw at random how one annealing goes, as none is best: from where, from which temperature, by which moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from mtpp_dsl.solvers.partition.annealing.ordered_moves import OrderedMoves
from mtpp_dsl.solvers.partition.annealing.split_moves import SplitMoves

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["CHAINS", "OrderedRecipe", "Origin", "SplitRecipe", "ordered_recipe", "recipe"]

T = TypeVar("T")

Origin: TypeAlias = Literal["best", "ordered", "slices", "random"]

CHAINS = 4
"""Annealings that go on side by side, whatever the number of processors: the seed alone decides what they do."""
ORIGINS: tuple[tuple[Origin, ...], ...] = (
    ("best", "best"),
    ("best", "ordered"),
    ("ordered", "slices"),
    ("slices", "random"),
)

NEAR = ((64, 64, 3e-3), (32, 128, 3e-3), (8, 64, 5e-4))
FAR = ((64, 64, 3e-3), (8, 64, 1e-3), (8, 32, 5e-4), (4, 64, 5e-4))
"""First and last power, and last temperature, of the annealings near to the best split and of the others."""


class SplitRecipe(NamedTuple):
    """One annealing.

    Attributes:
        origin: the state to start from.
        hot, cold: first and last temperature; it falls geometrically.
        soft, hard: first and last power of the loads in the energy; it rises geometrically.
        moves: what to try.
    """

    origin: Origin
    hot: float
    cold: float
    soft: int
    hard: int
    moves: SplitMoves


def recipe(chain: int, supernodes: int, random: Generator) -> SplitRecipe:
    """Return what chain number *chain* of a round does.

    The first chains stay nearer to the best split than the last.

    Args:
        chain: from 0 to :data:`CHAINS` - 1.
        supernodes: how many there are to place.
        random: what draws.
    """
    near = chain < CHAINS // 2
    soft, hard, cold = pick(NEAR if near else FAR, random)
    heats = (0.1, 0.5, 1.0) if near else (0.5, 1.0, 3.0)
    return SplitRecipe(
        origin=pick(ORIGINS[chain], random),
        hot=pick(heats, random),
        cold=cold,
        soft=soft,
        hard=hard,
        moves=SplitMoves(
            clusters=pick((0.4, 0.6), random),
            grown=pick((10.0, 20.0, 40.0, max(10.0, supernodes / 12)), random),
            exchanges=pick((0.5, 0.7), random),
            fitting=0.5,
            chains=0.2,
            near=pick((0.6, 0.8), random),
        ),
    )


def pick(values: Sequence[T], random: Generator) -> T:
    """Return one of *values*."""
    return values[int(random.integers(len(values)))]


# Draw at random how one annealing between ordered devices goes, as none is best for all graphs.

ORDERED_HOT = (1.0, 0.5, 0.25)
ORDERED_COLD = (0.03, 0.02, 0.01)
POWERS = (4, 6, 8)
WORST = (0.6, 0.8, 0.95)
ORDERED_NEAR = 0.8
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


def ordered_recipe(random: Generator) -> OrderedRecipe:
    """Return what the next annealing does, by numbers drawn from *random*."""
    return OrderedRecipe(
        hot=pick(ORDERED_HOT, random),
        cold=pick(ORDERED_COLD, random),
        power=pick(POWERS, random),
        moves=OrderedMoves(
            worst=pick(WORST, random), near=ORDERED_NEAR, groups=pick(GROUPS, random), exchanges=pick(EXCHANGES, random)
        ),
    )
