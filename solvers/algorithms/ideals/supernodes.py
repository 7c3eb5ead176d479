"""Merge the nodes that are always on one device, and eliminate those that an order of the devices does not bind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import csgraph, sparse
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.core.views.hypergraph import Hypergraph, Supernodes, WeightedPins, hypergraph
from mtpp_dsl.solvers.algorithms.ideals.changing_nets import ChangingNets
from mtpp_dsl.solvers.runtime.small_programme import most_worth

TrainingOrder: TypeAlias = Literal["forward", "mirrored", "parallel", "relaxed"]
"""Which edges of a training graph order its supernodes.

``forward``: edges between forward nodes; a supernode without a forward node follows its backward edges, reversed, as
the artificial nodes of tarnawski2020's program make it do. ``mirrored``: all backward edges as well, reversed;
``parallel``: all backward edges as well, as they are. With either, the quotient graph of the backward part is acyclic
too. ``relaxed``: edges between forward nodes alone; supernodes without a forward node are eliminated.
"""

MAX_PAIRS = 50_000
"""Up to this many edges are searched for a cycle without scipy, whose import takes longer."""


@dataclass(frozen=True, eq=False)
class OrderedSupernodes(Supernodes):
    """Supernodes and a partial order of them.

    Attributes:
        before: pairs (a, b): supernode a is in the block of b or in an earlier one. No cycles.
        eliminated: the nodes of each supernode that was left out.
    """

    before: tuple[tuple[int, int], ...] = ()
    eliminated: tuple[tuple[int, ...], ...] = ()

    def as_graph(self) -> tuple[Graph, Floats]:
        """Return the order as a graph, and [n] the summed cost of the nets at each supernode."""
        cost = np.zeros(self.n)
        for pins, c in self.nets:
            cost[list(pins)] += c
        return Graph.create([str(v) for v in range(self.n)], self.before, output=cost), cost

    def fits(self, types: DeviceTypes) -> bool:
        """Return whether each supernode may be on some device whose memory holds it."""
        return bool((np.isfinite(self.time) & (self.memory[:, None] <= types.memory)).any(axis=1).all())


def ordered_supernodes(
    problem: Problem, types: DeviceTypes, mode: TrainingOrder, keep: int = 0, *, absorb: bool = True
) -> OrderedSupernodes:
    """Return the supernodes of a problem and their order.

    Colocated nodes are one supernode; so are those on a cycle of colocated nodes, since only one device for all of
    them leaves the quotient graph acyclic. With ``mode = "relaxed"`` every plan whose forward part has an acyclic
    quotient graph is a split of the supernodes with loads that are no larger, so the optimum over splits is a bound.
    With the other modes every split is such a plan, with equal loads. If every supernode has a forward node,
    ``forward`` and ``relaxed`` are the same.

    Args:
        problem: the problem.
        types: of its devices.
        mode: which edges order the supernodes.
        keep: how many of the supernodes that ``relaxed`` eliminates to keep, the costliest; they may be anywhere.
        absorb: whether to merge supernodes into others where that costs nothing; this holds on one level of devices
            only.
    """
    of = colocated(problem)
    arcs = _arcs(problem, of, mode)
    of = _strong(int(of.max(initial=-1)) + 1, arcs)[of]
    arcs = _arcs(problem, of, mode)
    graph = hypergraph(problem, of)
    nets = ChangingNets((net.pins, net.cost) for net in graph.nets(types.tensor))
    whole = graph.on_types(types, nets=False)
    free = _to_eliminate(graph, whole, nets, keep) if mode == "relaxed" else np.zeros(0, np.int64)
    earlier = ancestors(graph.n, arcs) if len(free) else []
    for supernode in free.tolist():
        eliminate(supernode, nets, whole.time, types.pays, earlier, merge=absorb)
    weightless = _weightless(problem, types, whole) & absorb
    into = _absorb(arcs, nets, weightless, set(free.tolist()))
    kept = np.setdiff1d(np.unique(into), free)
    number = np.full(graph.n, -1, np.int64)
    number[kept] = np.arange(len(kept))
    now = number.tolist().__getitem__
    left = [(tuple(map(now, pins)), cost) for pins, cost in nets.items()]
    return contracted(whole, number[into], arcs, left, tuple(whole.members[c] for c in free.tolist()))


def _to_eliminate(graph: Hypergraph, whole: Supernodes, nets: ChangingNets, keep: int) -> Ints:
    """Return the supernodes without a forward node, except the *keep* of them of the largest time and nets."""
    free = np.flatnonzero(~_with_forward_node(graph.problem, graph.of))
    time = np.where(np.isfinite(whole.time), whole.time, 0.0).max(axis=1, initial=0.0)
    weight = [float(time[c]) + nets.cost_at(c) for c in free.tolist()]
    return free[np.argsort(weight, kind="stable")][: max(0, len(free) - keep)]


def _strong(n: int, pairs: Sequence[tuple[int, int]]) -> Ints:
    """Return [n] the number of each vertex's strongly connected component."""
    if not pairs or (len(pairs) <= MAX_PAIRS and _is_acyclic(pairs)):
        return np.arange(n)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    matrix = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return np.asarray(csgraph.connected_components(matrix, directed=True, connection="strong")[1], np.int64)


def _is_acyclic(pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether a graph has no directed cycle."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for tail, head in pairs:
        sorter.add(head, tail)
    try:
        sorter.prepare()
    except CycleError:
        return False
    return True


def _with_forward_node(problem: Problem, of: Ints) -> Bools:
    """Return [n] whether each supernode has a forward node."""
    forward = np.zeros(of.max(initial=-1) + 1, dtype=np.bool_)
    forward[of[~problem.graph.backward]] = True
    return forward


def _arcs(problem: Problem, of: Ints, mode: TrainingOrder) -> list[tuple[int, int]]:
    """Return the pairs of supernodes of which the first comes first."""
    graph = problem.graph
    tails, heads = of[graph.tails], of[graph.heads]
    back = graph.backward
    arcs = _pairs(tails, heads, ~back[graph.tails] & ~back[graph.heads])
    among_backward = back[graph.tails] & back[graph.heads]
    if mode == "forward":
        ordered = _with_forward_node(problem, of)
        arcs |= _pairs(heads, tails, among_backward & ~(ordered[tails] & ordered[heads]))
    elif mode == "mirrored":
        arcs |= _pairs(heads, tails, among_backward)
    elif mode == "parallel":
        arcs |= _pairs(tails, heads, among_backward)
    return sorted(arcs)


def _pairs(first: Ints, second: Ints, which: Bools) -> set[tuple[int, int]]:
    pairs = zip(first[which].tolist(), second[which].tolist(), strict=True)
    return {(a, b) for a, b in pairs if a != b}


def _weightless(problem: Problem, types: DeviceTypes, whole: Supernodes) -> Bools:
    """Return [n] whether taking a supernode changes nothing for a device but the nets it cuts."""
    graph = problem.graph
    light = (whole.time == 0).all(axis=1)
    if (graph.memory.sum() > types.memory).any():
        light &= whole.memory == 0
    if problem.uneven_workspace:
        heavy = graph.workspace > 0
        light &= np.array([not heavy[list(nodes)].any() for nodes in whole.members], np.bool_)
    if (graph.params.sum() > types.overflow).any() or types.syncs.any():
        light &= whole.params == 0
    if any(problem.stage_memory) or any(problem.shard):
        sizes = [graph.state, graph.params, graph.saved, graph.reduce, graph.memory]
        heavy = np.sum(sizes, axis=0) > 0
        light &= np.array([not heavy[list(nodes)].any() for nodes in whole.members], np.bool_)
    return np.asarray(light, np.bool_)


def _absorb(arcs: list[tuple[int, int]], nets: ChangingNets, weightless: Bools, eliminated: set[int]) -> Ints:
    """Merge weightless supernodes into their only neighbour; return [n] what each is part of.

    Let a be weightless, b its only neighbour in the order, and let every net at a have b as a pin. Move a to the
    device of b: the order allows it, since it asks nothing else of a. The device of b then cuts no net that it did not
    cut, the device that had a cuts at most those it cut, and no other device changes. So some best split has a and b
    together.

    What a stage keeps by its place does not grow either, if a keeps nothing: the stage of b reads no tensor that it did
    not read, since b is a pin of it, and the stage that had a reads no more; if a was alone, there is a stage less.
    """
    near: list[set[int]] = [set() for _ in weightless]
    for a, b in arcs:
        near[a].add(b)
        near[b].add(a)
    into = np.arange(len(near))
    todo = [a for a in np.flatnonzero(weightless).tolist() if a not in eliminated]
    while todo:
        a = todo.pop()
        if into[a] != a or len(near[a]) != 1:
            continue
        (b,) = near[a]
        if all(b in pins for pins in nets.at(a)):
            nets.merge(a, b)
            near[b].discard(a)
            into[a] = b
            if weightless[b]:
                todo.append(b)
    while (into[into] != into).any():
        into = into[into]
    return into


def contracted(
    whole: Supernodes,
    into: Ints,
    arcs: Iterable[tuple[int, int]],
    nets: Iterable[WeightedPins],
    eliminated: tuple[tuple[int, ...], ...] = (),
) -> OrderedSupernodes:
    """Return the supernodes that are unions of others.

    Args:
        whole: the others.
        into: [whole.n] the number, from 0, of the union that each is part of; -1 for one that is left out.
        arcs: pairs of the others, of which the first comes first; none of a cycle of unions.
        nets: between the unions.
        eliminated: the nodes of each supernode left out.
    """
    count, present = int(into.max(initial=-1)) + 1, into >= 0

    def total(values: Floats) -> Floats:
        sums = np.zeros((count, *values.shape[1:]))
        np.add.at(sums, into[present], values[present])
        return sums

    members: list[list[int]] = [[] for _ in range(count)]
    for union, nodes in zip(into.tolist(), whole.members, strict=True):
        if union >= 0:
            members[union] += nodes
    pairs = {(int(into[a]), int(into[b])) for a, b in arcs if into[a] != into[b]}
    return OrderedSupernodes(
        members=tuple(tuple(sorted(nodes)) for nodes in members),
        time=total(whole.time),
        memory=total(whole.memory),
        params=total(whole.params),
        nets=tuple(nets),
        before=tuple(sorted((a, b) for a, b in pairs if a >= 0 and b >= 0)),
        eliminated=eliminated,
    )


# Eliminating supernodes that no edge orders: the others are charged what every split has to pay for them.

MAX_EXACT = 6
"""With at most this many neighbours the shares come from a linear programme, else from a formula."""
UNLIKELY = 0.01
"""Weight, in the objective of the linear programme, of a set that no ideal makes."""
WHOLE = 100.0
"""Weight of the set of all neighbours."""


def eliminate(
    supernode: int, nets: ChangingNets, time: Floats, pays: Bools, earlier: Sequence[int], *, merge: bool = True
) -> None:
    """Remove *supernode* and charge its neighbours what no split can avoid paying for it.

    Every split of all supernodes, wherever it has this one, is one of those left whose loads are no larger. There are
    three cases:

    * One net, of cost w, joins the supernode to a single other u, all others at it cost R together, and its time on any
      device that pays is at most w - R. Then the supernode goes where u is: that device saves w and pays at most R
      more; the device that had the supernode saves its time and w, and pays at most R more.
    * All its nets have one other pin each: see :func:`shares`, for the least time of the supernode on a device that
      pays.
    * Otherwise see :meth:`ChangingNets.eliminate`.

    The memory and the parameters of the supernode are dropped, and its time on devices that do not pay.

    Args:
        supernode: the supernode.
        nets: of all supernodes; changed.
        time: [supernodes, device types]; changed.
        pays: [device types] whether cut nets are part of the load.
        earlier: [supernodes] the ancestors of each, as bits.
        merge: whether the first case is looked for; it does not hold where some other net may cost more than its
            weight.
    """
    touching = {pins: nets.cost(pins) for pins in sorted(nets.at(supernode), key=sorted)}
    pairs = {next(iter(pins - {supernode})): cost for pins, cost in touching.items() if len(pins) == 2}
    nearest = max(pairs, key=lambda u: pairs[u], default=None)
    rest = sum(touching.values()) - (0.0 if nearest is None else pairs[nearest])
    if merge and nearest is not None and float(time[supernode, pays].max(initial=0.0)) <= pairs[nearest] - rest:
        nets.merge(supernode, nearest)
        time[nearest, pays] += time[supernode, pays]
    elif len(pairs) == len(touching) > 0:
        members = sorted(pairs)
        before = np.array([[earlier[v] >> u & 1 for v in members] for u in members], dtype=np.bool_)
        shortest = float(time[supernode, pays].min(initial=np.inf))
        part, joint = shares(np.array([pairs[u] for u in members]), shortest, before)
        for u in members:
            nets.drop(frozenset((supernode, u)))
        for i, u in enumerate(members):
            time[u, pays] += part[i]
            for j in range(i):
                nets.add((u, members[j]), float(joint[i, j]))
    else:
        nets.eliminate(supernode)


def shares(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Return the time that each neighbour of a supernode takes on, and the cost of a net between each two of them.

    Let D be the sum of the weights w_u of the nets between the supernode and its neighbours, t its time, or D if that
    is less. A device that holds neighbours of weight a, 0 < a <= D, pays a without the supernode, and t + D - a with
    it. Whatever set of them it holds, the parts of that set and the nets it cuts sum to at most the lesser of the two.

    In proportion that is t * w_u / D, and g * w_u * w_v with g = (1 - t / D) / (D - min w), which sum to t * a / D +
    g * a * (D - a). At a = D that is t. Else a <= D - min w and g * (D - a) <= 1 - t / D, as a >= min w, so it is at
    most a; and g * a <= 1 - t / D, so it is at most t + D - a. For few neighbours a linear programme finds larger
    ones, for the sets that ideals make.

    Args:
        weights: [neighbours], positive.
        time: of the supernode; ``inf`` where it may not be.
        before: [neighbours, neighbours] whether the first comes before the second.

    Returns:
        [neighbours], and [neighbours, neighbours], symmetric.
    """
    total, count = float(weights.sum()), len(weights)
    time = min(time, total)
    if 1 < count <= MAX_EXACT:
        return _best(weights, time, before)
    others = total - float(weights.min())
    rate = (1 - time / total) / others if others > 0 else 0.0
    return weights * (time / total), rate * np.outer(weights, weights) * (1 - np.eye(count))


def _best(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Solve the linear programme, one row for each set, and scale its solution until every row holds."""
    count, total = len(weights), float(weights.sum())
    inside: Ints = np.arange(1, 2**count)[:, None] >> np.arange(count) & 1
    first, second = np.array(list(combinations(range(count), 2))).T
    rows = np.hstack((inside, inside[:, first] ^ inside[:, second])).astype(np.float64)
    share = inside @ weights
    most = np.minimum(share, time + np.maximum(total - share, 0.0)) / total
    below = (inside @ before.T.astype(np.int64) > 0) & (inside == 0)
    above = (inside @ before.astype(np.int64) > 0) & (inside == 0)
    worth = np.where(below.any(axis=1) & above.any(axis=1), UNLIKELY, 1.0)
    worth[-1] = WHOLE
    prices = np.maximum(most_worth(worth @ rows, rows, most), 0.0)
    if time == 0:
        prices[:count] = 0.0
    sums = rows @ prices
    prices *= total * float(np.min(np.divide(most, sums, out=np.ones_like(sums), where=sums > most)))
    joint = np.zeros((count, count))
    joint[first, second] = joint[second, first] = prices[count:]
    return prices[:count], joint


# Ancestors in a directed acyclic graph, as sets of bits.


def ancestors(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return [n] the ancestors of each vertex: bit u is set in those of v if a path leads from u to v.

    Args:
        n: number of vertices.
        pairs: (a, b): an edge from a to b. No cycles.
    """
    after: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for a, b in pairs:
        after[a].append(b)
        waiting[b] += 1
    above = [0] * n
    ready = [v for v in range(n) if not waiting[v]]
    while ready:
        a = ready.pop()
        for b in after[a]:
            above[b] |= above[a] | 1 << a
            waiting[b] -= 1
            if not waiting[b]:
                ready.append(b)
    return above
