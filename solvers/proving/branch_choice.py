"""Choose the variable that parts a box: by what earlier branches gained, tried out where little is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.proofs.rows import Rows
from mtpp_dsl.solvers.proving.row_programme import BoxBound

__all__ = ["BranchChoice"]

WHOLE = 1e-6
"""Values so close to whole numbers are whole."""
TRIED = 4
"""Branches to either side after which a variable is not tried out any more."""
STEPS = 60
"""Of the simplex method, to try a branch out."""
FAILED = 8
"""Variables in a row that are no better than the best so far, after which it is taken."""
LEAST = 1e-6
"""What a branch gains at least, as its gains are multiplied."""


class BranchChoice:
    """Pseudo-costs with a look ahead where they are not reliable (achterberg2005).

    Args:
        rows: whose variables are chosen.
        bound: returns what is known of a box after so many steps; None without time.
    """

    def __init__(self, rows: Rows, bound: Callable[[Mapping[int, int], int], BoxBound | None]) -> None:
        self._bound = bound
        self._free = (np.array(rows.low) == 0) & (np.array(rows.high) == 1)
        self._gains, self._tries = (np.zeros((len(rows.names), 2)) for _ in range(2))

    def variable(self, fixed: Mapping[int, int], bound: BoxBound) -> int | None:
        """Return the variable by which to part a box; None where a solution is whole, or there is no time."""
        if bound.values is None:
            return None
        values = bound.values
        away = np.where(self._free, np.minimum(values, 1 - values), 0.0)
        away[list(fixed)] = 0.0
        candidates = np.flatnonzero(away > WHOLE)
        expected = self._expected(values)
        best, best_score, failed = None, -1.0, 0
        for variable in candidates[np.lexsort((-away[candidates], -expected[candidates]))].tolist():
            score = float(expected[variable])
            if self._tries[variable].min() < TRIED:
                looked = self._look(fixed, variable, float(values[variable]), bound.cost)
                if looked is None:
                    return None
                score = looked
            failed = 0 if score > best_score else failed + 1
            if score > best_score:
                best, best_score = variable, score
            if failed >= FAILED:
                break
        return best

    def _expected(self, values: Floats) -> Floats:
        """Return [variables] the product of what both branches gain by what is known."""
        mean = self._gains.sum(axis=0) / np.maximum(self._tries.sum(axis=0), 1)
        rate = np.where(self._tries > 0, self._gains / np.maximum(self._tries, 1), mean)
        product: Floats = np.maximum(rate[:, 0] * values, LEAST) * np.maximum(rate[:, 1] * (1 - values), LEAST)
        return product

    def _look(self, fixed: Mapping[int, int], variable: int, value: float, cost: float) -> float | None:
        """Return the product of what both branches gain, tried out; None without time."""
        score = 1.0
        for side, moved in ((0, value), (1, 1 - value)):
            after = self._bound({**fixed, variable: side}, STEPS)
            if after is None:
                return None
            gain = max(0.0, min(after.cost, 1.0) - cost)
            self._gains[variable, side] += gain / max(moved, WHOLE)
            self._tries[variable, side] += 1
            score *= max(gain, LEAST)
        return score
