"""Places where a path may be cut: between two colocated nodes several, by the memory that their device has used there.

Of two colocated nodes next to each other on a path, the second is on the device of the first. So a subgraph that ends
between them is followed at once by another of the same device, and both share its memory. Each place between them says
how much of it is used by the subgraphs so far, one of these after another: more than *used*, and at most *room*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints, frozen

MOST_PLACES, MOST_TIMES = 12, 3
"""Places of one boundary, and of all, in times of the length of the path."""


@dataclass(frozen=True, eq=False)
class Places:
    """Places along a path, in its order. What is between a place and the next is an item: a node, or nothing.

    Attributes:
        before: [places] how many nodes of the path are before each.
        tied: [places] whether it is between two colocated nodes.
        used, room: [places] bounds of the memory that is used there; 0 and infinity where it does not matter.
    """

    before: Ints
    tied: Bools
    used: Floats
    room: Floats

    @classmethod
    def of(cls, path: Sequence[int], group: Ints | None) -> Places:
        """Return one place at each boundary of a path; *group* [n] tells colocated nodes, if these matter."""
        count = len(path) + 1
        tied = np.zeros(count, np.bool_)
        if group is not None:
            tied[1:-1] = group[list(path[:-1])] == group[list(path[1:])]
        return cls(frozen(range(count), np.int64), tied, np.zeros(count), np.full(count, np.inf))

    def __len__(self) -> int:
        return len(self.before)

    def parted(self, cuts: dict[int, float]) -> Places:
        """Return the places with some tied ones, the keys, parted at an amount of memory each."""
        kept = np.repeat(np.arange(len(self)), [1 + (p in cuts) for p in range(len(self))])
        used, room = self.used[kept].copy(), self.room[kept].copy()
        for k in np.flatnonzero(kept[1:] == kept[:-1]).tolist():
            room[k] = used[k + 1] = cuts[int(kept[k])]
        return Places(self.before[kept], self.tied[kept], used, room)

    @cached_property
    def starts(self) -> Ints:
        """[boundaries + 1] the first place of each boundary of the path."""
        starts: Ints = np.searchsorted(self.before, np.arange(int(self.before[-1]) + 2))
        return starts

    @cached_property
    def item(self) -> Ints:
        """[length] which item each node of the path is."""
        item: Ints = self.starts[1:-1] - 1
        return item

    def items(self, values: Floats) -> Floats:
        """Return [items] values of the nodes of the path, and zeros."""
        given = np.zeros(len(self) - 1)
        given[self.item] = values
        return given

    def ends(self, a: int, b: int) -> tuple[int, int]:
        """Return the indices of the first and last node of the path from place *a* to the end of item *b*."""
        return int(self.before[a]), int(self.before[b + 1]) - 1

    def within(self, a: int, b: int) -> tuple[float, float]:
        """Return what is used before, and the room for all, of a run from place *a* to the end of item *b*."""
        return float(self.used[a]), float(self.room[b + 1])

    def inside(self, other: Places, p: int) -> list[int]:
        """Return the places that one of other places has been parted into."""
        x = int(other.before[p])
        some = range(int(self.starts[x]), int(self.starts[x + 1]))
        return [q for q in some if self.used[q] >= other.used[p] and self.room[q] <= other.room[p]]

    def amount(self, a: int, p: int, held: float, left: float) -> float | None:
        """Return where to part a tied place, at which two runs do not share a memory; None where they do.

        Args:
            a: the place before the first of the runs.
            p: the place between them.
            held: the memory of the first.
            left: what the second leaves of a memory.
        """
        low, high = float(self.used[a]) + held, left
        x, middle = int(self.before[p]), (low + high) / 2
        few = self.starts[x + 1] - self.starts[x] < MOST_PLACES and len(self) <= MOST_TIMES * int(self.before[-1])
        inside = self.used[p] < middle < self.room[p]
        return middle if self.tied[p] and low > high * (1 + 1e-6) and few and inside else None

    def most(self, limit: float, b: int) -> float:
        """Return how much memory may be used at the end of item *b*."""
        return min(limit, float(self.room[b + 1]))

    @property
    def ties(self) -> list[list[float]]:
        """Boundaries with tied places, each with the amounts of memory between these, for certificates."""
        return [
            [x, *(float(r) for r in self.room[self.starts[x] : self.starts[x + 1] - 1])]
            for x in np.unique(self.before[self.tied]).tolist()
        ]
