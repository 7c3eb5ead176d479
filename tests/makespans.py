"""Small random makespan problems on links with every feature, for loops over seeds."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, ExclusiveLinks, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.oracle import optimum

__all__ = ["attention", "best_of", "hubbed", "makespan_problem", "tied_problem"]


def makespan_problem(seed: int, n: int = 5, k: int = 3, *, plain: bool = False) -> Problem:
    """Return a problem of up to n nodes and k devices.

    Times that differ, tie, vanish, or are huge or tiny; unsupported nodes, absent links, transfers by formula or by
    table; and unless it is *plain* any mixture of memory, exclusive links, colocation, separation, pins and bans.
    """
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, n + 1)), int(random.integers(1, k + 1))
    relabel = random.permutation(n)
    share = random.choice([0.3, 0.6, 0.9])
    edges = [(int(relabel[u]), int(relabel[v])) for u in range(n) for v in range(u + 1, n) if random.random() < share]
    scale = random.choice([1.0, 1.0, 1e-9, 1e9])
    noise = random.random((k, n)) if random.random() < 0.5 else 1.0
    times = random.choice([0.0, 1.0, 2.0, 5.0, 5.0], (k, n)) * noise * scale
    times[(random.random((k, n)) < 0.1) & (np.arange(k)[:, None] > 0)] = np.inf
    size = random.choice([0.0, 1.0, 3.0], n) * scale
    memory = random.choice([0.0, 1.0, 2.0, 0.1], n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)], edges, output=size, memory=memory, times={f"d{d}": times[d] for d in range(k)}
    )
    room = random.choice([0.4, 0.7, 1.0], k) * memory.sum()
    devices = [Device(f"d{d}", memory=float(room[d]) if random.random() < 0.8 else None) for d in range(k)]
    return Problem.create(
        graph, devices, _links(graph, k, scale, random), Objective("makespan"), [] if plain else _rules(n, k, random)
    )


def _links(graph: Graph, k: int, scale: float, random: np.random.Generator) -> Links:
    bandwidth = random.choice([0.0, 0.5, 1.0, 2.0], (k, k), p=[0.1, 0.3, 0.3, 0.3])
    latency = random.choice([0.0, 0.5], (k, k)) * scale
    if random.random() < 0.6:
        return Links(bandwidth, latency)
    table = random.choice([0.0, 0.5, 1.0, 4.0], (graph.m, k, k)) * scale
    table[random.random(table.shape) < 0.05] = np.inf
    table[:, range(k), range(k)] = 0.0
    return Links(bandwidth, latency, table)


def _rules(n: int, k: int, random: np.random.Generator) -> list[Constraint]:
    def some(most: int) -> tuple[int, ...]:
        count = min(n, int(random.integers(1, most + 1)))
        return tuple(sorted(random.choice(n, count, replace=False).tolist()))

    rules: list[Constraint] = [
        Memory(),
        ExclusiveLinks(),
        Colocate(nodes=some(3)),
        Separate(nodes=some(2)),
        Pin(nodes=some(2), devices=(k - 1,)),
        Forbid(nodes=some(2), devices=(0,)),
    ]
    return [rule for rule, odds in zip(rules, (0.5, 0.5, 0.2, 0.15, 0.2, 0.15), strict=True) if random.random() < odds]


@cache
def best_of(seed: int, n: int = 5, k: int = 3) -> float | None:
    """Return the optimum of :func:`makespan_problem` by trying everything; None if it has no plan."""
    return optimum(makespan_problem(seed, n, k))


def tied_problem(seed: int) -> Problem:
    """Return a graph with whole times, on devices whose speeds divide each other, and two nodes that are together.

    So sums of times are often equal, and a node often waits for one that has to be on its device.
    """
    draw = Random(seed)
    n, k = draw.randint(6, 12), draw.randint(2, 3)
    edges = [(u, v) for v in range(1, n) for u in draw.sample(range(v), min(v, draw.randint(1, 3)))]
    work = [float(draw.randint(0, 6)) for _ in range(n)]
    output = [float(draw.randint(0, 4)) for _ in range(n)]
    graph = Graph.create([f"v{i}" for i in range(n)], edges, work=work, output=output)
    devices = [Device(f"d{i}", speed=draw.choice([1.0, 0.5, 0.25])) for i in range(k)]
    rules: list[Constraint] = [Colocate(nodes=tuple(draw.sample(range(n), 2)))]
    rules += [ExclusiveLinks()] if draw.random() < 0.5 else []
    return Problem.create(graph, devices, Links(np.ones((k, k)), np.zeros((k, k))), Objective("makespan"), rules)


def hubbed(seed: int) -> Problem:
    """Return a chain with nodes beside it that read one of its first nodes, the hub, on exclusive links."""
    random = np.random.default_rng(seed)
    length, aside, k = 4, int(random.integers(1, 4)), int(random.integers(2, 4))
    edges = [(v, v + 1) for v in range(length - 1)]
    for v in range(length, length + aside):
        edges += [(1, v), (v, int(random.integers(2, length)))]
    n = length + aside
    base, speed = random.choice([0.0, 1.0, 3.0, 5.0], n), random.choice([1.0, 1.5, 4.0], k)
    output = random.choice([0.0, 0.5, 2.0], n)
    output[1] = random.choice([1.0, 4.0])
    graph = Graph.create(
        [f"v{v}" for v in range(n)], edges, output=output, times={f"d{d}": base * speed[d] for d in range(k)}
    )
    links = Links(random.choice([0.5, 1.0, 4.0], (k, k)), random.choice([0.0, 0.25], (k, k)))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan"), [ExclusiveLinks()])


def attention(seed: int, layers: int, heads: int, k: int, *, exclusive: bool) -> Problem:
    """Return an encoder whose output every layer of a decoder reads: the latter has no inner cut node."""
    random = np.random.default_rng(seed)
    names, edges = ["x"], []

    def block(entry: int, memory: int | None) -> int:
        first = len(names)
        for h in range(heads):
            q, kv, mix = first + 3 * h, first + 3 * h + 1, first + 3 * h + 2
            edges.extend([(entry, q), (entry if memory is None else memory, kv), (q, mix), (kv, mix)])
            edges.append((mix, first + 3 * heads))
        edges.append((entry, first + 3 * heads))
        names.extend(f"v{v}" for v in range(first, first + 3 * heads + 1))
        return first + 3 * heads

    encoded = at = block(0, None)
    for _ in range(layers):
        at = block(at, encoded)
    n = len(names)
    times = random.integers(2, 6, (n, k)) * np.array([1.0, 1.3, 2.0])[:k]
    graph = Graph.create(names, edges, output=random.integers(1, 4, n), times={f"d{d}": times[:, d] for d in range(k)})
    links = Links(np.ones((k, k)), np.zeros((k, k)))
    rules = [ExclusiveLinks()] if exclusive else []
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan"), rules)
