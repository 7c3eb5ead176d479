"""Chains of blocks from the last to the first, with what the devices so far take, and only what nothing dominates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH

__all__ = ["Counts", "HeldBlocks", "Way", "some_chain"]

MAX_LABELS = 200_000
"""Of one ideal."""

Counts = tuple[int, ...]
"""How many devices of each kind are taken."""
Key = tuple[Counts, int]
"""The devices that are taken, and how many blocks there are, where this matters."""


@dataclass(frozen=True)
class Way:
    """One way in which devices can hold each of some blocks.

    Attributes:
        kind: of the devices.
        taken: how many of them.
        most_after: [blocks] of how many blocks it may come before at most; -1 where it cannot hold the block at all.
        largest: [blocks, parts] what it takes, of which the largest of all blocks counts.
        added: [blocks, sums] what it takes, of which the sum over all blocks counts.
    """

    kind: int
    taken: int
    most_after: Ints
    largest: Floats
    added: Floats


class HeldBlocks(Protocol):
    """How devices can hold the blocks of a graph."""

    @property
    def count(self) -> int:
        """How many ideals there are, smaller ones first."""

    @property
    def available(self) -> Counts:
        """How many devices there are of each kind."""

    @property
    def numbered(self) -> bool:
        """Whether it matters how many blocks come after one."""

    @property
    def widths(self) -> tuple[int, int]:
        """How many largest values and how many sums a label has."""

    @property
    def rest(self) -> Floats:
        """[ideals, sums] what the blocks of an ideal add at least, however they are cut."""

    def from_(self, i: int) -> tuple[Ints, Sequence[Way]]:
        """Return the ideals that hold ideal *i* and more, and the ways to hold what they have more."""

    def below(self, labels: Floats, counts: Counts) -> Bools:
        """Return [labels] whether a plan with such a label, and so many devices or more, may be what is looked for."""


def some_chain(blocks: HeldBlocks, limits: Limits) -> bool:
    """Return whether some chain of blocks, from the empty ideal to the whole graph, may be below what is asked.

    A label of an ideal is what the blocks behind it take: the largest values, then the sums. Of two labels with the
    same devices taken the one that is nowhere less is left out: what is asked grows with all of them.

    Raises:
        Refused: there are too many labels.
        UsageError: the time is not enough.
    """
    largest, added = blocks.widths
    labels: list[dict[Key, Floats]] = [{} for _ in range(blocks.count)]
    labels[-1][(0,) * len(blocks.available), 0] = np.zeros((1, largest + added))
    for i in range(blocks.count - 2, -1, -1):
        if limits.remaining <= 0:
            raise UsageError(NOT_ENOUGH)
        grown: defaultdict[Key, list[Floats]] = defaultdict(list)
        larger, ways = blocks.from_(i)
        for way in ways:
            for place in np.flatnonzero(way.most_after >= 0).tolist():
                for (counts, after), behind in labels[larger[place]].items():
                    taken = counts[way.kind] + way.taken
                    if taken > blocks.available[way.kind] or after > way.most_after[place]:
                        continue
                    with_it = behind.copy()
                    np.maximum(with_it[:, :largest], way.largest[place], out=with_it[:, :largest])
                    with_it[:, largest:] += way.added[place]
                    now = (*counts[: way.kind], taken, *counts[way.kind + 1 :])
                    grown[now, after + blocks.numbered].append(with_it)
        for key, parts in grown.items():
            every = np.concatenate(parts)
            whole = every.copy()
            whole[:, largest:] += blocks.rest[i]
            kept = undominated(every[blocks.below(whole, key[0])])
            if len(kept):
                labels[i][key] = kept
        if sum(map(len, labels[i].values())) > MAX_LABELS:
            raise Refused(f"an ideal has more than {MAX_LABELS:,} labels")
    return bool(labels[0])


def undominated(labels: Floats) -> Floats:
    """Return the labels of which no other is nowhere more; one of those that are equal."""
    labels = np.unique(labels, axis=0)  # in the order of the first value: no label is dominated by one behind it
    if labels.shape[1] <= 1:
        return labels[:1]
    if labels.shape[1] == 2:
        before = np.minimum.accumulate(np.concatenate([[np.inf], labels[:-1, 1]]))
        return labels[labels[:, 1] < before]
    kept: list[int] = []
    for place in range(len(labels)):
        if not kept or not (labels[kept] <= labels[place]).all(axis=1).any():
            kept.append(place)
    chosen: Floats = labels[kept]
    return chosen
