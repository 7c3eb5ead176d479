"""Certificates ``path-hull``: a path that subgraphs have to cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
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
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_CUT, OUT
from mtpp_dsl.solvers.proofs.hull_sides import Option, Side, Way, delays, read_sides
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes, least_workspace

ROUNDING = 1e-12
BITS = 50
MAX_SUM = 2.0**58
NEVER = 1 << 58
"""What it costs to part nodes that are in one subgraph or in none."""


class PathHullProof:
    """``{"path": [node, ...], "cuts": [[i, j, rent], ...]}``, for the latency by subgraphs (tarnawski2020, section 4).

    Each node of the path is on a device with ``io = free`` or in a subgraph, which is contiguous: it holds a run of the
    path and with two nodes all between them, and where its device has one subgraph only, all colocated with them, too.
    It reads what its nodes read of those before the run, writes what of it is read after the run, and takes the
    time of its nodes; runs and single nodes come one after another. No more runs than there may be subgraphs.

    For the runs i to j in ``cuts``, that is the least over all sets that hold what the subgraph must and nothing from
    which the run's predecessor is reached, or that its successor reaches: by flows in whole numbers, rounded down,
    which are checked themselves. Where devices have one subgraph only, the sets have all of colocated nodes or none.
    The memory of what it holds has a *rent*, and that of a full memory is taken off.
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
        if "sides" in data:
            return _beside(cut, path, sharper, data, limits)
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


def _beside(
    cut: _Cut, path: list[int], sharper: dict[tuple[int, int], float], data: Mapping[str, Any], limits: Limits
) -> float:
    """Return the least cost along the path, with what is known of chains beside it, up to the target."""
    target = data.get("target")
    if not isinstance(target, (int, float)) or not 0 < target < inf:
        raise Refused("the certificate's 'target' is no cost")
    graph = cut.problem.graph
    sides = read_sides(data["sides"], graph.index, path, lambda u, v: bool(cut.after[u] >> v & 1))
    own = cache(lambda part: cut.apart(part, path))
    waits = {side: delays(side, cut.alone, own) for side in dict.fromkeys(sides) if side is not None}
    held = _held(data.get("held", []), path, sides)
    runs: list[list[tuple[int, Floats]]] = []
    for i in range(len(path)):
        if limits.remaining <= 0:
            raise UsageError("the time was not enough to check the bound along its path")
        runs.append([])
        for j, cost in cut.runs(path, i, sharper):
            shape = [1 if side is None else len(side.options) + 1 for side in (sides[i], sides[j + 1])]
            table = np.full(shape, cost)
            for left, taken, more, rent in held.get((i, j), ()):
                where = np.ix_(_options(sides[i], left, -1), _options(sides[j + 1], taken, 1))
                table[where] = np.maximum(table[where], cut.held(path, i, j, more, rent))
            runs[i].append((j, table))
    way = Way([cut.alone(v) for v in path], sides, waits, runs, cut.most, float(target))
    return way.least() * (1 - ROUNDING)


def _options(side: Side | None, option: Option | None, way: int) -> list[int]:
    """Return the options with no more (-1) or no less (1) than one of them; all, and the last, which says nothing."""
    if option is None or side is None:
        return list(range(1 if side is None else len(side.options) + 1))
    given = enumerate(side.options)
    return [k for k, other in given if (side.within(option, other) if way > 0 else side.within(other, option))]


def _held(
    given: object, path: list[int], sides: list[Side | None]
) -> dict[tuple[int, int], list[tuple[Option | None, Option | None, int, float]]]:
    """Return for runs of the path what they have to hold of the chains beside it, as options and as a set."""
    if not isinstance(given, list):
        raise Refused("the certificate's 'held' is no list")
    found: dict[tuple[int, int], list[tuple[Option | None, Option | None, int, float]]] = {}
    for entry in given:
        if not (isinstance(entry, (list, tuple)) and len(entry) == 5):
            raise Refused(f"the certificate's 'held' has {entry!r:.40}, which is no run")
        i, j, low, high, rent = entry
        ((i, j),) = _runs([[i, j, rent]], len(path))
        before, behind = sides[i], sides[j + 1]
        left, taken = _option(before, low), _option(behind, high)
        if before is not None and before is behind:
            if left is None or taken is None:
                raise Refused(f"the certificate's 'held' has {entry!r:.40}, which says too little")
            parts = before.between(left, taken) if behind is not None else []
        else:
            if (left is not None and before is not None and before.end > j) or (
                taken is not None and behind is not None and behind.start < i
            ):
                raise Refused(f"the certificate's 'held' has {entry!r:.40}, beside which chains go on")
            parts = [] if left is None or before is None else before.between(left, before.options[-1])
            parts += [] if taken is None or behind is None else behind.between(behind.options[0], taken)
        more = sum(1 << v for v in {v for part in parts for v in part})
        found.setdefault((i, j), []).append((left, taken, more, float(rent)))
    return found


def _option(side: Side | None, given: object) -> Option | None:
    if given is None:
        return None
    if side is None or not isinstance(given, (list, tuple)) or tuple(given) not in side.options:
        raise Refused(f"the certificate's 'held' has {given!r:.40}, which is nothing that chains can share")
    return tuple(given)


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
        paid = [floor(cost * self.units) for cost in self.tensor]
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
        # With one subgraph on each device, colocated nodes are in one subgraph.
        pins += [list(_bits(mates)) for mates in dict.fromkeys(self.mates) if self.single and mates.bit_count() > 1]
        self.starts = np.cumsum([0, *(len(members) for members in pins)])
        self.pins = np.array([v for members in pins for v in members], np.int64)
        self.cost = np.array([*paid, *[NEVER] * (len(pins) - graph.n)], np.int64)
        self.barred = [self._barred(d) for d in range(problem.k)]
        self.limit = [self._limit(d) for d in range(problem.k)]
        alike = {(problem.time[:, d].tobytes(), self.barred[d], self.limit[d]): d for d in reversed(self.paying)}
        self.kinds = sorted(alike.values())

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
            inside, down, up = self.hold(inside, down, up, 1 << path[j])
            if i and inside >> path[i - 1] & 1:
                return
            with_mates = self.with_mates(inside)
            room = self.room(with_mates)
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
                outside = self.beyond(path, i, j)
                cost = max(cost, min(self.least(d, sharper[i, j], inside, outside, down, up) for d in room))
            yield j, cost

    def hold(self, inside: int, down: int, up: int, fresh: int) -> tuple[int, int, int]:
        """Return a set with more nodes and all that it must hold with them, what these reach, and what reaches them."""
        while fresh:
            inside |= fresh
            wanted = 0
            for v in _bits(fresh):
                down |= self.after[v]
                up |= self.before[v]
                wanted |= self.mates[v] if self.single else 0
            fresh = ((down & up) | wanted) & ~inside
        return inside, down, up

    def with_mates(self, inside: int) -> int:
        """Return a set of nodes with all that is colocated with them."""
        joined = 0
        for v in _bits(inside):
            joined |= self.mates[v]
        return joined

    def room(self, nodes: int) -> list[int]:
        """Return devices with subgraphs whose memory some nodes fit into, one of each kind."""
        memory = fsum(float(self.problem.graph.memory[v]) for v in _bits(nodes))
        return [d for d in self.kinds if memory <= self.limit[d]]

    def beyond(self, path: list[int], i: int, j: int) -> int:
        """Return what reaches the node of the path before run i to j, or is reached from the one after it."""
        outside = self.before[path[i - 1]] | 1 << path[i - 1] if i else 0
        return outside | (self.after[path[j + 1]] | 1 << path[j + 1] if j + 1 < len(path) else 0)

    def held(self, path: list[int], i: int, j: int, more: int, rent: float) -> float:
        """Return what no subgraph takes less than that holds the nodes i to j of the path and some *more*."""
        fresh = more
        for v in path[i : j + 1]:
            fresh |= 1 << v
        inside, down, up = self.hold(0, 0, 0, fresh)
        return self.fitting(inside, self.beyond(path, i, j), down, up, rent)

    def apart(self, part: tuple[int, ...], path: list[int]) -> float:
        """Return what no subgraph takes less than that holds some nodes and none of the path."""
        inside, down, up = self.hold(0, 0, 0, sum(1 << v for v in set(part)))
        return self.fitting(inside, sum(1 << v for v in path), down, up, 0.0)

    def fitting(self, inside: int, outside: int, down: int, up: int, rent: float) -> float:
        """Return what no subgraph takes less than, at a rent, that holds all *inside* and none *outside*."""
        with_mates = self.with_mates(inside)
        room = [d for d in self.room(with_mates) if not with_mates & self.barred[d]]
        if inside & outside:
            return inf
        return min((self.least(d, rent, inside, outside, down, up) for d in room), default=inf)

    def least(self, d: int, rent: float, inside: int, outside: int, down: int, up: int) -> float:
        """Return what no subgraph on a device takes less than that holds the nodes *inside* and none *outside*.

        Its memory has a *rent*. *down* and *up* are the nodes that those inside reach, and those that reach them.
        """
        graph = self.problem.graph
        barred = outside | self.barred[d]
        barred = self.with_mates(barred) if self.single else barred
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
