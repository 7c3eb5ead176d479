"""Random small latency problems by subgraphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Separate, Subgraphs
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.strategies import mixed_graph

MAKESPAN = Objective("makespan")


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
