"""Memory by stage, recomputing, iterations and groups: how long ``ideals`` takes to prove the best pipelines.

The graph is GPT-3's training step for one microbatch of one sequence of 2,048 tokens, two nodes a layer (attention and
MLP), with the embedding and the head: 3 times the FLOP of a forward pass on devices of 312 TFLOP/s of which half are
reached; what a node keeps of its activations as in Korthikanti et al. (2022), section 4.1; 16 bytes of state for a
parameter. Layers differ by some percent, so that no two cuts cost the same.

* ``1f1b``: 96 layers over 16 servers as stages, memory by place (1F1B), the bottleneck;
* ``iteration``: the same, (M - 1) max + sum of 64 microbatches;
* ``recompute``: the same where stages may recompute, in less memory;
* ``gpipe``: the same by GPipe's schedule, passes apart;
* ``groups``: 150 layers over 64 GPUs, cuts and sizes of groups (1, 2, 4, 8) and replicas (to 8) together, as Alpa's
  intra- and inter-operator passes choose them;
* ``plain groups``: the same for the bottleneck, with memory that does not depend on the place.

CPU times are those of this process, compiled code being on disk.

    python benchmarks/stages.py [--only NAME] [--time-limit 60]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import monotonic, process_time

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Constraint, Memory, Replicate, Shard, StageMemory
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving import api

WIDTH, SEQUENCE, HEADS, VOCABULARY = 12_288, 2_048, 96, 50_257
FLOPS = 312e12 / 2
STATE = 16
"""Bytes for a parameter: 2 of weights, 2 of gradients, 12 of what Adam keeps in single precision."""


@dataclass(frozen=True)
class Case:
    """One pipeline.

    Attributes:
        layers: of the model.
        devices: how many, with so many bytes of *memory*, and so many times as fast as one GPU.
        objective: of the plan.
        rules: beside ``acyclic``.
    """

    layers: int
    devices: int
    memory: float
    faster: float
    objective: Objective
    rules: tuple[Constraint, ...]

    def problem(self) -> Problem:
        """Return the problem."""
        devices = [Device(f"d{i}", memory=self.memory, speed=self.faster) for i in range(self.devices)]
        return Problem.create(gpt3(self.layers), devices, Shared(200e9), self.objective, [Acyclic(), *self.rules])


def gpt3(layers: int) -> Graph:
    """Return the graph of the training step."""
    s, h = SEQUENCE, WIDTH
    names, edges = ["embed"], []
    flop, params, saved = [0.0], [float(VOCABULARY * h)], [0.0]
    for i in range(layers):
        names += [f"attention{i}", f"mlp{i}"]
        differ = 1 + 0.03 * (i % 3)
        flop += [3 * differ * (8 * s * h * h + 4 * s * s * h), 3 * differ * 16 * s * h * h]
        params += [4.0 * h * h, 8.0 * h * h]
        saved += [11.0 * s * h + 5.0 * HEADS * s * s, 19.0 * s * h]
        edges += [(2 * i, 2 * i + 1), (2 * i + 1, 2 * i + 2)]
    edges.append((2 * layers, 2 * layers + 1))
    return Graph.create(
        [*names, "head"],
        edges,
        work=np.array([*flop, 6.0 * s * h * VOCABULARY]) / FLOPS,
        params=2 * np.array([*params, 0.0]),
        state=STATE * np.array([*params, 0.0]),
        memory=STATE * np.array([*params, 0.0]),
        saved=[*saved, 4.0 * s * VOCABULARY],
        output=2.0 * s * h,
        reduce=4.0 * s * h,
        forward_share=[1 / 3] * (2 * layers + 2),
    )


def cases() -> dict[str, Case]:
    """Return the pipelines by name."""
    bottleneck = Objective("bottleneck")
    iteration, gpipe = (Objective("iteration", microbatches=64, schedule=s) for s in ("1f1b", "gpipe"))
    kept = StageMemory(schedule="1f1b", microbatches=64)
    free = StageMemory(schedule="1f1b", microbatches=64, recompute="free")
    all_kept = StageMemory(schedule="gpipe", microbatches=64, recompute="free")
    groups = (Shard(by=(1, 2, 4, 8), speedup=(1.0, 1.9, 3.6, 6.6)), Replicate(most=8, sync="weights"))
    return {
        "1f1b": Case(96, 16, 400e9, 8.0, bottleneck, (kept,)),
        "iteration": Case(96, 16, 400e9, 8.0, iteration, (kept,)),
        "recompute": Case(96, 16, 330e9, 8.0, iteration, (free,)),
        "gpipe": Case(96, 16, 640e9, 8.0, gpipe, (all_kept,)),
        "groups": Case(150, 64, 140e9, 1.0, iteration, (free, *groups)),
        "plain groups": Case(150, 64, 140e9, 1.0, bottleneck, (Memory(), *groups)),
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=cases())
    parser.add_argument("--time-limit", type=float, default=60.0)
    given = parser.parse_args()
    api.solve(Case(4, 2, 640e9, 8.0, Objective("bottleneck"), (Shard(by=(1, 2)),)).problem(), method="ideals")
    print("case          nodes  devices  status       cost (s)    gap    CPU (s)  wall (s)  stages  recompute")
    for name, case in cases().items():
        if given.only in (None, name):
            problem, cpu, wall = case.problem(), process_time(), monotonic()
            found = api.solve(problem, method="ideals", time_limit=given.time_limit)
            cpu, wall = process_time() - cpu, monotonic() - wall
            cost, gap = (float("nan") if x is None else x for x in (found.cost, found.gap))
            stages = 0 if found.plan is None else len(np.unique(found.plan.assignment))
            again = 0 if found.plan is None else len(found.plan.recomputed)
            print(
                f"{name:12}  {problem.graph.n:5}  {problem.k:7}  {found.status:10}  {cost:9.4f}  {gap:5.1%}  {cpu:9.2f}"
                f"  {wall:8.2f}  {stages:6}  {again:9}",
                flush=True,
            )


if __name__ == "__main__":
    main()
