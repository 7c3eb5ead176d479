"""Tensors that may be shipped over a network, the unit of a model of them, and channels that need no row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.devices import Tree
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph
from mtpp_dsl.models.facts.scaling import COARSE, FINEST, TARGET, Scale, floor_of


@dataclass(frozen=True)
class ShippedTensor:
    """A tensor that has readers apart from its producer.

    Where its edges have different sizes, a device receives the largest of its own: level 0 is the least size, which all
    readers are sent, and every level adds what those with larger edges are sent beside.

    Attributes:
        producer: the supernode.
        sizes: of each level, what it adds.
        readers: of each level, the supernodes that are sent it; fewer at each.
    """

    producer: int
    sizes: tuple[float, ...]
    readers: tuple[tuple[int, ...], ...]


def shipped_tensors(problem: Problem, view: Hypergraph) -> list[ShippedTensor]:
    """Return the tensors that may be shipped, those of size 0 too, which still need a route."""
    graph, of = problem.graph, view.of.tolist()
    largest: dict[int, dict[int, float]] = {}
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        if of[u] != of[v]:
            readers = largest.setdefault(u, {})
            readers[of[v]] = max(readers.get(of[v], 0.0), float(graph.sizes[e]))
    shipped = []
    for u, readers in largest.items():
        steps = sorted(set(readers.values()))
        sizes = tuple(float(more) for more in np.diff([0.0, *steps]))
        shipped.append(
            ShippedTensor(of[u], sizes, tuple(tuple(sorted(v for v in readers if readers[v] >= s)) for s in steps))
        )
    return shipped


def network_scale(problem: Problem, view: Hypergraph, ceiling: float | None = None) -> Scale:
    """Return the unit of a model on a network; as :func:`mtpp_dsl.models.facts.scaling.scale_of` does elsewhere."""
    floor = floor_of(view.least_work, problem.k)
    largest = float(_dearest(problem).max(initial=0.0))
    if ceiling is not None:
        largest = min(largest, ceiling)
    unit = (floor if floor >= FINEST * largest else COARSE * largest) / TARGET
    return Scale(unit=float(unit) or 1.0, floor=float(floor), ceiling=float("inf"))


def _dearest(problem: Problem) -> Floats:
    """Return [edges] what each takes between the two devices between which it takes longest."""
    net, graph = problem.network, problem.graph
    joined = (net.rate > 0) & np.isfinite(net.rate)
    slowest = float(net.rate[joined].min(initial=np.inf))
    late = float(net.latency[net.rate > 0].max(initial=0.0))
    costs: Floats = graph.sizes / slowest + late
    return costs


def greatest_on_network(problem: Problem, unit: float) -> Floats:
    """Return [devices] what no load exceeds, in the model's *unit*, nor do channels and latencies in sum."""
    time = np.where(problem.allowed, problem.time, 0.0).sum(axis=0)
    most: Floats = (time + 2 * _dearest(problem).sum()) / unit * (1 + 1e-9)
    return most


def subtree(tree: Tree, x: int) -> list[int]:
    """Return the devices below row *x* of a tree; of a device, itself."""
    return [d for d in range(tree.k) if x in tree.way_up(d)]


def private(problem: Problem) -> Bools:
    """Return [channels] those that carry no more than some device's load already has, so that they need no row."""
    net = problem.network
    users: list[list[tuple[int, int]]] = [[] for _ in net.channels]
    for d, routes in enumerate(net.route):
        for e, route in enumerate(routes):
            for c in route:
                users[c].append((d, e))
    private_channels = np.zeros(len(net.channels), np.bool_)
    for c, pairs in enumerate(users):
        inverse = (1 - 1e-12) / float(net.bandwidth[c])
        for at in set(pairs[0]) if pairs else ():
            out = [net.out_inverse[d, e] >= inverse for d, e in pairs if d == at]
            into = [net.in_inverse[d, e] >= inverse for d, e in pairs if e == at]
            one_way = not out or not into or net.overlap == "none"
            private_channels[c] |= len(out) + len(into) == len(pairs) and all(out) and all(into) and one_way
    return private_channels
