"""What branching closes on random graphs of a few dozen nodes, beside ideals: plan, bound, time.

python benchmarks/branching.py                        20 minutes a method and more
python benchmarks/branching.py --nodes 40 --devices 8 --seconds 20 --models ws --readings own-memory
"""

from __future__ import annotations

import argparse
from collections import Counter
from time import perf_counter

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.branching import Branching
from mtpp_dsl.solvers.methods.partition import Ideals

METHODS: dict[str, type[Branching] | type[Ideals]] = {"branching": Branching, "ideals": Ideals}


def solve(method: Method, problem: Problem, seconds: float) -> tuple[Result, float]:
    """Return the checked result and the seconds it took."""
    began = perf_counter()
    result = method.solve(problem, Limits(time=seconds), Progress())
    took = perf_counter() - began
    check_result(problem, result)
    return result, took


def main() -> None:
    """Print a line for each graph and number of devices, and how many were closed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--nodes", nargs="+", type=int, default=[30, 40, 50, 60])
    parser.add_argument("--devices", nargs="+", type=int, default=[2, 4, 8, 16])
    parser.add_argument("--models", nargs="+", default=["er", "ba", "ws", "sbm"])
    parser.add_argument("--readings", nargs="+", default=["own-memory", "literal"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    cases = [
        (n, model, reading, seed, k)
        for n in given.nodes
        for reading in given.readings
        for model in given.models
        for seed in given.seeds
        for k in given.devices
    ]
    closed: Counter[tuple[str, int]] = Counter()
    tried: Counter[int] = Counter()
    print(
        f"{'n':>3} {'reading':>10} {'model':>5} {'seed':>4} {'k':>2}  " + "  ".join(f"{m:>32}" for m in given.methods)
    )
    for n, model, reading, seed, k in cases:
        graph = regal(n, model, reading, seed)
        stages = [Device(f"stage[{i}]") for i in range(k)]
        problem = Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()])
        cells = []
        tried[n] += 1
        for name in given.methods:
            result, took = solve(METHODS[name](), problem, given.seconds)
            ratio = 0.0 if result.bound is None or not result.cost else result.bound.cost / result.cost
            cells.append(f"{result.cost or 0.0:10.2f} {ratio:6.4f} {result.status[:5]:>5} {took:7.1f}")
            closed[name, n] += result.status == "optimal"
        print(
            f"{n:3} {reading:>10} {model:>5} {seed:4} {k:2}  " + "  ".join(f"{cell:>32}" for cell in cells), flush=True
        )
    for name in given.methods:
        print(f"{name}: closed " + ", ".join(f"{closed[name, n]} of {tried[n]} at n = {n}" for n in tried))


if __name__ == "__main__":
    main()
