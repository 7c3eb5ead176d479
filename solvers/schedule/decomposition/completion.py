"""From a schedule of some tasks to one of all: the others go into the gaps, late ones last."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mtpp_dsl.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange
from mtpp_dsl.solvers.schedule.modules.piece import Piece

__all__ = ["completions"]


def completions(piece: Piece, kept: Bools, device: Ints, start: Floats) -> Iterator[Arrangement]:
    """Yield schedules of all of *piece* that have the *kept* tasks on their devices and, as far as can be, in order.

    The others are taken by when they have to start at the latest, so that those that are needed soon come first: all on
    one device, for every device, or each wherever it ends first; and last all of them free, those of the schedule too.

    Args:
        piece: a whole graph.
        kept: [s] tasks of the given schedule.
        device: [s] of these.
        start: [s] of these.
    """
    fixed = np.where(kept, device, NONE)
    for d in [] if kept.all() else np.flatnonzero(piece.allowed[~kept].all(axis=0)).tolist():
        latest = _latest(piece, kept, device, start, d)
        yield from _arranged(piece, latest, np.where(kept, device, d))
        yield from _arranged(piece, latest, fixed)
    yield from _arranged(piece, _latest(piece, kept, device, start, None), None)


def _arranged(piece: Piece, priority: Floats, devices: Ints | None) -> Iterator[Arrangement]:
    found = arrange(piece, NONE, NONE, priority, devices)
    if found is not None:
        yield found


def _latest(piece: Piece, kept: Bools, device: Ints, start: Floats, d: int | None) -> Floats:
    """Return [s] the start of the kept tasks, and the latest start of the others if they are on device *d*.

    Without a device the others take the least time they can, and send for nothing.
    """
    end = float((start + piece.time[np.arange(piece.size), device])[kept].max(initial=0.0))
    takes = piece.time.min(axis=1) if d is None else piece.time[:, d]
    found = np.where(kept, start, end - takes)
    for v in range(piece.size - 1, -1, -1):
        if kept[v]:
            continue
        for e in piece.out_of[v]:
            w = int(piece.heads[e])
            way = float(piece.carry[e, d, device[w]]) if d is not None and kept[w] else 0.0
            if np.isfinite(way):
                found[v] = min(found[v], found[w] - way - takes[v])
    return found
