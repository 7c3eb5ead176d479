"""The computation graph as immutable arrays.

Nodes are numbered 0..n-1 and edges 0..m-1; edges are sorted by tail, then head, so that
``heads[offsets[v]:offsets[v + 1]]`` are the consumers of node ``v`` (compressed sparse rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.base.prefixes import Prefixes
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph_origin import GraphOrigin

if TYPE_CHECKING:
    import networkx as nx


__all__ = ["BatchTimes", "Bools", "Floats", "Graph", "Ints", "check_lines"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
BatchTimes: TypeAlias = Mapping[str, Mapping[int, Floats]]
"""By device type or name, then by the number of inputs, [n]."""


ROUNDING = 1e-9
"""Of a node's memory: what its cache may be above it, where both are sums."""


def frozen(values: ArrayLike, dtype: type) -> NDArray[Any]:
    """Return a read-only copy of *values* as an array of *dtype*."""
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Graph(Picklable):
    """A directed acyclic graph of operators; build it with :meth:`create`.

    Attributes:
        names: [n] unique names.
        tails, heads: [m] the edges, sorted by (tail, head), none twice.
        work: [n] running time on a device of speed 1 (s, or abstract), or FLOP where
            ``work_unit`` says so.
        params: [n] size of the parameters (B, or abstract).
        output: [n] size of the one tensor the node produces (B, or abstract).
        memory: [n] what ``constraint memory`` adds up; ``params + output + cache`` unless given.
        sizes: [m] what an edge carries on ``links``; the tail's output unless given.
        kinds, labels: [n] free text, "" where none was given.
        colors: [n] colour class for ``colocate by color``, -1 for none.
        backward: [n] True for the nodes of the backward part of a training graph.
        saved: [n] what a stage keeps of the node for every microbatch in flight; ``output`` unless given.
        state: [n] what a stage holds of the node whatever is in flight: parameters, gradients, what the optimizer
            keeps; ``params`` unless given.
        reduce: [n] bytes that the devices of a group add up (all-reduce) where the node is split over several.
        forward_share: [n] which share of the node's time is its forward pass, 0 to 1; unless given 1, and 0 in the
            backward part.
        workspace: [n] what a node needs beside its memory while it runs: of the nodes on a device the largest counts.
        cache: [n] the part of the memory that grows with the requests that are served, such as keys and values.
        times: running times by device type (or device name), each [n], where a file gives
            them; ``inf`` marks a node the type does not support.
        device_times: running times on single devices by their names, each [n], as they are: not divided by the speed
            of the device, and in place of ``work`` and ``times`` there; ``inf``: it cannot run the node. They are in
            the unit of the problem's times.
        batch_times: running times of whole batches by device type or device name, and by the number of inputs, each
            [n]; ``inf``: not supported, nan: not measured.
        deviation, deviation_share: [n] by how much a node may take longer, under ``constraint robust``: a time on every
            device, or a share of its time there; nan where neither is given, and where the other one is.
        work_unit, size_unit: "s", "FLOP" or "" and "B" or "": the units of the arrays.
        memory_unit: "B" or "".
        phases: where nodes run once in each of several phases: these, each with a graph of its own. Work, output, sizes
            and times are then the sums over the phases; see :mod:`mtpp_dsl.core.problem.phases`.
        costs: what the operators of the nodes do, of which a law makes times; None where nothing is said of it. Graphs
            with phases have costs in each phase.
        time_sources: where the times on single devices are from, by their names, each [n] of
            :class:`mtpp_dsl.core.problem.costs.TimeSource`; times on devices that are not there were given.
        law: the text of the spec's own law of times, "" for that of the package.
        origin: the model that it was made of, and the operators of each node; None for other graphs.
    """

    names: tuple[str, ...]
    tails: Ints
    heads: Ints
    work: Floats
    params: Floats
    output: Floats
    memory: Floats
    sizes: Floats
    kinds: tuple[str, ...]
    labels: tuple[str, ...]
    colors: Ints
    backward: Bools
    saved: Floats
    state: Floats
    reduce: Floats
    forward_share: Floats
    cache: Floats
    workspace: Floats
    times: Mapping[str, Floats] = field(default_factory=lambda: MappingProxyType({}))
    device_times: Mapping[str, Floats] = field(default_factory=lambda: MappingProxyType({}))
    batch_times: BatchTimes = field(default_factory=lambda: MappingProxyType({}))
    deviation: Floats = field(default_factory=lambda: np.zeros(0))
    deviation_share: Floats = field(default_factory=lambda: np.zeros(0))
    work_unit: str = ""
    size_unit: str = ""
    memory_unit: str = ""
    phases: tuple[Phase, ...] = ()
    costs: Costs | None = None
    time_sources: Mapping[str, Ints] = field(default_factory=lambda: MappingProxyType({}))
    law: str = ""
    origin: GraphOrigin | None = None

    @classmethod
    def create(
        cls,
        names: Sequence[str],
        edges: Iterable[tuple[int, int]],
        *,
        work: ArrayLike = 0.0,
        params: ArrayLike = 0.0,
        output: ArrayLike = 0.0,
        memory: ArrayLike | None = None,
        sizes: Sequence[float | None] | None = None,
        kinds: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        colors: ArrayLike = -1,
        backward: ArrayLike = False,
        saved: ArrayLike | None = None,
        state: ArrayLike | None = None,
        reduce: ArrayLike = 0.0,
        forward_share: ArrayLike | None = None,
        cache: ArrayLike = 0.0,
        workspace: ArrayLike = 0.0,
        times: Mapping[str, ArrayLike] | None = None,
        device_times: Mapping[str, ArrayLike] | None = None,
        batch_times: Mapping[str, Mapping[int, ArrayLike]] | None = None,
        deviation: ArrayLike | None = None,
        deviation_share: ArrayLike | None = None,
        work_unit: str = "",
        size_unit: str = "",
        memory_unit: str | None = None,
        costs: Costs | None = None,
        origin: GraphOrigin | None = None,
    ) -> Graph:
        """Check and store a graph.

        Scalars are spread over all nodes. Entries of ``memory``, ``saved``, ``state`` and ``forward_share``
        that are NaN mean "as the rest says"; ``sizes`` entries that are None mean the tail's output. An
        edge given twice is kept once, with the larger size.

        Raises:
            UsageError: two nodes of one name, an edge to nowhere or onto itself, a cycle (it is
                named), a negative or non-finite weight.
        """
        names = tuple(names)
        n = len(names)
        _check_names(names)
        pairs = list(edges)
        tails, heads, extra = _sorted_edges(pairs, sizes, names)
        output = _per_node("output", output, n, names)
        params = _per_node("params", params, n, names)
        cache = _per_node("cache", cache, n, names)
        memory = _per_node("memory", _or_else(memory, params + output + cache), n, names)
        if (cache > memory * (1 + ROUNDING)).any():
            v = int(np.flatnonzero(cache > memory * (1 + ROUNDING))[0])
            raise UsageError(
                f"node {names[v]!r} has a memory of {memory[v]:g} and a cache of {cache[v]:g}: the memory of a node "
                "counts its cache, too"
            )
        parts = frozen(np.broadcast_to(np.asarray(backward), (n,)), np.bool_)
        share = _per_node("forward", _or_else(forward_share, np.where(parts, 0.0, 1.0)), n, names)
        if (share > 1).any():
            v = int(np.flatnonzero(share > 1)[0])
            raise UsageError(f"forward of node {names[v]!r} is {share[v]:g}; it is a share of its time, at most 1")
        return cls(
            names=names,
            tails=frozen(tails, np.int64),
            heads=frozen(heads, np.int64),
            work=frozen(_per_node("work", work, n, names), np.float64),
            params=frozen(params, np.float64),
            output=frozen(output, np.float64),
            memory=frozen(memory, np.float64),
            sizes=frozen(np.where(np.isnan(extra), output[tails], extra), np.float64),
            kinds=tuple(kinds) if kinds is not None else ("",) * n,
            labels=tuple(labels) if labels is not None else ("",) * n,
            colors=frozen(np.broadcast_to(np.asarray(colors), (n,)), np.int64),
            backward=parts,
            saved=frozen(_per_node("saved", _or_else(saved, output), n, names), np.float64),
            state=frozen(_per_node("state", _or_else(state, params), n, names), np.float64),
            reduce=frozen(_per_node("reduce", reduce, n, names), np.float64),
            forward_share=frozen(share, np.float64),
            cache=frozen(cache, np.float64),
            workspace=frozen(_per_node("workspace", workspace, n, names), np.float64),
            times=_times(times or {}, n, names),
            device_times=_times(device_times or {}, n, names),
            batch_times=_batch_times(batch_times or {}, n, names),
            deviation=_perhaps("deviation", deviation, n, names),
            deviation_share=_perhaps("deviation", deviation_share, n, names),
            work_unit=work_unit,
            size_unit=size_unit,
            memory_unit=size_unit if memory_unit is None else memory_unit,
            costs=costs,
            origin=origin,
        )._checked()

    def _checked(self) -> Graph:
        for name, column in (("kinds", self.kinds), ("labels", self.labels)):
            if len(column) != self.n:
                raise UsageError(f"{name} has {len(column)} entries for {self.n} nodes")
        if self.costs is not None and len(self.costs) and not 0 <= self.costs.owner[0] <= self.costs.owner[-1] < self.n:
            raise UsageError(f"costs are those of nodes 0..{self.n - 1}; one is of another")
        self.topological_order  # noqa: B018  raises on a cycle
        return self

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, m={self.m})"

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.tails)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Node number by name."""
        return MappingProxyType({name: v for v, name in enumerate(self.names)})

    @cached_property
    def prefixes(self) -> Prefixes:
        """The names of the nodes by all that they begin with."""
        return Prefixes(self.names)

    @cached_property
    def offsets(self) -> Ints:
        """[n+1] row pointers into ``heads``: consumers of v are heads[offsets[v]:offsets[v+1]]."""
        return frozen(np.concatenate(([0], np.cumsum(np.bincount(self.tails, minlength=self.n)))), np.int64)

    @cached_property
    def by_head(self) -> Ints:
        """[m] the edges in the order of their heads, then tails."""
        return frozen(np.lexsort((self.tails, self.heads)), np.int64)

    @cached_property
    def offsets_in(self) -> Ints:
        """[n+1] row pointers into ``producers``."""
        return frozen(np.concatenate(([0], np.cumsum(np.bincount(self.heads, minlength=self.n)))), np.int64)

    @cached_property
    def producers(self) -> Ints:
        """[m] tails by head: producers of v are producers[offsets_in[v]:offsets_in[v+1]]."""
        return frozen(self.tails[self.by_head], np.int64)

    def successors(self, v: int) -> Ints:
        """Return the consumers of node *v*."""
        row: Ints = self.heads[self.offsets[v] : self.offsets[v + 1]]
        return row

    def predecessors(self, v: int) -> Ints:
        """Return the nodes whose tensors node *v* reads."""
        row: Ints = self.producers[self.offsets_in[v] : self.offsets_in[v + 1]]
        return row

    @cached_property
    def topological_order(self) -> Ints:
        """[n] a topological order: among ready nodes, the one given first comes first."""
        import heapq

        if (self.tails < self.heads).all():
            return frozen(np.arange(self.n), np.int64)
        waiting = np.bincount(self.heads, minlength=self.n)
        ready = [int(v) for v in np.flatnonzero(waiting == 0)]
        order: list[int] = []
        while ready:
            v = heapq.heappop(ready)
            order.append(v)
            for head in self.successors(v):
                waiting[head] -= 1
                if waiting[head] == 0:
                    heapq.heappush(ready, int(head))
        if len(order) < self.n:
            raise UsageError(f"the graph has a cycle: {self._cycle(waiting > 0)}")
        return frozen(order, np.int64)

    def _cycle(self, blocked: Bools) -> str:
        v = int(np.flatnonzero(blocked)[0])
        seen: dict[int, int] = {}
        while v not in seen:
            seen[v] = len(seen)
            v = next(int(u) for u in self.predecessors(v) if blocked[u])
        nodes = [u for u, position in seen.items() if position >= seen[v]]
        loop = [v, *reversed(nodes)]
        shown = [self.names[u] for u in loop] if len(loop) <= 12 else [*(self.names[u] for u in loop[:11]), "…"]
        return " -> ".join(shown)

    def to_networkx(self) -> nx.DiGraph:
        """Return a networkx view: a new DiGraph on node names with the arrays as attributes."""
        import networkx as nx

        view = nx.DiGraph()
        for v, name in enumerate(self.names):
            view.add_node(
                name,
                work=float(self.work[v]),
                params=float(self.params[v]),
                output=float(self.output[v]),
                memory=float(self.memory[v]),
                cache=float(self.cache[v]),
                workspace=float(self.workspace[v]),
                kind=self.kinds[v],
                label=self.labels[v],
                color=int(self.colors[v]),
                backward=bool(self.backward[v]),
            )
        for e in range(self.m):
            view.add_edge(self.names[self.tails[e]], self.names[self.heads[e]], size=float(self.sizes[e]))
        return view


@dataclass(frozen=True, eq=False, repr=False)
class Phase(Short, Picklable):
    """One of several phases, such as the prefill and the decode of a language model.

    Attributes:
        name: of the phase.
        weight: how often the phase runs for one input, where all phases are taken together; more than zero.
        graph: an ordinary graph with the work, the outputs, the sizes of edges and the times of this phase. Its nodes,
            edges, parameters and memory are those of the other phases.
    """

    name: str
    weight: float
    graph: Graph


def check_lines(names: Sequence[str], what: str) -> None:
    """Refuse names with line breaks: what is shown of a plan has a line for each of them.

    Raises:
        UsageError: one of *names*, which are of *what*, has a line break.
    """
    if "\n" in "".join(names):
        raise UsageError(f"the name of a {what} has a line break: {next(name for name in names if chr(10) in name)!r}")


def _check_names(names: tuple[str, ...]) -> None:
    check_lines(names, "node")
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise UsageError(f"two nodes are called {twice!r}")


def _or_else(given: ArrayLike | None, usual: Floats) -> Floats:
    """Return what is given, and *usual* where it is NaN or nothing is given."""
    if given is None:
        return usual
    array = np.asarray(given, np.float64)
    return np.where(np.isnan(array), usual, array) if array.shape in ((), usual.shape) else array


def _per_node(what: str, values: ArrayLike, n: int, names: Sequence[str], *, inf: bool = False) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim and array.shape != (n,):
        raise UsageError(f"{what} has {array.shape} entries for {n} nodes")
    array = np.broadcast_to(array, (n,))
    bad = ~(array >= 0) | (np.isinf(array) & (not inf))
    if bad.any():
        v = int(np.flatnonzero(bad)[0])
        raise UsageError(f"{what} of node {names[v]!r} is {array[v]:g}; it must be a number, zero or more")
    return array


def _perhaps(what: str, values: ArrayLike | None, n: int, names: Sequence[str]) -> Floats:
    """Return [n] numbers that are zero or more, or nan where none is given."""
    given = np.broadcast_to(np.asarray(np.nan if values is None else values, np.float64), (n,))
    _per_node(what, np.where(np.isnan(given), 0.0, given), n, names)
    return frozen(given, np.float64)


def _times(tables: Mapping[str, ArrayLike], n: int, names: Sequence[str]) -> Mapping[str, Floats]:
    rows = {kind: _per_node(f"time on {kind}", row, n, names, inf=True) for kind, row in tables.items()}
    return MappingProxyType({kind: frozen(row, np.float64) for kind, row in rows.items()})


def _batch_times(tables: Mapping[str, Mapping[int, ArrayLike]], n: int, names: Sequence[str]) -> BatchTimes:
    by_kind: dict[str, Mapping[int, Floats]] = {}
    for kind, rows in tables.items():
        by_kind[kind] = MappingProxyType({size: _batch_row(kind, size, rows[size], n, names) for size in sorted(rows)})
    return MappingProxyType(by_kind)


def _batch_row(kind: str, size: int, row: ArrayLike, n: int, names: Sequence[str]) -> Floats:
    if size < 1:
        raise UsageError(f"a batch has one input or more; on {kind} there is a time of {size}")
    given = np.asarray(row, dtype=np.float64)
    known = _per_node(f"time of a batch of {size} on {kind}", np.where(np.isnan(given), 0.0, given), n, names, inf=True)
    return frozen(np.where(np.isnan(np.broadcast_to(given, (n,))), np.nan, known), np.float64)


def _sorted_edges(
    pairs: list[tuple[int, int]], sizes: Sequence[float | None] | None, names: tuple[str, ...]
) -> tuple[Ints, Ints, Floats]:
    """Return tails, heads and given sizes (NaN: none) by (tail, head), each edge once."""
    if sizes is not None and len(sizes) != len(pairs):
        raise UsageError(f"sizes has {len(sizes)} entries for {len(pairs)} edges")
    n = len(names)
    try:
        ends = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * len(pairs)).reshape(-1, 2)
    except OverflowError:
        raise UsageError(f"an edge names a node outside 0..{n - 1}") from None
    given = np.full(len(pairs), np.nan)
    if sizes is not None:
        given = np.array([np.nan if size is None else float(size) for size in sizes], np.float64)
    _refuse_edges(ends, given, names)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, given = ends[order], given[order]
    new = np.ones(len(pairs), np.bool_)
    new[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    largest = np.fmax.reduceat(given, np.flatnonzero(new)) if len(pairs) else given
    return ends[new, 0], ends[new, 1], largest


def _refuse_edges(ends: Ints, given: Floats, names: Sequence[str]) -> None:
    """Complain about the first edge that cannot be, if there is one."""
    low, high = ends.min(axis=1, initial=0), ends.max(axis=1, initial=0)
    outside = (low < 0) | (high >= len(names))
    wrong = np.flatnonzero(outside | (ends[:, 0] == ends[:, 1]) | (given < 0) | np.isposinf(given))
    if not wrong.size:
        return
    u, v = ends[wrong[0]].tolist()
    if outside[wrong[0]]:
        raise UsageError(f"edge {u} -> {v} names a node outside 0..{len(names) - 1}")
    if u == v:
        raise UsageError(f"node {names[u]!r} has an edge to itself")
    raise UsageError(f"edge {names[u]} -> {names[v]} has size {given[wrong[0]]:g}; it must be zero or more")
