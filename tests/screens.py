"""What the command line shows, at several widths: the cases that tests/snapshots hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import mtpp_dsl
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Reached, Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.terminal import summary
from mtpp_dsl.solving.api import find_method

__all__ = ["CASES", "SNAPSHOTS", "WIDTHS", "screens"]

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOTS = ROOT / "tests" / "snapshots"
WIDTHS: tuple[int | None, ...] = (60, 80, 120, 200, None)
"""None is a pipe."""

LAYERS = 24
OPERATORS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up", "mlp.down")


def named(devices: int, end: str) -> str:
    """Return a spec whose names are as long as those of published models."""
    names = [f'"model.decoder.layers.{i}.{name}.base_layer.weight"' for i in range(LAYERS) for name in OPERATORS]
    nodes = "\n".join(
        f"node {name} (work = {i % 5 + 1} ms, params = 20 MB, output = 4 MB)" for i, name in enumerate(names)
    )
    edges = "\n".join(f"edge {u} -> {v}" for u, v in pairwise(names))
    return f"graph {{\n{nodes}\n{edges}\n}}\ndevice accelerator[{devices}] (memory = 24 GB)\n{end}"


SHARED = "interconnect shared (bandwidth = 16 GB/s)\nminimize bottleneck\nconstraint acyclic\nconstraint memory\n"
LINKS = "interconnect links (bandwidth = 16 GB/s)\nminimize makespan\nconstraint memory\n"


def example(name: str, **params: object) -> Problem:
    """Return a problem of the examples."""
    with chdir(ROOT):
        return mtpp_dsl.load(f"examples/{name}.mtpp", **params)


def answer(problem: Problem, plan: Plan | None, bound: float | None = None, notes: tuple[str, ...] = ()) -> Result:
    """Return a result that looks like that of a solver after a second."""
    found = None if bound is None else Bound(bound, "exact", "trusted", "highs 1.15.1")
    result = Result("gap", plan=plan, bound=found, method="auto", solver="highs", time={"total": 1.25}, notes=notes)
    return replace(result, evaluation=None if plan is None else evaluate(problem, plan), verified=plan is not None)


def placed(problem: Problem, places: list[int], bound: float, **more: object) -> tuple[Problem, Result]:
    """Return the answer of a plan that says where the nodes run, in the order of the graph."""
    return problem, answer(problem, replace(Plan.create(problem, places), **more), bound)  # type: ignore[arg-type]


def scheduled(problem: Problem, bound: float) -> tuple[Problem, Result]:
    """Return the answer of a list schedule."""
    plan = find_method("heft").solve(problem, Limits(), Progress()).plan
    return problem, answer(problem, plan, bound)


def quickstart() -> tuple[Problem, Result]:
    return placed(example("quickstart"), [0, 0, 0, 1, 2, 0, 1, 1, 2, 2], 0.014465)


def streamed() -> tuple[Problem, Result]:
    problem = example("streamed")
    return placed(problem, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2], 0.0165)


def replicas() -> tuple[Problem, Result]:
    problem = example("replicas", copies=3)
    places = [0, 0, 0, 1, 1, 2, 2, 2, 5, 5]
    problem, result = placed(problem, places, 0.01, replicas={2: (2, 3, 4)})
    note = "the plan uses replicas; a runtime that has none can use --method exact with copies = 1 in their place"
    return problem, replace(result, notes=(note,))


def long_names() -> tuple[Problem, Result]:
    problem = mtpp_dsl.load(named(4, SHARED))
    return placed(problem, [v * 4 // problem.graph.n for v in range(problem.graph.n)], 0.1)


def many_devices() -> tuple[Problem, Result]:
    problem = mtpp_dsl.load(named(72, SHARED))
    return placed(problem, [v // 3 for v in range(problem.graph.n)], 0.005)


def makespan() -> tuple[Problem, Result]:
    return scheduled(example("unequal"), 0.03)


def many_tracks() -> tuple[Problem, Result]:
    return scheduled(mtpp_dsl.load(named(72, LINKS)), 0.3)


def batches() -> tuple[Problem, Result]:
    return scheduled(example("batch"), 0.9)


def bound_alone() -> tuple[Problem, Result]:
    problem = example("quickstart")
    return problem, replace(answer(problem, None, 0.0141), method="superblock")


def separate() -> tuple[Problem, Result]:
    problem = mtpp_dsl.load(
        "graph { node f[i in 0..3] (work = 2 ms, output = 4 MB)\nnode b[i in 0..3] (work = 3 ms, output = 4 MB, "
        "part = backward)\nedge f[i] -> f[i + 1] for i in 0..2\nedge b[i + 1] -> b[i] for i in 0..2\n"
        "edge f[i] -> b[i] for i in 0..3 }\ndevice gpu[2]\n"
        "interconnect shared (bandwidth = 8 GB/s)\nminimize bottleneck\n"
    )
    problem = replace(problem, objective=Objective("bottleneck", parts="separate"))
    return placed(problem, [0, 0, 1, 1, 0, 0, 1, 1], 0.0101)


def infeasible() -> tuple[Problem, Result]:
    problem = mtpp_dsl.load(named(4, SHARED).replace("24 GB", "200 MB"))
    reason = quick(problem)
    assert reason is not None
    return problem, Result("infeasible", method="auto", infeasibility=reason, time={"total": 0.01})


def clashing() -> tuple[Problem, Result]:
    first, last = (
        '"model.decoder.layers.0.mlp.up.base_layer.weight"',
        '"model.decoder.layers.23.mlp.up.base_layer.weight"',
    )
    rules = f"constraint pin {first}, {last} on accelerator[1]\nconstraint separate {first}, {last}\n"
    problem = mtpp_dsl.load(named(4, SHARED + rules))
    reason = quick(problem)
    assert reason is not None
    return problem, Result("infeasible", method="auto", infeasibility=reason, time={"total": 0.01})


def several() -> tuple[Problem, Result]:
    problem = mtpp_dsl.load(
        "graph { node a (work = 1 ms, output = 1 MB)\nnode b (work = 2 ms, output = 1 MB)\nnode c (work = 3 ms)\n"
        "edge a -> b -> c }\ndevice gpu[3]\ninterconnect shared (bandwidth = 1 GB/s)\n"
        "minimize cost: sum(2 USD * used(d) for d in devices) (within = 10%)\nminimize bottleneck\nminimize latency\n"
        "constraint soon: bottleneck <= 3 ms (penalty = 1 USD / 4 ms)\n"
        "constraint apart: forall d in devices: on(a, d) + on(b, d) <= 1 (penalty = 0.25 USD)\n"
        "constraint few: on(c, gpu[2]) <= 0 (penalty = 0.25 USD)\n"
    )
    problem, result = placed(problem, [0, 0, 1], 4.5)
    bounds = (4.5, 0.0039, None)
    assert result.evaluation is not None
    objectives = tuple(
        Reached(
            objective, cost, None if bound is None else best, bound and Bound(bound, "exact", "trusted", "highs 1"), gap
        )
        for objective, cost, best, bound, gap in zip(
            problem.objectives, result.evaluation.costs, (4.5, 0.00395, 0.0), bounds, (0.0, 0.0127, None), strict=True
        )
    )
    return problem, replace(result, objectives=objectives, termination="time_limit")


CASES: dict[str, Callable[[], tuple[Problem, Result]]] = {
    case.__name__: case
    for case in (
        quickstart,
        streamed,
        replicas,
        long_names,
        many_devices,
        makespan,
        many_tracks,
        batches,
        bound_alone,
        separate,
        infeasible,
        clashing,
        several,
    )
}


def screens(case: str) -> Iterator[tuple[int | None, str]]:
    """Yield what is shown of a case at every width."""
    problem, result = CASES[case]()
    for width in WIDTHS:
        yield width, "\n".join(line.plain.rstrip() for line in summary(problem, result, width)) + "\n"
