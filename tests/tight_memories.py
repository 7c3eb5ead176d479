"""Small random problems of unequal devices with tight memories, under ``acyclic`` or in an order."""

from __future__ import annotations

import random

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, InOrder, Memory, Pin
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from tests.networks import random_links, random_tree

__all__ = ["tight_problem"]

NETWORKS = ("shared", "host", "links", "tree")
SIZES = (1.0, 1.0, 1e-6, 1e7)
"""Magnitudes of all times, and of all memories."""


def tight_problem(seed: int, *, most: int = 5, kinds: tuple[str, ...] = NETWORKS) -> Problem:
    """Return a problem of up to *most* nodes on 2 or 3 devices: ties, zeros, closed devices, transfers, magnitudes."""
    rng = random.Random(seed)
    n, k = rng.randint(3, most), rng.choice([2, 3, 3])
    joined = _joined(rng, rng.choice(kinds), k)
    times, sizes = rng.choice(SIZES), rng.choice(SIZES)
    dense = rng.choice([0.15, 0.3, 0.5, 0.8])
    work = [times * rng.choice([0.0, 1.0, 2.0, 5.0, rng.uniform(0.1, 9.0)]) for _ in range(n)]
    memory = [sizes * rng.choice([0.0, 1.0, 3.0, rng.uniform(0.1, 9.0)]) for _ in range(n)]
    speeds = [rng.choice([1.0, 1.0, 2.0, 3.0]) for _ in range(k)]
    own = {}
    if rng.random() < 0.3:  # times that no work and speeds give, and closed pairs
        own = {
            f"d{d}": np.array([w * rng.choice([0.5, 1.0, 1.5]) if rng.random() < 0.9 else np.inf for w in work])
            for d in range(k)
        }
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < dense],
        work=work,
        output=[times * rng.choice([0.0, 0.5, rng.uniform(0.0, 2.0)]) for _ in range(n)],
        memory=memory,
        device_times=own,
    )
    room = rng.choice([1.0, 1.02, 1.1, 1.3, 2.0]) * sum(memory)
    share = [rng.choice([0.3, 1.0, rng.uniform(0.2, 1.0)]) for _ in range(k)]
    devices = [
        Device(
            f"d{d}",
            speed=speeds[d],
            memory=None if rng.random() < 0.1 else max(room * share[d] / sum(share), sizes * 0.1),
            pays_io=not isinstance(joined, Host) or d > 0 or rng.random() < 0.5,
        )
        for d in range(k)
    ]
    return Problem.create(graph, devices, joined, constraints=_rules(rng, n, k))


def _joined(rng: random.Random, kind: str, k: int) -> Interconnect:
    if kind == "links":
        return random_links(rng, k)
    if kind == "tree":
        return random_tree(rng, k)
    bandwidth = rng.choice([0.5, 1.0, 4.0])
    return Shared(bandwidth) if kind == "shared" else Host(bandwidth)


def _rules(rng: random.Random, n: int, k: int) -> list[Constraint]:
    rules: list[Constraint] = [Memory(), Acyclic() if rng.random() < 0.85 else InOrder()]
    if rng.random() < 0.2:
        rules.append(Colocate(nodes=tuple(sorted(rng.sample(range(n), 2)))))
    if rng.random() < 0.2:
        rules.append(Pin(nodes=(rng.randrange(n),), devices=(rng.randrange(k),)))
    if rng.random() < 0.2:
        rules.append(Forbid(nodes=(rng.randrange(n),), devices=(rng.randrange(k),)))
    return rules
