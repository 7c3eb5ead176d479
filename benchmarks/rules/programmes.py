"""Dynamic programmes over chains: PipeDream's, for devices that are alike, and PipeEdge's, for devices that differ."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from benchmarks.rules.places import Instance, devices, memory, nodes, times

__all__ = ["pipedream", "pipeedge"]


def pipedream(instance: Instance) -> list[int] | None:
    """PipeDream without replicas: the least largest of the stages' times and of the transfers between them.

    It profiles one device, the first, and takes the others for equal, and all links of a level, in a server and between
    servers, for its slowest; memory does not count. Of equal splits it takes the one whose last stage is longest. Its
    servers have equally many devices: elsewhere it has no plan.
    """
    servers = _servers(instance)
    if not instance["model"]["layers"] or len({servers.count(each) for each in servers}) > 1:
        return None
    took, out = times(instance)[:, 0], nodes(instance, "out")
    n = len(took)
    before = np.concatenate([[0.0], np.cumsum(took)])
    whole = np.full((n + 1, n + 1), inf)
    for begin in range(n):
        whole[begin, begin + 1 :] = before[begin + 1 :] - before[begin]
    rate = np.array(instance["links"], float) * 1e9
    same = np.array([[a == b for b in servers] for a in servers])
    inner, each = _split(whole, out / rate[same & (rate > 0)].min(), servers.count(servers[0]))
    if len(set(servers)) == 1:
        return _stages(each, 0, n, 0, 1)
    _, above = _split(inner, out / rate[~same].min(), len(set(servers)))
    ends = [n]
    for part in range(len(above) - 1, 0, -1):
        ends.append(int(above[part][0, ends[-1]]))
    bounds = [0, *reversed(ends)]
    k = servers.count(servers[0])
    return [d for s in range(len(bounds) - 1) for d in _stages(each, bounds[s], bounds[s + 1], s * k, 1)]


def _servers(instance: Instance) -> list[object]:
    return [device["group"] for device in instance["devices"]]


def _split(took: np.ndarray, sent: np.ndarray, parts: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the least largest of *parts* parts of nodes i to j, [n + 1, n + 1], and where the last part begins.

    Args:
        took: [n + 1, n + 1], what one part takes for nodes i to j.
        sent: [n], what sending the output of each node takes.
        parts: their number.
    """
    n = len(sent)
    best, begins = took, [np.zeros((n + 1, n + 1), int)]
    for _ in range(1, parts):
        # [i, cut, j]: the parts before the cut, the transfer there, the last part
        cost = np.maximum(np.maximum(best[:, :, None], np.append(inf, sent)[None, :, None]), took[None, :, :])
        begins.append(np.argmin(cost, axis=1))
        best = cost.min(axis=1)
    return best, begins


def _stages(begins: list[np.ndarray], first: int, last: int, device: int, step: int) -> list[int]:
    """Return the device of nodes *first* to *last*, devices from *device* on."""
    ends = [last]
    for part in range(len(begins) - 1, 0, -1):
        ends.append(int(begins[part][first, ends[-1]]))
    bounds = [first, *reversed(ends)]
    return [device + step * p for p in range(len(bounds) - 1) for _ in range(bounds[p + 1] - bounds[p])]


def pipeedge(instance: Instance) -> list[int] | None:
    """PipeEdge: the least largest of computing and of sending, over orders of sets of devices, within their memory.

    Devices that are alike in all are interchangeable, so only their number counts. Nodes go in their order, and what a
    stage sends on is all that a later one reads.
    """
    kinds, members = _kinds(instance)
    n, k = len(instance["model"]["nodes"]), len(kinds)
    took = np.vstack([np.zeros((1, k)), np.cumsum(times(instance)[:, kinds], axis=0)])
    held = np.concatenate([[0.0], np.cumsum(memory(instance))])
    sent = _crossing(instance)
    rate, room = np.array(instance["links"], float) * 1e9, devices(instance, "usable")
    stage = []
    for c, d in enumerate(kinds):  # [i, j]: nodes i to j on a device of this kind
        cost = took[None, :, c] - took[:, None, c]
        stage.append(np.where((held[None, :] - held[:, None] <= room[d]) & ~np.tri(n + 1, dtype=bool), cost, inf))
    start = np.full(n + 1, inf)
    start[0] = 0.0
    best: dict[tuple[tuple[int, ...], int], np.ndarray] = {((0,) * k, -1): start}
    came: dict[tuple[tuple[int, ...], int], tuple[np.ndarray, np.ndarray]] = {}
    for used in sorted(product(*(range(len(m) + 1) for m in members)), key=sum):
        for c in range(k):
            before = tuple(count - (c == other) for other, count in enumerate(used))
            if min(before) < 0:
                continue
            value, begin, last = np.full(n + 1, inf), np.zeros(n + 1, int), np.full(n + 1, -1)
            for b in range(-1, k):
                ahead = best.get((before, b))
                if ahead is None:
                    continue
                link = sent / _rate(rate, members, b, c) if b >= 0 else np.zeros(n + 1)
                cost = np.maximum(np.maximum(ahead, link)[:, None], stage[c])
                at = np.argmin(cost, axis=0)
                found = cost[at, np.arange(n + 1)]
                better = found < value
                value[better], begin[better], last[better] = found[better], at[better], b
            best[used, c], came[used, c] = value, (begin, last)
    ends = [(best[used, c][n], used, c) for used, c in came]
    least, used, c = min(ends)
    return None if least == inf else _path(came, members, used, c, n)


def _crossing(instance: Instance) -> np.ndarray:
    """Return [n + 1] for each place between nodes the bytes that later nodes read of earlier ones."""
    out = nodes(instance, "out")
    last = np.arange(len(out))
    for u, v in instance["model"]["edges"]:
        last[u] = max(last[u], v)
    return np.array([out[:i][last[:i] >= i].sum() for i in range(len(out) + 1)])


def _kinds(instance: Instance) -> tuple[list[int], list[list[int]]]:
    """Return a device of each kind, and the devices of each: alike in speed, memory, server and links."""
    found: dict[object, list[int]] = {}
    for d, device in enumerate(instance["devices"]):
        row = sorted(rate for e, rate in enumerate(instance["links"][d]) if e != d)
        key = (*(device[what] for what in ("tflops", "gbs", "usable", "group")), tuple(row))
        found.setdefault(key, []).append(d)
    return [each[0] for each in found.values()], list(found.values())


def _rate(rate: np.ndarray, members: list[list[int]], b: int, c: int) -> float:
    """Return the bandwidth from a device of one kind to another of one kind."""
    first, second = members[b][0], members[c][0] if b != c else members[c][-1]
    return float(rate[first, second]) if first != second else inf


def _path(
    came: dict[tuple[tuple[int, ...], int], tuple[np.ndarray, np.ndarray]],
    members: list[list[int]],
    used: tuple[int, ...],
    c: int,
    end: int,
) -> list[int]:
    """Return the device of each node, from the last stage to the first."""
    place = [0] * end
    while c >= 0:
        begin, last = came[used, c]
        i, b = int(begin[end]), int(last[end])
        place[i:end] = [members[c][used[c] - 1]] * (end - i)
        used, c, end = tuple(count - (c == other) for other, count in enumerate(used)), b, i
    return place
