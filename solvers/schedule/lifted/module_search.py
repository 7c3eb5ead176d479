"""Search for schedules of one kind of module, between given devices of its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKind
from mtpp_dsl.solvers.schedule.lifted.classes import ClassGraph, transfer_times
from mtpp_dsl.solvers.schedule.lifted.generator import ANNEAL, DRAWS, ModuleArrays, ModuleReservations, TimedModule
from mtpp_dsl.solvers.schedule.lifted.paths import open_choices
from mtpp_dsl.solvers.schedule.lifted.programme import ClassCounts

__all__ = ["ModuleSchedule", "ModuleSearch"]

COLD = 0.01
"""The last temperature, as a share of the first."""
CHUNK = 1_000_000
"""Nodes and edges that are timed between two looks at the clock."""
TINY = 1e-300
"""In place of a temperature of 0, which has no logarithm."""


@dataclass(frozen=True, eq=False)
class ModuleSchedule:
    """A schedule of a module from the end of its entry on.

    Attributes:
        device, key: [nodes] where each is, and its key in the list that the schedule was generated from.
        start: [nodes]. sent: [edges], in the order of the kind's.
        length: when the module ends.
    """

    device: Ints
    key: Floats
    start: Floats
    sent: Floats
    length: float


class ModuleSearch:
    """The searches for schedules of a kind of module.

    Args:
        kind: the kind.
        graph: its classes.
        say: told when code has to be compiled.
        shape: classes that tell its components apart; None for those of *graph*.
    """

    def __init__(
        self, kind: ModuleKind, graph: ClassGraph, say: Callable[[str], None], shape: ClassGraph | None = None
    ) -> None:
        self.kind, self.graph, self._say = kind, graph, say
        self._shape = graph if shape is None else shape
        self._rests: dict[tuple[int | None, int | None], Floats] = {}

    def schedule(
        self,
        ends: tuple[int | None, int | None],
        device: Ints,
        key: Floats | None = None,
        *,
        steps: int = 0,
        hot: float = 0.0,
        seed: int = 0,
        drive: float = 0.0,
        ended: Callable[[], bool] = lambda: False,
    ) -> ModuleSchedule | None:
        """Return the best schedule of an annealing of so many *steps*, or None if it has met none.

        Args:
            ends: devices of the entry and of the exit; None where there is none.
            device: [nodes] where to start from; the ends are put where they have to be.
            key: [nodes] what is next, largest first; None: what has most behind it.
            steps: moves; with none, the schedule that it starts from.
            hot: the first temperature, a time.
            seed: of the moves.
            drive: how much the work of the busiest device counts beside the length, for what a move is accepted by.
            ended: asked now and then whether to stop early.
        """
        kind, n, k = self.kind, *self.kind.time.shape
        device = np.array(device, np.int64)
        fixed = np.zeros(n, np.bool_)
        for v, d in zip((kind.entry, kind.exit), ends, strict=True):
            if v is not None and d is not None:
                device[v], fixed[v] = d, True
        rest = self._rest(*ends)
        if key is None:
            urgent = (rest + kind.time)[np.arange(n), device]
            key = np.where(np.isfinite(urgent), urgent, 0.0)
        m = len(kind.net.tail)
        now, best = (
            TimedModule(device.copy(), np.array(key, np.float64), np.zeros(n), np.zeros(n), np.zeros(m)) for _ in "ab"
        )
        most = max(n, m) + 1
        reserved = ModuleReservations(np.zeros((3 * k, most)), np.zeros((3 * k, most)), np.zeros(3 * k, np.int64))
        random, total = np.random.default_rng(seed), (1 + steps) * (n + m)
        run = ANNEAL.pick(total, self._say)
        arrays, hot = self._arrays._replace(rest=rest), max(hot, TINY)
        chunk, least, first = max(1, CHUNK // (n + m)), inf, 0
        while first < steps or least == inf:
            draws = random.random((min(chunk, steps - first), DRAWS))
            least = run(draws, first, max(1, steps), hot, COLD * hot, arrays, fixed, now, best, least, reserved, drive)
            first += len(draws)
            if ended() or first >= steps:
                break
        if least == inf:
            return None
        return ModuleSchedule(best.device, best.key, best.start, best.sent, least)

    def decoded(self, counts: ClassCounts) -> Ints:
        """Return [nodes] devices that use up the counts of classes, and of edges as far as that goes.

        From the first node of a component on, every neighbour goes where most edges of its class to a node that has its
        device are left. Where components are trees, all counts are met.
        """
        net, node_class = self.kind.net, self.graph.node_class
        nodes, edges = counts.nodes.copy(), counts.edges.copy()
        device = np.full(len(self.kind.time), -1)

        def put(v: int, left: Ints) -> None:
            own = nodes[node_class[v]]
            fits = np.where(np.isfinite(self.kind.time[v]), np.maximum(left, 0) + (own > 0), -1)
            device[v] = int(fits.argmax())
            own[device[v]] -= 1

        shared = self.graph.count[node_class] == 1
        for v in [*np.flatnonzero(shared).tolist(), *np.flatnonzero(~shared).tolist()]:
            if device[v] >= 0:
                continue
            put(v, nodes[node_class[v]])
            reached = [] if shared[v] else [v]
            while reached:
                u = reached.pop()
                for e in net.after[net.after_at[u] : net.after_at[u + 1]].tolist():
                    w, left = int(net.head[e]), edges[self.graph.edge_class[e], device[u]]
                    if device[w] < 0:
                        put(w, left)
                        reached.append(w)
                        left[device[w]] -= 1
                for e in net.before[net.before_at[u] : net.before_at[u + 1]].tolist():
                    w, left = int(net.tail[e]), edges[self.graph.edge_class[e], :, device[u]]
                    if device[w] < 0:
                        put(w, left)
                        reached.append(w)
                        left[device[w]] -= 1
        return device

    def _rest(self, first: int | None, last: int | None) -> Floats:
        if (first, last) not in self._rests:
            rest = open_choices(self.graph, first, last, inf).rest[self.graph.node_class]
            self._rests[first, last] = np.ascontiguousarray(rest)
        return self._rests[first, last]

    @cached_property
    def _arrays(self) -> ModuleArrays:
        net, n = self.kind.net, len(self.kind.time)
        part, members = self._components()
        arrays = ModuleArrays(
            time=self.kind.time,
            rest=np.zeros_like(self.kind.time),
            in_at=net.before_at,
            in_edge=net.before,
            out_at=net.after_at,
            out_head=net.head[net.after],
            tail=net.tail,
            carry=transfer_times(self.kind),
            exclusive=net.exclusive,
            part=part,
            members=members,
        )
        assert len(part) == n
        return inputs(arrays)

    def _components(self) -> tuple[Ints, Ints]:
        """Return [nodes] the component of each, and [components, longest] their members.

        A component hangs together when the nodes that are alone in their classes, which all share, are taken out.
        """
        net, n = self.kind.net, len(self.kind.time)
        shared = self._shape.count[self._shape.node_class] == 1
        root = np.arange(n)

        def find(v: int) -> int:
            while root[v] != v:
                root[v] = root[root[v]]
                v = int(root[v])
            return v

        for u, v in zip(net.tail.tolist(), net.head.tolist(), strict=True):
            if not (shared[u] or shared[v]):
                root[find(u)] = find(v)
        part, rows = np.full(n, -1), dict[int, list[int]]()
        for v in np.flatnonzero(~shared).tolist():
            rows.setdefault(find(v), []).append(v)
        members = np.full((len(rows), max(map(len, rows.values()), default=1)), -1)
        for i, row in enumerate(rows.values()):
            part[row] = i
            members[i, : len(row)] = row
        return part, members
