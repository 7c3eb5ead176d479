"""Labelled rows in every method: plans keep them, bounds hold, and nothing is called infeasible that is not."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.api import find_method, method_names, solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Decision,
    ExclusiveLinks,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
)
from mtpp_dsl.contracts import method_traits, why_not
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.problem import Device, Links, Objective, Problem, Shared
from mtpp_dsl.problem.graph import Graph

FEW, MANY = 12, 120
"""Problems of each kind; a quarter of the methods answers each."""
SECONDS = 0.3


def rows(rng: Random, n: int, k: int, makespan: bool) -> list[Constraint]:
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


def problem(seed: int, kind: str) -> Problem:
    rng = Random(f"{kind} {seed}")
    n, k = rng.randint(3, 5), rng.randint(2, 3)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.4]
    work = [float(rng.randint(0, 5)) for _ in range(n)]
    graph = Graph.create([f"n{v}" for v in range(n)], edges, work=work, output=[float(rng.randint(0, 2))] * n)
    speeds = [1.0] * k if rng.random() < 0.5 else [float(rng.randint(1, 2)) for _ in range(k)]
    devices = [Device(f"d{d}", speed=speed, memory=6.0) for d, speed in enumerate(speeds)]
    constraints = rows(rng, n, k, kind == "makespan")
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
def optimum(seed: int, kind: str) -> float | None:
    given = problem(seed, kind)
    return min((evaluate(given, plan).cost for plan in plans(given)), default=None)


def taking_rows(kind: str) -> list[str]:
    """Return the methods that accept rows for some problem of this kind; those of plug-ins and auto apart."""
    found = []
    for name in method_names():
        method: Any = find_method(name)
        scopes = method_traits(method).scopes
        if name != "expert" and any(scope.keeps(Linear) and kind in scope.objectives for scope in scopes):
            found.append(name)
    return [*found, "auto"]


@pytest.mark.parametrize("seeds", [range(FEW), pytest.param(range(FEW, MANY), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("kind", ["bottleneck", "makespan"])
def test_every_method_that_takes_rows_keeps_them(kind: str, seeds: range) -> None:
    """By brute force: no plan breaks a row, no bound is above the optimum, nothing is falsely infeasible or optimal."""
    names = taking_rows(kind)
    assert len(names) > 10
    answers = dict.fromkeys(names, 0)
    for seed in seeds:
        given, best = problem(seed, kind), optimum(seed, kind)
        for name in names[seed % 4 :: 4]:
            if why_not(find_method(name), given) is not None:
                continue
            found = solve(given, name, time_limit=SECONDS, seed=seed)
            case = f"{kind} {seed} by {name}"
            if found.plan is not None:
                assert best is not None, case
                assert not verify(given, found.plan), case
                assert found.cost >= best * (1 - 1e-6), case  # type: ignore[operator]
                answers[name] += 1
            if found.status == "infeasible":
                assert best is None, case
            if found.bound is not None and best is not None:
                assert found.bound.cost <= best * (1 + 1e-6), case
            if found.status == "optimal":
                assert found.cost == pytest.approx(best), case
    gives = {name for name in names if "plan" in find_method(name).gives}
    assert sum(answers[name] > 0 for name in gives) > len(gives) / 2, answers
