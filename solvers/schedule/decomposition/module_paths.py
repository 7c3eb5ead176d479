"""Bound modules by device-aware longest paths, for all devices of their ends at once."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["heads", "path_bounds", "tails"]


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
