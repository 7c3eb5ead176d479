"""Small answers of each kind of objective, to be drawn."""

from __future__ import annotations

from functools import cache

import mtpp_dsl
from mtpp_dsl.core.plans.result import Result

__all__ = ["NAMES", "answer"]

CHAIN = """
graph {
  node v[i in 0..<@n] (work = 2 ms, output = 1 MiB, params = 1 MiB)
  edge v[i] -> v[i + 1] for i in 0..<@n - 1
}
"""
SHARED = "interconnect shared (bandwidth = 8 GiB/s)\n"
LINKS = "interconnect links (bandwidth = 1 GiB/s, latency = 1 us)\n"
SPLIT = "minimize bottleneck\nconstraint acyclic\n"
LONG = "of_a_cluster_with_quite_a_long_name"
SPECS = {
    "one": (4, f"device d\n{SHARED}{SPLIT}"),
    "two": (4, f"device {LONG}[2] (memory = 8 MiB)\n{SHARED}{SPLIT}constraint memory\n"),
    "many": (64, f"device {LONG}[64] (memory = 8 MiB)\n{SHARED}{SPLIT}constraint memory\n"),
    "links": (6, f"device d[3]\n{LINKS.replace(')', ', overlap = full)')}{SPLIT}"),
    "makespan": (4, f"device d[2]\n{LINKS}minimize makespan\n"),
    "iteration": (4, f"device d[2]\n{SHARED}minimize iteration (microbatches = 4)\nconstraint acyclic\n"),
    "infeasible": (4, f"device d[2] (memory = 1 MiB)\n{SHARED}{SPLIT}constraint memory\n"),
}
NAMES = list(SPECS)


@cache
def answer(name: str) -> Result:
    """Return the answer to one of the specs above, found in no time."""
    n, devices = SPECS[name]
    problem = mtpp_dsl.load(CHAIN.replace("@n", str(n)) + devices)
    method = {"makespan": "heft", "iteration": "auto"}.get(name, "ideals" if n < 64 and "links" not in name else "auto")
    return mtpp_dsl.solve(problem, method, time_limit=2)
