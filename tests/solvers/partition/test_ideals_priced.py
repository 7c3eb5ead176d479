"""Weighted sums by the programme over ideals: devices to buy, energy, latency and moves, against brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl import load, solve
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Decision,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Used,
)
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solving.api import find_method
from tests.amount import part
from tests.repeats import references


def priced(seed: int) -> Problem:
    """Return a problem of a few nodes and devices of two types, with prices of all sorts, zeros among them."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 6)), int(random.integers(1, 5))
    kind = [d % 2 for d in range(k)]
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.5],
        output=random.integers(0, 4, n).astype(float),
        params=random.integers(0, 4, n).astype(float),
        times={f"t{q}": random.integers(0, 9, n).astype(float) for q in (0, 1)},
    )
    host = random.random() < 0.3
    devices = [Device(f"d{d}", f"t{kind[d]}", memory=8.0, pays_io=not host or d > 0) for d in range(k)]
    price, rate = random.integers(0, 6, 2).astype(float), random.integers(0, 3, 2).astype(float)
    terms: list[tuple[Decision, float]] = []
    what = seed % 5
    if what in (0, 3):
        terms += [(Used(d), float(price[kind[d]])) for d in range(k)]
    if what in (1, 3):
        terms += [(Load(d), float(rate[kind[d]])) for d in range(k)]
    if what == 2 or (what == 4 and random.random() < 0.5):
        terms += [(On(v, d), float(random.integers(-2, 3))) for v in range(n) for d in range(k)]
    if what == 4:
        terms.append((Latency(), 1.0))
    rules: list[Constraint] = [Acyclic()]
    if random.random() < 0.6:
        rules.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(random.integers(3, 20))))
    if random.random() < 0.3:
        cap = tuple((Used(d), float(price[kind[d]] + 1)) for d in range(k))
        rules.append(Linear(label="budget", terms=cap, sense="<=", rhs=float(random.integers(2, 12))))
    if random.random() < 0.3:
        rules.append(Memory())
    link = Host(1.0, overflow=True) if host else Shared(1.0, overflow=random.random() < 0.5)
    objective = Objective.linear(terms, constant=float(seed % 3 - 1), label="cost")
    return Problem.create(graph, devices, link, objective, rules)


@pytest.mark.parametrize("seed", range(part(60)))
def test_brute_force(seed: int) -> None:
    """The least sum of all plans, with a bound that is as good."""
    problem = priced(seed)
    reason = find_method("ideals").accepts(problem)
    priced_loads = any(isinstance(decision, (Load, Latency)) and a for decision, a in problem.objective.terms)
    if priced_loads and np.isfinite(problem.overflow_limit).any():
        assert "streamed" in str(reason)
        return
    assert reason is None
    best = min((cost_of(problem, plan) for plan in plans(problem)), default=None)
    found = solve(problem, "ideals", time_limit=20)
    if best is None:
        assert found.status == "infeasible"
    else:
        assert found.cost == pytest.approx(best, abs=1e-6)
        assert found.status == "optimal"
        assert found.bound is not None
        assert found.bound.cost <= best + 1e-9


def bought(data: dict[str, object]) -> Problem:
    """Return the problem of a reference of the note on buying."""
    kinds: list[dict[str, float]] = data["types"]  # type: ignore[assignment]
    times = np.array(data["time"], float)
    graph = Graph.create(
        [f"v{v}" for v in range(len(times))],
        [tuple(edge) for edge in data["edges"]],  # type: ignore[attr-defined]
        output=np.array(data["out"], float),
        times={f"t{q}": times[:, q] for q in range(len(kinds))},
    )
    devices = [Device(f"t{q}[{i}]", f"t{q}") for q, kind in enumerate(kinds) for i in range(int(kind["count"]))]
    prices = tuple((Used(d), kinds[int(device.type[1:])]["price"]) for d, device in enumerate(devices))
    rules: list[Constraint] = [Acyclic()]
    objective = Objective("bottleneck")
    if data.get("deadline") is not None:
        objective = Objective.linear(prices, label="price")
        rules.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(data["deadline"])))  # type: ignore[arg-type]
    elif data.get("period") is not None:
        power = [(Load(d), kinds[int(device.type[1:])]["busy"]) for d, device in enumerate(devices)]
        objective = Objective.linear(power, label="energy")
        rules.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(data["period"])))  # type: ignore[arg-type]
    else:
        rules.append(Linear(label="budget", terms=prices, sense="<=", rhs=float(data["budget"])))  # type: ignore[arg-type]
    return Problem.create(graph, devices, Shared(1.0), objective, rules)


@pytest.mark.parametrize("name", ["one fast", "three slow", "budget", "energy, io busy"])
def test_references_of_buying(name: str, data: Path) -> None:
    """The optima of the note, by default, and by the programme over ideals where the objective is a sum."""
    one = references(data, 5)[name]
    problem = bought(one["data"])
    for method in ("auto", "ideals") if problem.objective.is_linear else ("auto",):
        found = solve(problem, method, time_limit=20)
        assert found.cost == pytest.approx(one["optimum"])
        assert found.status == "optimal"


def test_energy_of_computing_alone(data: Path) -> None:
    """Where tensors take no power, two nodes apart are cheaper than together: no reduction may merge them first."""
    one = references(data, 5)["energy, io idle"]
    problem = bought(one["data"])
    times, power = np.array(one["data"]["time"], float), [kind["busy"] for kind in one["data"]["types"]]
    places = [(On(v, d), power[d] * times[v, d]) for v in range(len(times)) for d in range(2)]
    problem = replace(problem, objective=Objective.linear(places, label="energy"))
    assert Contract().accepts(problem) is not None
    for method in ("ideals", "exact", "auto"):
        assert solve(problem, method, time_limit=20).cost == pytest.approx(one["optimum"])


@pytest.mark.parametrize("name", ["one move", "dear move", "moves and rule A"])
def test_references_of_old_plans(name: str, data: Path) -> None:
    """The least bottleneck with few moves, by default; and the fewest moves at that bottleneck, by ideals."""
    one = references(data, 8)[name]
    given = one["data"]
    k, n, times = given["k"], given["n"], np.array(given["time"], float)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [tuple(edge) for edge in given["edges"]],
        output=np.array(given["out"], float),
        device_times={f"d{d}": times[:, d] for d in range(k)},
    )
    stays = tuple((On(v, given["old"][v]), -float(given["move"][v])) for v in range(n))
    whole = float(sum(given["move"]))
    few = Linear(label="few", terms=stays, sense="<=", rhs=given["moves"] - whole)
    devices, link = [Device(f"d{d}") for d in range(k)], Shared(1.0)
    problem = Problem.create(graph, devices, link, None, [Acyclic(), few])
    found = solve(problem, "auto", time_limit=20)
    assert found.cost == pytest.approx(one["optimum"])
    assert found.status == "optimal"
    due = Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(one["optimum"]))
    moves = Problem.create(graph, devices, link, Objective.linear(stays, constant=whole), [Acyclic(), due])
    by_ideals = solve(moves, "ideals", time_limit=20)
    assert by_ideals.status == "optimal"
    assert by_ideals.cost == pytest.approx(solve(moves, "exact", time_limit=20).cost)
    assert by_ideals.cost is not None
    assert by_ideals.cost <= given["moves"]


def test_a_pool_of_equal_devices_is_counted() -> None:
    """Eight devices of each of four types cost nothing by symmetry: the cheapest cluster is proved."""
    problem = load(
        """mtpp 1
graph {
  node layer[i in 0..11] (work = 6 + i)
  edge layer[i] -> layer[i + 1] for i in 0..10
}
device a[8] (price = 1)
device b[8] (speed = 2.2, price = 2)
device c[8] (speed = 4.1, price = 3.5)
device d[8] (speed = 9, price = 9)
interconnect shared (bandwidth = 1)
minimize cost: sum(price(d) * used(d) for d in devices)
constraint due: bottleneck <= 30
constraint acyclic
"""
    )
    found = solve(problem, "ideals", time_limit=60)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(4.5)


def test_what_no_sum_of_prices_is_is_refused() -> None:
    """A device that lowers the cost, a bottleneck in the sum, and rows on loads: each with a reason."""
    problem = priced(0)
    ideals = find_method("ideals")
    for terms, reason in (
        ([(Used(0), -1.0)], "lowers the cost"),
        ([(Bottleneck(), 1.0), (Used(0), 1.0)], "bottleneck"),
    ):
        assert reason in str(ideals.accepts(replace(problem, objective=Objective.linear(terms))))
    row = Linear(label="busy", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)
    assert "busy" in str(ideals.accepts(problem.with_constraints([*problem.constraints, row])))
