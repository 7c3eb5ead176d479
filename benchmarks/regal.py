"""Bounds and plans on look-alikes of archer2024's synthetic graphs, beside the paper's Table 3, and on real graphs.

Thirty random graphs of 50 to 200 nodes, three base models and two readings of the node weights in turn; every number of
devices; `auto` with the time given for bound and plan together. **These are not the paper's graphs**: see
`mtpp_dsl.generators.regal`. Rows go to a file as they are made, and a run that is repeated goes on where the last one
ended; the tables are of all rows of the file.

    python benchmarks/regal.py run --seconds 60 --to regal.csv             30 graphs x 6: three hours
    python benchmarks/regal.py run --graphs 6 --seconds 20 --to quick.csv
    python benchmarks/regal.py run --what brkga --to regal.csv             plans of brkga with 10 000 evaluations
    python benchmarks/regal.py run --what hierarchy --graphs 3 --to regal.csv
    python benchmarks/regal.py table --to regal.csv
    python benchmarks/regal.py real                                        graphs of ../shared/data, each k
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from mtpp_dsl.api import solve
from mtpp_dsl.constraints import Acyclic
from mtpp_dsl.formats.msr import Msr
from mtpp_dsl.generators.regal import regal
from mtpp_dsl.problem import Device, Problem, Shared
from mtpp_dsl.problem.graph import Graph

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
REAL = DATA / "dnn-partitioning" / "throughput"
DEVICES = (2, 4, 8, 16, 32, 64)
MODELS, READINGS = ("er", "ba", "ws"), ("literal", "own-memory")
GRAPHS = 30
PUBLISHED = {  # archer2024, Table 3: bound / best plan, an hour of Gurobi, on graphs that are not these
    "simple": (0.9579, 0.8795, 0.7911, 0.5821, 0.4087, 0.3336),
    "superblock": (0.9794, 0.8818, 0.7918, 0.5824, 0.4090, 0.3338),
    "guess": (0.9804, 0.8826, 0.7918, 0.5824, 0.4090, 0.3338),
    "exact": (0.9804, 0.9579, 0.9407, 0.8929, 0.5910, 0.3810),
}
QUICK = ("simple", "node", "anchor", "count")
HIERARCHY = ("superblock", "guess", "fig3")
METHODS = {"auto": ("auto",), "quick": QUICK, "brkga": ("brkga",), "hierarchy": HIERARCHY, "bound": ("configuration",)}
FIELDS = ("graph", "nodes", "edges", "k", "method", "seconds", "cost", "bound", "by", "first")


@dataclass(frozen=True)
class Case:
    """One graph of the set."""

    number: int

    @property
    def reading(self) -> str:
        return READINGS[self.number % 2]

    @property
    def name(self) -> str:
        return f"{self.number:02} {self.reading} {self.model}"

    @property
    def model(self) -> str:
        return MODELS[self.number // 2 % 3]

    def graph(self) -> Graph:
        nodes = int(np.random.default_rng(self.number).integers(50, 201))
        return regal(nodes, self.model, self.reading, self.number)


def on_stages(graph: Graph, k: int) -> Problem:
    """Return the problem of splitting a graph over equal stages."""
    return Problem.create(graph, [Device(f"stage[{i}]") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


def row(name: str, problem: Problem, method: str, seconds: float) -> dict[str, object]:
    """Solve, and return a row of the file; ``first`` is when plan and bound came within 5 % of each other."""
    began = perf_counter()
    result = solve(problem, method, time_limit=seconds, gap=1e-4)
    took = perf_counter() - began
    close = (e.time for e in result.log if e.incumbent and e.bound and e.bound >= 0.95 * e.incumbent)
    return {
        "graph": name,
        "nodes": problem.graph.n,
        "edges": problem.graph.m,
        "k": problem.k,
        "method": method,
        "seconds": f"{took:.3f}",
        "cost": "" if result.cost is None else repr(result.cost),
        "bound": "" if result.bound is None else repr(result.bound.cost),
        "by": "" if result.bound is None else result.bound.method,
        "first": next((f"{time:.2f}" for time in close), ""),
    }


def read(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(path: Path, what: str, graphs: int, devices: tuple[int, ...], seconds: float) -> None:
    """Add the rows that are not in the file yet."""
    known = {(r["graph"], int(r["k"]), r["method"]) for r in read(path)}
    fresh = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for number in range(graphs):
            case = Case(number)
            for k in devices:
                for method in METHODS[what]:
                    if (case.name, k, method) in known:
                        continue
                    made = row(case.name, on_stages(case.graph(), k), method, seconds)
                    writer.writerow(made)
                    file.flush()
                    print(" ".join(f"{made[field]!s:>10.10}" for field in FIELDS), flush=True)


def mean(ratios: list[float]) -> str:
    """Return the geometric mean, the least, and how many."""
    if not ratios:
        return "-"
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} ({min(ratios):.3f})"


def tables(path: Path) -> None:
    """Print geometric means (and the least) of bound / best and of cost / best, by method and number of devices."""
    rows = read(path)
    best: dict[tuple[str, str], float] = {}
    for r in rows:
        if r["cost"]:
            place = r["graph"], r["k"]
            best[place] = min(best.get(place, math.inf), float(r["cost"]))
    methods = list(dict.fromkeys(r["method"] for r in rows))
    for reading in ("", *READINGS):
        these = [r for r in rows if reading in r["graph"] and (r["graph"], r["k"]) in best]
        print(f"\n{reading or 'both readings'}: {len({r['graph'] for r in these})} graphs; geometric mean (least)")
        heads = "".join(f"{f'k={k}':>15}" for k in DEVICES)
        for column, title in (("bound", "bound / best"), ("cost", "best / cost"), ("seconds", "seconds, median")):
            print(f"{title:22}{heads}")
            for method in methods:
                if column == "bound" and method == "brkga":
                    continue
                cells = [list(_ratios(these, best, method, str(k), column)) for k in DEVICES]
                shown = [f"{median(c):.2f}" if c and column == "seconds" else mean(c) for c in cells]
                if any(cells):
                    print(f"  {method:20}" + "".join(f"{cell:>15}" for cell in shown))
            for name, values in PUBLISHED.items() if column == "bound" else ():
                print(f"  {'published ' + name:20}" + "".join(f"{value:>15.3f}" for value in values))


def _ratios(
    rows: list[dict[str, str]], best: dict[tuple[str, str], float], method: str, k: str, column: str
) -> Iterator[float]:
    for r in rows:
        if r["method"] == method and r["k"] == k and r[column]:
            value, least = float(r[column]), best[r["graph"], r["k"]]
            yield {"bound": value / least, "cost": least / value, "seconds": value}[column]


def real() -> None:
    """Print value, bound and seconds of every inference graph in the data, without its constraints, for every k."""
    paths = sorted(REAL.rglob("*_inference.json"))
    if not paths:
        print(f"no workloads at {REAL}")
    print(f"{'graph':40} {'n':>5} {'k':>3} {'value':>12} {'bound':>12} {'status':>9} {'s':>6}")
    worst = 0.0
    for path in paths:
        graph = Msr().read(path).graph
        for k in DEVICES:
            problem = on_stages(graph, k)
            began = perf_counter()
            result = solve(problem, time_limit=60.0)
            took = perf_counter() - began
            worst = max(worst, took)
            bound = math.nan if result.bound is None else result.bound.cost
            name = f"{path.parent.name}/{path.stem}"
            cells = f"{result.cost or math.nan:12.6f} {bound:12.6f} {result.status:>9} {took:6.2f}"
            print(f"{name:40} {graph.n:5} {k:3} {cells}")
    print(f"longest: {worst:.2f} s (the first includes loading compiled code)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("run", "table", "real"))
    parser.add_argument("--what", choices=METHODS, default="auto")
    parser.add_argument("--graphs", type=int, default=GRAPHS)
    parser.add_argument("--k", type=int, nargs="+", default=DEVICES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--to", type=Path, default=Path("regal.csv"))
    given = parser.parse_args()
    if given.part == "real":
        real()
    else:
        if given.part == "run":
            run(given.to, given.what, given.graphs, tuple(given.k), given.seconds)
        tables(given.to)
