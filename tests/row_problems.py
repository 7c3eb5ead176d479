"""Problems with random labelled rows, for loops over seeds."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Decision,
    ExclusiveLinks,
    Finish,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Start,
    Used,
)
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["best_cost", "larger_problem", "small_problem"]


def random_rows(rng: Random, n: int, k: int, makespan: bool) -> list[Constraint]:
    """Return random rows: some count, some limit loads, some are of no particular form."""
    found: list[Constraint] = []
    for number in range(rng.randint(1, 2)):
        some = rng.sample(range(n), rng.randint(2, n))
        sense, form = rng.choice(["<=", "<=", ">=", "=="]), rng.randint(0, 5)
        terms: list[dict[Decision, float]]
        if form == 0:
            terms, sense, rhs = [{On(v, d): 1.0 for v in some} for d in range(k)], "<=", float(rng.randint(1, 2))
        elif form == 1:
            terms, rhs = [{On(v, rng.randrange(k)): float(rng.choice([1, 2, -1])) for v in some}], rng.randint(0, 2)
        elif form == 2:
            d = rng.randrange(k)
            terms, sense, rhs = [{Load(d): 1.0}], rng.choice(["<=", ">="]), rng.randint(2, 3 * n)
        elif form == 3:
            terms, rhs = [{On(some[0], d): 1.0, On(some[1], d): -1.0} for d in range(k - 1)], 0.0
            sense = rng.choice(["==", "<="])
        elif form == 4 and k > 1:
            terms, sense, rhs = [{Load(0): 1.0, Load(1): -1.0, On(some[0], 0): 2.0}], "<=", float(rng.randint(-1, 3))
        else:
            whole: Decision = Makespan() if makespan else Bottleneck()
            senses = ["<="] if makespan else ["<=", ">="]  # brute force tries the shortest schedules alone
            terms, sense, rhs = [{whole: 1.0}], rng.choice(senses), float(rng.randint(2, 3 * n))
        found += [
            Linear(label=f"r{number}[{i}]", terms=tuple(one.items()), sense=sense, rhs=float(rhs))  # type: ignore[arg-type]
            for i, one in enumerate(terms)
        ]
    return found


def small_problem(seed: int, kind: str) -> Problem:
    """Return a problem of up to 5 nodes and 3 devices with random rows; *kind* is "bottleneck" or "makespan"."""
    rng = Random(f"{kind} {seed}")
    n, k = rng.randint(3, 5), rng.randint(2, 3)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.4]
    work = [float(rng.randint(0, 5)) for _ in range(n)]
    graph = Graph.create([f"n{v}" for v in range(n)], edges, work=work, output=[float(rng.randint(0, 2))] * n)
    speeds = [1.0] * k if rng.random() < 0.5 else [float(rng.randint(1, 2)) for _ in range(k)]
    devices = [Device(f"d{d}", speed=speed, memory=6.0) for d, speed in enumerate(speeds)]
    constraints = random_rows(rng, n, k, kind == "makespan")
    if rng.random() < 0.3:
        constraints.append(Colocate(nodes=tuple(sorted(rng.sample(range(n), 2)))))
    if rng.random() < 0.2:
        constraints.append(Memory())
    if kind == "makespan":
        constraints += [ExclusiveLinks()] if rng.random() < 0.3 else []
        return Problem.create(
            graph, devices, Links(np.full((k, k), 2.0), np.zeros((k, k))), Objective("makespan"), constraints
        )
    constraints += [Acyclic()] if rng.random() < 0.5 else []
    constraints += [Contiguous()] if rng.random() < 0.2 else []
    return Problem.create(graph, devices, Shared(2.0), Objective("bottleneck"), constraints)


@cache
def best_cost(seed: int, kind: str) -> float | None:
    """Return the optimum of a small problem by brute force; None without a plan."""
    given = small_problem(seed, kind)
    return min((evaluate(given, plan).cost for plan in plans(given)), default=None)


def larger_problem(seed: int, kind: str) -> Problem:
    """Return 24 nodes on 3 devices with rows over every decision that the moves of annealing keep track of."""
    rng = Random(seed)
    n, k = 24, 3
    edges = [(u, v) for u in range(n) for v in range(u + 1, min(n, u + 6)) if rng.random() < 0.3]
    work = [rng.uniform(1.0, 3.0) for _ in range(n)]
    graph = Graph.create([f"n{v}" for v in range(n)], edges, work=work, output=[rng.uniform(0.1, 0.5)] * n)
    some = rng.sample(range(n), 8)
    found: list[Constraint] = [
        Linear(label=f"few[{d}]", terms=tuple((On(v, d), 1.0 + v % 2) for v in some), sense="<=", rhs=6.0)
        for d in range(k)
    ]
    found.append(Linear(label="more", terms=((Load(0), 1.0), (Load(1), -1.0)), sense=">=", rhs=-2.0))
    found.append(Linear(label="used", terms=((Used(0), 1.0), (On(some[0], 1), 1.0)), sense="<=", rhs=1.0))
    devices = [Device(f"d{d}") for d in range(k)]
    if kind == "makespan":
        found.append(Linear(label="soon", terms=((Finish(some[1]), 1.0), (Start(0), -1.0)), sense="<=", rhs=15.0))
        links = Links(np.full((k, k), 2.0), np.zeros((k, k)))
        return Problem.create(graph, devices, links, Objective("makespan"), found)
    found.append(Linear(label="even", terms=((Load(2), 1.0), (Bottleneck(), -0.3)), sense=">=", rhs=0.0))
    order = [Acyclic()] if kind == "ordered" else []
    return Problem.create(graph, devices, Shared(2.0), constraints=[*found, *order])
