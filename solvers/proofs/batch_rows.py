"""The rows of schedules of a batch that end before a target: how chunks are divided, and what lies between paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.batches import earliest, memory_limits, refuse_unknown, times_of_chunks
from mtpp_dsl.solvers.proofs.proof_reading import colocation_class
from mtpp_dsl.solvers.proofs.rows import Rows, Sum, Units

__all__ = ["batch_rows"]

MAX_DIVISIONS = 200
"""Ways to divide the chunks of a node over the devices."""
MAX_CHOICES = 20_000
"""Such ways of all nodes."""
MAX_LEVELS = 40
"""Heads, and tails, that windows begin and end with."""
MAX_MEMBERS = 150_000
"""Nodes in all windows, at most about so many."""
ROUNDING = 1e-12
"""Relative: by so much sums of times and sizes may be rounded."""


def batch_rows(problem: Problem, target: float) -> Rows:
    """Return rows that every schedule of a batch keeps to that ends before the target.

    A variable for each way to divide the chunks of a node, and all colocated with it, over the devices; exactly one of
    them is 1. What a device runs between a head h and a tail t takes no longer than the target less h and t: it is the
    work of all nodes of which no batch starts there before h, nor ends later than t before the end, by longest paths of
    one input in its shortest batches. The memory holds what is on a device. When batches start is left out, and so are
    ``separate`` and labelled rows.

    Args:
        problem: the throughput of a batch.
        target: what all inputs take.

    Raises:
        Refused: it is about something else, or there are too many rows.
    """
    refuse_unknown(problem)
    return _BatchRows(problem, target).rows


class _BatchRows:
    """Adds the rows one kind after another."""

    def __init__(self, problem: Problem, target: float) -> None:
        self.rows, self._problem, self._units = Rows(), problem, Units(target)
        self._home = colocation_class(problem)
        time = times_of_chunks(problem)
        self._time = time
        groups: dict[int, list[int]] = {}
        for v, g in enumerate(self._home):
            groups.setdefault(g, []).append(v)
        self._groups = groups
        divisions = {g: self._divisions(members) for g, members in groups.items()}
        if sum(map(len, divisions.values())) > MAX_CHOICES:
            raise Refused(f"there are more than {MAX_CHOICES:,} ways to divide the chunks of nodes")
        self._divided = {g: self._choices(g, ways) for g, ways in divisions.items()}
        self._memory()
        self._windows(*(earliest(problem, time, self._home, forth, Limits()) for forth in (True, False)))

    def _divisions(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the numbers of chunks on each device that nodes on the same devices may have."""
        takes = self._time[members].sum(axis=0)
        able = [[p for p, t in enumerate(row) if t < inf] for row in takes.tolist()]
        ways = []
        for way in _ways(able, takes.shape[1] - 1):
            ways.append(way)
            if len(ways) > MAX_DIVISIONS:
                raise Refused(f"there are more than {MAX_DIVISIONS} ways to divide the chunks of a node")
        return ways

    def _choices(self, g: int, ways: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], Sum]]:
        """Add that one way to divide the chunks of a group is chosen, and how many of them each device has."""
        rows = self.rows
        name = self._problem.graph.names[g]
        chosen: list[tuple[tuple[int, ...], Sum]] = [(way, {rows.variable(f"{name} divided {way}"): 1}) for way in ways]
        rows.equal(f"{name} divided in one way", [(1, part) for _, part in chosen], 1)
        for d in range(self._problem.k):
            for p in sorted({way[d] for way in ways} - {0}):
                many = [(1, part) for way, part in chosen if way[d] >= p]
                if len(many) < len(chosen):
                    least = {rows.variable(f"{name} has {p} chunks on {d}"): 1}
                    rows.equal(f"{name} has {p} chunks on {d}", [*many, (-1, least)], 0)
        return chosen

    def _memory(self) -> None:
        batching = self._problem.batching
        for d, limit in enumerate(memory_limits(self._problem).tolist()):
            if 0 < limit < inf:
                units = Units(limit * (1 + ROUNDING))
                needs = []
                for g, members in self._groups.items():
                    fixed, each = (float(part[members].sum()) for part in (batching.weights, batching.share))
                    for way, part in self._divided[g]:
                        if way[d]:
                            needs.append((units.used((fixed + each * way[d]) * (1 - ROUNDING)), part))
                self.rows.add(f"memory of {d}", needs, units.limit)

    def _windows(self, head: Floats, tail: Floats) -> None:
        """Add what each device runs between heads and tails."""
        rows, units = self.rows, self._units
        for d in range(self._problem.k):
            work = [self._work(v, d) for v in range(len(head))]
            for (h, t), members in self._members(head[:, d], tail[:, d]):
                off = units.used(h * (1 - ROUNDING)) + units.used(t * (1 - ROUNDING))
                parts = [(1, work[v]) for v in members if work[v]]
                if off > units.limit:
                    for v in members:
                        self._closed(v, d)
                elif parts:
                    rows.add(f"between {h!r} and {t!r} on {d}", parts, units.limit - off, costs=units.limit)

    def _closed(self, v: int, d: int) -> None:
        """Add that a device runs no batch of a node."""
        parts = [(1, part) for way, part in self._divided[self._home[v]] if way[d]]
        self.rows.add(f"no batch of {v} on {d}", parts, 0)

    def _work(self, v: int, d: int) -> Sum:
        """Return what a node works on a device, in units, as a variable that is no less."""
        rows, units = self.rows, self._units
        takes = [(units.used(float(self._time[v, d, way[d]])), part) for way, part in self._divided[self._home[v]]]
        most = max((often for often, _ in takes), default=0)
        if not most:
            return {}
        work = {rows.variable(f"work of {v} on {d}", most): 1}
        rows.add(f"work of {v} on {d}", [*((o, part) for o, part in takes if o), (-1, work)], 0)
        return work

    def _members(self, head: Floats, tail: Floats) -> Iterator[tuple[tuple[float, float], Ints]]:
        """Yield windows, by head and tail, and the nodes whose work lies in each."""
        seen = set()
        most = min(MAX_LEVELS, int((MAX_MEMBERS / (self._problem.k * len(head))) ** 0.5) + 2)
        for h in levels(head, most):
            for t in levels(tail, most):
                members = np.flatnonzero((head >= h) & (tail >= t) & np.isfinite(head) & np.isfinite(tail))
                if len(members):
                    h_in, t_in = float(head[members].min()), float(tail[members].min())
                    if members.tobytes() not in seen:
                        seen.add(members.tobytes())
                        yield (h_in, t_in), members


def levels(values: Floats, most: int) -> list[float]:
    """Return up to *most* of the values, among them the least and the greatest."""
    distinct = np.unique(values[np.isfinite(values)])
    places = np.unique(np.linspace(0, max(len(distinct) - 1, 0), most).astype(np.int64))
    chosen: list[float] = distinct[places].tolist() if len(distinct) else []
    return chosen


def _ways(able: Sequence[Sequence[int]], total: int) -> Iterator[tuple[int, ...]]:
    """Yield numbers, each one of those that it may be, that are *total* together."""
    if not able:
        if total == 0:
            yield ()
        return
    for p in able[0]:
        if p <= total:
            for rest in _ways(able[1:], total - p):
                yield (p, *rest)
