"""Turn modules into requests for CP-SAT, and its solutions into schedules."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request, Solution, request
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["arranged", "asked"]


def asked(
    piece: ModulePiece, first: int, last: int, *, cutoff: int, at_least: int, hint: Arrangement | None = None
) -> Request:
    """Return the request for a schedule of *piece* with the entry on device *first* and the exit on *last*."""
    time = piece.time.copy()
    for v, d in [(0, first)] * piece.entry + [(-1, last)] * piece.exit:
        time[v, np.arange(piece.k) != d] = np.inf
    latest = np.full(piece.size, INF)
    if piece.entry:
        latest[0] = 0
    told = None
    if hint is not None:
        told = Solution(hint.device, hint.start.astype(np.int64), hint.sent.astype(np.int64))
    return request(
        _whole(time),
        piece.tails,
        piece.heads,
        np.arange(len(piece.edges)),
        _whole(piece.carry),
        cutoff=cutoff,
        exclusive=piece.exclusive,
        at_least=at_least,
        size=piece.memory.astype(np.int64),
        capacity=_whole(piece.limit),
        together=piece.together,
        apart=piece.apart,
        latest=latest,
        hint=told,
    )


def arranged(piece: ModulePiece, solution: Solution) -> Arrangement:
    """Return CP-SAT's solution as a schedule."""
    takes = piece.time[np.arange(piece.size), solution.device]
    length = float((solution.start + takes).max(initial=0.0))
    return Arrangement(solution.device, solution.start.astype(np.float64), solution.sent.astype(np.float64), length)


def _whole(times: Floats) -> Ints:
    return np.where(np.isfinite(times), times, float(INF)).astype(np.int64)
