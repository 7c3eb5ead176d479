"""Weights of the supernodes: points in the space of what the covering programme may pay for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints

__all__ = ["Point"]

UNITS = 1e5
"""The weight of a set that matters, in whole units: small enough to stand far above a solver's tolerance."""


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, and the weight of a set of each kind that matters; the devices' together are one unit.

    Attributes:
        weights: [supernodes].
        threshold: [types].
        whole, level: the same in whole units, and in these units.
        estimate: how many times the devices hold all weight, as far as sets are known: above 1, perhaps a proof.
    """

    weights: Floats
    threshold: Floats
    whole: Ints
    level: Floats
    estimate: float

    @classmethod
    def at(cls, weights: Floats, threshold: Floats) -> Point:
        """Return a point whose largest threshold is so many whole units that rounding does not matter."""
        scale = UNITS / max(float(threshold.max(initial=0.0)), 1e-3 * float(weights.max(initial=0.0)), 1e-9)
        return cls(weights, threshold, np.rint(weights * scale).astype(np.int64), threshold * scale, 0.0)

    def towards(self, other: Point, share: float) -> Point:
        """Return the point that lies the *share* of the way to another one."""
        mixed = (1 - share) * self.weights + share * other.weights
        return Point.at(mixed, (1 - share) * self.threshold + share * other.threshold)
