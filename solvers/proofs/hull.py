"""Certificates ``path-hull``: a path that subgraphs have to cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import fsum, inf
from typing import Any

from mtpp_dsl.constraints import Colocate, Contiguous, Forbid, Memory, Pin, Subgraphs
from mtpp_dsl.contracts import Limits
from mtpp_dsl.errors import Refused, UsageError
from mtpp_dsl.problem import Links, Problem, Shared
from mtpp_dsl.subgraphs import undefined
from mtpp_dsl.verification import TOLERANCE

__all__ = ["PathHullProof"]

ROUNDING = 1e-12


class PathHullProof:
    """``{"path": [node, ...]}``, for the latency by subgraphs (tarnawski2020, section 4).

    Each node of the path is on a device with ``io = free`` or in a subgraph, which is contiguous: it holds a run of the
    path and with two nodes all between them, and where its device has one subgraph only, all colocated with them, too.
    It reads what its nodes read of those before the run, writes what of it is read after the run, and takes the
    time of its nodes; runs and single nodes come one after another. No more runs than there may be subgraphs.
    """

    name = "path-hull"
    summary = "what subgraphs that hold parts of a path must hold, read and write"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the least cost along the path; see :class:`mtpp_dsl.contracts.Checker`."""
        if problem.objective.quantity != "makespan" or undefined(problem) is not None:
            raise Refused(f"a certificate 'path-hull' says nothing here: {undefined(problem)}")
        cut = _Cut(problem)
        path = _path(problem, data.get("path"))
        least = [[inf] * (cut.most + 1) for _ in range(len(path) + 1)]
        least[0][0] = 0.0
        for i, v in enumerate(path):
            if limits.remaining <= 0:
                raise UsageError("the time was not enough to check the bound along its path")
            alone = cut.alone(v)
            for r, cost in enumerate(least[i]):
                least[i + 1][r] = min(least[i + 1][r], cost + alone)
            for j, cost in cut.runs(path, i):
                for r in range(cut.most):
                    least[j + 1][r + 1] = min(least[j + 1][r + 1], least[i][r] + cost)
        return min(least[-1]) * (1 - ROUNDING)


def _path(problem: Problem, names: object) -> list[int]:
    index = problem.graph.index
    if not isinstance(names, list) or not all(isinstance(name, str) and name in index for name in names):
        raise Refused("the certificate's 'path' is no list of nodes")
    path = [index[name] for name in names]
    for u, v in pairwise(path):
        if v not in problem.graph.successors(u).tolist():
            raise Refused(f"the certificate's path goes from {problem.graph.names[u]!r} along no edge")
    return path


class _Cut:
    """A problem, sets of nodes as whole numbers with a bit for each."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        graph, link = problem.graph, problem.interconnect
        assert not isinstance(link, Links)
        self.tensor = [float(x) / link.bandwidth for x in graph.output.tolist()]
        self.readers = [sum(1 << v for v in graph.successors(u).tolist()) for u in range(graph.n)]
        self.after, self.before = [0] * graph.n, [0] * graph.n
        for u in reversed(graph.topological_order.tolist()):
            for v in graph.successors(u).tolist():
                self.after[u] |= self.after[v] | 1 << v
        for u in graph.topological_order.tolist():
            for v in graph.successors(u).tolist():
                self.before[v] |= self.before[u] | 1 << u
        self.mates = [1 << v for v in range(graph.n)]
        for rule in problem.of(Colocate):
            joined = 0
            for v in rule.nodes:
                joined |= self.mates[v]
            for v in _bits(joined):
                self.mates[v] = joined
        pays = [isinstance(link, Shared) or device.pays_io for device in problem.devices]
        self.free = [d for d, paying in enumerate(pays) if not paying]
        self.paying = [d for d, paying in enumerate(pays) if paying]
        allowed = [self._subgraphs(d) for d in self.paying]
        self.most = min(sum(allowed), graph.n)
        self.single = all(most == 1 for most in allowed)
        self.barred = [self._barred(d) for d in range(problem.k)]
        self.limit = [self._limit(d) for d in range(problem.k)]

    def _subgraphs(self, d: int) -> int:
        rules = [rule.most for rule in self.problem.of(Subgraphs) if rule.devices is None or d in rule.devices]
        convex = [1 for rule in self.problem.of(Contiguous) if rule.devices is None or d in rule.devices]
        return min(rules or convex)

    def _barred(self, d: int) -> int:
        barred = sum(1 << v for v in range(self.problem.graph.n) if self.problem.time[v, d] == inf)
        for pin in self.problem.of(Pin):
            for v in pin.nodes if d not in pin.devices else ():
                barred |= 1 << v
        for forbid in self.problem.of(Forbid):
            for v in forbid.nodes if d in forbid.devices else ():
                barred |= 1 << v
        return barred

    def _limit(self, d: int) -> float:
        device = self.problem.devices[d]
        if device.memory is None or not any(r.devices is None or d in r.devices for r in self.problem.of(Memory)):
            return inf
        return (device.memory - device.reserve) * (1 + TOLERANCE) * (1 + 1e-9)

    def alone(self, v: int) -> float:
        """Return the least time of a node on a device with ``io = free`` that may run all colocated with it."""
        return min(
            (float(self.problem.time[v, d]) for d in self.free if not self.mates[v] & self.barred[d]), default=inf
        )

    def runs(self, path: list[int], i: int) -> Iterator[tuple[int, float]]:
        """Yield (j, least time of a subgraph that holds the nodes i to j of the path and not their neighbours)."""
        inside = down = up = 0
        for j in range(i, len(path)):
            fresh = 1 << path[j]
            while fresh:
                inside |= fresh
                wanted = 0
                for v in _bits(fresh):
                    down |= self.after[v]
                    up |= self.before[v]
                    wanted |= self.mates[v] if self.single else 0
                fresh = ((down & up) | wanted) & ~inside
            if i and inside >> path[i - 1] & 1:
                return
            held = 0
            for v in _bits(inside):
                held |= self.mates[v]
            memory = fsum(float(self.problem.graph.memory[v]) for v in _bits(held))
            room = [d for d in self.paying if memory <= self.limit[d]]
            if not room:
                return
            if j + 1 < len(path) and inside >> path[j + 1] & 1:
                continue
            works = [
                fsum(float(self.problem.time[v, d]) for v in _bits(inside)) for d in room if not held & self.barred[d]
            ]
            yield j, min(works, default=inf) + self._passed(inside, path, i, j)

    def _passed(self, inside: int, path: list[int], i: int, j: int) -> float:
        """Return what is read from before a run and written for after it."""
        costs = []
        if i:
            earlier = self.before[path[i - 1]] | 1 << path[i - 1]
            costs += [self.tensor[u] for u in _bits(earlier) if self.readers[u] & inside]
        if j + 1 < len(path):
            later = self.after[path[j + 1]] | 1 << path[j + 1]
            costs += [self.tensor[u] for u in _bits(inside) if self.readers[u] & later]
        return fsum(costs)


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
