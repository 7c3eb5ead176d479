"""Random small latency problems by subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Separate, Subgraphs
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.strategies import mixed_graph

MAKESPAN = Objective("makespan")
BESIDE = (6, 12, 16, 44, 51, 55, 90, 95, 103, 141, 152, 159, 173, 178)
"""Seeds of :func:`braided_problem` of up to 4 or 5 nodes whose bounds need chains beside a path."""


def latency_problem(seed: int, most: int = 5, pieces: Sequence[int] = (1, 1, 2), *, apart: bool = False) -> Problem:
    """Return a problem of up to *most* nodes on up to two devices that pay, and CPUs, with what may stand by them."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, most + 1))
    outputs = [[0.0], [0.0, 1.0, 3.0], [0.1, 2.5, 40.0]][int(random.integers(3))]
    graph = mixed_graph(random, n, share=0.45, outputs=outputs, params=[0.0, 1.0, 4.0], training=False)
    paying, free = [(1, 1), (2, 1), (2, 0), (1, 2), (0, 1), (2, 1)][int(random.integers(6))]
    total = float(graph.memory.sum())
    room = [None, total, 0.6 * total, 0.4 * total][int(random.integers(4))]
    speed = float(random.choice([1.0, 1.0, 2.0]))
    devices = [Device(f"acc[{i}]", memory=room, speed=speed if i else 1.0) for i in range(paying)]
    devices += [
        Device(f"cpu[{i}]", type="cpu", pays_io=False, memory=0.5 * total if i else None, speed=1.0 + i)
        for i in range(free)
    ]
    q = int(random.choice(pieces))
    rules: list[Constraint] = [Contiguous() if q == 1 else Subgraphs(most=q)]
    if random.random() < 0.7:
        rules.append(Memory())
    if n > 1 and random.random() < 0.4:
        rules.append(Colocate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    if random.random() < 0.25:
        d = int(random.integers(len(devices)))
        rule = Pin if random.random() < 0.5 else Forbid
        rules.append(rule(nodes=(int(random.integers(n)),), devices=(d,)))
    if apart and n > 1 and random.random() < 0.5:
        rules.append(Separate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    link = Shared(2.0) if free == 0 and random.random() < 0.5 else Host(2.0)
    return Problem.create(graph, devices, link, MAKESPAN, rules)


def braided_problem(seed: int, most: int = 6) -> Problem:
    """Return a problem of parallel chains in a row, so that there are nodes beside each path, with few slots."""
    random = np.random.default_rng(seed)
    n, last = 1, 0
    edges: list[tuple[int, int]] = []
    while n < most:
        tails = []
        for _ in range(int(random.integers(1, 4))):
            u = last
            for _ in range(int(random.integers(1, 3))):
                if n < most:
                    edges.append((u, n))
                    u, n = n, n + 1
            tails.append(u)
        if n < most or random.random() < 0.5:
            edges += [(u, n) for u in {*tails} if u != n]
            last, n = n, n + 1
    if random.random() < 0.3:
        u, v = sorted(random.choice(n, 2, replace=False).tolist())
        edges.append((u, v))

    def drawn(*lists: Sequence[float]) -> list[float]:
        return [float(x) for x in random.choice(lists[int(random.integers(len(lists)))], n)]

    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        sorted({*edges}),
        work=drawn([0, 1, 3], [1, 2], [0.5, 7, 1]),
        output=drawn([0], [0, 1, 3], [0.1, 2.5, 10]),
        memory=drawn([0, 1, 4], [1], [1, 2, 3]),
    )
    paying, free = [(1, 1), (2, 1), (3, 0), (2, 0), (2, 1), (1, 2)][int(random.integers(6))]
    total = float(graph.memory.sum())
    room = [None, total, 0.6 * total, 0.45 * total][int(random.integers(4))]
    devices = [Device(f"acc[{i}]", memory=room, speed=float(random.choice([1, 1, 2]))) for i in range(paying)]
    speeds = random.choice([0.2, 0.4, 1.0], free).tolist()
    devices += [
        Device(f"cpu[{i}]", type="cpu", pays_io=False, memory=0.5 * total if i else None, speed=float(speed))
        for i, speed in enumerate(speeds)
    ]
    q = int(random.choice([1, 1, 2, 3])) if n * paying < 10 else 1
    rules: list[Constraint] = [Contiguous() if q == 1 else Subgraphs(most=q)]
    if random.random() < 0.8:
        rules.append(Memory())
    if random.random() < 0.3:
        rules.append(Colocate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    if random.random() < 0.2:
        rule = Pin if random.random() < 0.5 else Forbid
        rules.append(rule(nodes=(int(random.integers(n)),), devices=(int(random.integers(len(devices))),)))
    link = Shared(2.0) if free == 0 and random.random() < 0.5 else Host(2.0)
    return Problem.create(graph, devices, link, MAKESPAN, rules)


def mated_problem(seed: int, most: int = 6) -> Problem:
    """Return a problem of :func:`braided_problem` with ends of edges together, some of which cost nothing to part."""
    random = np.random.default_rng(seed)
    given = braided_problem(seed, most)
    graph = given.graph
    edges = np.stack([graph.tails, graph.heads], axis=1)
    pairs = edges[random.random(len(edges)) < random.choice([0.3, 0.6])].tolist()
    free = [u for u, _ in pairs if random.random() < 0.7]
    output = graph.output.copy()
    output[free] = 0.0
    rules = [*given.constraints, *(Colocate(nodes=(int(u), int(v))) for u, v in pairs)]
    changed = replace(graph, output=output)
    return Problem.create(changed, given.devices, given.interconnect, MAKESPAN, rules)


def tied_problem(seed: int, most: int = 5) -> Problem:
    """Return a chain, parts of it doubled, with ends of edges together that cost nothing to part; little memory."""
    random = np.random.default_rng(seed)
    n, edges = 1, []
    while n < most:
        u, n = n - 1, n + 1
        edges.append((u, n - 1))
        if n + 2 <= most and random.random() < 0.4:
            edges += [(u, n), (n - 1, n + 1), (n, n + 1)]
            n += 2
    together = [(u, v) for u, v in edges if random.random() < 0.5]
    output = random.choice([0.5, 2.0, 5.0], n)
    output[[u for u, _ in together if random.random() < 0.8]] = 0.0
    memory = random.choice([1.0, 2.0, 3.0], n)
    graph = Graph.create(
        [f"v{i}" for i in range(n)], edges, work=random.choice([0.5, 1.0, 2.0], n), output=output, memory=memory
    )
    room = float(random.choice([0.45, 0.6, 0.75])) * float(memory.sum())
    devices = [Device(f"acc[{i}]", memory=room) for i in range(2 if n < 7 else 4)]
    if random.random() < 0.7:
        devices.append(Device("cpu", type="cpu", pays_io=False, speed=float(random.choice([0.1, 0.5]))))
    rules = [Subgraphs(most=int(random.choice([2, 2, 3]))), Memory()]
    rules += [Colocate(nodes=pair) for pair in together]
    return Problem.create(graph, devices, Host(1.0), MAKESPAN, rules)
