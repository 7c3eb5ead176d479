"""Minimum cuts by shortest augmenting paths, on one network whose capacities change between calls."""

from __future__ import annotations

from mtpp_dsl.base.compiling import Kernel
from mtpp_dsl.problem.graph import Bools, Ints

__all__ = ["MINIMUM_CUT"]

COMPILE_FROM = 1_000_000.0


def _minimum_cut(
    offsets: Ints, arcs: Ints, heads: Ints, room: Ints, source: int, sink: int, enough: int, side: Bools
) -> int:
    """Return the value of a minimum cut, or *enough* if it is no less; *side* becomes the side of the source.

    Arcs ``offsets[u] .. offsets[u + 1]`` of *arcs* leave vertex u; arc a leads to ``heads[a]``, and ``a ^ 1`` back.
    Labels are distances to the sink (Ahuja, Orlin: Distance-directed augmenting path algorithms, 1991). *room* is
    used up. *side* is not set where *enough* was reached.
    """
    n = len(offsets) - 1
    far = n
    label_of = offsets[:n] * 0 + far
    count = offsets * 0
    queue = offsets[:n] * 0
    label_of[sink] = 0
    queue[0] = sink
    first, end = 0, 1
    while first < end:
        u = queue[first]
        first += 1
        for z in range(offsets[u], offsets[u + 1]):
            a = arcs[z]
            if room[a ^ 1] > 0 and label_of[heads[a]] == far:
                label_of[heads[a]] = label_of[u] + 1
                queue[end] = heads[a]
                end += 1
    for u in range(n):
        count[label_of[u]] += 1
    at = offsets[:n].copy()
    path = offsets[:n] * 0
    total, depth, u = 0, 0, source
    while label_of[source] < far:
        if u == sink:
            least = room[path[0]]
            for d in range(1, depth):
                least = min(least, room[path[d]])
            total += least
            if total >= enough:
                return enough
            for d in range(depth - 1, -1, -1):
                room[path[d]] -= least
                room[path[d] ^ 1] += least
                if room[path[d]] == 0:
                    depth = d
            u = heads[path[depth] ^ 1]
            continue
        while at[u] < offsets[u + 1]:
            a = arcs[at[u]]
            if room[a] > 0 and label_of[u] == label_of[heads[a]] + 1:
                break
            at[u] += 1
        if at[u] < offsets[u + 1]:
            path[depth] = arcs[at[u]]
            depth += 1
            u = heads[path[depth - 1]]
            continue
        count[label_of[u]] -= 1
        if count[label_of[u]] == 0:
            break
        label_of[u] = far
        for z in range(offsets[u], offsets[u + 1]):
            a = arcs[z]
            if room[a] > 0 and label_of[heads[a]] + 1 < label_of[u]:
                label_of[u] = label_of[heads[a]] + 1
        count[label_of[u]] += 1
        at[u] = offsets[u]
        if u != source:
            depth -= 1
            u = heads[path[depth] ^ 1]
    side[:] = False
    side[source] = True
    queue[0] = source
    first, end = 0, 1
    while first < end:
        u = queue[first]
        first += 1
        for z in range(offsets[u], offsets[u + 1]):
            a = arcs[z]
            if room[a] > 0 and not side[heads[a]]:
                side[heads[a]] = True
                queue[end] = heads[a]
                end += 1
    return total


MINIMUM_CUT = Kernel(_minimum_cut, COMPILE_FROM)
