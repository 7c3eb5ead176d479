"""The loop of the (1+1) evolutionary algorithm: children of one schedule until none has helped for long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["MIN_PATIENCE", "evolve"]

MIN_PATIENCE = 2_000
CHUNK = 1_000
"""Children between two looks at the clock, at most."""


def evolve(
    incumbent: Incumbent,
    patience: int,
    random: np.random.Generator,
    draws: Floats,
    children: Callable[[int], int],
    cost: Floats,
    plan: Callable[[], Plan | None],
) -> None:
    """Mutate the parent until the patience is used up, or there is no more to do.

    Args:
        incumbent: takes plans, and says when to stop.
        patience: children in a row without a better one after which it ends.
        random: where random numbers come from.
        draws: filled with random numbers in [0, 1) before each call of *children*.
        children: tries at most so many, the better of each and its parent staying; returns how many were tried.
        cost: [1] of the parent.
        plan: returns the plan of the parent, or None if it is not feasible.
    """
    known, quiet = np.inf, 0
    while quiet < patience and not incumbent.done:
        random.random(out=draws)
        quiet += children(CHUNK)
        if cost[0] < known:
            known, quiet = float(cost[0]), 0
            found = plan()
            if found is not None:
                incumbent.take(found)
