"""Complete a schedule of some tasks to one of all tasks: the others go into the gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["completions"]


def completions(piece: ModulePiece, kept: Bools, device: Ints, start: Floats) -> Iterator[Arrangement]:
    """Yield schedules of all of *piece* with the *kept* tasks on their devices and, where possible, in their order.

    The other tasks are placed by their latest start, so that those needed soon come first: all on one device, for every
    device; then each where it ends first; and last with the kept tasks free to move too.

    Args:
        piece: a whole graph.
        kept: [s] whether a task is in the given schedule.
        device: [s] of these.
        start: [s] of these.
    """
    fixed = np.where(kept, device, NONE)
    for d in [] if kept.all() else np.flatnonzero(piece.allowed[~kept].all(axis=0)).tolist():
        latest = _latest(piece, kept, device, start, d)
        yield from _arranged(piece, latest, np.where(kept, device, d))
        yield from _arranged(piece, latest, fixed)
    yield from _arranged(piece, _latest(piece, kept, device, start, None), None)


def _arranged(piece: ModulePiece, priority: Floats, devices: Ints | None) -> Iterator[Arrangement]:
    found = arrange(piece, NONE, NONE, priority, devices)
    if found is not None:
        yield found


def _latest(piece: ModulePiece, kept: Bools, device: Ints, start: Floats, d: int | None) -> Floats:
    """Return [s] the start of the kept tasks, and the latest start of the others if they are on device *d*.

    Without a device, the others take their least time and have no transfers.
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
