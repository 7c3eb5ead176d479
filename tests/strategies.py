"""Random small problems, for Hypothesis and for loops over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, ExclusiveLinks, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

WEIGHTS = st.one_of(st.integers(0, 10).map(float), st.floats(0, 10, width=32), st.sampled_from([0.0, 1.0, 100.0]))


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> Graph:
    """Draw a DAG of 1..most nodes: chains, forests, disconnected parts, zero weights, huge tensors."""
    n = draw(st.integers(1, most))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    relabel = draw(st.permutations(range(n)))
    return Graph.create(
        [f"v{i}" for i in range(n)],
        [(relabel[u], relabel[v]) for u, v in edges],
        work=draw(st.lists(WEIGHTS, min_size=n, max_size=n)),
        output=draw(st.lists(WEIGHTS, min_size=n, max_size=n)),
        params=draw(st.lists(WEIGHTS, min_size=n, max_size=n)),
    )


@st.composite
def plain_problems(draw: st.DrawFn, most: int = 6, most_devices: int = 3) -> Problem:
    """Draw plain MTPP: identical devices, shared interconnect, acyclic."""
    graph = draw(graphs(most))
    k = draw(st.integers(1, most_devices))
    bandwidth = draw(st.sampled_from([0.5, 1.0, 3.0]))
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(bandwidth), constraints=[Acyclic()])


@st.composite
def memory_problems(draw: st.DrawFn, most: int = 5, most_devices: int = 3) -> Problem:
    """Draw MTPP on devices that may differ in memory and speed, with a hard limit, overflow, or neither."""
    graph = draw(graphs(most))
    k = draw(st.integers(1, most_devices))
    total = float(graph.memory.sum())
    same = draw(st.booleans())
    shapes = [
        (draw(st.sampled_from([None, total, total / 2, total / k])), draw(st.sampled_from([1.0, 1.0, 2.0])))
        for _ in range(1 if same else k)
    ]
    devices = [Device(f"d{i}", memory=shapes[i % len(shapes)][0], speed=shapes[i % len(shapes)][1]) for i in range(k)]
    hard = draw(st.booleans())
    overflow = draw(st.booleans())
    return Problem.create(
        graph,
        devices,
        Shared(1.0, overflow=overflow),
        constraints=[Acyclic(), *([Memory()] if hard else [])],
    )


def mixed_graph(
    random: np.random.Generator,
    n: int,
    *,
    share: float,
    outputs: Sequence[float],
    params: Sequence[float],
    training: bool,
) -> Graph:
    """Return a random graph with a table of times on CPUs; each pair of nodes is joined with probability *share*."""
    relabel = random.permutation(n)
    pairs = [(u, v) for u, v in combinations(range(n), 2) if random.random() < share]
    backward = np.zeros(n, bool)
    backward[relabel] = np.sort(random.random(n) < 0.5) if training else False
    work = random.choice([0.0, 1.0, 5.0, 9.0], n) * (random.random(n) if random.random() < 0.5 else 1.0)
    return Graph.create(
        [f"v{i}" for i in range(n)],
        [(int(relabel[u]), int(relabel[v])) for u, v in pairs],
        work=work,
        output=random.choice(outputs, n),
        params=random.choice(params, n),
        backward=backward,
        times={"cpu": work * random.choice([1.0, 2.0, 5.0], n) + random.choice([0.0, 0.3], n)},
    )


@st.composite
def link_problems(draw: st.DrawFn, most: int = 4, most_devices: int = 3) -> Problem:
    """Draw a makespan on links: unequal and unsupported times, missing links, explicit transfers, constraints."""
    graph = draw(graphs(most))
    n, k = graph.n, draw(st.integers(1, most_devices))
    times = {
        f"d{d}": draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5, 7.0]), min_size=n, max_size=n)) for d in range(k)
    }
    if draw(st.booleans()):
        v, d = draw(st.integers(0, n - 1)), draw(st.integers(0, k - 1))
        times[f"d{d}"][v] = float("inf")
    graph = Graph.create(
        graph.names,
        zip(graph.tails.tolist(), graph.heads.tolist(), strict=True),
        work=graph.work,
        output=graph.output,
        params=graph.params,
        times=times,
    )
    table = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 4.0]), min_size=k * k, max_size=k * k)))
    late = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=k * k, max_size=k * k)))
    explicit = None
    if draw(st.booleans()):
        steps = draw(st.lists(st.integers(0, 5), min_size=graph.m * k * k, max_size=graph.m * k * k))
        explicit = np.array(steps, float).reshape(graph.m, k, k) * (1 - np.eye(k))
    links = Links(table.reshape(k, k) * (1 - np.eye(k)), late.reshape(k, k), explicit)
    total = float(graph.memory.sum())
    room = draw(st.sampled_from([None, total, total / 2, total / k]))
    constraints: list[Constraint] = []
    for chosen in draw(st.sets(st.sampled_from(["exclusive", "memory", "together", "apart", "pin", "forbid"]))):
        some = tuple(sorted(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=2))))
        where = (draw(st.integers(0, k - 1)),)
        constraints.append(
            {
                "exclusive": ExclusiveLinks(),
                "memory": Memory(),
                "together": Colocate(nodes=some),
                "apart": Separate(nodes=some),
                "pin": Pin(nodes=some, devices=where),
                "forbid": Forbid(nodes=some, devices=where),
            }[chosen]
        )
    devices = [Device(f"d{d}", memory=room) for d in range(k)]
    return Problem.create(graph, devices, links, Objective("makespan"), constraints)
