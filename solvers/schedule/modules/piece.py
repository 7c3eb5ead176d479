"""A module as arrays of whole numbers, for bounds, list schedules and CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample


@dataclass(frozen=True, eq=False)
class ModulePiece:
    """A module, its tasks numbered from 0 in topological order: the entry first, the exit last, where there are any.

    Times are whole numbers in floats (exact below 2**53), so that ``inf`` can say never. The time of the entry is not
    part of a module and zero here; that of the exit is.

    Attributes:
        nodes: [s] their numbers in the graph. edges: [e] numbers of the edges there.
        entry, exit: whether the first task is a cut node, and the last.
        time: [s, k] of every task on every device. tails, heads: [e]. carry: [e, k, k] times of transfers.
        memory: [s] what every task takes. limit: [k] what devices hold; in whole numbers, ``inf`` where nothing limits.
        together: [s] colocated classes. apart: tasks of which no two share a device.
        exclusive: whether transfers that leave or reach one device must not overlap.
    """

    nodes: Ints
    edges: Ints
    entry: bool
    exit: bool
    time: Floats
    tails: Ints
    heads: Ints
    carry: Floats
    memory: Floats
    limit: Floats
    together: Ints
    apart: tuple[tuple[int, ...], ...]
    exclusive: bool

    @property
    def size(self) -> int:
        """Number of tasks."""
        return len(self.nodes)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.time.shape[1])

    @property
    def inner(self) -> slice:
        """The tasks strictly between the ends."""
        return slice(int(self.entry), self.size - int(self.exit))

    @cached_property
    def allowed(self) -> Bools:
        """[s, k] where every task may go."""
        finite: Bools = np.isfinite(self.time)
        return finite

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """The devices that the entry may be on; a single dummy where the entry is virtual."""
        return self._states(0) if self.entry else (NONE,)

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """The devices that the exit may be on; a single dummy where the exit is virtual."""
        return self._states(-1) if self.exit else (NONE,)

    def _states(self, v: int) -> tuple[int, ...]:
        """Return the devices that a task may be on; all, at infinite cost, if it may be on none."""
        return tuple(np.flatnonzero(self.allowed[v]).tolist()) or tuple(range(self.k))

    @cached_property
    def into(self) -> tuple[tuple[int, ...], ...]:
        """[s] the edges into every task."""
        return _grouped(self.heads, self.size)

    @cached_property
    def out_of(self) -> tuple[tuple[int, ...], ...]:
        """[s] the edges out of every task."""
        return _grouped(self.tails, self.size)

    @cached_property
    def roomy(self) -> bool:
        """Whether every assignment of these tasks keeps all memory limits."""
        return bool(self.memory.sum() <= self.limit.min(initial=np.inf))


def piece_of(whole: WholeSample, module: CutModule, *, exclusive: bool) -> ModulePiece:
    """Return a module of a problem in whole numbers; without ``exclusive`` its links carry any number of transfers."""
    request = whole.request
    nodes, edges = np.array(module.members, np.int64), np.array(module.edges, np.int64)
    local = {v: i for i, v in enumerate(nodes.tolist())}
    time = real_times(request.duration[nodes])
    if module.entry != NONE:
        time[0] = np.where(np.isfinite(time[0]), 0.0, np.inf)
    groups = [[local[v] for v in group if v in local] for group in request.apart]
    return ModulePiece(
        nodes=nodes,
        edges=edges,
        entry=module.entry != NONE,
        exit=module.exit != NONE,
        time=time,
        tails=np.array([local[v] for v in request.tails[edges].tolist()], np.int64),
        heads=np.array([local[v] for v in request.heads[edges].tolist()], np.int64),
        carry=real_times(request.table[request.row[edges]]),
        memory=request.size[nodes].astype(np.float64),
        limit=real_times(request.capacity),
        together=np.unique(request.together[nodes], return_inverse=True)[1].astype(np.int64),
        apart=tuple(tuple(group) for group in groups if len(group) > 1),
        exclusive=exclusive,
    )


def real_times(whole: Ints) -> Floats:
    """Return whole numbers as floats, with ``inf`` for never."""
    return np.where(whole >= INF, np.inf, whole.astype(np.float64))


def _grouped(ends: Ints, size: int) -> tuple[tuple[int, ...], ...]:
    lists: list[list[int]] = [[] for _ in range(size)]
    for e, v in enumerate(ends.tolist()):
        lists[v].append(e)
    return tuple(map(tuple, lists))
