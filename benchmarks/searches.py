"""Searches over orders side by side, as in archer2024, Table 2, on look-alikes of its synthetic graphs.

Each search has its own end (so many orders), those named with `--also` the time given. Costs are divided by the best
known in the run, and by the simple bound, as the paper divides them. **The paper's rows are of other graphs**, its
production models: compare the order of the rows and how they spread, not the figures.

    python benchmarks/searches.py                                  8 graphs x 6, ten minutes
    python benchmarks/searches.py --graphs 2 --k 4 16 --also annealing --seconds 10
"""

from __future__ import annotations

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np

from mtpp_dsl import registry
from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.constraints import Acyclic
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.generators.regal import regal
from mtpp_dsl.problem import Device, Problem, Shared
from mtpp_dsl.problem.graph import Graph
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.methods.genetic import Brkga, Mla, MlaWeighted, Random
from mtpp_dsl.solvers.methods.partition import SliceGraph

DEVICES = (2, 4, 8, 16, 32, 64)
MODELS, READINGS = ("er", "ba", "ws", "sbm"), ("literal", "own-memory")
GRAPHS = 8
SEARCHES: dict[str, Callable[[], Method]] = {
    "mla": Mla,
    "mla-weighted": MlaWeighted,
    "random-1": lambda: Random(1),
    "random-100": lambda: Random(100),
    "random-10000": Random,
    "brkga-100": lambda: Brkga(population=10, generations=10),
    "brkga-10000": Brkga,
    "slicegraph": SliceGraph,
}
PUBLISHED = {  # archer2024, Table 2: cost / simple bound, production models
    "mla": (1.216, 1.538, 1.950, 2.224, 2.304, 2.326),
    "mla-weighted": (1.206, 1.516, 1.920, 2.182, 2.258, 2.283),
    "random-1": (1.220, 1.551, 1.959, 2.230, 2.309, 2.333),
    "random-100": (1.201, 1.512, 1.916, 2.179, 2.258, 2.282),
    "random-10000": (1.199, 1.509, 1.911, 2.176, 2.256, 2.281),
    "brkga-100": (1.201, 1.516, 1.919, 2.184, 2.263, 2.288),
    "brkga-10000": (1.199, 1.509, 1.910, 2.175, 2.255, 2.272),
}


@dataclass(frozen=True)
class Run:
    """One search on one graph and number of devices."""

    search: str
    k: int
    graph: int
    cost: float
    simple: float
    seconds: float
    evaluations: int


def look_alike(number: int) -> tuple[str, Graph]:
    """Return a graph of 50 to 200 nodes, base model and reading in turn, and what it is."""
    nodes = int(np.random.default_rng(number).integers(50, 201))
    model, reading = MODELS[number // 2 % 4], READINGS[number % 2]
    return f"{model} {reading}", regal(nodes, model, reading, number)


def run(name: str, make: Callable[[], Method], problem: Problem, graph: int, seconds: float | None) -> Run:
    """Run one search, and check its answer."""
    progress = Progress()
    began = perf_counter()
    result = make().solve(problem, Limits(time=seconds), progress)
    took = perf_counter() - began
    check_result(problem, result)
    assert result.cost is not None
    counted = re.search(r"([\d,]+) orders", " ".join(result.notes))
    evaluations = int(counted[1].replace(",", "")) if counted else 0
    return Run(name, problem.k, graph, result.cost, simple_bound(problem)[0], took, evaluations)


def geometric(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.mean(np.log(list(values)))))


def table(title: str, runs: list[Run], devices: list[int], cell: Callable[[list[Run]], str]) -> None:
    """Print a row per search and a column per number of devices."""
    print(f"\n{title:36}" + "".join(f"{f'k={k}':>9}" for k in devices))
    for name in dict.fromkeys(r.search for r in runs):
        cells = [cell([r for r in runs if r.search == name and r.k == k]) for k in devices]
        print(f"  {name:34}" + "".join(f"{value:>9}" for value in cells))


def report(runs: list[Run], devices: list[int]) -> None:
    """Print the tables."""
    best: dict[tuple[int, int], float] = defaultdict(lambda: math.inf)
    for r in runs:
        best[r.graph, r.k] = min(best[r.graph, r.k], r.cost)
    table(
        "cost / best known, geometric mean",
        runs,
        devices,
        lambda rs: f"{geometric(r.cost / best[r.graph, r.k] for r in rs):.4f}",
    )
    table("the largest of these", runs, devices, lambda rs: f"{max(r.cost / best[r.graph, r.k] for r in rs):.4f}")
    table("cost / simple, geometric mean", runs, devices, lambda rs: f"{geometric(r.cost / r.simple for r in rs):.3f}")
    print("\npublished cost / simple, other graphs")
    for name, row in PUBLISHED.items():
        shown = "".join(f"{row[DEVICES.index(k)]:9.3f}" if k in DEVICES else f"{'':9}" for k in devices)
        print(f"  {name:34}{shown}")
    table("seconds, median", runs, devices, lambda rs: f"{median(r.seconds for r in rs):.2f}")
    table(
        "orders evaluated, median",
        runs,
        devices,
        lambda rs: f"{median(r.evaluations for r in rs):,.0f}" if rs[0].evaluations else "",
    )


def main() -> None:
    """Run all searches on all graphs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=GRAPHS)
    parser.add_argument("--k", type=int, nargs="+", default=list(DEVICES))
    parser.add_argument("--also", nargs="*", default=[], help="further methods, by name")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of these")
    given = parser.parse_args()
    also = {name: registry.load(registry.METHODS, name) for name in given.also}
    runs: list[Run] = []
    for number in range(given.graphs):
        title, graph = look_alike(number)
        for k in given.k:
            stages = [Device(f"stage[{i}]") for i in range(k)]
            problem = Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()])
            if not runs:  # loads what is compiled
                for make in SEARCHES.values():
                    run("", make, problem, number, None)
            made = [run(name, make, problem, number, None) for name, make in SEARCHES.items()]
            made += [run(name, make, problem, number, given.seconds) for name, make in also.items()]
            runs += made
            costs = " ".join(f"{r.search} {r.cost:.6g}" for r in made)
            print(f"{number} {title} n={graph.n} m={graph.m} k={k}: {costs}", flush=True)
    report(runs, given.k)


if __name__ == "__main__":
    main()
