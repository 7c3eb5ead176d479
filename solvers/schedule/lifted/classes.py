"""Group the nodes and edges of a module that nothing but their names tells apart, by colour refinement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKind

__all__ = ["ClassGraph", "class_graph", "transfer_times"]


@dataclass(frozen=True, eq=False)
class ClassGraph:
    """The classes of nodes and of edges of a module.

    Every node of a class has equally many edges of each class of edges, in and out, and all times are those of any
    member. The classes are a graph without cycles: nodes of one have longest paths of equally many edges before them.

    Attributes:
        node_class: [nodes] the class of every node; classes are numbered in a topological order.
        edge_class: [edges] the class of every edge.
        count: [classes] how many nodes are in each.
        time: [classes, k] of one of them on every device; ``inf`` where it may not be.
        tail, head: [edge classes] the classes that the edges of each join.
        edges: [edge classes] how many edges are in each.
        carry: [edge classes, k, k] times of a transfer.
        entry, exit: the class of the entry, or of the exit, by itself; None where there is none.
        into, out: [classes] classes of edges that reach each, and that leave it.
        exclusive: whether transfers that leave one device, or reach one, must not overlap.
    """

    node_class: Ints
    edge_class: Ints
    count: Ints
    time: Floats
    tail: Ints
    head: Ints
    edges: Ints
    carry: Floats
    entry: int | None
    exit: int | None
    into: Sequence[Sequence[int]]
    out: Sequence[Sequence[int]]
    exclusive: bool

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.time.shape[1])

    @property
    def size(self) -> int:
        """How many columns an assignment programme of the classes has."""
        return len(self.count) * self.k + len(self.edges) * self.k**2


def transfer_times(kind: ModuleKind) -> Floats:
    """Return [edges, k, k] what each edge of a module takes between devices; 0 on one."""
    net, k = kind.net, kind.time.shape[1]
    carry = net.latency + net.size[:, None, None] * net.inverse + net.table[net.row].reshape(-1, k, k)
    carry[:, range(k), range(k)] = 0.0
    times: Floats = carry
    return times


def class_graph(kind: ModuleKind) -> ClassGraph:
    """Return the classes of a module's nodes and edges: the coarsest that are told apart by times and neighbours.

    Colours begin as times and ends, and are refined by those of the neighbours until that changes nothing (colour
    refinement; Grohe, Kersting, Mladenov, Selman: Dimension reduction via colour refinement, 2014).
    """
    net, n = kind.net, len(kind.time)
    carry = transfer_times(kind)
    kinds = _numbered([row.tobytes() for row in carry])
    ends = {kind.entry: 1, kind.exit: 2}
    color = _numbered([(ends.get(v, 0), kind.time[v].tobytes()) for v in range(n)])
    tails, heads = net.tail.tolist(), net.head.tolist()
    while True:
        near: list[list[tuple[int, int, int]]] = [[] for _ in range(n)]
        for u, v, c in zip(tails, heads, kinds, strict=True):
            near[v].append((0, color[u], c))
            near[u].append((1, color[v], c))
        finer = _numbered([(color[v], tuple(sorted(near[v]))) for v in range(n)])
        if max(finer, default=0) == max(color, default=0):
            break
        color = finer
    node_class = _in_order(np.array(color, np.int64), net.order)
    keys = [(int(node_class[u]), int(node_class[v]), c) for u, v, c in zip(tails, heads, kinds, strict=True)]
    return _graph(kind, node_class, np.array(_numbered(keys), np.int64), carry)


def _numbered(keys: Sequence[object]) -> list[int]:
    """Return [keys] a number for each, the same for equal ones."""
    number: dict[object, int] = {}
    return [number.setdefault(key, len(number)) for key in keys]


def _in_order(color: Ints, order: Ints) -> Ints:
    """Return the colours, numbered by where the last node of each is in a topological *order*.

    That is a topological order of the colours: where edges lead from one to another, every node of the first, so the
    last one too, is before some node of the second.
    """
    last = np.zeros(int(color.max(initial=-1)) + 1, np.int64)
    last[color[order]] = np.arange(len(order))
    rank = np.empty(len(last), np.int64)
    rank[np.argsort(last)] = np.arange(len(last))
    return rank[color]


def _graph(kind: ModuleKind, node_class: Ints, edge_class: Ints, carry: Floats) -> ClassGraph:
    net = kind.net
    count, edges = np.bincount(node_class), np.bincount(edge_class)
    _, member = np.unique(node_class, return_index=True)
    _, edge = np.unique(edge_class, return_index=True)
    tail, head = node_class[net.tail[edge]], node_class[net.head[edge]]
    into: list[list[int]] = [[] for _ in count]
    out: list[list[int]] = [[] for _ in count]
    for q, (u, v) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        out[u].append(q)
        into[v].append(q)
    ends = [None if v is None else int(node_class[v]) for v in (kind.entry, kind.exit)]
    return ClassGraph(
        node_class=node_class,
        edge_class=edge_class,
        count=count,
        time=kind.time[member],
        tail=tail,
        head=head,
        edges=edges,
        carry=carry[edge],
        entry=ends[0],
        exit=ends[1],
        into=into,
        out=out,
        exclusive=net.exclusive,
    )
