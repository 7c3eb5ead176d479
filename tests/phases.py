"""Random problems with two phases, and what their plans cost, counted by hand."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Constraint, Largest, Latency, Linear, Load
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["GOALS", "Case", "best", "by_hand", "phased_problem", "random_case"]

GOALS = ("together", "separate", "worst", "latency", "sums", "soft")
"""What the tests ask for: see :func:`by_hand`."""


@dataclass(frozen=True)
class Case:
    """A small problem with two phases, as plain numbers: all by phase first."""

    n: int
    k: int
    edges: list[tuple[int, int]]
    time: list[list[list[float]]]  # [phase][node][device]
    out: list[list[float]]  # [phase][node]
    weight: list[float]
    offset: list[float]
    limit: float
    host: bool
    acyclic: bool = True


def random_case(seed: int, n: int = 5, k: int = 3) -> Case:
    """Return a random small case, with whole numbers, and zeros among them."""
    rng = random.Random(seed)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.4]
    alike = rng.random() < 0.3
    time = [
        [[rng.randint(0, 9)] * k if alike else [rng.randint(0, 9) for _ in range(k)] for _ in range(n)] for _ in "pq"
    ]
    out = [[rng.randint(0, 4) for _ in range(n)] for _ in "pq"]
    limit = sum(min(row) for row in time[1]) + rng.randint(0, 12)
    weight = [rng.randint(1, 2), rng.randint(1, 5)]
    return Case(n, k, edges, time, out, weight, [rng.randint(0, 6), 0], limit, rng.random() < 0.4, rng.random() < 0.8)


def phased_problem(case: Case, goal: str) -> Problem:
    """Return a case as a problem that asks for one of :data:`GOALS`."""
    names = [f"v{v}" for v in range(case.n)]
    graphs = {
        phase: Graph.create(
            names,
            case.edges,
            output=case.out[p],
            device_times={f"d{d}": [case.time[p][v][d] for v in range(case.n)] for d in range(case.k)},
        )
        for p, phase in enumerate("pq")
    }
    graph = phased_graph(graphs, dict(zip("pq", case.weight, strict=True)))
    devices = [Device(f"d{d}", pays_io=not case.host or d > 0) for d in range(case.k)]
    w, o, (p, q) = case.weight, case.offset, (Bottleneck("p"), Bottleneck("q"))
    rows: list[Constraint] = [Acyclic()] if case.acyclic else []
    objective = Objective("bottleneck")
    if goal == "separate":
        objective = Objective.linear([(p, w[0]), (q, w[1])])
    elif goal == "worst":
        objective = Objective.linear([(Largest(((((p, 1.0),), -o[0]), (((q, 1.0),), -o[1]))), 1.0)])
    elif goal == "latency":
        objective = Objective.linear([(p, 1.0)])
        rows.append(Linear(label="limit", terms=((Latency("q"), 1.0),), sense="<=", rhs=case.limit))
    elif goal == "sums":
        one = tuple((((Load(d, "p"), w[0]), (Load(d, "q"), w[1])), 0.0) for d in range(case.k))
        objective = Objective.linear([(Largest(one), 1.0), (Latency("q"), 0.5)])
    elif goal == "soft":
        rows.append(Linear(label="soft", terms=((q, 1.0),), sense="<=", rhs=case.limit / 3, penalty=2.0))
        objective = Objective.linear([(p, 1.0)])
    link = Host(1.0) if case.host else Shared(1.0)
    return Problem.create(graph, devices, link, objective, rows)


def by_hand(case: Case, goal: str, where: list[int] | tuple[int, ...]) -> tuple[float, bool]:
    """Return what a plan costs, and whether it keeps the limit."""
    loads = []
    for p in range(2):
        load = [0.0] * case.k
        for v, d in enumerate(where):
            load[d] += case.time[p][v][d]
        for u in range(case.n):
            readers = {where[v] for w, v in case.edges if w == u}
            touched = readers | {where[u]} if readers - {where[u]} else set()
            for d in touched:
                load[d] += case.out[p][u] if not case.host or d > 0 else 0.0
        loads.append(load)
    w, o, top = case.weight, case.offset, [max(load) for load in loads]
    both = max(w[0] * a + w[1] * b for a, b in zip(*loads, strict=True))
    costs = {
        "together": both,
        "separate": w[0] * top[0] + w[1] * top[1],
        "worst": max(top[0] - o[0], top[1] - o[1]),
        "latency": top[0],
        "sums": both + 0.5 * sum(loads[1]),
        "soft": top[0] + 2 * max(0.0, top[1] - case.limit / 3),
    }
    return costs[goal], goal != "latency" or sum(loads[1]) <= case.limit


def best(case: Case, goal: str) -> float:
    """Return the least cost of any plan; inf where there is none."""
    least = float("inf")
    for where in itertools.product(range(case.k), repeat=case.n):
        after = {(where[u], where[v]) for u, v in case.edges if where[u] != where[v]}
        if case.acyclic and _cyclic(after, case.k):
            continue
        value, holds = by_hand(case, goal, where)
        least = min(least, value) if holds else least
    return least


def _cyclic(after: set[tuple[int, int]], k: int) -> bool:
    left = set(range(k))
    while left:
        free = {d for d in left if not any(e in left for e, f in after if f == d)}
        if not free:
            return True
        left -= free
    return False
