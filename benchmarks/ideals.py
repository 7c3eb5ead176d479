"""Exact contiguous splits: published workloads on other devices, nets with millions of ideals, and random graphs.

Workloads are looked for in $MTPP_DATA, else in ../shared/data beside the repository; those that are not there are left
out. Times are those of one process, after the first call has loaded the compiled code.

The workloads as published are in benchmarks/papers/tarnawski2020/table1.toml.

    python benchmarks/ideals.py          everything (some minutes)
    python benchmarks/ideals.py devices  or: series, random
"""

from __future__ import annotations

import argparse
import os
import random
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Colocate, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.partition import MAX_BYTES, Ideals

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FOLDER = DATA / "dnn-partitioning" / "throughput"
SWEPT = (
    "LayerGraphs/inceptionv3_inference",
    "LayerGraphs/inceptionv3_training",
    "LayerGraphs/gnmt_inference",
    "LayerGraphs/gnmt_training",
    "OperatorGraphs/bert_L-12_training",
)
DEVICES = ((2, 1), (3, 2), (4, 2), (8, 1), (8, 4), (16, 2), (32, 1), (64, 2))


def workload(name: str, devices: tuple[int, int]) -> Problem:
    """Return a published workload under the paper's constraints, on (accelerators, CPUs)."""
    read = Msr().read(FOLDER / f"{name}.json")
    graph = read.graph
    assert read.interconnect is not None
    colors = np.unique(graph.colors[graph.colors >= 0]).tolist()
    together = [Colocate(nodes=tuple(np.flatnonzero(graph.colors == color).tolist())) for color in colors]
    accelerator = next(d for d in read.devices if d.pays_io)
    cpu = next(d for d in read.devices if not d.pays_io)
    placed = [replace(accelerator, name=f"acc[{i}]") for i in range(devices[0])]
    placed += [replace(cpu, name=f"cpu[{i}]") for i in range(devices[1])]
    constraints = [Acyclic(parts="forward"), Memory(), *together]
    return Problem.create(graph, placed, read.interconnect, constraints=constraints)


def solve(problem: Problem, seconds: float = 120.0, most_bytes: float = MAX_BYTES) -> tuple[Result, float]:
    """Return the checked result and the seconds it took."""
    began = perf_counter()
    result = Ideals(most_bytes).solve(problem, Limits(time=seconds), Progress())
    took = perf_counter() - began
    check_result(problem, result)
    return result, took


def cells(result: Result) -> str:
    value = "-" if result.cost is None else f"{result.cost:.6f}"
    bound = "-" if result.bound is None else f"{result.bound.cost:.6f}"
    return f"{value:>13} {bound:>13} {result.status:>9}"


def present(names: list[str]) -> list[str]:
    """Return the workloads that are there."""
    missing = [name for name in names if not (FOLDER / f"{name}.json").is_file()]
    if missing:
        print(f"not at {FOLDER}: {', '.join(missing)}")
    return [name for name in names if name not in missing]


def devices() -> None:
    """Print the same of some workloads on other numbers of devices."""
    print(f"{'workload':36} {'k, l':>6} {'value':>13} {'bound':>13} {'status':>9} {'s':>6}")
    for name in present(list(SWEPT)):
        for k, cpus in DEVICES:
            result, took = solve(workload(name, (k, cpus)))
            print(f"{name:36} {k:3},{cpus:2} {cells(result)} {took:6.2f}")


def series(modules: int, branches: int, length: int, seed: int = 0, tensor: float = 0.1) -> Graph:
    """Return modules in series, each of parallel chains between two nodes, with lognormal weights."""
    draw = random.Random(seed)
    edges: list[tuple[int, int]] = []
    first, n = 0, 1
    for _ in range(modules):
        ends = []
        for _ in range(branches):
            at = first
            for _ in range(length):
                edges.append((at, n))
                at, n = n, n + 1
            ends.append(at)
        edges += [(end, n) for end in ends]
        first, n = n, n + 1
    work = [draw.lognormvariate(0, 1) for _ in range(n)]
    output = [tensor * draw.lognormvariate(0, 0.7) for _ in range(n)]
    return Graph.create([f"v{v}" for v in range(n)], edges, work=work, output=output)


def on_stages(graph: Graph, k: int) -> Problem:
    """Return the problem of splitting a graph over equal stages."""
    return Problem.create(graph, [Device(f"stage[{i}]") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


def row(name: str, problem: Problem, seconds: float, most_bytes: float = MAX_BYTES) -> None:
    result, took = solve(problem, seconds, most_bytes)
    gap = "-" if result.gap is None else f"{100 * result.gap:.2f}"
    print(f"{name:>14} {problem.graph.n:5} {problem.k:3} {cells(result)} {gap:>6} {took:6.2f}")


def large() -> None:
    """Print the same of series of modules with up to a million ideals; once more with hardly any memory."""
    print(f"{'net':>14} {'n':>5} {'k':>3} {'value':>13} {'bound':>13} {'status':>9} {'gap %':>6} {'s':>6}")
    for shape in ((6, 4, 6), (8, 4, 9), (8, 5, 8), (12, 6, 6)):
        for k in (4, 8):
            row("x".join(map(str, shape)), on_stages(series(*shape), k), 120.0)
    row("12x6x6, 10 MB", on_stages(series(12, 6, 6), 4), 60.0, 1e7)


def look_alikes() -> None:
    """Print the same of random graphs, 20 s each: what closes, and what is left open."""
    print(f"{'graph':>14} {'n':>5} {'k':>3} {'value':>13} {'bound':>13} {'status':>9} {'gap %':>6} {'s':>6}")
    for n in (30, 40, 60):
        for model in ("er", "ba", "ws", "sbm"):
            for k in (2, 4, 8, 16):
                row(model, on_stages(regal(n, model, "own-memory"), k), 20.0)


PARTS = {"devices": devices, "series": large, "random": look_alikes}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="*", choices=PARTS)
    for part in parser.parse_args().part or PARTS:
        PARTS[part]()
