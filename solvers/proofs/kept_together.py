"""Find nodes that some plan below a target keeps together if any plan is below it: the checker's own contraction."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes

__all__ = ["kept_together"]

KNOWN = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, InOrder, Memory, Pin, Separate)
"""Constraints that a plan still keeps when a node moves to the device of a neighbour as below."""


def kept_together(problem: Problem) -> list[Colocate]:
    """Return constraints that leave a plan below every target below which there is one, and no load larger.

    Let t(v) be the time of a node on a device, and s(v) what a device pays for its tensor, 0 if nothing reads it. In an
    acyclic plan whose node a and its reader b are on devices A and B, one of them may move to the other's device:

    * a to B, if b alone reads a. B no longer reads a's tensor, and reads at most the inputs p of a; A no longer writes
      it, and writes at most these. With t(a) + sum s(p) <= s(a) neither has more to do, nor has any other device: what
      reads p with a reader on it was cut before.
    * b to A, if b alone reads a, and reads nothing else. A no longer writes a's tensor, and writes at most b's; B no
      longer reads it, and reads at most b's. With t(b) + s(b) <= s(a) neither has more to do.
    * b to A, if nothing reads b, it reads nothing but a, and takes no time.

    A device that pays for no tensors asks for no time instead. Devices stay in their order, since no edge then goes
    back. What moves has to be able to run there, needs no memory that may be short, and is in no other constraint about
    several nodes. The same holds of the graph in which both are one node, and so on; sums are exact.
    """
    graph = problem.graph
    if graph.backward.any() or not problem.acyclic or problem.hierarchical or problem.phased:
        return []
    if not isinstance(problem.interconnect, (Shared, Host)) or any(
        not isinstance(rule, KNOWN) or (isinstance(rule, InOrder) and rule.empty == "never")
        for rule in problem.constraints
    ):
        return []  # what moves may leave a device empty
    sets = _Merging(problem).sets()
    return [Colocate(nodes=tuple(nodes)) for nodes in sets if len(nodes) > 1]


class _Merging:
    """Merges the ends of edges until no more can be; a node that is merged into another is no more.

    Attributes:
        members: the nodes of each.
        inputs, readers: of each, as sets.
        tensor: what a transfer of the one tensor that it makes for others costs.
        time: of each on each kind of device, None where it may not be.
        moves: whether it may move as far as constraints and memory are concerned.
        pays: of each kind of device.
    """

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        n = graph.n
        self.members = [[v] for v in range(n)]
        self.inputs: list[set[int]] = [set() for _ in range(n)]
        self.readers: list[set[int]] = [set() for _ in range(n)]
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            self.readers[u].add(v)
            self.inputs[v].add(u)
        bandwidth = problem.channel.bandwidth
        self.tensor = [Fraction(float(size) / bandwidth) for size in graph.output]
        columns: dict[tuple[bool, tuple[float, ...]], None] = {}
        for d, device in enumerate(problem.devices):
            barred = barred_nodes(problem, d)
            pays = isinstance(problem.interconnect, Shared) or device.pays_io
            times = tuple(np.inf if v in barred else float(problem.time[v, d]) for v in range(n))
            columns[(pays, times)] = None
        self.pays = [pays for pays, _ in columns]
        self.time = [[None if times[v] == np.inf else Fraction(times[v]) for _, times in columns] for v in range(n)]
        self.moves = _movable(problem)

    def sets(self) -> list[list[int]]:
        """Return the nodes of each node that is left."""
        waiting, queued = deque(range(len(self.members))), [True] * len(self.members)
        while waiting:
            v = waiting.popleft()
            queued[v] = False
            changed = self._merge_one(v)
            if changed is None:
                continue
            for other in (changed, *self.inputs[changed], *self.readers[changed]):
                if not queued[other]:
                    queued[other] = True
                    waiting.append(other)
        return [nodes for nodes in self.members if nodes]

    def _merge_one(self, v: int) -> int | None:
        """Merge *v* with its only reader, or with its only input, if one may move; return the node of both."""
        if not self.members[v]:
            return None
        if len(self.readers[v]) == 1:
            (reader,) = self.readers[v]
            if self._forward(v, reader):
                return self._into(reader, v)
        if len(self.inputs[v]) == 1:
            (source,) = self.inputs[v]
            if self.readers[source] == {v} and self._back(source, v):
                return self._into(v, source)
            if not self.readers[v] and self._idle(source, v):
                return self._drop(source, v)
        return None

    def _cost(self, v: int) -> Fraction:
        return self.tensor[v] if self.readers[v] else Fraction(0)

    def _forward(self, a: int, b: int) -> bool:
        """Return whether *a* may move to its only reader."""
        read = sum((self._cost(p) for p in self.inputs[a]), Fraction(0))
        return self._may(a, b, read, self._cost(a))

    def _back(self, a: int, b: int) -> bool:
        """Return whether *b* may move to its only input, which nothing else reads."""
        return self._may(b, a, self._cost(b), self._cost(a))

    def _idle(self, a: int, b: int) -> bool:
        """Return whether *b*, which nothing reads, may move to its only input."""
        takes = self._times_there(b, a)
        return takes is not None and all(time == 0 for time, _ in takes)

    def _may(self, moving: int, staying: int, new: Fraction, saved: Fraction) -> bool:
        """Return whether one may move to another, where paying devices have *new* costs at most, and save others."""
        takes = self._times_there(moving, staying)
        if takes is None or (any(self.pays) and new > saved):
            return False
        return all(time + new <= saved if pays else time == 0 for time, pays in takes)

    def _times_there(self, moving: int, staying: int) -> list[tuple[Fraction, bool]] | None:
        """Return the times of one on each kind of device that may have another, and whether it pays; None if barred."""
        if not self.moves[moving]:
            return None
        takes = []
        for own, other, pays in zip(self.time[moving], self.time[staying], self.pays, strict=True):
            if other is not None:
                if own is None:
                    return None
                takes.append((own, pays))
        return takes

    def _into(self, b: int, a: int) -> int:
        """Make one node of *a* and its only reader *b*, whose tensor it makes."""
        self._add(b, a)
        self.inputs[b] = (self.inputs[b] | self.inputs[a]) - {a}
        for p in self.inputs[a]:
            self.readers[p] = (self.readers[p] | {b}) - {a}
        return b

    def _drop(self, a: int, b: int) -> int:
        """Make one node of *a* and *b*, which reads nothing else and which nothing reads."""
        self._add(a, b)
        self.readers[a].remove(b)
        return a

    def _add(self, to: int, of: int) -> None:
        """Give one node what another has, which is no more. Where one of them may not be, neither may both be."""
        self.members[to] += self.members[of]
        self.members[of] = []
        self.moves[to] &= self.moves[of]
        self.time[to] = [
            None if x is None or y is None else x + y for x, y in zip(self.time[to], self.time[of], strict=True)
        ]


def _movable(problem: Problem) -> list[bool]:
    """Return of each node whether memory and the constraints about several nodes leave it free to move."""
    graph = problem.graph
    named = {v for rule in problem.constraints if isinstance(rule, (Colocate, Separate)) for v in rule.nodes}
    takes = np.zeros(graph.n, np.bool_)
    if any(True for _ in problem.of(Memory)):
        takes |= (graph.memory > 0) | (graph.workspace > 0)
    if getattr(problem.interconnect, "overflow", False):
        takes |= graph.params > 0
    return [v not in named and not takes[v] for v in range(graph.n)]
