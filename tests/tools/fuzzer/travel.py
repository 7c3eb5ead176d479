"""What transfers take on ``links``."""

from __future__ import annotations

from math import inf

from tests.tools.fuzzer.instance import Instance

__all__ = ["travel"]


def travel(inst: Instance, edge: tuple[int, int], d: int, f: int, inputs: int = 1) -> float:
    """Return what an edge takes from one device to another; ``inf`` where no path joins them.

    Without a link of their own they use the path of the largest least bandwidth, of several such that of least
    latency: all simple paths are tried.
    """
    if d == f:
        return 0.0
    if inst.carried is not None:
        return inputs * inst.carried[edge][d][f]
    if inst.bandwidths[d][f] > 0:
        return inst.latencies[d][f] + inputs * inst.size(edge) / inst.bandwidths[d][f]
    if inst.direct:
        return inf
    paths: list[tuple[float, float]] = []

    def walk(at: int, seen: set[int], width: float, late: float) -> None:
        if at == f:
            paths.append((-width, late))
            return
        for g in range(inst.k):
            if g not in seen and inst.bandwidths[at][g] > 0:
                walk(g, seen | {g}, min(width, inst.bandwidths[at][g]), late + inst.latencies[at][g])

    walk(d, {d}, inf, 0.0)
    if not paths:
        return inf
    width, late = min(paths)
    return late + inputs * inst.size(edge) / -width
