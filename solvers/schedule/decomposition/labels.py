"""Find paths through a chain by two lengths at once, of which the larger counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

__all__ = ["BestPath", "least_larger"]

MAX_LABELS = 1000
"""Labels of one state; of more, neighbours are made one that is no longer than either."""


@dataclass(frozen=True)
class BestPath:
    """A path whose larger length no other path is below.

    Attributes:
        one, other: its two lengths; bounds on them where labels have been merged.
        states: see :class:`mtpp_dsl.solvers.schedule.decomposition.solve_modules.Way`.
    """

    one: float
    other: float
    states: tuple[int, ...]


def least_larger(ones: Sequence[Floats], others: Sequence[Floats]) -> BestPath:
    """Return the path through the tables that minimises the larger of two sums (dynamic programme over labels)."""
    labels = [np.zeros((1, 2)) for _ in range(ones[0].shape[0])]
    came: list[list[Ints]] = []
    for one, other in zip(ones, others, strict=True):
        reached, back = [], []
        for b in range(one.shape[1]):
            parts = [labels[a] + [one[a, b], other[a, b]] for a in range(len(labels))]
            count = [len(part) for part in parts]
            states = np.repeat(np.arange(len(parts)), count)
            numbers = np.concatenate([np.arange(size) for size in count])
            kept, rows = _thinned(*_undominated(np.concatenate(parts)))
            reached.append(rows)
            back.append(np.stack([states, numbers], axis=1)[kept])
        labels = reached
        came.append(back)
    best = [(float(rows.max(axis=1).min(initial=np.inf)), b) for b, rows in enumerate(labels)]
    _, state = min(best)
    if not len(labels[state]):
        return BestPath(np.inf, np.inf, ())
    at = int(labels[state].max(axis=1).argmin())
    one, other = labels[state][at].tolist()
    way = [state]
    for back in reversed(came):
        state, at = back[state][at].tolist()
        way.append(state)
    return BestPath(one, other, tuple(reversed(way)))


def _undominated(rows: Floats) -> tuple[Ints, Floats]:
    """Return the indices of the finite rows that no other row dominates, by the first length, and the rows."""
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    order = order[np.isfinite(rows[order]).all(axis=1)]
    second = rows[order, 1]
    before = np.concatenate(([np.inf], np.minimum.accumulate(second)[:-1])) if len(order) else second
    better: Bools = second < before
    return order[better], rows[order[better]]


def _thinned(kept: Ints, rows: Floats) -> tuple[Ints, Floats]:
    """Return at most :data:`MAX_LABELS` labels: labels with close first lengths are merged into their minimum."""
    if len(kept) <= MAX_LABELS:
        return kept, rows
    low, high = rows[0, 0], rows[-1, 0]
    share = np.minimum((rows[:, 0] - low) / (high - low) * MAX_LABELS, MAX_LABELS - 1).astype(np.int64)
    first = np.flatnonzero(np.diff(share, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    return kept[first], np.stack([rows[first, 0], rows[last, 1]], axis=1)
