"""Number how many devices of each type are used: the states of the programmes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.problem.graph import Ints

__all__ = ["CopiesStates", "states_of"]


@dataclass(frozen=True, eq=False)
class CopiesStates:
    """States: so many devices of each type are used. The number of the union of two is the sum of their numbers.

    Attributes:
        most: [types] devices of each type that a state counts.
        stride: [types] what one more device of a type adds to the number; 0 for a type that is not counted.
        count: [states, types] devices of each type.
        after: [states, types] the state with one more of the type, -1 where there is none left.
    """

    most: Ints
    stride: Ints
    count: Ints
    after: Ints

    @cached_property
    def parts(self) -> tuple[Ints, Ints]:
        """[states + 1] where the parts of each state begin, and [pairs] those parts: as many of each type, or fewer."""
        size = len(self.count)
        inside = [np.flatnonzero((self.count <= self.count[s]).all(axis=1)) for s in range(size)]
        first = np.concatenate([[0], np.cumsum([len(its) for its in inside])])
        return first.astype(np.int64), np.concatenate(inside).astype(np.int64)


def states_of(most: Ints, counted: Ints | None = None) -> CopiesStates:
    """Return the states of up to so many devices of each type.

    Args:
        most: [types].
        counted: the types that are counted; any number of devices of the others may be used. None: all are.
    """
    levels = np.where(np.isin(np.arange(len(most)), np.arange(len(most)) if counted is None else counted), most, 0)
    stride = np.concatenate([[1], np.cumprod(levels[:-1] + 1)]).astype(np.int64)
    size = int(np.prod(levels + 1))
    count = np.arange(size)[:, None] // stride % (levels + 1)
    stride = np.where(levels > 0, stride, 0)
    after = np.where((count < levels) | (stride == 0), np.arange(size)[:, None] + stride, -1)
    return CopiesStates(levels.astype(np.int64), stride, count.astype(np.int64), after.astype(np.int64))
