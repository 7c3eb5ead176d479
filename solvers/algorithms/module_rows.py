"""A graph as a row of modules that few tensors join (ghannane2023, 3.3.1 and 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints, frozen
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE
from mtpp_dsl.solvers.algorithms.cut_nodes import modules as between_cuts
from mtpp_dsl.solvers.algorithms.narrow_orders import crossing, orders

MAX_CHANNELS = 6
"""The most channels that are tried by default."""
WANTED = 12
"""Nodes of a module: more are rarely solved to the end, fewer leave much to the boundaries."""
BOUNDARY, TENSOR = 0.25, 0.05
"""What a boundary and each tensor across it count, against a module of twice the wanted size, which counts 1."""
NEAR, SPARE = 1.2, 0.5
"""Channels are enough where what counts is this near to the least, as a factor and beside it."""


@dataclass(frozen=True, eq=False)
class ModuleRow:
    """A graph as a row of modules: every edge leads to the same module or to a later one.

    Attributes:
        graph: what is split.
        modules: the nodes of each, in a topological order of the graph.
        channels: at most so many tensors of the modules up to any one are read by later ones.
        clean: [modules - 1] whether the boundary behind each is a cut node: one node, the last of its module, that
            comes after all nodes before the boundary and before all nodes behind it. There, and only there, a schedule
            of one module after another loses nothing.
    """

    graph: Graph
    modules: tuple[Ints, ...]
    channels: int
    clean: tuple[bool, ...]

    @cached_property
    def of(self) -> Ints:
        """[n] the number of every node's module."""
        module = np.empty(self.graph.n, np.int64)
        for i, nodes in enumerate(self.modules):
            module[nodes] = i
        return frozen(module, np.int64)

    def crossing(self, i: int) -> Ints:
        """Return the numbers of the edges from modules up to number *i* to later ones."""
        return np.flatnonzero((self.of[self.graph.tails] <= i) & (self.of[self.graph.heads] > i))

    def tensors(self, i: int) -> Ints:
        """Return the nodes of modules up to number *i* that later ones read, ascending: the channels behind *i*."""
        return np.unique(self.graph.tails[self.crossing(i)])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of every module."""
        return tuple(len(nodes) for nodes in self.modules)

    def __str__(self) -> str:
        sizes = self.sizes
        what = f"{sizes[0]}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        return f"{len(sizes)} modules of {what} nodes, {self.channels} channels at the most"


def split(
    graph: Graph,
    channels: int | None = None,
    *,
    together: Sequence[Sequence[int]] = (),
    wanted: int = WANTED,
    cuts: bool = True,
) -> ModuleRow:
    """Return *graph* as a row of modules.

    Channels are tensors, not edges: a node whose output several nodes behind a boundary read is one of them, as what
    is to be known of a boundary is where its tensors are. So a bridge is one channel, and so is an articulation point,
    for which ghannane2023 adds a node and an edge of no cost. Nodes that no cut of so many tensors separates (those of
    an edge-connected component of the undirected graph among them) stay in one module, as every boundary is such a cut.

    Boundaries are prefixes of topological orders that keep few tensors alive. With *cuts*, every cut node is one. Of
    the others, those are chosen that leave modules of about the wanted size, and that few tensors cross.

    Args:
        graph: at least one node.
        channels: how many tensors may cross a boundary; None for the fewest, up to :data:`MAX_CHANNELS`, with which
            modules are nearly as near to the wanted size, at boundaries as few and as narrow, as with more.
        together: lists of nodes of which all stay in one module.
        wanted: nodes of a module.
        cuts: whether every cut node is a boundary; of one sample, nothing is lost there. Without, none counts as clean.

    Raises:
        UsageError: fewer than one channel.
    """
    if channels is not None and channels < 1:
        raise UsageError(f"modules are joined by one channel or more, not by {channels}")
    ways = [_Boundaries(graph, order, together, wanted, cuts) for order in orders(graph, channels or MAX_CHANNELS)]
    if channels is not None:
        return _best(ways, channels)[1]
    rows = [_best(ways, most) for most in range(1, MAX_CHANNELS + 1)]
    enough = NEAR * min(count for count, _ in rows) + SPARE
    return next(one for count, one in rows if count <= enough)


def _best(ways: Sequence[_Boundaries], channels: int) -> tuple[float, ModuleRow]:
    """Return what the best boundaries along any of the orders count, and the modules between them."""
    return min((way.split(channels) for way in ways), key=lambda counted: counted[0])


def _counts(sizes: Ints, wanted: int) -> Floats:
    """Return what modules of these sizes count."""
    excess: Floats = np.maximum(sizes / wanted - 1.0, 0.0)
    return excess


class _Boundaries:
    """The boundaries along one topological order."""

    def __init__(self, graph: Graph, order: Ints, together: Sequence[Sequence[int]], wanted: int, cuts: bool) -> None:
        self._graph, self._order, self._wanted = graph, order, wanted
        self._crossing = crossing(graph, order)
        place = np.argsort(order)
        self._free = _unheld(graph.n, [place[list(nodes)] for nodes in together if len(nodes)])
        self._clean = np.zeros(graph.n + 1, np.bool_)
        for module in between_cuts(graph) if cuts else []:
            if module.exit != NONE:
                self._clean[place[module.exit] + 1] = True
        self._clean &= self._free
        self._clean[[0, graph.n]] = False

    def split(self, channels: int) -> tuple[float, ModuleRow]:
        """Return what the best boundaries count that no more tensors cross, and the modules between them."""
        count, chosen = self._chosen(channels)
        cuts = [0, *chosen, self._graph.n]
        most = max((int(self._crossing[p]) for p in chosen), default=0)
        return count, ModuleRow(
            self._graph,
            tuple(frozen(self._order[a:b], np.int64) for a, b in pairwise(cuts)),
            most,
            tuple(bool(self._clean[p]) for p in chosen),
        )

    def _chosen(self, channels: int) -> tuple[float, list[int]]:
        """Return what counts the least, and the boundaries that do; all that are clean are among them."""
        n = self._graph.n
        usable = (self._crossing <= channels) & self._free
        usable[[0, n]] = True
        places = np.flatnonzero(usable)
        clean = self._clean[places]
        cost = np.full(len(places), np.inf)
        cost[0] = 0.0
        back = np.zeros(len(places), np.int64)
        first = 0
        toll = np.where(clean, 0.0, BOUNDARY + TENSOR * self._crossing[places])
        for i in range(1, len(places)):
            total = cost[first:i] + _counts(places[i] - places[first:i], self._wanted) + toll[i]
            j = int(total.argmin())
            cost[i], back[i] = total[j], first + j
            if clean[i]:
                first = i
        chosen, i = [], int(back[-1])
        while i > 0:
            chosen.append(int(places[i]))
            i = int(back[i])
        return float(cost[-1]), chosen[::-1]


def _unheld(n: int, together: Sequence[Ints]) -> Bools:
    """Return [n + 1] whether so many nodes from the first on hold all or none of every list of places."""
    inside = np.zeros(n + 2, np.int64)
    for places in together:
        inside[int(places.min()) + 1] += 1
        inside[int(places.max()) + 1] -= 1
    free: Bools = np.cumsum(inside)[: n + 1] == 0
    return free
