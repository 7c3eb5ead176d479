"""How soon `annealing` finds its plans where the quotient graph must be acyclic, beside searches over orders.

Graphs are look-alikes of archer2024's synthetic ones. Costs are divided by that of BRKGA with 10,000 evaluations; rows
are geometric means over the graphs. The last column is the largest ratio of one graph.

    python benchmarks/annealing.py                                      16 graphs x 6, some fifty minutes
    python benchmarks/annealing.py --nodes 100 --k 8 16 --seconds 1 5
"""

from __future__ import annotations

import argparse
from itertools import product
from statistics import geometric_mean

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.genetic import Brkga, Random
from mtpp_dsl.solvers.methods.partition import SliceGraph

MODELS, READINGS = ("er", "ba", "ws", "sbm"), ("literal", "own-memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--k", type=int, nargs="+", default=[2, 4, 8, 16, 32, 64])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 5, 30])
    parser.add_argument("--seed", type=int, default=11)
    asked = parser.parse_args()
    names = [*(f"annealing {s:g} s" for s in asked.seconds), "slicegraph", "random-10000"]
    print(f"{'k':>3}", *(f"{name:>15}" for name in names), f"{'largest':>9}")
    cost(problem_of("er", "literal", 50, 4, 0), Annealing(), 1.0)  # compiles
    for k in asked.k:
        rows = []
        for nodes, model, reading in product(asked.nodes, MODELS, READINGS):
            problem = problem_of(model, reading, nodes, k, asked.seed)
            base = cost(problem, Brkga())[-1][1]
            history = cost(problem, Annealing(), max(asked.seconds))
            found = [min(value for time, value in history if time <= s) for s in asked.seconds]
            found += [cost(problem, method)[-1][1] for method in (SliceGraph(), Random())]
            rows.append([value / base for value in found])
        means = [geometric_mean(column) for column in zip(*rows, strict=True)]
        print(
            f"{k:3}", *(f"{mean:15.4f}" for mean in means), f"{max(row[len(asked.seconds) - 1] for row in rows):9.4f}"
        )


def problem_of(model: str, reading: str, nodes: int, k: int, seed: int) -> Problem:
    graph = regal(nodes=nodes, model=model, reading=reading, seed=seed)
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


def cost(problem: Problem, method: Method, seconds: float | None = None) -> list[tuple[float, float]]:
    """Return the costs of the plans found, with the seconds at which they were."""
    result = method.solve(problem, Limits(time=seconds), Progress())
    check_result(problem, result)
    return [(entry.time, entry.incumbent) for entry in result.log if entry.incumbent is not None]


if __name__ == "__main__":
    main()
