"""Close what no schedule of a module below a limit can do, by longest paths between given devices of its ends."""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["ModuleChoices"]

ROUNDS = 6
"""Of closing: each makes paths longer, which may close more."""


class ModuleChoices:
    """What schedules of a module may do that are shorter than a limit, with its ends on given devices.

    Args:
        piece: the module.
        entry, exit_: states of its ends.

    Attributes:
        time: [s, k] of tasks, ``inf`` where one is closed. carry: [e, k, k] of transfers, ``inf`` where closed.
        end: [s, k] the least time from the end of the entry to that of each task there.
        rest: [s, k] the least from that end to the end of the module.
        length: the longest path, with everything where that is best: no schedule is shorter.
    """

    def __init__(self, piece: ModulePiece, entry: int, exit_: int) -> None:
        self.piece = piece
        self.time, self.carry = piece.time.copy(), piece.carry.copy()
        devices = np.arange(piece.k)
        if piece.entry:
            self.time[0, devices != piece.entries[entry]] = inf
        if piece.exit:
            self.time[-1, devices != piece.exits[exit_]] = inf
        self._measure()

    def _measure(self) -> None:
        """Compute the longest paths."""
        piece, time, carry = self.piece, self.time, self.carry
        self.end, self.rest = time.copy(), np.zeros_like(time)
        for v in range(piece.size):
            for e in piece.into[v]:
                arrives = (self.end[piece.tails[e], :, None] + carry[e]).min(axis=0)
                np.maximum(self.end[v], arrives + time[v], out=self.end[v])
        for u in range(piece.size - 1, -1, -1):
            for e in piece.out_of[u]:
                v = piece.heads[e]
                np.maximum(self.rest[u], (carry[e] + time[v] + self.rest[v]).min(axis=1), out=self.rest[u])
        self.length = float((self.end + self.rest).min(axis=1).max(initial=0.0))

    @property
    def through(self) -> Floats:
        """[e, k, k] the longest path through each edge, from device to device."""
        tails, heads = self.piece.tails, self.piece.heads
        paths: Floats = self.end[tails][:, :, None] + self.carry + (self.time + self.rest)[heads][:, None, :]
        return paths

    def close_paths(self, limit: float) -> bool:
        """Close what paths of *limit* or more lead through; return whether shorter schedules may be left."""
        for _ in range(ROUNDS):
            if self.length >= limit or not self.close(self.end + self.rest >= limit, self.through >= limit):
                break
        return self.length < limit

    def close(self, nodes: Bools, edges: Bools) -> bool:
        """Close [s, k] tasks on devices and [e, k, k] edges between two; return whether any was open."""
        late, slow = nodes & np.isfinite(self.time), edges & np.isfinite(self.carry)
        if not (late.any() or slow.any()):
            return False
        self.time[late], self.carry[slow] = inf, inf
        self._measure()
        return True
