"""Value, bound and gap of ``auto`` on linear objectives: 200 nodes on 8 devices by default.

    python benchmarks/objectives.py [--time 60] [--nodes 200] [--devices 8] [--seeds 2] [NAME ...]

The instances are random graphs whose edges reach back a few nodes, on devices of three speeds whose prices grow with
them. Prices and energies are under a deadline that needs a little less than half of the devices. The answers are
verified as ever; a gap of 5 % is the aim.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from time import monotonic

import numpy as np

from mtpp_dsl import Device, Graph, Problem, solve
from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Constraint, Decision, Latency, Linear, Load, Memory, Used
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.objective import Objective

DEADLINE = 2.2
"""Times the bottleneck of work spread evenly over all devices."""


def instance(
    seed: int, nodes: int, devices: int, goal: Callable[[Sequence[float]], Objective], *, acyclic: bool, penalty: bool
) -> Problem:
    """Return a problem; *goal* makes the objective from the prices of the devices."""
    random = np.random.default_rng(seed)
    edges = sorted({(int(max(0, v - 1 - random.integers(0, 5))), v) for v in range(1, nodes) for _ in range(2)})
    graph = Graph.create(
        [f"n{v}" for v in range(nodes)],
        edges,
        work=random.uniform(1, 10, nodes),
        output=random.uniform(0.1, 1, nodes),
        memory=random.uniform(1, 4, nodes),
    )
    speeds = random.choice([1.0, 2.0, 4.0], devices).tolist()
    prices = [float(round(10 * speed**0.8 + random.integers(0, 5))) for speed in speeds]
    machines = [Device(f"d{d}", speed=speed, memory=2.5 * nodes) for d, speed in enumerate(speeds)]
    limit = DEADLINE * float(graph.work.sum()) / sum(speeds)
    rows: list[Constraint] = [Memory(), *([Acyclic()] if acyclic else [])]
    deadline = Linear(
        label="deadline", terms=((Bottleneck(), 1.0),), sense="<=", rhs=limit, penalty=1.0 if penalty else None
    )
    return Problem.create(graph, machines, Shared(10.0), goal(prices), [*rows, deadline])


def price(prices: Sequence[float]) -> Objective:
    """Return what the devices cost that are used."""
    return Objective.linear([(Used(d), p) for d, p in enumerate(prices)], unit="USD", label="price")


def energy(prices: Sequence[float]) -> Objective:
    """Return power times load, with powers that grow faster than speeds."""
    return Objective.linear([(Load(d), p**1.5) for d, p in enumerate(prices)], unit="J", label="energy")


def latency(_: Sequence[float]) -> Objective:
    """Return the sum of all loads."""
    return Objective.linear([(Latency(), 1.0)], label="latency")


def used(prices: Sequence[float]) -> Objective:
    """Return how many devices are used."""
    return Objective.linear([(Used(d), 1.0) for d in range(len(prices))], label="count")


def mix(prices: Sequence[float]) -> Objective:
    """Return prices, energy and the bottleneck in one sum."""
    terms: list[tuple[Decision, float]] = [(Bottleneck(), 1.0)]
    terms += [(Used(d), p) for d, p in enumerate(prices)]
    terms += [(Load(d), 0.01 * p) for d, p in enumerate(prices)]
    return Objective.linear(terms, label="mix")


GOALS = {"price": price, "energy": energy, "latency": latency, "used": used, "mix": mix}


def main() -> None:
    """Solve the instances, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(GOALS)}, penalty; all by default")
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    print(f"{'objective':10} {'order':8} {'seed':>4} {'value':>12} {'bound':>12} {'gap':>7} {'seconds':>8}")
    for name in asked.names or [*GOALS, "penalty"]:
        for acyclic in (False, True):
            for seed in range(asked.seeds):
                goal = GOALS["price" if name == "penalty" else name]
                problem = instance(seed, asked.nodes, asked.devices, goal, acyclic=acyclic, penalty=name == "penalty")
                began = monotonic()
                found = solve(problem, time_limit=asked.time)
                value = "none" if found.value is None else f"{found.value:.6g}"
                bound = "none" if found.bound_value is None else f"{found.bound_value:.6g}"
                gap = "" if found.gap is None else f"{100 * found.gap:.2f} %"
                order = "acyclic" if acyclic else "none"
                print(
                    f"{name:10} {order:8} {seed:4} {value:>12} {bound:>12} {gap:>7} {monotonic() - began:8.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
