"""What a plan costs, from the problem alone (MATH: archer2024 eq. 1-3, tarnawski2020 section 3).

Nothing here knows of models or solvers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.errors import Refused
from mtpp_dsl.graph import Bools, Floats, Ints
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Links, Problem, Shared

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Costs per device, all [devices], in the problem's units.

    Attributes:
        work: running time of the device's nodes.
        input, output: time to read tensors made elsewhere, and to write those read elsewhere.
        overflow: time to stream the parameters that do not fit.
        memory: what the device's nodes take, as ``constraint memory`` counts it.
        params: size of the parameters of the device's nodes.
        load: work + input + output + overflow.
        forward, backward: the parts of the load: nodes by their own part, tensors by that of their producer,
            overflow with the forward part (tarnawski2020, 5.3).
        separate: whether the parts count one after the other, as ``parts = separate`` asks.
    """

    work: Floats
    input: Floats
    output: Floats
    overflow: Floats
    memory: Floats
    params: Floats
    load: Floats
    forward: Floats
    backward: Floats
    separate: bool = False

    @property
    def bottleneck(self) -> float:
        """The largest load."""
        return float(self.load.max())

    @property
    def cost(self) -> float:
        """The minimised quantity: the bottleneck, or that of the forward part plus that of the backward part."""
        if self.separate:
            return float(self.forward.max() + self.backward.max())
        return self.bottleneck


def evaluate(problem: Problem, plan: Plan) -> Evaluation:
    """Return the loads of *plan* on ``shared`` and ``host`` interconnects.

    A tensor is written once by its producer's device if anybody elsewhere reads it, and read
    once by every other device with a consumer, however many consumers there are.

    Raises:
        Refused: the objective is a makespan, or the interconnect ``links``.
    """
    if problem.objective.quantity == "makespan" or isinstance(problem.interconnect, Links):
        raise Refused(f"cannot evaluate a {problem.objective.quantity} on {problem.interconnect.keyword} yet")
    k, device, graph = problem.k, plan.assignment, problem.graph
    time = problem.time[np.arange(graph.n), device]
    work = _per_device(device, time, k)
    pays = np.array([d.pays_io or isinstance(problem.interconnect, Shared) for d in problem.devices])
    reads, writes = _io(problem, device, pays, problem.tensor_time)
    forward, backward = (
        _per_device(device, np.where(part, time, 0.0), k)
        + sum(_io(problem, device, pays, np.where(part, problem.tensor_time, 0.0)))
        for part in (~graph.backward, graph.backward)
    )
    params = _per_device(device, graph.params, k)
    excess = np.maximum(params - problem.overflow_limit, 0.0)
    overflow = excess / problem.interconnect.bandwidth
    return Evaluation(
        work=work,
        input=reads,
        output=writes,
        overflow=overflow,
        memory=_per_device(device, graph.memory, k),
        params=params,
        load=work + reads + writes + overflow,
        forward=forward + overflow,
        backward=backward,
        separate=problem.objective.parts == "separate",
    )


def _per_device(device: Ints, weights: Floats, k: int) -> Floats:
    return np.bincount(device, weights=weights, minlength=k).astype(np.float64)


def _io(problem: Problem, device: Ints, pays: Bools, cost: Floats) -> tuple[Floats, Floats]:
    """Return what every device pays to read and to write tensors of these costs."""
    graph, k = problem.graph, problem.k
    crossing = device[graph.tails] != device[graph.heads]
    producers = graph.tails[crossing]
    pairs = np.unique(producers * k + device[graph.heads[crossing]])  # (tensor, reading device), each once
    reads = _per_device(pairs % k, cost[pairs // k], k)
    written = np.unique(producers)
    writes = _per_device(device[written], cost[written], k)
    return np.where(pays, reads, 0.0), np.where(pays, writes, 0.0)
