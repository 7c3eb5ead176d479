"""Random networks: links and trees of every sort, and problems of splits on them."""

from __future__ import annotations

import random

import numpy as np

from mtpp_dsl.core.problem.devices import Device, Links, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["random_links", "random_problem", "random_tree"]


def random_links(rng: random.Random, k: int) -> Links:
    """Return links of which some are missing, slow or late, and some are not the same both ways."""
    bandwidth, latency = np.zeros((k, k)), np.zeros((k, k))
    half = rng.random() < 0.3
    for d in range(k):
        for e in range(k):
            if d != e and rng.random() < 0.75:
                bandwidth[d, e] = rng.choice([1.0, 2.0, 4.0, np.inf])
                latency[d, e] = rng.choice([0.0, 0.0, 1.0])
    if half:
        bandwidth, latency = (np.triu(table, 1) + np.triu(table, 1).T for table in (bandwidth, latency))
    return Links(
        bandwidth,
        latency,
        routing=rng.choice(["widest", "widest", "direct"]),
        overlap=rng.choice(["none", "full"]),
        send=rng.choice(["once", "each"]),
        duplex="half" if half else "full",
    )


def random_tree(rng: random.Random, k: int) -> Tree:
    """Return a tree of up to three levels, now and then in two pieces, with uplinks that limit and some that do not."""
    switches = rng.randint(1, 3)
    parents = [rng.randrange(-1 if rng.random() < 0.1 else 0, switches) for _ in range(k)]
    parents += [rng.randint(0, s - 1) if s and rng.random() < 0.9 else -1 for s in range(switches)]
    ends = k + switches
    uplink = np.array([rng.choice([1.0, 2.0, 4.0, np.inf]) for _ in range(ends)])
    uplink[np.array(parents) < 0] = np.inf
    return Tree(
        tuple(f"s{s}" for s in range(switches)),
        np.array(parents),
        uplink,
        np.where(np.array(parents) < 0, 0.0, [rng.choice([0.0, 0.0, 1.0]) for _ in range(ends)]),
        (np.array(parents) >= 0) & np.array([rng.random() < 0.3 for _ in range(ends)]),
        overlap=rng.choice(["none", "full"]),
        send=rng.choice(["once", "each"]),
    )


def random_problem(rng: random.Random, n: int = 5, k: int = 3, **asked: object) -> Problem:
    """Return the least bottleneck, or what is *asked*, of a random graph on a random network; ties and zeros too."""
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.45]
    joined = random_tree(rng, k) if rng.random() < 0.5 else random_links(rng, k)
    sizes = [float(rng.randint(0, 4)) for _ in edges] if isinstance(joined, Links) and rng.random() < 0.4 else None
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        edges,
        work=[float(rng.randint(0, 6)) for _ in range(n)],
        output=[float(rng.randint(0, 4)) for _ in range(n)],
        memory=[float(rng.randint(0, 3)) for _ in range(n)],
        sizes=sizes,
    )
    devices = [Device(f"d{d}", speed=rng.choice([1.0, 1.0, 2.0]), memory=float(rng.randint(3, 9))) for d in range(k)]
    return Problem.create(graph, devices, joined, **asked)  # type: ignore[arg-type]
