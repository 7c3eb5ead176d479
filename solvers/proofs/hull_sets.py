"""What subgraphs must hold and take: sets of nodes, and minimum cuts between them, for certificates ``path-hull``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, frexp, fsum, inf, ldexp
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Colocate, Contiguous, Memory, Subgraphs
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_CUT, OUT
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes, least_workspace

BITS = 50
MAX_SUM = 2.0**58
NEVER = 1 << 58
"""What it costs to part nodes that are in one subgraph or in none."""
SUMS = 1e-11
"""Of a memory, by which a part of it may be exceeded, for the rounding of sums."""


class Priced(NamedTuple):
    """What a subgraph costs at least on a kind of devices with such a memory, with a rent for that of its nodes.

    In units of 1 / *units*; *unpaid* is the cost without a rent, where there may be no limit.
    """

    limit: float
    rent: float
    cost: float
    unpaid: float
    units: float


class Least(NamedTuple):
    """What a subgraph takes at least, and the memory of what it must hold.

    Each of the *bounds* holds, of which each takes place on one of some kinds of devices.
    """

    memory: float
    bounds: list[list[Priced]]

    def within(self, used: float, room: float) -> float:
        """Return what it takes where some memory is used already, and with this subgraph no more than some room is."""
        return max(min((self._on(kind, used, room) for kind in kinds), default=inf) for kinds in self.bounds)

    def _on(self, kind: Priced, used: float, room: float) -> float:
        left = top = min(kind.limit, room)
        if top < inf and (used > 0 or room < inf):
            left += SUMS * top - used
        if self.memory > left:
            return inf
        return (kind.unpaid if left == inf else kind.cost - ceil(kind.rent * left * kind.units)) / kind.units


class Cut:
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

    def runs(self, path: list[int], i: int, rents: Mapping[tuple[int, int], set[float]]) -> Iterator[tuple[int, Least]]:
        """Yield (j, least time of a subgraph that holds the nodes i to j of the path and not their neighbours).

        By a minimum cut at each of the *rents* for some.
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
            times = [(d, fsum(float(self.problem.time[v, d]) for v in _bits(inside)) + passed) for d in room]
            outside = self.beyond(path, i, j)
            some = rents.get((i, j), set())
            cuts = [[self.least(d, rent, inside, outside, down, up) for d in room] for rent in some]
            yield (
                j,
                Least(self.memory(inside), [[Priced(self.limit[d], 0.0, time, time, 1.0) for d, time in times], *cuts]),
            )

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
        memory = self.memory(nodes)
        return [d for d in self.kinds if memory <= self.limit[d]]

    def memory(self, nodes: int) -> float:
        """Return the memory of some nodes."""
        return fsum(float(self.problem.graph.memory[v]) for v in _bits(nodes))

    def beyond(self, path: list[int], i: int, j: int) -> int:
        """Return what reaches the node of the path before run i to j, or is reached from the one after it."""
        outside = self.before[path[i - 1]] | 1 << path[i - 1] if i else 0
        return outside | (self.after[path[j + 1]] | 1 << path[j + 1] if j + 1 < len(path) else 0)

    def held(self, path: list[int], i: int, j: int, more: int, rent: float) -> Least:
        """Return what no subgraph takes less than that holds the nodes i to j of the path and some *more*."""
        fresh = more
        for v in path[i : j + 1]:
            fresh |= 1 << v
        inside, down, up = self.hold(0, 0, 0, fresh)
        return self._fitting(inside, self.beyond(path, i, j), down, up, rent)

    def apart(self, part: tuple[int, ...], path: list[int]) -> float:
        """Return what no subgraph takes less than that holds some nodes and none of the path."""
        inside, down, up = self.hold(0, 0, 0, sum(1 << v for v in set(part)))
        return self._fitting(inside, sum(1 << v for v in path), down, up, 0.0).within(0.0, inf)

    def _fitting(self, inside: int, outside: int, down: int, up: int, rent: float) -> Least:
        """Return what no subgraph takes less than, at a rent, that holds all *inside* and none *outside*."""
        with_mates = self.with_mates(inside)
        room = [d for d in self.room(with_mates) if not with_mates & self.barred[d]]
        if inside & outside:
            room = []
        return Least(self.memory(inside), [[self.least(d, rent, inside, outside, down, up) for d in room]])

    def least(self, d: int, rent: float, inside: int, outside: int, down: int, up: int) -> Priced:
        """Return what no subgraph on a device takes less than that holds the nodes *inside* and none *outside*.

        Its memory has a *rent*. *down* and *up* are the nodes that those inside reach, and those that reach them.
        """
        graph = self.problem.graph
        barred = outside | self.barred[d]
        barred = self.with_mates(barred) if self.single else barred
        state = np.array(
            [IN if inside >> v & 1 else OUT if barred >> v & 1 else FREE for v in range(graph.n)], np.int64
        )
        costs = [
            0.0 if barred >> v & 1 else float(self.problem.time[v, d]) + rent * float(graph.memory[v])
            for v in range(graph.n)
        ]
        if not fsum(costs) * self.units < MAX_SUM:
            raise Refused(f"the certificate's rent {rent!r} is too large to count with")
        price = [floor(cost * self.units) for cost in costs]
        flags = [np.array([bits >> v & 1 for v in range(graph.n)], np.bool_) for bits in (down, up)]
        value = int(LEAST_CUT.pick(0.0)(
            state, np.array(price, np.int64), self.starts, self.pins, self.cost, graph.tails, graph.heads,
            flags[0], flags[1], np.zeros(graph.n, np.bool_),
        ))  # fmt: skip
        unpaid = self.least(d, 0.0, inside, outside, down, up).cost if rent and self.limit[d] == inf else value
        return Priced(self.limit[d], rent, value, unpaid, self.units)

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
