"""Keep bounds and schedules of the modules of a chain: from list schedulers, and from modules of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange, on_one_device, placed, urgency
from mtpp_dsl.solvers.schedule.decomposition.equal_modules import EqualModules
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["KnownModules", "Pair", "path_bounds"]

Pair: TypeAlias = tuple[int, int, int]
"""A class of modules, and the numbers of the states of its ends."""


class KnownModules:
    """Bounds and schedules of all modules of a chain, for all devices of their ends.

    Args:
        classes: of the modules of the chain.
        lower: bounds known before, [entries, exits] per class.
        warm: schedules to try first, of modules that are equal except for exclusive links.

    Attributes:
        lower, upper: [entries, exits] per class: lower bounds, and the shortest lengths found.
        found: the schedules, by class and states.
    """

    def __init__(
        self, classes: EqualModules, lower: Sequence[Floats] | None = None, warm: dict[Pair, Arrangement] | None = None
    ) -> None:
        self.classes = classes
        paths = [path_bounds(piece) for piece in classes.pieces]
        self.lower = paths if lower is None else [np.maximum(*two) for two in zip(paths, lower, strict=True)]
        self._serial = [on_one_device(piece) for piece in classes.pieces]
        self.upper = [serial.min(axis=0) for serial in self._serial]
        self.found: dict[Pair, Arrangement] = {}
        self._warm = warm or {}
        self._looked: set[Pair] = set()
        self._borrowed: dict[tuple[Pair, int], tuple[float, float]] = {}

    def horizon(self, c: int) -> int:
        """Return a length within which a shortest schedule exists, if any does: everything one after another."""
        piece = self.classes.pieces[c]
        work = np.where(piece.allowed, piece.time, 0.0).max(axis=1, initial=0.0).sum()
        moved = np.where(np.isfinite(piece.carry), piece.carry, 0.0).max(axis=(1, 2), initial=0.0).sum()
        return int(work + moved)

    def ends(self, pair: Pair) -> tuple[int, int]:
        """Return the devices of the two ends for a pair of states."""
        piece = self.classes.pieces[pair[0]]
        return piece.entries[pair[1]], piece.exits[pair[2]]

    def improve(self, pair: Pair) -> bool:
        """Schedule every module by lists, once; return whether a bound or a length has improved."""
        if pair in self._looked:
            return self._borrow(pair)
        self._looked.add(pair)
        (c, i, j), piece = pair, self.classes.pieces[pair[0]]
        first, last = self.ends(pair)
        order = -urgency(piece)
        d = int(self._serial[c][:, i, j].argmin())
        tries = [arrange(piece, first, last, order), arrange(piece, first, last, order, placed(piece, first, last, d))]
        if pair in self._warm:
            tries.append(arrange(piece, first, last, self._warm[pair].start, self._warm[pair].device))
        changed = [self.keep(pair, found) for found in tries]
        return any([*changed, self._borrow(pair)])

    def _borrow(self, pair: Pair) -> bool:
        """Use the results of modules of the same shape; return whether that improves anything."""
        c, i, j = pair
        first, last = self.ends(pair)
        changed = False
        for other in self.classes.alike(c):
            theirs = self.classes.pieces[other]
            if first not in theirs.entries or last not in theirs.exits:
                continue
            same = other, theirs.entries.index(first), theirs.exits.index(last)
            known, found = self.lower[other][same[1:]], self.found.get(same)
            news = known, inf if found is None else found.length
            if self._borrowed.get((pair, other)) == news:
                continue
            self._borrowed[pair, other] = news
            if found is not None:
                changed |= self.keep(pair, self.classes.translated(found, other, c, first, last))
            if self.lower[c][i, j] < known < inf:
                scaled = floor(self.classes.lent(known, other, c) * (1 - 1e-12))
                changed |= scaled > self.lower[c][i, j]
                self.lower[c][i, j] = max(self.lower[c][i, j], scaled)
        return changed

    def keep(self, pair: Pair, found: Arrangement | None) -> bool:
        """Keep a schedule if it is shorter than the one known; return whether it is."""
        if found is None:
            return False
        c, i, j = pair
        if pair not in self.found or found.length < self.found[pair].length:
            self.found[pair] = found
        better = bool(found.length < self.upper[c][i, j])
        self.upper[c][i, j] = min(found.length, self.upper[c][i, j])
        return better


# Bound modules by device-aware longest paths, for all devices of their ends at once.


def heads(piece: ModulePiece) -> Floats:
    """Return [entries, s, k]: the least time from the end of the entry to that of every task on every device.

    Of every path its fastest placement counts, transfers included; of several into a task the longest.
    """
    count = len(piece.entries)
    found = np.zeros((count, piece.size, piece.k))
    for v in range(piece.size):
        if v == 0 and piece.entry:
            found[:, 0] = np.inf
            found[np.arange(count), 0, list(piece.entries)] = 0.0
            continue
        ready = np.zeros((count, piece.k))
        for e in piece.into[v]:
            ways = found[:, piece.tails[e], :, None] + piece.carry[e][None]
            ready = np.maximum(ready, ways.min(axis=1))
        found[:, v] = ready + piece.time[v]
    return found


def tails(piece: ModulePiece) -> Floats:
    """Return [exits, s, k]: the least time from the end of every task on every device to the end of the module."""
    count = len(piece.exits)
    found = np.zeros((count, piece.size, piece.k))
    last = piece.size - 1
    for v in range(last, -1, -1):
        if v == last and piece.exit:
            found[:, v] = np.inf
            found[np.arange(count), v, list(piece.exits)] = 0.0
            continue
        for e in piece.out_of[v]:
            y = int(piece.heads[e])
            ways = (found[:, y] + piece.time[y])[:, None, :] + piece.carry[e][None]
            found[:, v] = np.maximum(found[:, v], ways.min(axis=2))
    return found


def path_bounds(piece: ModulePiece) -> Floats:
    """Return [entries, exits] lower bounds on the length of the module, by the devices of its ends."""
    if not piece.size:
        return np.zeros((1, 1))
    ahead = heads(piece)
    if piece.exit:
        bounds: Floats = ahead[:, -1, list(piece.exits)]
        return bounds
    every: Floats = ahead.min(axis=2).max(axis=1, keepdims=True)
    return every
