"""Problems of one part of a training graph alone: no plan of both costs less there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory, Pin, Separate
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints, frozen
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["part_alone", "parts_fit"]


def parts_fit(problem: Problem) -> bool:
    """Return whether the cost is the sum of the bottlenecks of both parts, and each part can be asked for alone."""
    objective = problem.objective
    if objective.quantity != "sum of bottlenecks" or problem.phased or problem.graph.phases:
        return False
    if any(one.enlarges for one in problem.constraints):
        return False
    if not isinstance(problem.interconnect, (Shared, Host)) or problem.interconnect.between is not None:
        return False
    backward = problem.graph.backward
    return bool(backward.any() and not backward.all())


def part_alone(problem: Problem, *, backward: bool) -> Problem:
    """Return the bottleneck of one part's nodes and of the tensors between them, under what is asked of them alone.

    A plan of *problem*, taken to these nodes, is a plan of it, and costs no more than the part does in *problem*: its
    tensors have fewer readers, and its devices hold less. Parameters that do not fit are streamed for the forward part
    alone, so that those of the backward part count in the memory only.
    """
    graph = problem.graph
    nodes = np.flatnonzero(graph.backward == backward)
    place = np.full(graph.n, -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    inside = (place[graph.tails] >= 0) & (place[graph.heads] >= 0)
    part = Graph.create(
        [graph.names[v] for v in nodes],
        list(zip(place[graph.tails[inside]].tolist(), place[graph.heads[inside]].tolist(), strict=True)),
        work=graph.work[nodes],
        params=0.0 if backward else graph.params[nodes],
        output=graph.output[nodes],
        memory=graph.memory[nodes],
        cache=graph.cache[nodes],
        workspace=graph.workspace[nodes],
        sizes=graph.sizes[inside].tolist(),
        kinds=[graph.kinds[v] for v in nodes],
        colors=graph.colors[nodes],
        times={kind: times[nodes] for kind, times in graph.times.items()},
        device_times={name: times[nodes] for name, times in graph.device_times.items()},
        work_unit=graph.work_unit,
        size_unit=graph.size_unit,
        memory_unit=graph.memory_unit,
    )
    alone = Problem.create(
        part,
        problem.devices,
        problem.interconnect,
        Objective("bottleneck"),
        list(_constraints(problem, place, backward=backward)),
        time_unit=problem.time_unit,
        origin=problem.origin,
    )
    return replace(alone, time=frozen(problem.time[nodes], np.float64))


def _constraints(problem: Problem, place: Ints, *, backward: bool) -> Iterator[Constraint]:
    """Yield what a plan of both parts keeps on the nodes of one; *place* has their numbers, -1 for the others."""
    for constraint in problem.constraints:
        match constraint:
            case Acyclic() | Contiguous():
                if constraint.parts == "both" or not backward:
                    yield replace(constraint, parts="both")
            case Memory():
                yield constraint
            case Colocate() | Separate() | Pin() | Forbid():
                nodes = tuple(int(place[v]) for v in constraint.nodes if place[v] >= 0)
                if len(nodes) > (1 if isinstance(constraint, (Colocate, Separate)) else 0):
                    yield replace(constraint, nodes=nodes)
            case _:
                pass
