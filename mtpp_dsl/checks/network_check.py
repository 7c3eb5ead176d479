"""Loads of devices and channels on links and trees, counted again for the independent check, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.problem import Problem

_Hop = tuple[str, float, float]
"""A channel by its name, with its bandwidth and the latency of what goes over it."""


@dataclass(frozen=True)
class NetworkCount:
    """What a split on links or a tree takes.

    Attributes:
        work, input, output, load: [devices] times.
        channels: loads by name, of the channels that carry anything.
        shipped: what all shipments take, in sum.
    """

    work: list[float]
    input: list[float]
    output: list[float]
    load: list[float]
    channels: dict[str, float]
    shipped: float


def counted(problem: Problem, device: list[int]) -> NetworkCount:
    """Return what an assignment takes, shipment by shipment; where no way leads, ``inf``."""
    link = problem.interconnect
    assert isinstance(link, (Links, Tree))
    work, reads, writes = [0.0] * problem.k, [0.0] * problem.k, [0.0] * problem.k
    for v, d in enumerate(device):
        work[d] += float(problem.time[v, d])
    channels: dict[str, float] = defaultdict(float)
    shipped = 0.0
    for u, sizes in _shipped(problem, device).items():
        d = device[u]
        leaving: list[float] = []
        over: dict[str, float] = {}
        for e, size in sizes.items():
            way = _way(problem, d, e)
            if way is None:
                leaving.append(inf)
                reads[e] += inf
                shipped += inf
                continue
            ends = (way[0], way[-1]) if isinstance(link, Tree) else (way, way)
            leaving.append(_busy(problem, ends[0], size))
            reads[e] += _busy(problem, ends[1], size)
            shipped += sum(late for _, _, late in way) + size / min(rate for _, rate, _ in way)
            for name, rate, _ in way:
                before = over.get(name, 0.0)
                over[name] = before + size / rate if link.send == "each" else max(before, size / rate)
        writes[d] += sum(leaving) if link.send == "each" else max(leaving)
        for name, taken in over.items():
            channels[name] += taken
    parts = list(zip(work, reads, writes, strict=True))
    load = [sum(row) if link.overlap == "none" else max(row) for row in parts]
    return NetworkCount(work, reads, writes, load, {name: taken for name, taken in channels.items() if taken}, shipped)


def unreachable(problem: Problem, device: list[int]) -> Iterator[tuple[str, str]]:
    """Yield every tensor that a plan ships where no way leads, with the interconnect's name."""
    names = problem.graph.names
    for u, sizes in _shipped(problem, device).items():
        for e in sizes:
            if _way(problem, device[u], e) is None:
                one, other = problem.devices[device[u]].name, problem.devices[e].name
                yield problem.interconnect.keyword, f"{names[u]} goes from {one} to {other}, which nothing joins"


def _shipped(problem: Problem, device: list[int]) -> dict[int, dict[int, float]]:
    """Return, by tensor and by other device that reads it, the largest size of its edges there."""
    graph = problem.graph
    largest: dict[int, dict[int, float]] = {}
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        if device[u] != device[v]:
            sizes = largest.setdefault(u, {})
            sizes[device[v]] = max(sizes.get(device[v], 0.0), float(graph.sizes[e]))
    return largest


def _busy(problem: Problem, part: list[_Hop] | _Hop, size: float) -> float:
    """Return for how long a device at an end of a way is busy: with all hops on links, with its uplink on a tree."""
    hops = part if isinstance(part, list) else [part]
    link = problem.interconnect
    assert isinstance(link, (Links, Tree))
    late = sum(late for _, _, late in hops) if link.overlap == "none" else 0.0
    return late + size / min(rate for _, rate, _ in hops)


def _way(problem: Problem, d: int, e: int) -> list[_Hop] | None:
    """Return the channels from one device to another, in their order; None if nothing joins them."""
    link = problem.interconnect
    return _through_tree(problem, link, d, e) if isinstance(link, Tree) else _over_links(problem, d, e)


def _through_tree(problem: Problem, tree: Tree, d: int, e: int) -> list[_Hop] | None:
    """Return the uplinks from *d* up to the lowest switch above both, and down to *e*."""
    names = [device.name for device in problem.devices] + list(tree.switches)

    def above(x: int) -> list[int]:
        ends = []
        while tree.parents[x] >= 0:
            ends.append(x)
            x = problem.k + int(tree.parents[x])
        return [*ends, x]

    rising, falling = above(d), above(e)
    if rising[-1] != falling[-1]:
        return None
    while rising and falling and rising[-1] == falling[-1]:
        rising.pop()
        falling.pop()
    way = []
    for side, back in ((rising, False), (falling[::-1], True)):
        for x in side:
            switch = tree.switches[int(tree.parents[x])]
            one, other = (switch, names[x]) if back else (names[x], switch)
            name = f"{names[x]} <-> {switch}" if tree.half[x] else f"{one} -> {other}"
            way.append((name, float(tree.uplink[x]), float(tree.latency[x])))
    return way


def _over_links(problem: Problem, d: int, e: int) -> list[_Hop] | None:
    """Return the link from *d* to *e*, or else the way of the largest least bandwidth, found by widening.

    Of several of one width that of least latency, then of fewest hops, then the first by device numbers.
    """
    link = problem.interconnect
    assert isinstance(link, Links)

    def hop(a: int, b: int) -> _Hop:
        names = problem.devices[a].name, problem.devices[b].name
        if link.duplex == "half":
            one, other = sorted((a, b))
            return f"{problem.devices[one].name} <-> {problem.devices[other].name}", *values(a, b)
        return f"{names[0]} -> {names[1]}", *values(a, b)

    def values(a: int, b: int) -> tuple[float, float]:
        return float(link.bandwidth[a, b]), float(link.latency[a, b])

    if link.bandwidth[d, e] > 0:
        return [hop(d, e)]
    if link.routing == "direct":
        return None
    for width in sorted({float(w) for w in link.bandwidth.flat if w > 0}, reverse=True):
        best: dict[int, tuple[float, int, tuple[int, ...]]] = {d: (0.0, 0, (d,))}
        changed = True
        while changed:
            changed = False
            for a in list(best):
                late, hops, path = best[a]
                for b in range(problem.k):
                    if b not in path and link.bandwidth[a, b] >= width:
                        path_to_b = (late + float(link.latency[a, b]), hops + 1, (*path, b))
                        if b not in best or path_to_b < best[b]:
                            best[b], changed = path_to_b, True
        if e in best:
            path = best[e][2]
            return [hop(a, b) for a, b in pairwise(path)]
    return None
