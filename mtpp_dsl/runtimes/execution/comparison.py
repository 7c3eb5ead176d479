"""Tell whether two runs of a model return the same numbers, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """How the results of the split differ from those of the whole model.

    Attributes:
        equal: each number is the same, bit for bit (two that are no numbers are the same).
        largest: the largest difference.
        relative: that difference over the largest result of its tensor, in absolute value.
        deviation: the standard deviation of the whole model's results, the least of all tensors with several numbers:
            where it is 0, equal results prove nothing.
        values: how many numbers were compared.
    """

    equal: bool
    largest: float
    relative: float
    deviation: float
    values: int

    @property
    def telling(self) -> bool:
        """Whether the results vary, so that their comparison means something."""
        return self.values > 0 and self.deviation > 0


def compare(split: Sequence[Any], whole: Sequence[Any]) -> Comparison:
    """Compare arrays one by one.

    Raises:
        UsageError: there are not as many of them, or shapes or types differ.
    """
    if len(split) != len(whole):
        raise UsageError(f"the split returns {len(split)} tensors, and the whole model {len(whole)}")
    equal, largest, relative, values = True, 0.0, 0.0, 0
    deviations = []
    for i, (one, other) in enumerate(zip(map(np.asarray, split), map(np.asarray, whole), strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            shapes = f"{one.dtype}{list(one.shape)}, and the whole model {other.dtype}{list(other.shape)}"
            raise UsageError(f"result {i} of the split is {shapes}")
        values += one.size
        equal = equal and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        if not one.size or one.dtype.kind not in "biufc":
            continue
        numbers = other.astype(np.float64)
        gap = np.abs(one.astype(np.float64) - numbers)
        gap[(one == other) | (np.isnan(gap) & np.isnan(numbers) & np.isnan(one.astype(np.float64)))] = 0.0
        worst = float(np.max(np.where(np.isnan(gap), np.inf, gap)))
        finite = numbers[np.isfinite(numbers)]
        scale = float(np.max(np.abs(finite))) if finite.size else 0.0
        largest = max(largest, worst)
        relative = max(relative, worst / scale if scale else worst)
        if one.size > 1:
            deviations.append(float(np.std(finite)) if finite.size else 0.0)
    return Comparison(equal, largest, relative, min(deviations, default=0.0), values)
