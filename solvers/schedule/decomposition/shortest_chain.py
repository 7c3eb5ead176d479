"""Find the shortest path along a chain of modules, over the devices of the cut nodes between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats

__all__ = ["Way", "shortest"]


@dataclass(frozen=True, eq=False)
class Way:
    """A shortest path along a chain.

    Attributes:
        length: of the shortest path; ``inf`` if there is none.
        states: [modules + 1] the state at every boundary.
        ahead, behind: [modules + 1] per boundary and state: the least length to it, and from it to the end.
    """

    length: float
    states: tuple[int, ...]
    ahead: tuple[Floats, ...]
    behind: tuple[Floats, ...]

    def slack(self, j: int) -> Floats:
        """Return [entries, exits] of module *j* the least length of all other modules, by the states at its ends."""
        rest: Floats = self.ahead[j][:, None] + self.behind[j + 1][None, :]
        return rest


def shortest(tables: Sequence[Floats]) -> Way:
    """Return the shortest path through *tables*, each [states before, states behind]; ties go to the first state."""
    ahead = [np.zeros(tables[0].shape[0])]
    for table in tables:
        ahead.append((ahead[-1][:, None] + table).min(axis=0))
    behind = [np.zeros(tables[-1].shape[1])]
    for table in reversed(tables):
        behind.append((table + behind[-1][None, :]).min(axis=1))
    behind.reverse()
    state = int(behind[0].argmin())
    states = [state]
    for j, table in enumerate(tables):
        state = int((table[state] + behind[j + 1]).argmin())
        states.append(state)
    return Way(float(ahead[-1].min()), tuple(states), tuple(ahead), tuple(behind))
