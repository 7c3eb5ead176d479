"""Latencies of the published workloads of tarnawski2020: greedy, all on CPUs, the search, its bound, the programme.

Workloads are looked for in $MTPP_DATA, else in ../shared/data beside the repository; those that are not there are left
out. One subgraph on each accelerator, memory and colocation, as in the published programme with q = 1.

    python benchmarks/latency.py                         60 s for each workload, seed 0
    python benchmarks/latency.py --seconds 20 --seed 3 --only OperatorGraphs --pieces 2 --programme 60
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from time import perf_counter

import numpy as np

from mtpp_dsl.api import find_method
from mtpp_dsl.checks.verification import check_result, cost_of
from mtpp_dsl.constraints import Colocate, Memory, Subgraphs
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.formats.msr import Msr
from mtpp_dsl.plans.result import Result, relative_gap
from mtpp_dsl.plans.subgraphs import scheduled
from mtpp_dsl.problem import Objective, Problem

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FOLDER = DATA / "dnn-partitioning" / "latency"
GREEDY = {  # what the published greedy.cpp gives, run as it is
    "LayerGraphs/bert24_inference": 100.219,
    "LayerGraphs/inceptionv3_inference": 2485.240,
    "LayerGraphs/resnet50_inference": 4197.055,
    "OperatorGraphs/bert_l-3_inference": 416.204,
    "OperatorGraphs/bert_l-12_inference": 867.839,
    "OperatorGraphs/resnet50_inference": 839.536,
}


def workload(name: str, pieces: int) -> Problem:
    """Return a published workload with up to *pieces* subgraphs on each accelerator."""
    read = Msr().read(FOLDER / f"{name}.json")
    assert read.interconnect is not None
    colors = read.graph.colors
    together = [
        Colocate(nodes=tuple(np.flatnonzero(colors == color).tolist())) for color in np.unique(colors[colors >= 0])
    ]
    rules = [Subgraphs(most=pieces), Memory(), *together]
    return Problem.create(read.graph, read.devices, read.interconnect, Objective("makespan"), rules)


def beside(problem: Problem) -> float:
    """Return the latency of everything on CPUs."""
    cpu = next(d for d, device in enumerate(problem.devices) if not device.pays_io)
    nothing = np.zeros(problem.graph.n, np.int64)
    return cost_of(problem, scheduled(problem, nothing + cpu, nothing))


def run(name: str, problem: Problem, seconds: float, seed: int) -> tuple[Result, float]:
    """Return what a method finds, checked, and how long it took."""
    began = perf_counter()
    result = find_method(name).solve(problem, Limits(time=seconds, seed=seed), Progress())
    took = perf_counter() - began
    check_result(problem, result)
    return result, took


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the search of each workload")
    parser.add_argument("--programme", type=float, default=0.0, help="seconds for the integer programme; 0: without")
    parser.add_argument("--pieces", type=int, default=1, help="subgraphs on each accelerator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    options = parser.parse_args()
    columns = ("published", "greedy", "all CPU", "search", "bound", "gap %", "s", "programme", "its bound")
    print(f"{'workload':36}" + "".join(f"{column:>11}" for column in columns))
    for name, published in GREEDY.items():
        if options.only not in name or not (FOLDER / f"{name}.json").exists():
            continue
        problem = workload(name, options.pieces)
        greedy = run("published-greedy", problem, options.seconds, options.seed)[0].cost
        found, took = run("latency-search", problem, options.seconds, options.seed)
        assert found.cost is not None
        assert found.bound is not None
        gap = 100 * relative_gap(found.cost, found.bound.cost)
        row = [published, greedy, beside(problem), found.cost, found.bound.cost, gap, took]
        if options.programme:
            solved, _ = run("latency", problem, options.programme, options.seed)
            row += [solved.cost, None if solved.bound is None else solved.bound.cost]
        shown = "".join(f"{'-' if value is None else format(value, '.4f'):>11}" for value in row)
        print(f"{name:36}{shown}", flush=True)


if __name__ == "__main__":
    main()
