"""A module by a weighted sum: of how long it takes, what one device works, and what that device receives.

Asked of CP-SAT as a schedule: behind the module come, one after another, shadows of its tasks that take their share of
the load where they are on the device, and pairs of shadows with a transfer between them for what it receives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.graph import Floats, Ints
from mtpp_dsl.solvers.cpsat.request import NEVER, Request, request
from mtpp_dsl.solvers.cpsat.whole import Whole
from mtpp_dsl.solvers.decomposition.beside import Beside
from mtpp_dsl.solvers.decomposition.piece import Piece

__all__ = ["Weights", "weighed", "weights_for"]

PARTS = 1000
"""What weights are whole numbers of."""


@dataclass(frozen=True)
class Weights:
    """Whole numbers that add up to ``total``: no makespan is below the weighted mean of what each of them weighs.

    Attributes:
        device: whose load and whose receiving count.
        time: of the time along the chain. load: of the work on the device. port: of transfers to it.
    """

    device: int
    time: int
    load: int
    port: int

    @property
    def total(self) -> int:
        """Their sum."""
        return self.time + self.load + self.port


def weights_for(whole: Whole, besides: list[Beside], device: int) -> Weights:
    """Return weights under which it does not pay to have elsewhere what lies beside a chain, if links are exclusive.

    For most of its work, that is: as much as the links' worst customers save by unit of transfer is left to them.
    """
    asked = whole.request
    nodes = [v for group in besides for v in group.nodes]
    work = float(asked.duration[nodes, device].clip(max=NEVER).sum()) if nodes else 0.0
    into = asked.table[:, :, device].copy()
    into[into == 0] = NEVER
    least = into.min(axis=1)[asked.row] if len(asked.row) else np.zeros(0, np.int64)
    inside = np.zeros(len(asked.duration), np.bool_)
    inside[nodes] = True
    leaving = np.flatnonzero(inside[asked.tails] & ~inside[asked.heads])
    carried = float(least[leaving][least[leaving] < NEVER].sum())
    ratio = min(1.0, 1.5 * work / carried) if whole.instance.exclusive and carried > 0 else 0.0
    port = round(PARTS * ratio / (2 + ratio))
    load = (PARTS - port) // 2
    return Weights(device, PARTS - port - load, load, port)


def weighed(
    whole: Whole,
    piece: Piece,
    near: Beside,
    weights: Weights,
    first: int,
    last: int,
    *,
    cutoff: int,
    at_least: int,
) -> Request:
    """Return the request for the least weighted sum with the entry on device *first* and the exit on *last*."""
    return _Weighing(whole, piece, near, weights).request(first, last, cutoff, at_least)


class _Weighing:
    """Collects tasks and edges."""

    def __init__(self, whole: Whole, piece: Piece, near: Beside, weights: Weights) -> None:
        self._asked, self._piece, self._near, self._weights = whole.request, piece, near, weights
        self._k = piece.k
        times = np.where(piece.allowed, piece.time, 0.0).astype(np.int64)
        self._duration = list(np.where(piece.allowed, weights.time * times, NEVER))
        self._class = self._asked.together[piece.nodes].tolist()
        self._edges = list(zip(piece.tails.tolist(), piece.heads.tolist(), strict=True))
        self._table = list(_scaled(piece.carry, weights.time))

    def request(self, first: int, last: int, cutoff: int, at_least: int) -> Request:
        """Return the request."""
        piece = self._piece
        for v, d in [(0, first)] * piece.entry + [(piece.size - 1, last)] * piece.exit:
            self._duration[v] = np.where(np.arange(self._k) == d, self._duration[v], NEVER)
        behind = [v for v in range(piece.size) if not piece.out_of[v]]
        for v in [*piece.nodes[int(piece.entry) :].tolist(), *self._near.nodes]:
            behind = [self._shadow(v, behind, self._weights.load)]
        if self._weights.port:
            for e in self._near.edges:
                behind = self._toll(e, behind)
        latest = np.full(len(self._duration), NEVER)
        latest[: int(piece.entry)] = 0
        ends = np.array(self._edges, np.int64).reshape(-1, 2)
        return request(
            np.array(self._duration, np.int64),
            ends[:, 0],
            ends[:, 1],
            np.arange(len(ends)),
            np.array(self._table, np.int64).reshape(-1, self._k, self._k),
            cutoff=cutoff,
            exclusive=piece.exclusive,
            at_least=at_least,
            together=np.unique(self._class, return_inverse=True)[1].astype(np.int64),
            latest=latest,
        )

    def _shadow(self, v: int, behind: list[int], weight: int) -> int:
        """Add a task that is where node *v* is, and takes *weight* times its work on the device; return its number."""
        takes = np.where(self._asked.duration[v] < NEVER, 0, NEVER)
        d = self._weights.device
        if takes[d] < NEVER:
            takes[d] = weight * int(self._asked.duration[v, d])
        self._duration.append(takes)
        self._class.append(int(self._asked.together[v]))
        number = len(self._duration) - 1
        for u in behind:
            self._join(u, number, np.zeros((self._k, self._k), np.int64))
        return number

    def _toll(self, e: int, behind: list[int]) -> list[int]:
        """Add what edge *e* brings to the device; return what comes next behind which task."""
        carried = self._asked.table[self._asked.row[e]]
        toll = np.zeros_like(carried)
        d = self._weights.device
        toll[:, d] = np.where(carried[:, d] < NEVER, self._weights.port * carried[:, d], NEVER)
        if not toll.any():
            return behind
        one = self._shadow(int(self._asked.tails[e]), behind, 0)
        other = self._shadow(int(self._asked.heads[e]), [], 0)
        self._join(one, other, toll)
        return [other]

    def _join(self, u: int, v: int, table: Ints) -> None:
        self._edges.append((u, v))
        self._table.append(table)


def _scaled(times: Floats, weight: int) -> Ints:
    finite = np.isfinite(times)
    return np.where(finite, np.where(finite, times, 0.0) * weight, NEVER).astype(np.int64)
