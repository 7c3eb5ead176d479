"""Graphs of the sizes of zhang2023, Table IV, coarsened, scheduled and put back, against the whole graphs.

The devices and links are those of the paper's Table III, the servers' GPUs with the vendors' figures in single
precision; with ``--devices 8`` there are two of each. Graphs are those of generator ``gpt`` with Table IV's layers,
widths and heads, which have its numbers of operators. Rules are those of ``--rules``. Every plan is verified on the
whole graph; ``bound`` is over the makespan, ``single`` the makespan of the best device by itself over it.

    python benchmarks/coarsening.py [--models gpt-3,swin,alphafold2] [--devices 4] [--methods heft,etf] [--exclusive]
"""

from __future__ import annotations

import argparse
from time import monotonic

import numpy as np

from mtpp_dsl import api
from mtpp_dsl.constraints import Constraint, ExclusiveLinks, Memory
from mtpp_dsl.contracts import Method
from mtpp_dsl.generators.gpt import gpt
from mtpp_dsl.problem import Device, Links, Objective, Problem
from mtpp_dsl.solvers.reductions.coarsened import Coarse
from mtpp_dsl.solvers.reductions.fusion_rules import read_rules
from mtpp_dsl.solvers.reductions.gcof import coarsen

TABLE_IV = {  # layers, width, heads
    "swin 1.8B": (32, 512, 16),
    "swin 6.6B": (48, 768, 24),
    "swin 13B": (56, 1024, 32),
    "gpt-3 330M": (24, 1024, 16),
    "gpt-3 1.3B": (24, 2048, 32),
    "gpt-3 2.7B": (32, 2560, 32),
    "gpt-3 13B": (40, 5120, 40),
    "alphafold2 87M": (48, 256, 8),
    "alphafold2 930M": (64, 512, 16),
    "alphafold2 2.4B": (96, 1024, 32),
    "alphafold2 3.2B": (128, 1024, 32),
}
GPUS = {"2080ti": (13.4e12, 11e9), "t4": (8.1e12, 16e9), "p4": (5.5e12, 8e9), "3060ti": (16.2e12, 8e9)}
GBITS = [[0, 44.26, 32.92, 44.28], [42.39, 0, 35.32, 44.51], [33.2, 35.31, 0, 32.95], [42.08, 43.22, 33.28, 0]]
LATENCY = 5e-6


def problem_of(model: str, devices: int, *, exclusive: bool) -> Problem:
    """Return a model of Table IV on the devices of Table III."""
    layers, width, heads = TABLE_IV[model]
    gpus = [(name, speed, memory) for name, (speed, memory) in GPUS.items()]
    chosen = []
    for d in range(devices):
        name, speed, memory = gpus[d % 4]
        chosen.append(Device(f"{name}-{d // 4}", speed=speed, memory=memory))
    table = np.array(GBITS)
    table = np.where(np.eye(4) > 0, 40.0, table)  # two of one kind
    of = np.arange(devices) % 4
    bandwidth = table[np.ix_(of, of)] * 1e9 / 8
    np.fill_diagonal(bandwidth, 0.0)
    links = Links(bandwidth, np.full((devices, devices), LATENCY))
    constraints: list[Constraint] = [Memory(), *([ExclusiveLinks()] if exclusive else [])]
    return Problem.create(gpt(layers, width, heads, sequence=2048), chosen, links, Objective("makespan"), constraints)


def row(problem: Problem, method: Method, seconds: float) -> str:
    """Return seconds, the makespan and what it is to a bound and to one device."""
    began = monotonic()
    result = api.solve(problem, method, time_limit=seconds)
    took = monotonic() - began
    if result.cost is None:
        return f"{took:8.1f} {'no plan':>10}  {'; '.join(result.notes)}"
    bound = 0.0 if result.bound is None else result.bound.cost
    fits = problem.graph.memory.sum() <= problem.memory_limit
    single = float(np.where(fits, problem.time.sum(axis=0), np.inf).min())
    return f"{took:8.1f} {result.cost:10.5f} {bound / result.cost:7.3f} {single / result.cost:7.3f}"


def main() -> None:
    """Print a line for every model and method, on the whole graph and on the coarse one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default="swin,gpt-3,alphafold2")
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--methods", default="heft,etf")
    parser.add_argument("--rules", default="transformer")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--exclusive", action="store_true")
    asked = parser.parse_args()
    rules = read_rules(asked.rules)
    print(f"{'model':16} {'method':>8} {'nodes':>13} {'seconds':>8} {'makespan':>10} {'bound':>7} {'single':>7}")
    for model in (name for name in TABLE_IV if name.split()[0] in asked.models.split(",")):
        problem = problem_of(model, asked.devices, exclusive=asked.exclusive)
        smaller, _ = coarsen(problem, rules)
        for name in asked.methods.split(","):
            method = api.find_method(name)
            coarse = f"-> {smaller.graph.n}"
            print(f"{model:16} {name:>8} {problem.graph.n:>13} {row(problem, method, asked.seconds)}", flush=True)
            print(f"{'':16} {name:>8} {coarse:>13} {row(problem, Coarse(method, rules), asked.seconds)}", flush=True)


if __name__ == "__main__":
    main()
