"""Draw at random how one annealing goes: from where, over which devices, from which temperature, by which moves."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.solvers.partition.weighted.moves import WeightedMoves

__all__ = ["CHAINS", "Origin", "WeightedRecipe", "recipe"]

Origin: TypeAlias = Literal["best", "slices", "random"]

CHAINS = 4
"""Annealings that go on side by side, whatever the number of processors: the seed alone decides what they do."""
ORIGINS: tuple[tuple[Origin, ...], ...] = (("best",), ("best", "slices"), ("best", "slices"), ("slices", "random"))
OVER = ("same", "fewer", "others", "any")
"""Which devices each chain goes over, seen from those of the best split: the price of a device counts once it is used,
so that an annealing seldom empties one by single moves."""


class WeightedRecipe(NamedTuple):
    """One annealing.

    Attributes:
        origin: the state to start from.
        hot, cold: first and last temperature, as a share of the cost of the best plan; it falls geometrically.
        offered: [devices] which may be used.
        moves: what to try.
    """

    origin: Origin
    hot: float
    cold: float
    offered: Bools
    moves: WeightedMoves


def recipe(chain: int, number: int, used: Bools, random: np.random.Generator) -> WeightedRecipe:
    """Return what chain number *chain* of round *number* does.

    Args:
        chain: from 0 to :data:`CHAINS` - 1.
        number: of the round.
        used: [devices] which the best split uses.
        random: what draws.
    """
    origin = ORIGINS[chain][int(random.integers(len(ORIGINS[chain])))]
    near = origin == "best"
    hot = 10.0 ** random.uniform(-3.5, -2.0) if near else 10.0 ** random.uniform(-2.0, -0.5)
    moves = WeightedMoves(
        near=random.choice([0.2, 0.5, 0.8]),
        clusters=random.choice([0.05, 0.2]),
        exchanges=random.choice([0.2, 0.4]),
        whole=random.choice([0.001, 0.01]),
        charge=random.choice([1.0, 3.0, 10.0]),
    )
    return WeightedRecipe(
        origin, hot, hot / 10.0 ** random.uniform(1.5, 3.0), _offered(OVER[(chain + number) % 4], used, random), moves
    )


def _offered(over: str, used: Bools, random: np.random.Generator) -> Bools:
    """Return which devices an annealing goes over."""
    offered = used.copy()
    inside, outside = np.flatnonzero(used), np.flatnonzero(~used)
    if over == "any" or not len(inside):
        return np.ones_like(used)
    if over in ("fewer", "others") and len(inside) > 1:
        offered[
            random.choice(
                inside, size=1 + int(over == "others" and len(inside) > 2 and random.random() < 0.3), replace=False
            )
        ] = False
    if over == "others" and len(outside):
        offered[random.choice(outside, size=min(len(outside), 1 + int(random.random() < 0.3)), replace=False)] = True
    return offered
