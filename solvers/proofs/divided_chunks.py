"""How the chunks of a batch are divided over the devices, as variables of rows, and what batches then take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

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

Way = tuple[tuple[int, ...], ...]
"""For each kind of devices the chunks of its batches of a node, the largest batch first."""


class DividedChunks:
    """Adds a variable for each way to divide the chunks of a node, and all colocated with it; one of them is 1.

    Where devices are many, those on which everything takes the same are one kind, and a way only says which numbers of
    chunks devices of a kind have. Then rows are about kinds: they are sums of rows of devices.

    Attributes:
        rows: to which variables and rows are added.
        problem: the throughput of a batch.
        units: in which time is counted.
        home: [n] the class of colocated nodes of each node.
        groups: the nodes of each class.
        device_time: [n, k, chunks + 1] what so many chunks take on a device at least.
        kinds: of devices; each device is one of its own unless that makes too many ways.
        time: [n, kinds, chunks + 1] the same on a device of a kind.
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
        self.device_time: Floats = times_of_chunks(problem)
        time = self.device_time
        self.count = time.shape[2] - 1
        self.groups: dict[int, list[int]] = {}
        for v, g in enumerate(self.home):
            self.groups.setdefault(g, []).append(v)
        try:
            divisions = self._divisions(time, [[d] for d in range(problem.k)])
        except Refused:
            divisions = self._divisions(time, _alike(time))
        if sum(map(len, divisions.values())) > MAX_CHOICES:
            raise Refused(f"there are more than {MAX_CHOICES:,} ways to divide the chunks of nodes")
        self.divided = {g: self._choices(g, ways) for g, ways in divisions.items()}
        self._work: dict[tuple[int, int, int], Sum] = {}

    def _divisions(self, time: Floats, kinds: list[list[int]]) -> dict[int, list[Way]]:
        """Return in which ways the chunks of nodes may be divided over devices of such kinds."""
        self.kinds, self.time = kinds, time[:, [kind[0] for kind in kinds]]
        return {g: self._ways_of(members) for g, members in self.groups.items()}

    def _ways_of(self, members: Sequence[int]) -> list[Way]:
        """Return the numbers of chunks that nodes on the same devices may have on devices of each kind."""
        takes = self.time[members].sum(axis=0)
        able = [[p for p in range(1, self.count + 1) if row[p] < inf] for row in takes.tolist()]
        ways = []
        for way in _ways([(p, len(kind)) for p, kind in zip(able, self.kinds, strict=True)], self.count):
            ways.append(way)
            if len(ways) > MAX_DIVISIONS:
                raise Refused(f"there are more than {MAX_DIVISIONS} ways to divide the chunks of a node")
        return ways

    def _choices(self, g: int, ways: Sequence[Way]) -> list[tuple[Way, Sum]]:
        """Add that one way to divide the chunks of a group is chosen, and how many of them each kind has."""
        rows = self.rows
        name = self.problem.graph.names[g]
        chosen: list[tuple[Way, Sum]] = [(way, {rows.variable(f"{name} divided {way}"): 1}) for way in ways]
        rows.equal(f"{name} divided in one way", [(1, part) for _, part in chosen], 1)
        for d in range(len(self.kinds)):
            for p in sorted({sum(way[d]) for way in ways} - {0}):
                many = [(1, part) for way, part in chosen if sum(way[d]) >= p]
                if len(many) < len(chosen):
                    least = {rows.variable(f"{name} has {p} chunks on {d}"): 1}
                    rows.equal(f"{name} has {p} chunks on {d}", [*many, (-1, least)], 0)
        return chosen

    def ways_of(self, v: int) -> list[tuple[Way, Sum]]:
        """Return the ways to divide the chunks of a node."""
        return self.divided[self.home[v]]

    def takes(self, v: int, d: int, chunks: int) -> int:
        """Return what so many chunks of a node take on a device of a kind, in units."""
        return self.units.used(float(self.time[v, d, chunks]))

    def batches(self, v: int, way: Way) -> list[tuple[int, int]]:
        """Return the batches of a node: their chunks, and what they take in units."""
        return [(p, self.takes(v, d, p)) for d, parts in enumerate(way) for p in parts]

    def work(self, v: int, d: int, least: int = 1) -> Sum:
        """Return what devices of a kind work on a node in batches of *least* chunks or more, as a variable.

        It is no less than that.
        """
        known = self._work.get((v, d, least))
        if known is None:
            name = f"work of {v} on {d}" + f" in batches of {least} or more" * (least > 1)
            parts = [
                (sum(self.takes(v, d, p) for p in way[d] if p >= least), part)
                for way, part in self.ways_of(v)
                if max(way[d], default=0) >= least
            ]
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


def _alike(time: Floats) -> list[list[int]]:
    """Return the devices, [n, k, chunks + 1], on which everything takes the same, kind by kind."""
    kinds: dict[bytes, list[int]] = {}
    for d in range(time.shape[1]):
        kinds.setdefault(time[:, d].tobytes(), []).append(d)
    return list(kinds.values())


def _ways(able: Sequence[tuple[Sequence[int], int]], total: int) -> Iterator[Way]:
    """Yield for each kind sizes of batches, of those that it may have and no more than it has devices.

    They are *total* chunks together.
    """
    if not able:
        if total == 0:
            yield ()
        return
    sizes, most = able[0]
    for p in range(total + 1):
        for parts in _parts(sizes, p, most):
            for rest in _ways(able[1:], total - p):
                yield (parts, *rest)


def _parts(sizes: Sequence[int], total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield sizes, the largest first and no more than so many, that are *total* together."""
    if total == 0:
        yield ()
    elif most > 0:
        for p in reversed(sizes):
            if p <= total:
                for rest in _parts([q for q in sizes if q <= p], total - p, most - 1):
                    yield (p, *rest)
