"""Layers of a small graph: which row each of its members is in, and their order in the row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

__all__ = ["in_rows"]

SWEEPS = 4
"""So often the order in rows is improved, downwards and upwards in turn."""


def in_rows(
    count: int, edges: Mapping[tuple[int, int], int], depth: Sequence[int] = (), late: Collection[int] = ()
) -> list[list[int]]:
    """Return members in rows such that edges lead downwards, with few crossings (Sugiyama, Tagawa, Toda 1981).

    Members are given in an order that the edges should respect; those that lead back, as folded parts of a graph may
    have, are left out. A member without incoming edges stands in the row before the first that reads it.

    Args:
        count: of the members, which are 0, 1, ...
        edges: how many edges lead from one to another.
        depth: [count] how deep each is in the whole graph.
        late: members that wait for what is elsewhere: without edges here, they stand below earlier members that are
            less deep.

    >>> in_rows(4, {(0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 3): 1})
    [[0], [1, 2], [3]]
    """
    forward = {(a, b): weight for (a, b), weight in edges.items() if a < b}
    row = [0] * count
    entered = {b for _, b in forward}
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in forward:
        before[b].append(a)
    for b in range(count):
        waits = before[b]
        if b in late and b not in entered:
            waits = [a for a in range(b) if depth[a] < depth[b]]
        row[b] = max((row[a] + 1 for a in waits), default=0)
    for a in reversed(range(count)):
        if a not in entered and a not in late:
            row[a] = max(row[a], min((row[b] for u, b in forward if u == a), default=0) - 1)
    used = {r: i for i, r in enumerate(sorted(set(row)))}
    rows: list[list[int]] = [[] for _ in used]
    for member in range(count):
        rows[used[row[member]]].append(member)
    return _ordered(rows, forward, count)


def _ordered(rows: list[list[int]], forward: Mapping[tuple[int, int], int], count: int) -> list[list[int]]:
    """Return rows with members near the middle of their neighbours in the rows before and after."""
    if all(len(members) == 1 for members in rows):
        return rows
    before: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    after: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (a, b), weight in forward.items():
        before[b].append((a, weight))
        after[a].append((b, weight))
    place = [0.0] * count
    _place(rows, place)
    for sweep in range(SWEEPS):
        near = before if sweep % 2 == 0 else after
        for members in rows if sweep % 2 == 0 else reversed(rows):
            middle = {
                v: sum(place[u] * w for u, w in near[v]) / sum(w for _, w in near[v]) if near[v] else place[v]
                for v in members
            }
            members.sort(key=lambda v: (middle[v], v))
            _place([members], place)
    return rows


def _place(rows: list[list[int]], place: list[float]) -> None:
    """Write where members are in their rows, from -1/2 on the left to 1/2 on the right."""
    for members in rows:
        for i, member in enumerate(members):
            place[member] = (i + 0.5) / len(members) - 0.5
