"""How good and how fast SliceGraph is: published workloads against their optima, and large layered graphs.

Workloads are looked for in $MTPP_DATA, else in ../shared/data beside the repository. The optima, of the raw
inference graphs on k equal stages, are those of an exact search over ideals (tarnawski2020, 5.1).

    python benchmarks/slicegraph.py            everything (about four minutes)
    python benchmarks/slicegraph.py published  or: programme, large
"""

from __future__ import annotations

import argparse
import math
import os
import resource
from itertools import islice
from pathlib import Path
from time import perf_counter

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.algorithms.slicing.slicer import Slicer
from mtpp_dsl.solvers.methods.partition import SliceGraph

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
STAGES = (2, 4, 8, 16, 32, 64)
OPTIMA = {
    "OperatorGraphs/bert_l-3": (33.257, 27.186, 27.186, 27.186, 27.186, 27.186),
    "OperatorGraphs/bert_l-12": (369.942, 187.623, 100.434, 75.583, 75.583, 75.583),
    "OperatorGraphs/resnet50": (165.882, 92.629, 89.311, 89.311, 89.311, 89.311),
    "LayerGraphs/bert24": (47.479, 24.917, 14.204, 7.196, 5.657, 5.657),
    "LayerGraphs/resnet50": (101.281, 50.990, 26.761, 18.998, 18.998, 18.998),
    "LayerGraphs/inceptionv3": (155.665, 78.353, 39.475, 21.764, 21.764, 21.764),
    "LayerGraphs/gnmt": (93.194, 47.161, 25.850, 24.788, 24.788, 24.788),
}


def equal_stages(graph: Graph, k: int) -> Problem:
    """Return the problem of splitting *graph* over *k* equal stages."""
    stages = [Device(f"stage[{i}]") for i in range(k)]
    return Problem.create(graph, stages, Shared(1.0), constraints=[Acyclic()])


def run(graph: Graph, k: int, method: SliceGraph) -> tuple[Problem, Result, float]:
    """Solve on k equal stages; return the problem, the checked result and the seconds it took."""
    problem = equal_stages(graph, k)
    start = perf_counter()
    result = method.solve(problem, Limits(), Progress())
    seconds = perf_counter() - start
    check_result(problem, result)
    return problem, result, seconds


def published() -> None:
    """Print cost over optimum, of the slices alone and after moving nodes."""
    folder = DATA / "dnn-partitioning" / "throughput"
    print(f"{'workload':26} {'n':>5} {'k':>3} {'optimum':>9} {'slices':>8} {'s':>6} {'moved':>8} {'s':>6}")
    for name, optima in OPTIMA.items():
        graph = Msr().read(folder / f"{name}_inference.json").graph
        run(graph, 2, SliceGraph())  # loads what is compiled
        for k, optimum in zip(STAGES, optima, strict=True):
            ratios = ""
            for method in (SliceGraph(moves=0), SliceGraph()):
                _, result, seconds = run(graph, k, method)
                assert result.cost is not None
                ratios += f" {result.cost / optimum:8.4f} {seconds:6.2f}"
            print(f"{name:26} {graph.n:5} {k:3} {optimum:9.3f}{ratios}")


def programme(k: int = 16) -> None:
    """Print the time of the dynamic programme alone, on one order, and with what power of n it grows.

    Orders are that of the file, and random ones grown from the sources and from the sinks, whose slices are far from
    even on graphs that are not as wide as layers tell.
    """
    print(f"{'width':>5} {'order':>7} {'n':>6} {'m':>6} {'k':>3} {'cost/simple':>11} {'s':>7} {'grows':>6} {'MB':>5}")
    slice_one(layered(nodes=3_000), 0, k)  # loads what is compiled
    for width, p in ((8, 0.15), (64, 0.05)):
        graphs = [layered(nodes=nodes, width=width, p=p, output=2.0) for nodes in (1_000, 5_000, 20_000, 50_000)]
        for name, which in (("file", 0), ("sources", 7), ("sinks", 8)):
            before = (0, 0.0)
            for graph in graphs:
                ratio, seconds = slice_one(graph, which, k)
                grows = math.log(seconds / before[1]) / math.log(graph.n / before[0]) if before[0] else math.nan
                print(
                    f"{width:5} {name:>7} {graph.n:6} {graph.m:6} {k:3} {ratio:11.4f} {seconds:7.3f} "
                    f"{f'n^{grows:.1f}' if before[0] else '':>6} {peak():5}",
                    flush=True,
                )
                before = (graph.n, seconds)


def slice_one(graph: Graph, which: int, k: int) -> tuple[float, float]:
    """Slice one of SliceGraph's orders, by sweeps; return its cost over the simple bound, and the seconds."""
    problem = equal_stages(graph, k)
    devices = device_types(problem)
    order = next(islice(orders(graph, devices.tensor, 0), which, None))
    start = perf_counter()
    found = Slicer(graph, devices, lambda _: None, dense=0).slice(order)
    seconds = perf_counter() - start
    assert found is not None
    return found.cost / simple_bound(problem)[0], seconds


def peak() -> int:
    """Return the peak memory of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def large() -> None:
    """Print cost over the simple bound, time and the peak memory of the process so far."""
    print(f"{'n':>6} {'m':>6} {'k':>3} {'cost/simple':>11} {'s':>6} {'MB':>5}")
    for nodes in (1_000, 5_000, 20_000):
        graph = layered(nodes=nodes, width=8, p=0.15, output=2.0)
        for k in (4, 16, 64):
            problem, result, seconds = run(graph, k, SliceGraph())
            assert result.cost is not None
            ratio = result.cost / simple_bound(problem)[0]
            print(f"{nodes:6} {graph.m:6} {k:3} {ratio:11.4f} {seconds:6.2f} {peak():5}")


PARTS = {"published": published, "programme": programme, "large": large}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="*", choices=PARTS)
    for part in parser.parse_args().part or PARTS:
        PARTS[part]()
