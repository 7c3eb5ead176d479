"""Compute the longest paths of a module's classes, and close what no schedule below a length can do."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.lifted.classes import ClassGraph

__all__ = ["OpenChoices", "open_choices", "path_times"]

ROUNDS = 6
"""Of closing choices: each makes paths longer, which may close more."""
MARGIN = 1e-9
"""Relative: choices are closed that are longer than a limit by more than rounding could make them."""


@dataclass(frozen=True, eq=False)
class OpenChoices:
    """What schedules of a module up to some length can do, and how long paths through it are.

    Attributes:
        time: [classes, k] running times; ``inf`` where it is closed.
        carry: [edge classes, k, k] times of transfers; ``inf`` where closed.
        end: [classes, k] no member ends there earlier, after the end of the entry.
        rest: [classes, k] from the end of a member there to the end of the module it takes no less.
        length: the longest path, with everything where that is best: no schedule is shorter.
    """

    time: Floats
    carry: Floats
    end: Floats
    rest: Floats
    length: float


def open_choices(graph: ClassGraph, first: int | None, last: int | None, limit: float) -> OpenChoices:
    """Return what schedules no longer than *limit* can do, with the entry and the exit on these devices.

    A class is closed on a device, or a class of edges between two, if a path through that is longer than *limit*; then
    paths are computed again. If the length is above *limit*, there is no such schedule.
    """
    time, carry = np.array(graph.time), np.array(graph.carry)
    for v, device in ((graph.entry, first), (graph.exit, last)):
        if v is not None and device is not None:
            time[v, np.arange(graph.k) != device] = inf
    if graph.entry is not None:
        time[graph.entry] = np.where(np.isfinite(time[graph.entry]), 0.0, inf)
    for turn in range(ROUNDS + 1):
        end, rest = _ends(graph, time, carry), _rests(graph, time, carry)
        length = float((end + rest).min(axis=1).max(initial=0.0))
        if turn == ROUNDS or limit == inf or not length <= limit * (1 + MARGIN):
            break
        through = end[graph.tail][:, :, None] + carry + (time + rest)[graph.head][:, None, :]
        late = (end + rest > limit * (1 + MARGIN)) & np.isfinite(time)
        slow = (through > limit * (1 + MARGIN)) & np.isfinite(carry)
        if not (late.any() or slow.any()):
            break
        time[late] = inf
        carry[slow] = inf
    return OpenChoices(time, carry, end, rest, length)


def path_times(graph: ClassGraph) -> Floats:
    """Return [entries, exits] the longest paths by the devices of both ends; one row, or column, without an end."""
    entries = range(graph.k) if graph.entry is not None else [None]
    rows = []
    for device in entries:
        time = np.array(graph.time)
        if graph.entry is not None:
            time[graph.entry, np.arange(graph.k) != device] = inf
        end = _ends(graph, time, graph.carry)
        rows.append(end[graph.exit] if graph.exit is not None else [end.min(axis=1).max(initial=0.0)])
    return np.array(rows, np.float64).reshape(len(entries), -1)


def _ends(graph: ClassGraph, time: Floats, carry: Floats) -> Floats:
    """Return [classes, k] how early a member can end on each device, by longest paths."""
    end = np.array(time)
    for v, edges in enumerate(graph.into):
        for q in edges:
            arrival = (end[graph.tail[q], :, None] + carry[q]).min(axis=0)
            np.maximum(end[v], arrival + time[v], out=end[v])
    return end


def _rests(graph: ClassGraph, time: Floats, carry: Floats) -> Floats:
    """Return [classes, k] how long it takes from the end of a member on each device to the end of all."""
    rest = np.zeros_like(time)
    for u in range(len(time) - 1, -1, -1):
        for q in graph.out[u]:
            v = graph.head[q]
            np.maximum(rest[u], (carry[q] + time[v] + rest[v]).min(axis=1), out=rest[u])
    return rest
