"""The exact programme as published and strengthened, and the superblock bounds, on graphs like those of the paper.

Each gets the same plan to start from and as a cut-off, one thread and the same time. ``LP`` is the linear relaxation,
``bound`` what the solver has proved at the end, both over the best cost seen; ``nodes`` are those of its search tree.

    python benchmarks/exact.py [--nodes 30,60,120] [--devices 2,4,8,16] [--seconds 30] [--readings own-memory,literal]
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.fig3 import Fig3
from mtpp_dsl.models.relaxations.superblocks import Superblock
from mtpp_dsl.solvers.backends.mip.bridge import Bridge
from mtpp_dsl.solvers.backends.mip.highs import Highs
from mtpp_dsl.solvers.methods.mip.one_model import SolvedModel, solve_one
from mtpp_dsl.solving import api

MODELS = ("er", "ba", "ws")
PLAN_SECONDS = 4.0


def problem_of(nodes: int, model: str, reading: str, k: int, seed: int) -> Problem:
    """Return plain MTPP on a look-alike graph."""
    graph = regal(nodes=nodes, model=model, reading=reading, seed=seed)
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[Acyclic()])


def formulations(cost: float) -> dict[str, tuple[Formulation, Formulation]]:
    """Return pairs to compare: without and with what a plan of *cost* tells."""
    return {"exact": (Fig3(), Exact(cost)), "superblock": (Superblock(), Superblock(cost))}


def relaxed(formulation: Formulation, problem: Problem) -> float:
    """Return the optimum of the linear relaxation, in the problem's unit."""
    model = formulation.build(problem)
    highs = Bridge(model).highs
    highs.setOptionValue("solve_relaxation", True)
    highs.setOptionValue("time_limit", 60.0)
    highs.run()
    return float(highs.getInfo().objective_function_value) * float(model.cost_scale)


def solved(formulation: Formulation, problem: Problem, start: Plan, seconds: float) -> SolvedModel:
    """Return what HiGHS makes of a formulation."""
    limits = Limits(time=seconds, threads=1, start=start)
    return solve_one(formulation, Highs(), problem, limits, Progress(), lambda *_: None)


def rows(problem: Problem, seconds: float) -> Iterator[tuple[str, str, float, float, int]]:
    """Yield family, "plain" or "strong", LP and bound over the best cost, and nodes."""
    start = api.solve(problem, "slicegraph", time_limit=PLAN_SECONDS).plan
    assert start is not None
    cost = best = evaluate(problem, start).cost
    found = []
    for family, pair in formulations(cost).items():
        for kind, formulation in zip(("plain", "strong"), pair, strict=True):
            done = solved(formulation, problem, start, seconds)
            if done.plan is not None:
                best = min(best, evaluate(problem, done.plan).cost)
            proven = 0.0 if done.proven is None else done.proven.cost
            found.append((family, kind, relaxed(formulation, problem), proven, done.outcome.nodes or 0))
    for family, kind, linear, bound, nodes in found:
        yield family, kind, linear / best, bound / best, nodes


def main() -> None:
    """Print a line per problem and formulation, and the geometric means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", default="30,60,120")
    parser.add_argument("--devices", default="2,4,8,16")
    parser.add_argument("--readings", default="own-memory,literal")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    ratios: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    print(f"{'graph':24} {'k':>3} {'formulation':>18} {'LP':>6} {'bound':>6} {'nodes':>7}")
    for n in map(int, asked.nodes.split(",")):
        for reading in asked.readings.split(","):
            for model in asked.models.split(","):
                for k in map(int, asked.devices.split(",")):
                    problem = problem_of(n, model, reading, k, asked.seed)
                    for family, kind, linear, bound, nodes in rows(problem, asked.seconds):
                        name = f"{model} {n} {reading}"
                        print(
                            f"{name:24} {k:3} {family + ' ' + kind:>18} {linear:6.3f} {bound:6.3f} {nodes:7}",
                            flush=True,
                        )
                        ratios[f"k = {k}", family, kind].append(bound)
    for (what, family, kind), values in sorted(ratios.items()):
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{what:>28} {family + ' ' + kind:>18} {mean:13.3f} (geometric mean of {len(values)})")


if __name__ == "__main__":
    main()
