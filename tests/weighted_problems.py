"""Random small splits with linear objectives, labelled rows and penalties, in whole numbers; and their optima."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Contiguous,
    Decision,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Separate,
    Used,
)
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["all_costs", "lexicographic", "random_objective", "random_problem"]


def random_problem(
    seed: int, *, objectives: int = 1, rows: int = 1, soft: float = 0.5, most: int = 5, linear: bool = False
) -> Problem:
    """Return a problem of a few nodes on two or three devices.

    Args:
        seed: of everything.
        objectives: how many there are.
        rows: labelled rows, at most.
        soft: the share of them that have a penalty.
        most: nodes, at most.
        linear: whether all objectives are linear.
    """
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, most + 1)), int(random.integers(2, 4))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.5]
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        pairs,
        work=random.integers(0, 9, n).astype(float),
        output=random.integers(0, 4, n).astype(float),
        params=random.integers(0, 4, n).astype(float),
    )
    speeds = [1.0] * k if random.random() < 0.4 else random.choice([0.5, 1.0], k).tolist()
    memory = float(random.integers(3, 9)) if random.random() < 0.4 else None
    host = random.random() < 0.3
    devices = [
        Device(f"d{d}", speed=speed, memory=memory, **({"pays_io": d > 0} if host else {}))
        for d, speed in enumerate(speeds)
    ]
    link = Host(1.0, overflow=True) if host else Shared(1.0, overflow=True)
    constraints: list[Constraint] = []
    if random.random() < 0.4:
        constraints.append(Acyclic())
    elif random.random() < 0.2:
        constraints += [Acyclic(), Contiguous()]
    if memory is not None and random.random() < 0.5:
        constraints.append(Memory())
    if n > 2 and random.random() < 0.2:
        constraints.append(Separate(nodes=(0, n - 1)))
    for number in range(int(random.integers(0, rows + 1))):
        constraints.append(_row(random, n, k, f"row{number}", soft=random.random() < soft))
    asked = [random_objective(random, n, k, f"goal{i}", linear=linear) for i in range(objectives)]
    for i in range(1, objectives):  # two bottlenecks would be two of one name
        if asked[i].name == "bottleneck" and any(one.name == "bottleneck" for one in asked[:i]):
            asked[i] = Objective.linear([(Latency(), 1.0)], label=f"goal{i}")
    return Problem.create(graph, devices, link, asked, constraints)


def _row(random: np.random.Generator, n: int, k: int, label: str, *, soft: bool) -> Linear:
    """Return a row that some plans keep and others do not, as a rule."""
    kind = int(random.integers(0, 5))
    terms: list[tuple[Decision, float]]
    if kind == 0:
        terms, rhs = [(Bottleneck(), 1.0)], float(random.integers(4, 20))
    elif kind == 1:
        terms, rhs = [(Load(int(random.integers(k))), 1.0)], float(random.integers(0, 15))
    elif kind == 2:
        terms, rhs = [(On(v, int(random.integers(k))), 1.0) for v in range(n)], float(random.integers(1, n + 1))
    elif kind == 3:
        terms, rhs = [(Used(d), float(random.integers(1, 4))) for d in range(k)], float(random.integers(1, 6))
    else:
        terms, rhs = [(Latency(), 1.0), (Used(0), 2.0)], float(random.integers(8, 40))
    sense = ">=" if kind in (1, 2) and random.random() < 0.4 else "<="
    return Linear(
        label=label, terms=tuple(terms), sense=sense, rhs=rhs, penalty=float(random.integers(1, 4)) if soft else None
    )


def random_objective(random: np.random.Generator, n: int, k: int, label: str, *, linear: bool = False) -> Objective:
    """Return a bottleneck, or a price, an energy, places, a latency, or a mix of them."""
    kind = int(random.integers(1 if linear else 0, 6))
    sense = "maximize" if random.random() < 0.25 else "minimize"
    price: list[tuple[Decision, float]] = [(Used(d), float(random.integers(1, 9))) for d in range(k)]
    energy: list[tuple[Decision, float]] = [(Load(d), float(random.integers(1, 4))) for d in range(k)]
    places: list[tuple[Decision, float]] = [
        (On(v, d), float(random.integers(-3, 4))) for v in range(n) for d in range(k)
    ]
    if kind == 0:
        return Objective("bottleneck")
    if kind == 1:
        return Objective.linear(price, label=label)
    if kind == 2:
        return Objective.linear(energy, label=label)
    if kind == 3:
        return Objective.linear(places, sense, constant=float(random.integers(-5, 6)), label=label)
    if kind == 4:
        return Objective.linear([(Latency(), 1.0), (Bottleneck(), 2.0)], label=label)
    return Objective.linear([*price, *energy, *places[:3], (Bottleneck(), 1.0)], label=label)


def all_costs(problem: Problem) -> list[tuple[float, ...]]:
    """Return the costs of all objectives, in their order, of every plan."""
    return [evaluate(problem, plan).costs for plan in plans(problem)]


def lexicographic(problem: Problem, costs: Sequence[tuple[float, ...]]) -> list[float]:
    """Return the best cost of each objective in turn, over the plans that those before it leave."""
    left, found = list(costs), []
    for number, objective in enumerate(problem.objectives):
        best = min(cost[number] for cost in left)
        found.append(best)
        most = objective.allowed_cost(best)
        left = [cost for cost in left if cost[number] <= most + 1e-7 * max(1.0, abs(most))]
    return found
