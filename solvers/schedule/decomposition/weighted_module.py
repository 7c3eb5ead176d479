"""Bound a module and the nodes beside it by a weighted sum: of time, the load of one device, and its transfers.

The nodes beside a chain of anchors are assigned to its modules: they count for loads and links, but not for times.
CP-SAT is asked for the sum as a schedule. After the module come, one after another, shadows of its tasks, which take
their weighted share of the load if they are on the device, and pairs of shadows with a transfer between them for what
the device sends and receives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule
from mtpp_dsl.solvers.backends.cpsat.request import INF, Request, request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["PartWeights", "Sides", "beside", "weighed", "weights_for", "without_free_nodes"]

MAX_BESIDE = 250
"""Of more nodes beside one module the rest is dropped: they would make it too hard."""


@dataclass(frozen=True)
class Beside:
    """Nodes beside one module, and edges that join them to each other or to it.

    Attributes:
        nodes: in topological order.
        edges: numbers, each given to one module alone.
        far: edges from the hub, an anchor that is no end of this module.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    far: tuple[int, ...]


@dataclass(frozen=True)
class Sides:
    """The nodes beside every module.

    Attributes:
        of: [modules].
        hub: number of the module whose exit is read by most of the nodes beside later modules; -1 if there is none.
    """

    of: tuple[Beside, ...]
    hub: int


def beside(graph: Graph, modules: Sequence[CutModule], kept: Bools) -> Sides:
    """Return for every module the nodes that are not *kept* and belong to it.

    A node belongs to the first module that reads a result of it, or else to the last module that it reads from.
    """
    home = _homes(graph, modules, kept)
    count = np.zeros(len(modules), np.int64)
    exits = {module.exit: j for j, module in enumerate(modules) if module.exit != NONE}
    entries = {module.entry: j for j, module in enumerate(modules)}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if u in exits and not kept[v] and home[v] not in (exits[u], entries.get(u)):
            count[exits[u]] += 1
    hub = int(count.argmax()) if count.any() else -1
    groups = []
    for j, module in enumerate(modules):
        nodes = [v for v in graph.topological_order.tolist() if not kept[v] and home[v] == j][-MAX_BESIDE:]
        near = np.zeros(graph.n, np.bool_)
        near[nodes] = True
        inside = near.copy()
        inside[list(module.members)] = True
        joins = (near[graph.tails] & inside[graph.heads]) | (inside[graph.tails] & near[graph.heads])
        reads = near[graph.heads] & (graph.tails == modules[hub].exit) if hub >= 0 else np.zeros(graph.m, np.bool_)
        far = np.flatnonzero(reads & ~joins)
        groups.append(Beside(tuple(nodes), tuple(np.flatnonzero(joins).tolist()), tuple(far.tolist())))
    return Sides(tuple(groups), hub)


def _homes(graph: Graph, modules: Sequence[CutModule], kept: Bools) -> Ints:
    """Return [n] the module that every node is in or belongs to."""
    own = np.full(graph.n, -1)
    for j, module in enumerate(modules):
        own[[*module.nodes, *([module.exit] if module.exit != NONE else [])]] = j
    last = len(modules)
    reader = np.where(kept, own, last)
    for v in graph.topological_order[::-1].tolist():
        if not kept[v] and len(graph.successors(v)):
            reader[v] = reader[graph.successors(v)].min()
    read = np.where(kept, own, 0)
    for v in graph.topological_order.tolist():
        if not kept[v] and len(graph.predecessors(v)):
            read[v] = read[graph.predecessors(v)].max()
    homes: Ints = np.where(kept, own, np.where(reader < last, reader, read))
    return homes


MARGIN = 1.1
PARTS = 1000
"""What weights are whole numbers of."""


@dataclass(frozen=True)
class PartWeights:
    """Whole numbers with the sum ``total``: no makespan is below the mean of the parts that they weigh.

    Attributes:
        device: whose load and transfers count.
        time: of the time along the chain. load: of the load of the device.
        into: of transfers to it. out: of transfers from it.
    """

    device: int
    time: int
    load: int
    into: int
    out: int

    @property
    def total(self) -> int:
        """Their sum."""
        return self.time + self.load + self.into + self.out


def weights_for(whole: WholeSample, sides: Sides, device: int) -> PartWeights:
    """Return weights under which it hardly pays to move the nodes beside a chain away, if links are exclusive.

    Of the device's sending and receiving, the end that is busier counts.
    """
    asked = whole.request
    nodes = [v for group in sides.of for v in group.nodes]
    work = float(np.where(asked.duration[nodes, device] < INF, asked.duration[nodes, device], 0).sum())
    inside = np.zeros(len(asked.duration), np.bool_)
    inside[nodes] = True
    into = _carried(asked.table[:, :, device], asked.row[inside[asked.tails] & ~inside[asked.heads]])
    out = _carried(asked.table[:, device, :], asked.row[~inside[asked.tails] & inside[asked.heads]])
    busy = max(into, out)
    ratio = min(1.0, MARGIN * work / busy) if whole.instance.exclusive and busy > 0 else 0.0
    port = round(PARTS * ratio / (2 + ratio))
    load = (PARTS - port) // 2
    return PartWeights(device, PARTS - port - load, load, port if into > out else 0, 0 if into > out else port)


def without_free_nodes(whole: WholeSample, sides: Sides, weights: PartWeights) -> Sides:
    """Return *sides* without nodes that could run elsewhere at no cost under these weights.

    These are, beside a module, connected components that no weighted transfer joins to the rest.
    """
    return Sides(tuple(_costly_nodes(whole, near, weights) for near in sides.of), sides.hub)


def _costly_nodes(whole: WholeSample, near: Beside, weights: PartWeights) -> Beside:
    asked, d = whole.request, weights.device
    inside = set(near.nodes)
    root = {v: v for v in near.nodes}

    def find(v: int) -> int:
        while root[v] != v:
            v = root[v]
        return v

    costly = []
    for e in (*near.edges, *near.far):
        u, v = int(asked.tails[e]), int(asked.heads[e])
        table = asked.table[asked.row[e]]
        if u in inside and v in inside:
            root[find(u)] = find(v)
        elif (v in inside and weights.out and table[d].any()) or (u in inside and weights.into and table[:, d].any()):
            costly.append(v if v in inside else u)
    kept = {find(v) for v in costly}
    nodes = tuple(v for v in near.nodes if find(v) in kept)
    left = set(nodes)

    def joins(e: int) -> bool:
        return int(asked.tails[e]) in left or int(asked.heads[e]) in left

    return Beside(nodes, tuple(filter(joins, near.edges)), tuple(filter(joins, near.far)))


def _carried(times: Ints, rows: Ints) -> float:
    """Return the sum over *rows* of the least positive time in each."""
    least = np.where(times > 0, times, INF).min(axis=1, initial=INF)[rows]
    return float(least[least < INF].sum())


def weighed(
    whole: WholeSample,
    piece: ModulePiece,
    near: Beside,
    weights: PartWeights,
    first: int,
    last: int,
    hub: int,
    *,
    cutoff: int,
    at_least: int,
) -> Request:
    """Return the request for the least weighted sum with the entry on device *first* and the exit on *last*.

    The *hub*, a node, is on the device of the weights.
    """
    return _Weighing(whole, piece, near, weights).request(first, last, hub, cutoff, at_least)


class _Weighing:
    """Collects the tasks and edges of the request."""

    def __init__(self, whole: WholeSample, piece: ModulePiece, near: Beside, weights: PartWeights) -> None:
        self._asked, self._piece, self._near, self._weights = whole.request, piece, near, weights
        self._k = piece.k
        times = np.where(piece.allowed, piece.time, 0.0).astype(np.int64)
        self._duration = list(np.where(piece.allowed, weights.time * times, INF))
        self._class = self._asked.together[piece.nodes].tolist()
        self._edges = list(zip(piece.tails.tolist(), piece.heads.tolist(), strict=True))
        self._table = list(_scaled(piece.carry, weights.time))

    def request(self, first: int, last: int, hub: int, cutoff: int, at_least: int) -> Request:
        """Return the request."""
        piece = self._piece
        for v, d in [(0, first)] * piece.entry + [(piece.size - 1, last)] * piece.exit:
            self._duration[v] = np.where(np.arange(self._k) == d, self._duration[v], INF)
        behind = [v for v in range(piece.size) if not piece.out_of[v]]
        for v in [*piece.nodes[int(piece.entry) :].tolist(), *self._near.nodes]:
            behind = [self._shadow(v, behind, self._weights.load)]
        if self._near.far:
            behind = [self._shadow(hub, behind, 0)]
            self._duration[-1] = np.where(np.arange(self._k) == self._weights.device, 0, INF)
        for e in (*self._near.edges, *self._near.far):
            behind = self._toll(e, behind)
        latest = np.full(len(self._duration), INF)
        latest[: int(piece.entry)] = 0
        ends = np.array(self._edges, np.int64).reshape(-1, 2)
        return request(
            np.array(self._duration, np.int64),
            ends[:, 0],
            ends[:, 1],
            np.arange(len(ends)),
            np.array(self._table, np.int64).reshape(-1, self._k, self._k),
            cutoff=cutoff,
            exclusive=piece.exclusive,
            at_least=at_least,
            together=np.unique(self._class, return_inverse=True)[1].astype(np.int64),
            latest=latest,
        )

    def _shadow(self, v: int, behind: list[int], weight: int) -> int:
        """Add a task that is where node *v* is, and takes *weight* times its work on the device; return its number."""
        takes = np.where(self._asked.duration[v] < INF, 0, INF)
        d = self._weights.device
        if takes[d] < INF:
            takes[d] = weight * int(self._asked.duration[v, d])
        self._duration.append(takes)
        self._class.append(int(self._asked.together[v]))
        number = len(self._duration) - 1
        for u in behind:
            self._join(u, number, np.zeros((self._k, self._k), np.int64))
        return number

    def _toll(self, e: int, behind: list[int]) -> list[int]:
        """Add what edge *e* brings to the device or takes from it; return the tasks that it adds."""
        carried = self._asked.table[self._asked.row[e]]
        toll = np.zeros_like(carried)
        d = self._weights.device
        toll[:, d] = self._weights.into * np.where(carried[:, d] < INF, carried[:, d], 0)
        toll[d] += self._weights.out * np.where(carried[d] < INF, carried[d], 0)
        if not toll.any():
            return behind
        one = self._shadow(int(self._asked.tails[e]), behind, 0)
        other = self._shadow(int(self._asked.heads[e]), [], 0)
        self._join(one, other, toll)
        return [other]

    def _join(self, u: int, v: int, table: Ints) -> None:
        self._edges.append((u, v))
        self._table.append(table)


def _scaled(times: Floats, weight: int) -> Ints:
    finite = np.isfinite(times)
    return np.where(finite, np.where(finite, times, 0.0) * weight, INF).astype(np.int64)
