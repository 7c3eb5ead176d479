"""Certificates ``path-hull``: a path that subgraphs have to cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil, floor, frexp, fsum, inf, ldexp
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Colocate, Contiguous, Memory, Subgraphs
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.subgraphs import undefined
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_CUT, OUT
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes, least_workspace

ROUNDING = 1e-12
BITS = 50
MAX_SUM = 2.0**58


class PathHullProof:
    """``{"path": [node, ...], "cuts": [[i, j, rent], ...]}``, for the latency by subgraphs (tarnawski2020, section 4).

    Each node of the path is on a device with ``io = free`` or in a subgraph, which is contiguous: it holds a run of the
    path and with two nodes all between them, and where its device has one subgraph only, all colocated with them, too.
    It reads what its nodes read of those before the run, writes what of it is read after the run, and takes the
    time of its nodes; runs and single nodes come one after another. No more runs than there may be subgraphs.

    For the runs i to j in ``cuts``, that is the least over all sets that hold what the subgraph must and nothing from
    which the run's predecessor is reached, or that its successor reaches: by flows in whole numbers, rounded down,
    which are checked themselves. The memory of what it holds has a *rent*, and that of a full memory is taken off.
    """

    name = "path-hull"
    summary = "what the subgraphs along a path must hold, read and write"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the least cost along the path; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        if problem.objective.quantity != "makespan" or undefined(problem) is not None:
            raise Refused(f"a certificate 'path-hull' says nothing here: {undefined(problem)}")
        cut = _Cut(problem)
        path = _path(problem, data.get("path"))
        sharper = _runs(data.get("cuts", []), len(path))
        least = [[inf] * (cut.most + 1) for _ in range(len(path) + 1)]
        least[0][0] = 0.0
        for i, v in enumerate(path):
            if limits.remaining <= 0:
                raise UsageError("the time was not enough to check the bound along its path")
            alone = cut.alone(v)
            for r, cost in enumerate(least[i]):
                least[i + 1][r] = min(least[i + 1][r], cost + alone)
            for j, cost in cut.runs(path, i, sharper):
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


def _runs(given: object, length: int) -> dict[tuple[int, int], float]:
    if not isinstance(given, list):
        raise Refused("the certificate's 'cuts' is no list")
    runs: dict[tuple[int, int], float] = {}
    for run in given:
        if not (isinstance(run, (list, tuple)) and len(run) == 3 and all(type(x) in (int, float) for x in run)):
            raise Refused(f"the certificate's 'cuts' has {run!r:.40}, which is no run of its path and rent")
        i, j, rent = run
        if not (type(i) is int and type(j) is int and 0 <= i <= j < length and 0 <= rent < inf):
            raise Refused(f"the certificate's 'cuts' has {run!r:.40}, which is no run of its path and rent")
        runs[i, j] = float(rent)
    return runs


class _Cut:
    """A problem, sets of nodes as whole numbers with a bit for each."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        graph, link = problem.graph, problem.channel
        self.tensor = [float(x) / link.bandwidth for x in graph.output.tolist()]
        # Tensors for minimum cuts: producers and readers, and costs in whole numbers of 1 / units, rounded down.
        total = fsum(x for x in problem.time.ravel().tolist() if x < inf) + fsum(self.tensor)
        self.units = ldexp(1.0, min(BITS - frexp(total)[1], 1000))
        pins = [[u, *graph.successors(u).tolist()] for u in range(graph.n)]
        self.starts = np.cumsum([0, *(len(members) for members in pins)])
        self.pins = np.array([v for members in pins for v in members], np.int64)
        self.cost = np.array([floor(cost * self.units) for cost in self.tensor], np.int64)
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
        unable = {v for v in range(self.problem.graph.n) if self.problem.time[v, d] == inf}
        return sum(1 << v for v in unable | barred_nodes(self.problem, d))

    def _limit(self, d: int) -> float:
        device = self.problem.devices[d]
        if device.memory is None or not any(r.devices is None or d in r.devices for r in self.problem.of(Memory)):
            return inf
        left = max(0.0, device.room - least_workspace(self.problem, d))
        return left * (1 + TOLERANCE) * (1 + 1e-9)

    def alone(self, v: int) -> float:
        """Return the least time of a node on a device with ``io = free`` that may run all colocated with it."""
        return min(
            (float(self.problem.time[v, d]) for d in self.free if not self.mates[v] & self.barred[d]), default=inf
        )

    def runs(self, path: list[int], i: int, sharper: dict[tuple[int, int], float]) -> Iterator[tuple[int, float]]:
        """Yield (j, least time of a subgraph that holds the nodes i to j of the path and not their neighbours).

        By a minimum cut for those *sharper*.
        """
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
            with_mates = 0
            for v in _bits(inside):
                with_mates |= self.mates[v]
            memory = fsum(float(self.problem.graph.memory[v]) for v in _bits(with_mates))
            room = [d for d in self.paying if memory <= self.limit[d]]
            if not room:
                return
            if j + 1 < len(path) and inside >> path[j + 1] & 1:
                continue
            room = [d for d in room if not with_mates & self.barred[d]]
            passed = self._passed(inside, path, i, j)
            cost = (
                min((fsum(float(self.problem.time[v, d]) for v in _bits(inside)) for d in room), default=inf) + passed
            )
            if (i, j) in sharper and room:
                outside = self.before[path[i - 1]] | 1 << path[i - 1] if i else 0
                outside |= self.after[path[j + 1]] | 1 << path[j + 1] if j + 1 < len(path) else 0
                cost = max(cost, min(self.least(d, sharper[i, j], inside, outside, down, up) for d in room))
            yield j, cost

    def least(self, d: int, rent: float, inside: int, outside: int, down: int, up: int) -> float:
        """Return what no subgraph on a device takes less than that holds the nodes *inside* and none *outside*.

        Its memory has a *rent*. *down* and *up* are the nodes that those inside reach, and those that reach them.
        """
        graph = self.problem.graph
        barred = outside | self.barred[d]
        state = np.array(
            [IN if inside >> v & 1 else OUT if barred >> v & 1 else FREE for v in range(graph.n)], np.int64
        )
        rent = rent if self.limit[d] < inf else 0.0
        costs = [
            0.0 if barred >> v & 1 else float(self.problem.time[v, d]) + rent * float(graph.memory[v])
            for v in range(graph.n)
        ]
        if not fsum(costs) * self.units < MAX_SUM:
            raise Refused(f"the certificate's rent {rent!r} is too large to count with")
        price = [floor(cost * self.units) for cost in costs]
        flags = [np.array([bits >> v & 1 for v in range(graph.n)], np.bool_) for bits in (down, up)]
        value = LEAST_CUT.pick(0.0)(
            state, np.array(price, np.int64), self.starts, self.pins, self.cost, graph.tails, graph.heads,
            flags[0], flags[1], np.zeros(graph.n, np.bool_),
        )  # fmt: skip
        return (value - (ceil(rent * self.limit[d] * self.units) if rent else 0)) / self.units

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
