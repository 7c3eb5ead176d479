"""The columns of a picture of the graph: what runs on which devices, in the order of the pipeline, and what is sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class StageBox:
    """A column: devices that run the same nodes.

    Attributes:
        devices: their numbers, that which carries the nodes in the plan first; () where there is no plan.
        nodes: numbers of the nodes.
        times: what each of them takes there; ``nan`` where it is not given.
    """

    devices: tuple[int, ...]
    nodes: Ints
    times: Floats


@dataclass(frozen=True, eq=False)
class Placed:
    """The columns of a plan, and the edges between what is in them.

    Attributes:
        stages: in the order of the pipeline, only those with nodes.
        idle: numbers of the devices that run nothing.
        edges: [edges drawn] numbers of edges of the graph.
        source, target: [edges drawn] numbers of the stages at both ends; a node may be in several.
    """

    stages: tuple[StageBox, ...]
    idle: tuple[int, ...]
    edges: Ints
    source: Ints
    target: Ints


def placed(problem: Problem, plan: Plan | None) -> Placed:
    """Return the columns of a plan; without one, a single column of all nodes on no device."""
    graph, k = problem.graph, problem.k
    if plan is None:
        here = np.zeros(graph.m, np.int64)
        stage = StageBox((), np.arange(graph.n), np.full(graph.n, np.nan))
        return Placed((stage,), (), np.arange(graph.m), here, here)
    where = _where(plan)
    on = np.zeros((graph.n, k), np.bool_)
    for column in where.T:
        on[np.arange(graph.n), column] = True
    working = np.flatnonzero(on.any(axis=0)).tolist()
    order = _order(problem, plan, working, on)
    number = np.full(k, -1, np.int64)
    number[order] = np.arange(len(order))
    stages = []
    for d in order:
        nodes = np.flatnonzero(on[:, d])
        stages.append(StageBox(plan.replicas.get(d, (d,)), nodes, _times(problem, plan, nodes, d)))
    used = {d for stage in stages for d in stage.devices}
    ends = np.stack([where[graph.tails], where[graph.heads]], axis=2).reshape(-1, 2)
    edge = np.repeat(np.arange(graph.m), where.shape[1])
    kept = np.unique(np.stack([edge, number[ends[:, 0]], number[ends[:, 1]]], axis=1), axis=0)
    idle = tuple(d for d in range(k) if d not in used)
    return Placed(tuple(stages), idle, kept[:, 0], kept[:, 1], kept[:, 2])


def stage_numbers(problem: Problem, plan: Plan) -> dict[str, int]:
    """Return the number of its stage by the name of each device that runs something: its colour, in every picture."""
    return {problem.devices[d].name: i for i, stage in enumerate(placed(problem, plan).stages) for d in stage.devices}


def _where(plan: Plan) -> Ints:
    """Return [n, ways] the device of each node in each way that inputs take."""
    if plan.batches is not None:
        return np.unique(plan.batches.device, axis=1)
    if plan.routes:
        return np.stack([route.assignment for route in plan.routes], axis=1)
    return plan.assignment[:, None]


def _order(
    problem: Problem, plan: Plan, working: list[int], on: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> list[int]:
    """Return the devices with nodes in the plan's order, else by when they come in the graph on average."""
    if plan.order is not None:
        return [d for d in plan.order if d in set(working)]
    place = np.empty(problem.graph.n)
    place[problem.graph.topological_order] = np.arange(problem.graph.n)
    return sorted(working, key=lambda d: (float(place[on[:, d]].mean()), d))


def _times(problem: Problem, plan: Plan, nodes: Ints, d: int) -> Floats:
    """Return what nodes take on device *d*: one input, or all their batches there."""
    if plan.batches is None:
        return np.asarray(problem.time[nodes, d])
    slots = plan.batches.slots
    lanes = slice(d * slots, (d + 1) * slots)
    return np.asarray(np.nansum(plan.batches.end[nodes, lanes] - plan.batches.start[nodes, lanes], axis=1))
