"""Improve sets one by one, with a look at the clock before each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats

SEEDS = 10_007
"""Seeds of two calls are as far apart, so that no set of one gets a seed of the other."""


def improve_each(
    improve: Callable[[int, Bools, Floats], None], sets: Bools, seed: int, stopped: Callable[[], bool]
) -> Floats:
    """Return [count] the weights of [count, n] *sets*, each of which is improved in place; -1 of those never reached.

    A row may take seconds as plain Python, and whoever asks may have less.

    Args:
        improve: called with a seed, one row of the sets, and one weight to be written.
        sets: to be improved.
        seed: of all choices.
        stopped: whether to leave the rest.
    """
    weights = np.full(len(sets), -1.0)
    for r in range(len(sets)):
        if stopped():
            break
        improve(seed * SEEDS + r, sets[r : r + 1], weights[r : r + 1])
    return weights
