"""Mixtures of experts under labelled constraints: at most so many experts on a device, and some apart.

A block of attention, a router, experts, and attention beside them; 20 nodes unless another number of experts is asked.
Rows: ``sum(on(expert[i], d)) <= most`` for every device, and ``on(expert[i], d) + on(expert[i + 1], d) <= 1`` for the
first experts. Each method gets the same time; ``gap`` is (plan - bound) / plan.

    python benchmarks/rows.py [--experts 10] [--devices 4] [--seconds 20] [--methods auto,exact,annealing] [--seed 0]
"""

from __future__ import annotations

import argparse
from math import ceil
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import monotonic

import mtpp_dsl
from mtpp_dsl.core.contracts.protocols import why_not
from mtpp_dsl.solving.api import find_method

SPEC = """
mtpp 1
param experts: int = 10
param devices_: int = 4
param most: int = 3
param apart_: int = 4

graph {{
  node embed (work = 1.0, output = 2)
  node attention (work = 4.0, output = 2)
  node project (work = 1.5, output = 2)
  node norm (work = 0.5, output = 2)
  node router (work = 0.7, output = 1)
  node expert[i in 0..experts - 1] (work = 2.0 + 0.17 * i, output = 1)
  node combine (work = 0.8, output = 2)
  node again (work = 4.0, output = 2)
  node mix (work = 1.0, output = 2)
  node feed (work = 1.7, output = 2)
  node head (work = 2.5, output = 1)
  edge embed -> attention
  edge attention -> project
  edge project -> norm
  edge embed -> norm
  edge norm -> router
  edge router -> expert[i] for i in 0..experts - 1
  edge norm -> expert[i] for i in 0..experts - 1
  edge expert[i] -> combine for i in 0..experts - 1
  edge norm -> again
  edge combine -> mix
  edge again -> mix
  edge mix -> feed
  edge feed -> head
}}
device gpu[devices_]
{interconnect}
{objective}
constraint few:   forall d in devices: sum(on(expert[i], d) for i in 0..experts - 1) <= most
constraint apart: forall i in 0..apart_: forall d in devices: on(expert[i], d) + on(expert[i + 1], d) <= 1
"""
LINKS = "interconnect links\nlink a -> b (bandwidth = 4) for a in devices for b in devices if a != b"
SHARED = "interconnect shared (bandwidth = 4)"
OBJECTIVES = {"bottleneck": SHARED, "makespan": LINKS}
METHODS = {"bottleneck": "auto,exact,annealing", "makespan": "auto,moirai,lns,annealing,heft"}


def problem_of(objective: str, experts: int, devices: int) -> mtpp_dsl.Problem:
    """Return the problem with an objective; with a little more room for experts than their number needs."""
    spec = SPEC.format(interconnect=OBJECTIVES[objective], objective=f"minimize {objective}")
    params = {"experts": experts, "devices_": devices, "most": ceil(experts / devices), "apart_": min(4, experts - 2)}
    return mtpp_dsl.load(spec, **params)


def processor() -> float:
    """Return the seconds of processor time of this process and of those that it has waited for."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def main() -> None:
    """Print a line for every objective and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experts", type=int, default=10)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--methods", default="")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"{'objective':<11} {'method':<10} {'plan':>9} {'bound':>9} {'gap':>7} {'seconds':>8} {'cpu':>6}")
    for objective, usual in METHODS.items():
        problem = problem_of(objective, given.experts, given.devices)
        for name in (given.methods or usual).split(","):
            if why_not(find_method(name), problem) is not None:
                continue
            began, used = monotonic(), processor()
            found = mtpp_dsl.solve(problem, name, time_limit=given.seconds, seed=given.seed)
            plan = "none" if found.cost is None else f"{found.cost:.4f}"
            bound = "none" if found.bound is None else f"{found.bound.cost:.4f}"
            gap = "" if found.gap is None else f"{found.gap:.2%}"
            times = f"{monotonic() - began:>8.1f} {processor() - used:>6.1f}"
            print(f"{objective:<11} {name:<10} {plan:>9} {bound:>9} {gap:>7} {times}", flush=True)


if __name__ == "__main__":
    main()
