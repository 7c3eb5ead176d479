"""State how the chunks of a task are split over devices, as literals of a CP-SAT model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints


class BatchSpread:
    """Literals for the devices of the chunks of a task, and for the sizes of its batches.

    Args:
        model: the CP-SAT model.
        menu: [k, chunks + 1] which sizes a batch can have on every device; some device has a size above 0.
        pins: [chunks] the device that a chunk has to run on; -1 for any.

    Attributes:
        on: [chunks] by device, that the chunk is there.
        sizes: by device, by size, that there is a batch of so many chunks.
        here: by device, that there is a batch.
        parts: whether the chunks may be divided between two devices in a way that the pins do not determine.
    """

    def __init__(self, model: Any, menu: Bools, pins: Ints) -> None:
        self.chunks = len(pins)
        menus = {d: (np.flatnonzero(row[1:]) + 1).tolist() for d, row in enumerate(menu)}
        self._pinned = bool((pins >= 0).all())
        self.on: list[dict[int, Any]]
        self.sizes: dict[int, dict[int, Any]]
        if self._pinned:
            true = model.new_constant(1)
            self.on = [{d: true} for d in pins.tolist()]
            self.sizes = {d: {int((pins == d).sum()): true} for d in np.unique(pins).tolist()}
            self.here = dict.fromkeys(self.sizes, true)
            self.parts = False
            return
        menus = {d: sizes for d, sizes in menus.items() if sizes}
        self._true = model.new_constant(1) if len(menus) == 1 else None
        self.parts = any(sizes != [self.chunks] for sizes in menus.values())
        self.sizes, self.here = {}, {}
        for d, sizes in menus.items():
            self._size(model, d, sizes)
        self._chunks(model)

    def _size(self, model: Any, d: int, sizes: list[int]) -> None:
        """Create the literals of a device."""
        if self._true is not None:
            self.sizes[d] = {self.chunks: self._true}
            self.here[d] = self._true
            return
        self.sizes[d] = {p: model.new_bool_var("") for p in sizes}
        literals = list(self.sizes[d].values())
        self.here[d] = literals[0] if len(literals) == 1 else model.new_bool_var("")
        if len(literals) > 1:
            model.add_exactly_one(*literals, ~self.here[d])

    def _chunks(self, model: Any) -> None:
        """Put every chunk on one device, and as many on each device as its batch has."""
        if not self.parts or len(self.sizes) == 1:
            self.on = [dict(self.here) for _ in range(self.chunks)]
            if len(self.sizes) > 1:
                model.add_exactly_one(self.here.values())
            return
        whole = {d for d, sizes in self.sizes.items() if set(sizes) == {self.chunks}}
        self.on = [
            {d: self.here[d] if d in whole or self.chunks == 1 else model.new_bool_var("") for d in self.sizes}
            for _ in range(self.chunks)
        ]
        for there in self.on:
            model.add_exactly_one(there.values())
        for d in self.sizes.keys() - whole:
            model.add(sum(there[d] for there in self.on) == self.count(d))
            for there in self.on:
                model.add_implication(there[d], self.here[d])
        model.add(sum(self.count(d) for d in self.sizes) == self.chunks)

    @property
    def certain(self) -> bool:
        """Whether every device of ``here`` has a batch in every solution."""
        return self._pinned or len(self.sizes) == 1

    def count(self, d: int) -> Any:
        """Return the number of chunks on a device as an expression."""
        return sum(p * there for p, there in self.sizes[d].items())

    def pairs(self, after: BatchSpread, d: int, f: int) -> list[tuple[Any, Any, int]]:
        """Return literals that a chunk is on *d* here and on *f* in another split, and how many chunks share them."""
        shares: dict[tuple[int, int], tuple[Any, Any, int]] = {}
        for one, other in zip(self.on, after.on, strict=True):
            if d in one and f in other:
                key = one[d].index, other[f].index
                shares[key] = one[d], other[f], shares[key][2] + 1 if key in shares else 1
        return list(shares.values())

    def both(self, after: BatchSpread, d: int, f: int) -> Any:
        """Return a literal that some chunk is on *d* here and on *f* in the other split, or None.

        It exists where all chunks are on one device here or there, or the pins determine every device.
        """
        if self._pinned and after._pinned:
            return self.here[d]
        if self._only(d):
            return after.here[f]
        return self.here[d] if after._only(f) else None

    def _only(self, d: int) -> bool:
        return len(self.sizes) == 1 and d in self.sizes

    def values(self, device: list[int], sizes: list[int]) -> Iterator[tuple[Any, bool]]:
        """Yield literals and their values if the chunks run on *device*, so many on each."""
        if self._pinned or len(self.sizes) == 1:
            return
        for there, place in zip(self.on, device, strict=True):
            yield from ((literal, d == place) for d, literal in there.items())
        for d, by_size in self.sizes.items():
            yield self.here[d], sizes[d] > 0
            yield from ((literal, p == sizes[d]) for p, literal in by_size.items())

    def read(self, value: Any) -> list[int]:
        """Return [chunks] the device of every chunk."""
        return [next(d for d, literal in there.items() if len(there) == 1 or value(literal)) for there in self.on]


def classes_of_chunks(pins: Ints) -> list[list[int]]:
    """Return lists of chunks with equal pins, which are interchangeable."""
    _, classes = np.unique(pins, axis=1, return_inverse=True)
    return [np.flatnonzero(classes.reshape(-1) == number).tolist() for number in range(int(classes.max()) + 1)]
