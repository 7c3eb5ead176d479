"""Derive what a schedule of batches is to one input: a schedule of one sample, of which makespans have bounds."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.interconnects import Links
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.batch_tasks import BatchInstance

__all__ = ["one_input"]


def one_input(problem: Problem) -> Problem:
    """Return a makespan problem on links that is a relaxation of a batched throughput.

    Of every schedule of batches take the batches that have the first chunk: one of every node. They run one at a time
    on every device, each for no less than the shortest batch of the node there, and each after those of what it reads
    and a transfer of no less than that of one chunk. So every bound on this problem's makespan is one on the batch's;
    and where this has no plan, neither has the batch. Memory is that of one chunk.
    """
    instance = BatchInstance.of(problem)
    batching, graph = problem.batching, problem.graph
    shortest = batching.time[:, :, 1:].min(axis=2)
    names = [device.name for device in problem.devices]
    carried = (instance.fixed + instance.growing)[instance.row]
    carried[:, range(problem.k), range(problem.k)] = 0.0
    rules: list[Constraint] = []
    for constraint in problem.constraints:
        if isinstance(constraint, PinChunks):
            rules.append(Pin(nodes=constraint.nodes, devices=constraint.places[:1], origin=constraint.origin))
        elif isinstance(constraint, (Colocate, Forbid, Memory, Pin, Separate)):
            rules.append(constraint)
    return Problem.create(
        Graph.create(
            graph.names,
            zip(graph.tails.tolist(), graph.heads.tolist(), strict=True),
            memory=batching.weights + batching.share,
            memory_unit=graph.memory_unit,
            times={name: shortest[:, d] for d, name in enumerate(names)},
        ),
        [Device(device.name, memory=device.memory, reserve=device.reserve) for device in problem.devices],
        Links(np.ones((problem.k, problem.k)), np.zeros((problem.k, problem.k)), carried),
        Objective("makespan"),
        rules,
        time_unit=problem.time_unit,
    )
