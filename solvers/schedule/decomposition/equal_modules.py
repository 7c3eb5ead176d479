"""Find modules that are equal, or of one shape, so that results for one serve the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange
from mtpp_dsl.solvers.schedule.modules.canonical import Canonical, canonical
from mtpp_dsl.solvers.schedule.modules.equal import EqualMember, equal_modules
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["EqualModules", "grouped"]

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

    def translated(self, found: Arrangement, of: int, to: int, first: int, last: int) -> Arrangement | None:
        """Return a schedule of class *of* as one of class *to*, of the same shape, with the same order."""
        one, other, piece = self.forms[of], self.forms[to], self.pieces[to]
        device, start = np.empty_like(found.device), np.empty_like(found.start)
        device[other.tasks] = found.device[one.tasks]
        start[other.tasks] = found.start[one.tasks]
        return arrange(piece, first, last, start, device)

    def lent(self, known: float, of: int, to: int) -> float:
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
