"""Which operators of the model each stage of a plan computes, in the order in which the stages run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan, device_order
from mtpp_dsl.core.problem.graph_origin import GraphOrigin
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True)
class ModelPart:
    """Nodes of one device that run without a pause.

    Attributes:
        device: the number of the device.
        nodes: their numbers in the graph.
        operators: the numbers of the model's operators that they stand for, rising.
    """

    device: int
    nodes: tuple[int, ...]
    operators: tuple[int, ...]


def origin_of(problem: Problem) -> GraphOrigin:
    """Return what the graph of a problem was made of.

    Raises:
        UsageError: its graph was not made of a model.
    """
    origin = problem.graph.origin
    if origin is None:
        raise UsageError(
            "the graph of this spec is not from a model, so the operators of its nodes are unknown: import one "
            "with mtpp import, and read it with graph from"
        )
    return origin


def stages_of(problem: Problem, plan: Plan) -> list[ModelPart]:
    """Return one part for each device that holds nodes, in an order in which each reads of earlier ones alone.

    Raises:
        UsageError: there is no such order; or see :func:`parts_of`.
    """
    _refuse(plan)
    order = plan.order if plan.order is not None else device_order(problem, plan.assignment)
    if order is None:
        raise UsageError(
            "the stages of this plan wait for each other in a circle, so they cannot run as a pipeline: add constraint "
            "acyclic, and solve again; mtpp run --processes 1 runs the plan as it is"
        )
    nodes = {d: np.flatnonzero(plan.assignment == d).tolist() for d in order}
    return [_part(problem, d, device_nodes) for d, device_nodes in nodes.items() if device_nodes]


def parts_of(problem: Problem, plan: Plan) -> list[ModelPart]:
    """Return the parts of a plan in an order in which they can run one after the other.

    Each device has one part where there is an order of the devices; else it has several. Then at each step the device
    is chosen that can run most nodes, beginning with the first.

    Raises:
        UsageError: the plan runs a node on several devices, or the graph was made of no model.
    """
    _refuse(plan)
    if plan.order is not None or device_order(problem, plan.assignment) is not None:
        return stages_of(problem, plan)
    graph = problem.graph
    waiting = np.bincount(graph.heads, minlength=graph.n)
    left = set(range(graph.n))
    model_parts = []
    while left:
        runs = {d: _run(problem, plan, d, waiting, left) for d in range(problem.k)}
        device = max(runs, key=lambda d: (len(runs[d]), -d))
        for v in runs[device]:
            left.remove(v)
            np.subtract.at(waiting, graph.successors(v), 1)
        model_parts.append(_part(problem, device, sorted(runs[device])))
    return model_parts


def _run(problem: Problem, plan: Plan, device: int, waiting: np.ndarray, left: set[int]) -> list[int]:
    """Return the nodes of a device that can run now, one after the other."""
    counts = waiting.copy()
    ready = [v for v in sorted(left) if plan.assignment[v] == device and counts[v] == 0]
    for v in ready:
        for w in problem.graph.successors(v).tolist():
            counts[w] -= 1
            if counts[w] == 0 and plan.assignment[w] == device:
                ready.append(w)
    return ready


def _part(problem: Problem, device: int, nodes: Sequence[int]) -> ModelPart:
    members = origin_of(problem).members
    return ModelPart(device, tuple(nodes), tuple(sorted({i for v in nodes for i in members[v]})))


def _refuse(plan: Plan) -> None:
    """Refuse plans that run a node on several devices.

    Raises:
        UsageError: with what the plan does.
    """
    what = {
        "has several routes": bool(plan.routes),
        "places each input of a batch by itself": plan.batches is not None,
        "splits nodes over several devices": bool(plan.shards),
        "runs stages on several devices at once": any(len(group) > 1 for group in plan.replicas.values()),
    }
    for reason, holds in what.items():
        if holds:
            raise UsageError(f"this plan {reason}; what runs and is exported here has each node on one device")
