"""The baselines on the published workloads, beside their values in tarnawski2020, Table 1.

Workloads and splits by hand are looked for in $MTPP_DATA, else in ../shared/data beside the repository; those that are
not there are left out. Constraints beside colocation by colour class and memory:

    acyclic  the quotient graph of the forward part is acyclic
    free     none
    as T     none, and no node on a CPU: the published local search and Scotch know none

    python benchmarks/baselines.py            all methods
    python benchmarks/baselines.py dpl scotch some
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mtpp_dsl.api import find_method
from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.constraints import Acyclic, Colocate, Constraint, Forbid, Memory
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.errors import SolverError
from mtpp_dsl.formats.msr import Msr
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.methods.classical import Dpl

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "dnn-partitioning"
SECONDS = 60.0


class Published(NamedTuple):
    """A row of Table 1: time per sample by method; None where it has none."""

    dpl: float
    expert: float | None
    local_search: float
    pipedream: float | None
    scotch: float


TABLE = {
    "OperatorGraphs/bert_l-3_inference": Published(27.92, None, 24.32, None, 35.94),
    "OperatorGraphs/bert_l-6_inference": Published(29.58, None, 42.52, None, 49.80),
    "OperatorGraphs/bert_l-12_inference": Published(147.48, None, 257.38, None, 230.12),
    "OperatorGraphs/resnet50_inference": Published(124.35, None, 250.08, None, 197.84),
    "OperatorGraphs/bert_l-3_training": Published(65.30, None, 66.17, None, 416.97),
    "OperatorGraphs/bert_l-6_training": Published(79.50, None, 94.86, None, 130.20),
    "OperatorGraphs/bert_L-12_training": Published(438.00, None, 737.99, None, 800.79),
    "OperatorGraphs/resnet50_training": Published(255.19, None, 530.95, None, 379.21),
    "LayerGraphs/bert24_inference": Published(17.79, 20.08, 17.80, 17.79, 18.03),
    "LayerGraphs/resnet50_inference": Published(33.77, 43.92, 35.63, 39.38, 34.50),
    "LayerGraphs/inceptionv3_inference": Published(51.55, 102.48, 54.03, 60.42, 54.01),
    "LayerGraphs/gnmt_inference": Published(32.91, 46.21, 31.75, 33.03, 34.92),
    "LayerGraphs/bert24_training": Published(41.75, 49.40, 39.93, 41.75, 42.01),
    "LayerGraphs/resnet50_training": Published(78.65, 112.11, 81.32, 83.67, 80.10),
    "LayerGraphs/inceptionv3_training": Published(123.93, 213.65, 122.80, 128.32, 128.32),
    "LayerGraphs/gnmt_training": Published(107.00, 137.15, 91.52, 107.35, 107.00),
}
CALLS: tuple[tuple[str, str, str, Callable[[], Method], str], ...] = (
    ("single-device", "", "acyclic", lambda: find_method("single-device"), ""),
    ("expert", "", "acyclic", lambda: find_method("expert"), "expert"),
    ("dpl", " (1 order)", "acyclic", lambda: Dpl(orders=1), "dpl"),
    ("dpl", " (20)", "acyclic", Dpl, "dpl"),
    ("pipedream", "", "acyclic", lambda: find_method("pipedream"), "pipedream"),
    ("local-search", "", "as T", lambda: find_method("local-search"), "local_search"),
    ("local-search", "", "free", lambda: find_method("local-search"), "local_search"),
    ("local-search", "", "acyclic", lambda: find_method("local-search"), ""),
    ("scotch", "", "as T", lambda: find_method("scotch"), "scotch"),
)
"""Method, variant, constraints, how to make it, and its column of Table 1."""


def workload(name: str, setting: str) -> Problem:
    """Return a published workload under the constraints of a setting."""
    read = Msr().read(DATA / "throughput" / f"{name}.json")
    graph, devices = read.graph, read.devices
    assert read.interconnect is not None
    colors = np.unique(graph.colors[graph.colors >= 0]).tolist()
    rules: list[Constraint] = [
        Colocate(nodes=tuple(np.flatnonzero(graph.colors == color).tolist())) for color in colors
    ]
    rules.append(Memory())
    if setting == "acyclic":
        rules.append(Acyclic(parts="forward"))
    if setting == "as T":
        cpus = tuple(d for d, device in enumerate(devices) if not device.pays_io)
        rules.append(Forbid(nodes=tuple(range(graph.n)), devices=cpus))
    return Problem.create(graph, devices, read.interconnect, constraints=rules)


def by_hand(name: str, problem: Problem) -> Plan | None:
    """Return the published split by hand of a workload, or of the inference graph of the same net."""
    stem = name.partition("/")[2]
    for file in (stem, stem.replace("training", "inference")):
        path = DATA / "experts" / f"{file}_expert.json"
        if name.startswith("LayerGraphs") and path.is_file():
            return Plan.from_json(problem, json.loads(path.read_text(encoding="utf-8")))
    return None


def row(name: str, method: Method, setting: str, column: str) -> str | None:
    """Return value, published value, their ratio and seconds; None where there is nothing to run."""
    published = getattr(TABLE[name], column) if column else None
    problem = workload(name, setting)
    start = by_hand(name, problem) if method.name == "expert" else None
    if method.name == "expert" and start is None:
        return None
    began = perf_counter()
    try:
        result = method.solve(problem, Limits(time=SECONDS, start=start), Progress())
    except SolverError as error:
        return f"{error}"
    took = perf_counter() - began
    check_result(problem, result)
    if result.cost is None:
        return (
            f"{'-':>12} {'-' if published is None else format(published, '.2f'):>8} {'-':>6} {took:6.2f}  "
            + "; ".join(result.notes)
        )
    shown = "-" if published is None else f"{published:.2f}"
    ratio = "-" if published is None else f"{result.cost / published:.3f}"
    return f"{result.cost:12.4f} {shown:>8} {ratio:>6} {took:6.2f}"


def rows(asked: list[str]) -> Iterator[str]:
    """Yield the table."""
    yield f"{'workload':36} {'method':18} {'rules':8} {'value':>12} {'table 1':>8} {'ratio':>6} {'s':>6}"
    there = [name for name in TABLE if (DATA / "throughput" / f"{name}.json").is_file()]
    for name in there:
        for method, variant, setting, make, column in CALLS:
            line = row(name, make(), setting, column) if not asked or method in asked else None
            if line is not None:
                yield f"{name:36} {method + variant:18} {setting:8} {line}"
    missing = [name for name in TABLE if name not in there]
    if missing:
        yield f"not at {DATA}: {', '.join(missing)}"


if __name__ == "__main__":
    for printed in rows(sys.argv[1:]):
        print(printed, flush=True)
