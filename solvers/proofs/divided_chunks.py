"""How the chunks of a batch are divided over the devices, as variables of rows, and what batches then take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.batches import refuse_unknown, times_of_chunks
from mtpp_dsl.solvers.proofs.proof_reading import colocation_class
from mtpp_dsl.solvers.proofs.rows import Rows, Sum, Units

__all__ = ["DividedChunks"]

MAX_DIVISIONS = 200
"""Ways to divide the chunks of a node over the devices."""
MAX_CHOICES = 20_000
"""Such ways of all nodes."""


class DividedChunks:
    """Adds a variable for each way to divide the chunks of a node, and all colocated with it; one of them is 1.

    Attributes:
        rows: to which variables and rows are added.
        problem: the throughput of a batch.
        units: in which time is counted.
        home: [n] the class of colocated nodes of each node.
        groups: the nodes of each class.
        time: [n, k, chunks + 1] what so many chunks take on a device at least.
        count: of chunks.
        divided: the ways of each class, with their variables.

    Args:
        problem: the throughput of a batch.
        target: what all inputs take.

    Raises:
        Refused: it is about something else, or there are too many ways.
    """

    def __init__(self, problem: Problem, target: float) -> None:
        refuse_unknown(problem)
        self.rows, self.problem, self.units = Rows(), problem, Units(target)
        self.home = colocation_class(problem)
        self.time: Floats = times_of_chunks(problem)
        self.count = self.time.shape[2] - 1
        self.groups: dict[int, list[int]] = {}
        for v, g in enumerate(self.home):
            self.groups.setdefault(g, []).append(v)
        divisions = {g: self._divisions(members) for g, members in self.groups.items()}
        if sum(map(len, divisions.values())) > MAX_CHOICES:
            raise Refused(f"there are more than {MAX_CHOICES:,} ways to divide the chunks of nodes")
        self.divided = {g: self._choices(g, ways) for g, ways in divisions.items()}
        self._work: dict[tuple[int, int, int], Sum] = {}

    def _divisions(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the numbers of chunks on each device that nodes on the same devices may have."""
        takes = self.time[members].sum(axis=0)
        able = [[p for p, t in enumerate(row) if t < float("inf")] for row in takes.tolist()]
        ways = []
        for way in _ways(able, self.count):
            ways.append(way)
            if len(ways) > MAX_DIVISIONS:
                raise Refused(f"there are more than {MAX_DIVISIONS} ways to divide the chunks of a node")
        return ways

    def _choices(self, g: int, ways: Sequence[tuple[int, ...]]) -> list[tuple[tuple[int, ...], Sum]]:
        """Add that one way to divide the chunks of a group is chosen, and how many of them each device has."""
        rows = self.rows
        name = self.problem.graph.names[g]
        chosen: list[tuple[tuple[int, ...], Sum]] = [(way, {rows.variable(f"{name} divided {way}"): 1}) for way in ways]
        rows.equal(f"{name} divided in one way", [(1, part) for _, part in chosen], 1)
        for d in range(self.problem.k):
            for p in sorted({way[d] for way in ways} - {0}):
                many = [(1, part) for way, part in chosen if way[d] >= p]
                if len(many) < len(chosen):
                    least = {rows.variable(f"{name} has {p} chunks on {d}"): 1}
                    rows.equal(f"{name} has {p} chunks on {d}", [*many, (-1, least)], 0)
        return chosen

    def ways_of(self, v: int) -> list[tuple[tuple[int, ...], Sum]]:
        """Return the ways to divide the chunks of a node."""
        return self.divided[self.home[v]]

    def takes(self, v: int, d: int, chunks: int) -> int:
        """Return what so many chunks of a node take on a device, in units."""
        return self.units.used(float(self.time[v, d, chunks]))

    def work(self, v: int, d: int, least: int = 1) -> Sum:
        """Return what a node works on a device in a batch of *least* chunks or more, as a variable that is no less."""
        known = self._work.get((v, d, least))
        if known is None:
            name = f"work of {v} on {d}" + f" in batches of {least} or more" * (least > 1)
            parts = [(self.takes(v, d, way[d]), part) for way, part in self.ways_of(v) if way[d] >= least]
            known = self._work[v, d, least] = self.at_least(name, parts)
        return known

    def at_least(self, name: str, parts: Sequence[tuple[int, Sum]]) -> Sum:
        """Return a variable that is no less than a sum of variables of which one is 1; nothing where that is zero."""
        most = max((often for often, _ in parts), default=0)
        if not most:
            return {}
        variable = {self.rows.variable(name, most): 1}
        self.rows.add(name, [*((often, part) for often, part in parts if often), (-1, variable)], 0)
        return variable


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
