"""What a split over ideals places: classes of nodes that stay together, their order, and the tensors between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Literal, TypeAlias

import numpy as np

from mtpp_dsl.base.lazy import csgraph, sparse
from mtpp_dsl.constraints import Colocate
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.solvers.algorithms.ideals.loose import take_out
from mtpp_dsl.solvers.algorithms.ideals.nets import Nets
from mtpp_dsl.solvers.algorithms.ideals.order import ancestors
from mtpp_dsl.views.device_types import DeviceTypes

__all__ = ["Classes", "Reading", "classes_of"]

Reading: TypeAlias = Literal["forward", "mirrored", "parallel", "relaxed"]
"""In which order the classes of a training graph come.

``forward``: that of the edges between forward nodes; a class without a forward node follows its backward edges,
reversed, as the artificial nodes of tarnawski2020's program make it do. ``mirrored`` and ``parallel``: all backward
edges count too, reversed or as they are, so that the backward part has an acyclic quotient as well. ``relaxed``: the
edges between forward nodes and nothing else; classes without a forward node are taken out.
"""

FEW_PAIRS = 1_000
"""Up to so many edges are looked through here for a cycle; for more, scipy is worth the time of its import."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of nodes, a partial order of them, and weights.

    Attributes:
        members: the nodes of each class.
        before: pairs (a, b): class a is in the block of class b or in an earlier one. No cycles.
        tensors: pins (sorted classes, two or more) and cost: a device that holds some pins and not all pays it.
        time: [n, kinds of devices]; ``inf`` where it may not be.
        size: [n] memory.
        params: [n] parameters.
        taken_out: the nodes of each class of the graph that is not there.
    """

    members: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, int], ...]
    tensors: tuple[tuple[tuple[int, ...], float], ...]
    time: Floats
    size: Floats
    params: Floats
    taken_out: tuple[tuple[int, ...], ...] = ()

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.members)

    def as_graph(self) -> tuple[Graph, Floats]:
        """Return the order as a graph, and [n] what the tensors at each class cost."""
        cost = np.zeros(self.n)
        for pins, c in self.tensors:
            cost[list(pins)] += c
        return Graph.create([str(v) for v in range(self.n)], self.before, output=cost), cost


def classes_of(
    problem: Problem, devices: DeviceTypes, reading: Reading, keep: int = 0, *, absorb: bool = True
) -> Classes:
    """Return the classes of a problem.

    Nodes that are colocated, or that lie on a cycle of such groups (an acyclic quotient then leaves them one
    device), are one class. With ``reading = "relaxed"`` every plan whose forward part has an acyclic quotient is a
    split of the classes of no larger loads, so their optimum is a bound. With the others every split is such a plan, of
    equal loads; ``forward`` and ``relaxed`` are the same thing when every class has a forward node.

    Args:
        problem: what is asked.
        devices: its devices.
        reading: the order of the classes.
        keep: leave so many of the classes that ``relaxed`` takes out, the heaviest; they may be anywhere.
        absorb: whether to make weightless classes part of others where that costs nothing, on one level of devices.
    """
    graph = problem.graph
    group = _components(graph.n, [(c.nodes[0], v) for c in problem.of(Colocate) for v in c.nodes], "weak")
    arcs = _arcs(problem, group, reading)
    group = _components(group.max(initial=-1) + 1, arcs, "strong")[group]
    arcs = _arcs(problem, group, reading)
    nets = Nets(_tensors(problem, group))
    weights = _Weights(problem, devices, group)
    orphans = _to_take_out(problem, group, nets, weights, keep) if reading == "relaxed" else np.zeros(0, np.int64)
    earlier = ancestors(len(weights.time), arcs) if len(orphans) else []
    for orphan in orphans.tolist():
        take_out(orphan, nets, weights.time, devices.pays, earlier)
    weightless = weights.weightless() & absorb
    into = _absorb(arcs, nets, weightless, set(orphans.tolist()))
    return _assemble(into, orphans, arcs, nets, weights)


def _to_take_out(problem: Problem, group: Ints, nets: Nets, weights: _Weights, keep: int) -> Ints:
    """Return the groups without a forward node but for *keep* of them, those that take most time and cost most."""
    orphans = np.flatnonzero(~_ordered(problem, group))
    time = np.where(np.isfinite(weights.time), weights.time, 0.0).max(axis=1, initial=0.0)
    weight = [float(time[g]) + nets.cost_at(g) for g in orphans.tolist()]
    return orphans[np.argsort(weight, kind="stable")][: max(0, len(orphans) - keep)]


def _components(n: int, pairs: Sequence[tuple[int, int]], connection: Literal["weak", "strong"]) -> Ints:
    """Return [n] the number of each vertex's connected component."""
    if not pairs or (connection == "strong" and len(pairs) <= FEW_PAIRS and _is_acyclic(pairs)):
        return np.arange(n)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    matrix = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    return np.asarray(csgraph.connected_components(matrix, directed=True, connection=connection)[1], np.int64)


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


def _ordered(problem: Problem, group: Ints) -> Bools:
    """Return [groups] whether each has a forward node."""
    ordered = np.zeros(group.max(initial=-1) + 1, dtype=np.bool_)
    ordered[group[~problem.graph.backward]] = True
    return ordered


def _arcs(problem: Problem, group: Ints, reading: Reading) -> list[tuple[int, int]]:
    """Return the pairs of groups of which the first comes first."""
    graph = problem.graph
    tails, heads = group[graph.tails], group[graph.heads]
    back = graph.backward
    found = _pairs(tails, heads, ~back[graph.tails] & ~back[graph.heads])
    among_backward = back[graph.tails] & back[graph.heads]
    if reading == "forward":
        ordered = _ordered(problem, group)
        found |= _pairs(heads, tails, among_backward & ~(ordered[tails] & ordered[heads]))
    elif reading == "mirrored":
        found |= _pairs(heads, tails, among_backward)
    elif reading == "parallel":
        found |= _pairs(tails, heads, among_backward)
    return sorted(found)


def _pairs(first: Ints, second: Ints, which: Bools) -> set[tuple[int, int]]:
    pairs = zip(first[which].tolist(), second[which].tolist(), strict=True)
    return {(a, b) for a, b in pairs if a != b}


def _tensors(problem: Problem, group: Ints) -> list[tuple[set[int], float]]:
    graph, cost = problem.graph, problem.tensor_time
    read = np.flatnonzero(cost > 0).tolist()
    return [({int(group[u]), *group[graph.successors(u)].tolist()}, float(cost[u])) for u in read]


class _Weights:
    """Sums over the nodes of each group."""

    def __init__(self, problem: Problem, devices: DeviceTypes, group: Ints) -> None:
        graph, count = problem.graph, int(group.max(initial=-1)) + 1
        self.group = group
        self.time = np.zeros((count, len(devices.members)))
        np.add.at(self.time, group, devices.time)
        self.size = np.bincount(group, weights=graph.memory, minlength=count).astype(np.float64)
        self.params = np.bincount(group, weights=graph.params, minlength=count).astype(np.float64)
        self._memory_binds = bool((graph.memory.sum() > devices.memory).any())
        self._params_cost = bool((graph.params.sum() > devices.overflow).any() or devices.syncs.any())

    def weightless(self) -> Bools:
        """Return [groups] whether a device can take each on without any change but in its tensors."""
        light = (self.time == 0).all(axis=1)
        light &= (self.size == 0) | (not self._memory_binds)
        light &= (self.params == 0) | (not self._params_cost)
        return np.asarray(light, np.bool_)


def _absorb(arcs: list[tuple[int, int]], nets: Nets, weightless: Bools, out: set[int]) -> Ints:
    """Make weightless groups part of the one group they depend on; return [groups] what each is part of.

    Let a be weightless, b its only neighbour in the order, and every tensor with a pin in a have one in b. Move a
    to the device of b: the order allows it, as it asks nothing else of a. The device of b then cuts no tensor it did
    not cut, the device that had a cuts at most those it cut, no other changes: some best split has them together.
    """
    near: list[set[int]] = [set() for _ in weightless]
    for a, b in arcs:
        near[a].add(b)
        near[b].add(a)
    into = np.arange(len(near))
    todo = [a for a in np.flatnonzero(weightless).tolist() if a not in out]
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


def _assemble(into: Ints, out: Ints, arcs: list[tuple[int, int]], nets: Nets, weights: _Weights) -> Classes:
    """Number the groups that are left from 0."""
    kept = np.setdiff1d(np.unique(into), out)
    number = np.full(len(into), -1, np.int64)
    number[kept] = np.arange(len(kept))
    home = number[into]
    present = home >= 0
    pairs = {(int(home[a]), int(home[b])) for a, b in arcs if home[a] != home[b]}

    def total(values: Floats) -> Floats:
        sums = np.zeros((len(kept), *values.shape[1:]))
        np.add.at(sums, home[present], values[present])
        return sums

    members: dict[int, list[int]] = {int(g): [] for g in (*kept, *out)}
    for v, g in enumerate(into[weights.group].tolist()):
        members[g].append(v)
    return Classes(
        members=tuple(tuple(members[g]) for g in kept.tolist()),
        before=tuple(sorted((a, b) for a, b in pairs if a >= 0 and b >= 0)),
        tensors=tuple((tuple(sorted(int(number[g]) for g in pins)), cost) for pins, cost in nets.items()),
        time=total(weights.time),
        size=total(weights.size),
        params=total(weights.params),
        taken_out=tuple(tuple(members[g]) for g in out.tolist()),
    )
