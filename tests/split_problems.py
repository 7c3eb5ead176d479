"""Small random splits on one channel, with every constraint that certificates of splits are about."""

from __future__ import annotations

import random

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["residual", "split_problem"]

SIZES = (1.0, 1.0, 1e-6, 1e7)
"""Magnitudes of all times."""


def split_problem(seed: int, most: int = 5) -> Problem:
    """Return a problem of up to *most* nodes on 1 to 3 devices: ties, zeros, magnitudes, forward and backward parts."""
    rng = random.Random(seed)
    n, k, size = rng.randint(1, most), rng.choice([1, 2, 2, 3, 3]), rng.choice(SIZES)
    dense = rng.choice([0.2, 0.4, 0.7])
    forward = rng.choice([n, n, (n + 1) // 2])  # the nodes behind these are the backward part
    memory = [rng.choice([0.0, 1.0, 2.0, rng.uniform(0.1, 3.0)]) for _ in range(n)]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < dense],
        work=[size * rng.choice([0.0, 1.0, 2.0, 5.0, rng.uniform(0.1, 9.0)]) for _ in range(n)],
        output=[size * rng.choice([0.0, 0.5, 1.0, rng.uniform(0.0, 4.0)]) for _ in range(n)],
        params=memory,
        backward=[v >= forward for v in range(n)],
    )
    speeds = rng.choice([[1.0] * k, [rng.choice([1.0, 2.0]) for _ in range(k)]])
    room = rng.choice([None, None, max(1.0, sum(memory) * rng.uniform(0.4, 1.1) / k)])
    hard = rng.random() < 0.5
    on_host = rng.random() < 0.3
    devices = [Device(f"d{d}", speed=speeds[d], memory=room, pays_io=not on_host or d > 0) for d in range(k)]
    bandwidth = rng.choice([0.5, 1.0, 4.0])
    streams = room is not None and not hard
    link = Host(bandwidth, overflow=streams) if on_host else Shared(bandwidth, overflow=streams)
    rules: list[Constraint] = [Memory()] if room is not None and hard else []
    return Problem.create(graph, devices, link, constraints=[*rules, *_rules(rng, n, k)])


def _rules(rng: random.Random, n: int, k: int) -> list[Constraint]:
    parts = rng.choice(["both", "both", "forward"])
    where = rng.choice([None, (rng.randrange(k),)])
    rules: list[Constraint] = [
        *rng.choice([[], [Acyclic(parts=parts)], [Acyclic()], [Contiguous(devices=where, parts=parts)]])
    ]
    some = tuple(sorted(rng.sample(range(n), min(n, 2))))
    for kind in (Colocate, Separate):
        rules += [kind(nodes=some)] * (len(some) > 1 and rng.random() < 0.2)
    for kind in (Pin, Forbid):
        rules += [kind(nodes=(rng.randrange(n),), devices=(rng.randrange(k),))] * (rng.random() < 0.2)
    return rules


def residual(blocks: int, memory: float | None = None) -> Problem:
    """Return blocks of three nodes beside a skipping tensor, all of other times, on three devices and a CPU."""
    n = 4 * blocks + 1
    edges = [(4 * b + i, 4 * b + i + 1) for b in range(blocks) for i in range(4)]
    edges += [(4 * b, 4 * b + 4) for b in range(blocks)]
    work = [round(1.0 + v * 37 % 101 / 100, 2) for v in range(n)]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        work=work,
        output=[round(0.2 + v * 29 % 13 / 50, 2) for v in range(n)],
        memory=1.0,
        times={"cpu": [10 * w for w in work]},
    )
    devices = [*(Device(f"acc{d}", memory=memory) for d in range(3)), Device("cpu0", type="cpu", pays_io=False)]
    return Problem.create(graph, devices, Host(1.0), constraints=[Memory()])
