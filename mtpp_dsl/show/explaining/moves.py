"""Nodes that are on other devices in another plan, folded into modules and families."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.show.report.names import short_names

Where = tuple[str, ...]
_NUMBERED = re.compile(r"\.(\d+)(?=\.|$)")


@dataclass(frozen=True, repr=False)
class NodeMove(Short):
    """Nodes that are on some devices in one plan and on others in another.

    Attributes:
        nodes: their names.
        source, target: the names of the devices, in the one plan and in the other.
        words: the nodes in a few words.
    """

    nodes: tuple[str, ...]
    source: Where
    target: Where
    words: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "nodes": list(self.nodes),
            "words": self.words,
            "from": list(self.source),
            "to": list(self.target),
        }


def moves_between(before: Mapping[str, Where], after: Mapping[str, Where]) -> list[NodeMove]:
    """Return the nodes of both plans whose devices differ, those of the same devices together, the most nodes first."""
    both = [name for name in before if name in after]
    groups: dict[tuple[Where, Where], list[str]] = {}
    for name in both:
        if before[name] != after[name]:
            groups.setdefault((before[name], after[name]), []).append(name)
    moves = [NodeMove(tuple(names), source, target, folded(names, both)) for (source, target), names in groups.items()]
    return sorted(moves, key=lambda one: (-len(one.nodes), one.source, one.target))


def folded(names: Sequence[str], every: Sequence[str], most: int | None = 6) -> str:
    """Return names in a few words: modules all of whose nodes are among them by the name of the module.

    >>> every = [f"layers.{i}.{x}" for i in range(4) for x in ("attn", "mlp")] + ["head"]
    >>> folded([*every[2:6], "head"], every)
    'layers[1..2], head'
    >>> folded(["layers.0.attn", "layers.1.attn"], every)
    'layers[0..1].attn'
    """
    chosen = set(names)
    whole: dict[str, bool] = {}
    for name in every:
        for module in _modules(name):
            whole[module] = whole.get(module, True) and name in chosen
    kept: dict[str, None] = {}
    for name in names:
        kept[next((module for module in _modules(name) if whole[module]), name)] = None
    return short_names([_NUMBERED.sub(r"[\1]", name) for name in kept], most)


def _modules(name: str) -> list[str]:
    """Return the modules that a node is in by its name, the outermost first."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


# Plans that differ in the names of alike devices alone.


def renamed_track(name: str, renamed: Mapping[str, str]) -> str:
    """Return a device, or a channel that is called by its devices, by its new name; names may hold spaces.

    >>> renamed_track("gpu 1 -> cpu", {"gpu 1": "gpu 2"})
    'gpu 2 -> cpu'
    """
    if name in renamed or not renamed:
        return renamed.get(name, name)
    longest = "|".join(map(re.escape, sorted(renamed, key=len, reverse=True)))
    return re.sub(rf"(?<!\S)(?:{longest})(?!\S)", lambda match: renamed[match[0]], name)


def canonical(device: Ints, classes: Sequence[Sequence[int]], k: int) -> Ints:
    """Return an assignment with the devices of each class named in the order in which nodes first use them.

    Two assignments that differ in a permutation of devices within *classes* become the same.

    >>> canonical(np.array([2, 2, 0, 1]), [(0, 2), (1,)], 3).tolist()
    [0, 0, 2, 1]
    """
    first = np.full(k, len(device))
    np.minimum.at(first, device, np.arange(len(device)))
    to = np.arange(k)
    for members in classes:
        to[sorted(members, key=lambda d: (int(first[d]), d))] = sorted(members)
    named: Ints = to[device]
    return named


def matched_devices(one: Ints, other: Ints, classes: Sequence[Sequence[int]], k: int) -> Ints:
    """Return [k] new names for the devices of *one*, within *classes*, by which most nodes are where *other* has them.

    >>> matched_devices(np.array([0, 0, 1]), np.array([1, 1, 0]), [(0, 1)], 2).tolist()
    [1, 0]
    """
    together = np.zeros((k, k), np.int64)
    np.add.at(together, (one, other), 1)
    to = np.arange(k)
    for members in classes:
        if len(members) > 1:
            rows = list(members)
            pairs = _assigned(together[np.ix_(rows, rows)])
            to[rows] = [members[j] for j in pairs]
    return to


def _assigned(gain: Ints) -> list[int]:
    """Return for each row a column of its own, so that the sum of the gains is the largest (Kuhn, 1955)."""
    n = len(gain)
    cost = gain.max(initial=0) - gain
    row_price, column_price = np.zeros(n + 1), np.zeros(n + 1)
    taken = np.zeros(n + 1, np.int64)  # [column] the row that has it, from 1
    for row in range(1, n + 1):
        taken[0], column = row, 0
        least, before = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
        done = np.zeros(n + 1, bool)
        while True:
            done[column] = True
            spare = cost[taken[column] - 1] - row_price[taken[column]] - column_price[1:]
            better = ~done[1:] & (spare < least[1:])
            least[1:][better], before[1:][better] = spare[better], column
            following = int(np.where(done[1:], np.inf, least[1:]).argmin()) + 1
            step = least[following]
            row_price[taken[done]] += step
            column_price[done] -= step
            least[~done] -= step
            column = following
            if taken[column] == 0:
                break
        while column:
            taken[column] = taken[before[column]]
            column = int(before[column])
    columns = [0] * n
    for column in range(1, n + 1):
        columns[taken[column] - 1] = column - 1
    return columns
