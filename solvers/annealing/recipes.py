"""How one annealing goes: from where, from which temperature, by which moves; drawn at random, as none is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from mtpp_dsl.solvers.annealing.kernel import Moves

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["CHAINS", "Origin", "Recipe", "recipe"]

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


class Recipe(NamedTuple):
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
    moves: Moves


def recipe(chain: int, classes: int, random: Generator) -> Recipe:
    """Return what chain number *chain* of a round does.

    The first chains stay nearer to the best split than the last.

    Args:
        chain: from 0 to :data:`CHAINS` - 1.
        classes: how many there are to place.
        random: what draws.
    """
    near = chain < CHAINS // 2
    soft, hard = pick(((8, 64), (64, 64), (8, 32), (4, 64)), random)
    heats = (0.1, 0.5, 1.0) if near else (0.5, 1.0, 3.0)
    return Recipe(
        origin=pick(ORIGINS[chain], random),
        hot=pick(heats, random),
        cold=pick((5e-4, 3e-3), random),
        soft=soft,
        hard=hard,
        moves=Moves(
            clusters=pick((0.4, 0.6), random),
            grown=pick((8.0, 20.0, 40.0, max(4.0, classes / 12)), random),
            exchanges=pick((0.4, 0.6), random),
            fitting=0.5,
            chains=0.2,
            near=pick((0.6, 0.8), random),
        ),
    )


def pick(values: Sequence[T], random: Generator) -> T:
    """Return one of *values*."""
    return values[int(random.integers(len(values)))]
