"""Keep bounds and schedules of the modules of a chain: from list schedulers, and from modules of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange, on_one_device, placed, urgency
from mtpp_dsl.solvers.schedule.modules.canonical import Canonical, EqualMember, canonical, equal_modules
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["EqualModules", "KnownModules", "Pair", "grouped", "path_bounds"]

FACTORS = (*(0.5, 0.7, 0.8, 0.9, 0.95), *(0.97 + 0.005 * i for i in range(13)), *(1.05, 1.1, 1.25, 1.5, 2.0))
LARGEST = 400
"""Modules of more tasks are not compared."""


@dataclass(frozen=True, eq=False)
class EqualModules:
    """The classes of some modules.

    Attributes:
        pieces: the first module of each class. members: every module.
        shape: [classes] number of the shape of each; modules of one shape have one graph, whatever their times.
        forms: [classes] orders of tasks and edges that map modules of one shape onto each other.
    """

    pieces: tuple[ModulePiece, ...]
    members: tuple[EqualMember, ...]
    shape: tuple[int, ...]
    forms: tuple[Canonical, ...]

    def alike(self, c: int) -> list[int]:
        """Return the other classes of the same shape as class *c*."""
        return [other for other, shape in enumerate(self.shape) if shape == self.shape[c] and other != c]

    def translated(self, arrangement: Arrangement, of: int, to: int, first: int, last: int) -> Arrangement | None:
        """Return a schedule of class *of* as one of class *to*, of the same shape, with the same order."""
        one, other, piece = self.forms[of], self.forms[to], self.pieces[to]
        device, start = np.empty_like(arrangement.device), np.empty_like(arrangement.start)
        device[other.tasks] = arrangement.device[one.tasks]
        start[other.tasks] = arrangement.start[one.tasks]
        return arrange(piece, first, last, start, device)

    def transferred_bound(self, known: float, of: int, to: int) -> float:
        """Return the bound on class *to* that follows from *known*, a bound on class *of* of the same shape; 0 if none.

        Take a schedule of *to*, and lengthen one task or transfer after another, until each takes at least a factor
        times what it takes in *of*; each delays what comes after it by no more than it grows. Divided by the factor,
        the result is a schedule of *of*. So factor times *known*, less the most that everything can grow, is a bound on
        *to*. This fails for anything that takes no time in *to* but some in *of*: in *to* it may be at a moment at
        which something else runs.
        """
        one, other = self.pieces[of], self.pieces[to]
        if not (one.roomy and len(set(one.together.tolist())) == one.size and not one.apart):
            return 0.0
        a, b = self.forms[of], self.forms[to]
        k = one.k**2
        tables = (
            (one.time[a.tasks], other.time[b.tasks]),
            (one.carry[a.edges].reshape(-1, k), other.carry[b.edges].reshape(-1, k)),
        )
        if any((np.isinf(old) & np.isfinite(new)).any() for old, new in tables):
            return 0.0
        if any(((new == 0) & (old > 0)).any() for old, new in tables[: 1 + one.exclusive]):
            return 0.0
        return max(factor * known - sum(_growth(factor, *two) for two in tables) for factor in FACTORS)


def grouped(pieces: Sequence[ModulePiece]) -> EqualModules:
    """Return the classes of equal modules among *pieces*."""
    known: dict[object, Canonical] = {}
    firsts, members = equal_modules(pieces, [_form(piece, i, known, weights=True) for i, piece in enumerate(pieces)])
    forms = tuple(_form(pieces[i], i, known, weights=False) for i in firsts)
    shapes: dict[bytes, int] = {}
    shape = tuple(shapes.setdefault(form.key, len(shapes)) for form in forms)
    return EqualModules(tuple(pieces[i] for i in firsts), members, shape, forms)


def _form(piece: ModulePiece, i: int, known: dict[object, Canonical], *, weights: bool) -> Canonical:
    """Return the canonical form of a module: the one in *known* if the module is equal to it, task by task."""
    if piece.size > LARGEST:
        return Canonical(np.arange(piece.size), np.arange(len(piece.edges)), b"module %d" % i)
    parts: list[object] = [piece.entry, piece.exit, piece.tails.tobytes(), piece.heads.tobytes(), weights]
    if weights:
        arrays = piece.time, piece.carry, piece.memory, piece.limit, piece.together
        parts += [*(array.tobytes() for array in arrays), piece.apart]
    key = tuple(parts)
    if key not in known:
        known[key] = canonical(piece, weights=weights)
    return known[key]


def _growth(factor: float, old: Floats, new: Floats) -> float:
    """Return the most that the rows of *new* grow, each by its worst entry, to be *factor* times those of *old*."""
    finite = np.isfinite(old) & np.isfinite(new)
    more = factor * np.where(finite, old, 0.0) - np.where(finite, new, 0.0)
    return float(np.maximum(more, 0.0).max(axis=1, initial=0.0).sum())


# What is known of each class of modules.

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
        changed = [self.keep(pair, arrangement) for arrangement in tries]
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
            known, arrangement = self.lower[other][same[1:]], self.found.get(same)
            news = known, inf if arrangement is None else arrangement.length
            if self._borrowed.get((pair, other)) == news:
                continue
            self._borrowed[pair, other] = news
            if arrangement is not None:
                changed |= self.keep(pair, self.classes.translated(arrangement, other, c, first, last))
            if self.lower[c][i, j] < known < inf:
                scaled = floor(self.classes.transferred_bound(known, other, c) * (1 - 1e-12))
                changed |= scaled > self.lower[c][i, j]
                self.lower[c][i, j] = max(self.lower[c][i, j], scaled)
        return changed

    def keep(self, pair: Pair, arrangement: Arrangement | None) -> bool:
        """Keep a schedule if it is shorter than the one known; return whether it is."""
        if arrangement is None:
            return False
        c, i, j = pair
        if pair not in self.found or arrangement.length < self.found[pair].length:
            self.found[pair] = arrangement
        better = bool(arrangement.length < self.upper[c][i, j])
        self.upper[c][i, j] = min(arrangement.length, self.upper[c][i, j])
        return better


# Bound modules by device-aware longest paths, for all devices of their ends at once.


def heads(piece: ModulePiece) -> Floats:
    """Return [entries, s, k]: the least time from the end of the entry to that of every task on every device.

    Of every path its fastest placement counts, transfers included; of several into a task the longest.
    """
    count = len(piece.entries)
    earliest = np.zeros((count, piece.size, piece.k))
    for v in range(piece.size):
        if v == 0 and piece.entry:
            earliest[:, 0] = np.inf
            earliest[np.arange(count), 0, list(piece.entries)] = 0.0
            continue
        ready = np.zeros((count, piece.k))
        for e in piece.into[v]:
            ways = earliest[:, piece.tails[e], :, None] + piece.carry[e][None]
            ready = np.maximum(ready, ways.min(axis=1))
        earliest[:, v] = ready + piece.time[v]
    return earliest


def tails(piece: ModulePiece) -> Floats:
    """Return [exits, s, k]: the least time from the end of every task on every device to the end of the module."""
    count = len(piece.exits)
    rest = np.zeros((count, piece.size, piece.k))
    last = piece.size - 1
    for v in range(last, -1, -1):
        if v == last and piece.exit:
            rest[:, v] = np.inf
            rest[np.arange(count), v, list(piece.exits)] = 0.0
            continue
        for e in piece.out_of[v]:
            y = int(piece.heads[e])
            ways = (rest[:, y] + piece.time[y])[:, None, :] + piece.carry[e][None]
            rest[:, v] = np.maximum(rest[:, v], ways.min(axis=2))
    return rest


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
