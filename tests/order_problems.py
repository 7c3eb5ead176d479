"""Random small problems whose stages are in the order of devices, of every sort, with their optima by brute force."""

from __future__ import annotations

import random

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Colocate,
    Constraint,
    Decision,
    Forbid,
    InOrder,
    Linear,
    Load,
    Memory,
    Pin,
    StageMemory,
    Used,
)
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from tests.networks import random_links, random_tree

__all__ = ["KINDS", "ordered_problem"]

KINDS = (
    "shared",
    "host",
    "network",
    "phases on networks",
    "memory",
    "price",
    "budget",
    "iteration",
    "stages",
    "phases",
    "training",
    "part",
)
"""What the tests ask for; see :func:`ordered_problem`."""
PHASED = ("phases", "phases on networks")


def _graph(rng: random.Random, n: int, kind: str) -> Graph:
    chain = rng.random() < 0.35
    edges = [
        (u, v) for u in range(n) for v in range(u + 1, n) if (v == u + 1 if chain else rng.random() < 0.4)
    ]  # fmt: skip
    names = [f"v{v}" for v in range(n)]

    def numbers(most: int) -> list[float]:
        return [float(rng.randint(0, most)) for _ in range(n)]

    if kind in PHASED:
        parts = {
            name: Graph.create(names, edges, work=numbers(9), output=numbers(4), memory=numbers(3)) for name in "pq"
        }
        return phased_graph(parts, {"p": 1.0, "q": float(rng.randint(1, 3))})
    backward = [v >= n - n // 2 for v in range(n)] if kind == "training" else None
    share = (
        [rng.choice([0.25, 0.5]) for _ in range(n)] if kind in ("stages", "iteration") and rng.random() < 0.7 else 0.5
    )
    return Graph.create(
        names,
        edges,
        work=numbers(6),
        output=numbers(4),
        params=numbers(2),
        memory=numbers(3),
        **({"saved": numbers(3), "forward_share": share} if kind == "stages" else {}),
        **({} if backward is None else {"backward": backward}),
    )


def _rules(rng: random.Random, graph: Graph, k: int, kind: str) -> list[Constraint]:
    order = list(range(k))
    rng.shuffle(order)
    if kind == "part":
        order = order[: rng.randint(2, k - 1)]
    listed = None if order == list(range(k)) else tuple(order)
    rules: list[Constraint] = [InOrder(devices=listed, empty=rng.choice(["allowed", "never"]))]
    if rng.random() < 0.3:
        rules.append(Colocate(nodes=tuple(sorted(rng.sample(range(graph.n), 2)))))
    if rng.random() < 0.25:
        rules.append(Pin(nodes=(rng.randrange(graph.n),), devices=tuple(sorted(rng.sample(range(k), 2)))))
    if rng.random() < 0.25:
        rules.append(Forbid(nodes=(rng.randrange(graph.n),), devices=(rng.randrange(k),)))
    if kind == "stages":
        schedule = rng.choice(["gpipe", "1f1b", "pipedream", "2bw"])
        count = None if schedule in ("pipedream", "2bw") and rng.random() < 0.5 else rng.randint(1, 4)
        rules.append(
            StageMemory(schedule=schedule, microbatches=count, recompute=rng.choice(["never", "never", "free"]))
        )
    elif kind != "shared" or rng.random() < 0.5:
        rules.append(Memory())
    return rules


def _asked(rng: random.Random, kind: str, k: int, rules: list[Constraint]) -> Objective:
    if kind == "price":
        terms: list[tuple[Decision, float]] = [(Used(d), float(rng.randint(1, 5))) for d in range(k)]
        terms += [(Load(d), rng.choice([0.5, 1.0])) for d in range(k) if rng.random() < 0.7]
        rules.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(rng.randint(8, 16))))
        return Objective.linear(terms)
    if kind == "budget":
        spent = tuple((Used(d), float(rng.randint(1, 5))) for d in range(k))
        rules.append(Linear(label="budget", terms=spent, sense="<=", rhs=float(rng.randint(3, 9))))
    if kind == "iteration":
        return Objective("iteration", microbatches=rng.randint(1, 4), schedule=rng.choice(["gpipe", "1f1b"]))
    if kind in PHASED:
        return Objective.linear([(Bottleneck(name), float(rng.randint(1, 3))) for name in "pq"])
    if kind == "network" and rng.random() < 0.3:
        return Objective("latency")
    return Objective("bottleneck")


def ordered_problem(seed: int, kind: str, n: int = 5, k: int = 3) -> Problem:
    """Return a random problem: on one of :data:`KINDS` of interconnects, or with what the kind says beside the order.

    ``price`` is a weighted sum, ``budget`` a row that limits one; ``stages`` is about memory by stage, ``phases`` a sum
    of bottlenecks of two phases, ``training`` a graph with a backward part, ``part`` an order of some devices.
    """
    rng = random.Random(f"{kind} {seed}")
    n = min(n, 4) if kind == "stages" else n  # there every order of the stages is tried
    graph = _graph(rng, n, kind)
    joined: Interconnect = rng.choice([Shared, Host])(rng.choice([1.0, 2.0]))
    if kind in ("shared", "host"):
        joined = {"shared": Shared, "host": Host}[kind](rng.choice([1.0, 2.0]), rng.random() < 0.3)
    elif kind in ("network", "phases on networks"):
        joined = random_tree(rng, k) if rng.random() < 0.4 else random_links(rng, k)
    devices = [
        Device(
            f"d{d}",
            speed=rng.choice([1.0, 1.0, 2.0]),
            memory=float(rng.randint(6, 14) if kind == "stages" else rng.randint(3, 9)),
            pays_io=rng.random() < 0.8 or not isinstance(joined, Host),
        )
        for d in range(k)
    ]
    rules = _rules(rng, graph, k, kind)
    return Problem.create(graph, devices, joined, _asked(rng, kind, k, rules), rules)
