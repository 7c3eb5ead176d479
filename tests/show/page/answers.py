"""Answers of every kind, for tests of pages: a name and what makes the problem and the result."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import mtpp_dsl
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests import networks, objective_problems, order_problems, phases, row_problems, staging, weighted_problems
from tests.hostile_names import hostile_problem
from tests.latency_cases import latency_problem
from tests.makespans import makespan_problem
from tests.repeats import random_repeats
from tests.robust_problems import random_robust
from tests.tree import ROOT

__all__ = ["ANSWERS", "Answer"]

Answer = tuple[Problem, Result]
EXAMPLES = ROOT / "examples"
SPECS = ("batch", "cheapest", "copies", "devices", "network", "quickstart", "replicas", "serving", "streamed",
         "tensor_parallel", "towers", "training", "unequal")  # fmt: skip
IMPOSSIBLE = """
graph { node a (work = 2 ms, params = 3 GB) node b (work = 1 ms, params = 3 GB) edge a -> b }
device gpu[2] (memory = 4 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory
constraint colocate a, b
"""


def _solved(problem: Problem, method: str = "auto", **options: object) -> Answer:
    return problem, mtpp_dsl.solve(problem, method, time_limit=2, **options)  # type: ignore[arg-type]


def _made(make: Callable[[], Problem], method: str = "auto") -> Callable[[], Answer]:
    return lambda: _solved(make(), method)


def _spec(name: str, **options: object) -> Callable[[], Answer]:
    return lambda: _solved(mtpp_dsl.load(EXAMPLES / f"{name}.mtpp"), **options)  # type: ignore[arg-type]


def _unknown() -> Answer:
    problem = mtpp_dsl.load(EXAMPLES / "quickstart.mtpp")
    return problem, Result("time_limit", method="auto", time={"total": 2.0}).of(problem)


MADE: dict[str, Callable[[int], Problem]] = {
    "makespan": makespan_problem,
    "latency": latency_problem,
    "objectives": lambda seed: objective_problems.random_case(seed).problem,
    "timed": lambda seed: objective_problems.random_timed_case(seed).problem,
    "phases": lambda seed: phases.phased_problem(phases.random_case(seed), phases.GOALS[seed % len(phases.GOALS)]),
    "stages": staging.random_stages,
    "groups": staging.random_groups,
    "robust": random_robust,
    "rows": partial(row_problems.small_problem, kind="bottleneck"),
    "several": partial(weighted_problems.random_problem, objectives=3, soft=1.0, rows=3),
    "batches": random_repeats,
    "networks": lambda seed: networks.random_problem(random.Random(seed), objective=Objective("bottleneck")),
    "orders": lambda seed: order_problems.ordered_problem(seed, "iteration"),
}

ANSWERS: dict[str, Callable[[], Answer]] = {
    "hostile": lambda: _solved(hostile_problem()),
    "hostile bound": lambda: _solved(hostile_problem(), "simple"),
    "infeasible": lambda: _solved(mtpp_dsl.load(IMPOSSIBLE)),
    "bound": _spec("quickstart", method="simple"),
    "unknown": _unknown,
    "1f1b": _spec("training"),
    "shards": _spec("tensor_parallel", method="ideals"),
    "target": _spec("quickstart", target="deepspeed"),
    **{name: _spec(name) for name in SPECS},
    **{f"{kind} {seed}": _made(partial(make, seed)) for seed in (1, 2, 3) for kind, make in MADE.items()},
}
"""Examples, random problems of every kind, hostile names; infeasible, bound alone, unknown, for a runtime."""
