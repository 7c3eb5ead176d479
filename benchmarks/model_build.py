"""CPU seconds to build the exact model and to hand it to HiGHS.

Run with: python benchmarks/model_build.py [nodes,edges,devices ...]
"""

from __future__ import annotations

import argparse
import random
from time import process_time

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.backends.mip.bridge import Bridge

SIZES = ("800,1600,8", "2000,4000,16")


def graph(n: int, m: int, seed: int = 1) -> Graph:
    """Return a random graph that looks like a network: mostly short edges."""
    draw = random.Random(seed)
    edges = {(max(0, v - 1 - int(draw.expovariate(0.5))), v) for v in range(1, n)}
    while len(edges) < m:
        v = draw.randrange(1, n)
        u = max(0, v - 1 - int(draw.expovariate(1 / 12)))
        if u < v:
            edges.add((u, v))
    work = [draw.lognormvariate(0, 0.8) for _ in range(n)]
    output = [0.15 * draw.lognormvariate(0, 0.8) for _ in range(n)]
    return Graph.create([f"v{v}" for v in range(n)], sorted(edges), work=work, output=output)


def measure(n: int, m: int, k: int) -> str:
    """Return one row of the table: the best of three runs."""
    problem = Problem.create(graph(n, m), [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[Acyclic()])
    best = (float("inf"), float("inf"))
    for _ in range(3):
        began = process_time()
        model = Exact().build(problem)
        built = process_time()
        bridge = Bridge(model)
        best = min(best, (built - began, process_time() - built), key=sum)
    highs = bridge.highs
    size = f"{highs.getNumRow():>8} {highs.getNumCol():>8} {highs.getNumNz():>9}"
    return f"{n:>6} {m:>6} {k:>4} {size} {best[0]:>8.3f} {best[1]:>10.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("size", nargs="*", help="nodes,edges,devices")
    sizes = parser.parse_args().size or SIZES
    print(f"{'n':>6} {'m':>6} {'k':>4} {'rows':>8} {'columns':>8} {'nonzeros':>9} {'build s':>8} {'translate s':>10}")
    for size in sizes:
        n, m, k = map(int, size.split(","))
        print(measure(n, m, k))


if __name__ == "__main__":
    main()
