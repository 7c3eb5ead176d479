"""Make each module a problem of its own, whose inputs are available at the start on given devices.

Modules that are equal up to the names of nodes are found: results for one hold for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.constraints import (
    BatchSizes,
    Colocate,
    Constraint,
    ExclusiveLinks,
    Memory,
    Pin,
    PinChunks,
    Separate,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow
from mtpp_dsl.solvers.schedule.modules.canonical import Canonical, EqualMember, canonical, equal_modules
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["Place", "SameModules", "Timetable", "grouped", "parts", "timetable"]

LARGEST = 400
"""Modules of more tasks are not compared."""

Place: TypeAlias = tuple[int, ...]
"""Where a tensor is: the device of every chunk; of one sample there is one chunk."""


@dataclass(frozen=True, eq=False)
class ModuleTasks:
    """One module of a problem, its tasks numbered from 0: the tensors it reads first, then its nodes.

    What it reads comes from tasks that take no time and no memory.

    Attributes:
        nodes: [s] the numbers in the graph of what the tasks stand for.
        edges: [e] the numbers there of the edges of ``problem.graph``.
        reads: how many tensors of earlier modules it reads: the first tasks.
        outputs: its tasks that later modules read, ascending by their numbers in the graph.
        problem: the module, with nothing said of where its ends are.
    """

    nodes: Ints
    edges: Ints
    reads: int
    outputs: Ints
    problem: Problem

    def between(self, inputs: Sequence[Place], outputs: Sequence[Place | None]) -> Problem:
        """Return the problem of the module with these devices of its inputs and outputs; None stands for any."""
        ends = [*enumerate(inputs), *zip(self.outputs.tolist(), outputs, strict=True)]
        pins = [self._pin(task, place) for task, place in ends if place is not None]
        return self.problem.with_constraints((*self.problem.constraints, *pins))

    def _pin(self, task: int, place: Place) -> Constraint:
        if self.problem.objective.batch is not None:
            return PinChunks(nodes=(task,), places=place)
        return Pin(nodes=(task,), devices=place)

    @cached_property
    def form(self) -> Canonical:
        """An order of the tasks and edges, and the canonical form in it: equal keys, equal modules."""
        problem = self.problem
        if len(self.nodes) > LARGEST:
            return Canonical(np.arange(len(self.nodes)), np.arange(len(self.edges)), self.nodes.tobytes())
        if problem.objective.batch is None:
            time = np.where(problem.allowed, problem.time, np.inf)
            carry = np.array([problem.transfers.of(e) for e in range(problem.graph.m)])
            needs = problem.graph.memory[:, None]
        else:
            instance = BatchInstance.of(problem)
            time = instance.time.reshape(instance.n, -1)
            carry = np.concatenate([instance.fixed[instance.row], instance.growing[instance.row]], axis=1)
            needs = np.stack([instance.batching.weights, instance.batching.share], axis=1)
        limited = bool(np.isfinite(problem.memory_limit).any())
        marks = np.zeros((len(time), 1))
        marks[: self.reads, 0] = -1 - np.arange(self.reads)
        marks[self.outputs, 0] = 1 + np.arange(len(self.outputs))
        form = canonical(self._piece(np.concatenate([time, marks, needs * limited], axis=1), carry))
        return replace(form, key=form.key + problem.memory_limit.tobytes())

    def _piece(self, columns: Floats, carry: Floats) -> ModulePiece:
        """Return the module as a :class:`ModulePiece`, with whatever distinguishes tasks in columns of its times."""
        graph, s = self.problem.graph, len(self.nodes)
        return ModulePiece(
            nodes=self.nodes,
            edges=self.edges,
            entry=False,
            exit=False,
            time=columns,
            tails=graph.tails,
            heads=graph.heads,
            carry=carry,
            memory=np.zeros(s),
            limit=np.full(columns.shape[1], np.inf),
            together=colocated(self.problem),
            apart=tuple(constraint.nodes for constraint in self.problem.of(Separate)),
            exclusive=any(self.problem.of(ExclusiveLinks)),
        )


def parts(problem: Problem, split: ModuleRow, limits: Floats) -> list[ModuleTasks]:
    """Return the modules of *split* as problems.

    Args:
        problem: a makespan on links or a batched throughput; colocated, and separated, nodes share a module.
        split: of its graph.
        limits: [modules, devices] the memory that each module may use on every device.
    """
    graph = problem.graph
    into: list[list[int]] = [[] for _ in split.modules]
    for e, i in enumerate(split.of[graph.heads].tolist()):
        into[i].append(e)
    read = np.zeros(graph.n, np.bool_)
    read[graph.tails[split.of[graph.tails] != split.of[graph.heads]]] = True
    batches = None if problem.objective.batch is None else BatchInstance.of(problem)
    return [
        _part(problem, batches, nodes, np.array(into[i], np.int64), np.sort(nodes[read[nodes]]), limits[i])
        for i, nodes in enumerate(split.modules)
    ]


def _part(
    problem: Problem, batches: BatchInstance | None, own: Ints, edges: Ints, outputs: Ints, limit: Floats
) -> ModuleTasks:
    graph = problem.graph
    inputs = np.setdiff1d(graph.tails[edges], own)
    nodes = np.concatenate([inputs, own])
    local = np.full(graph.n, -1)
    local[nodes] = np.arange(len(nodes))
    edges = edges[np.lexsort((local[graph.heads[edges]], local[graph.tails[edges]]))]
    devices = tuple(
        replace(
            device,
            speed=1.0,
            unsupported=frozenset(),
            reserve=0.0,
            memory=None if np.isinf(room) else max(float(room), 0.0),
        )
        for device, room in zip(problem.devices, limit.tolist(), strict=True)
    )
    links = problem.interconnect
    assert isinstance(links, Links)
    if links.transfers is not None:
        links = replace(links, transfers=links.transfers[edges])
    return ModuleTasks(
        nodes,
        edges,
        len(inputs),
        local[outputs],
        Problem.create(
            _graph(problem, batches, nodes, len(inputs), edges, local),
            devices,
            links,
            problem.objective,
            _inside(problem, local, limit),
            time_unit=problem.time_unit,
        ),
    )


def _graph(problem: Problem, batches: BatchInstance | None, nodes: Ints, reads: int, edges: Ints, local: Ints) -> Graph:
    """Return the graph of the tasks, with times that respect the constraints on single nodes."""
    graph = problem.graph
    inside = np.arange(len(nodes)) >= reads
    names = [device.name for device in problem.devices]
    tables: dict[str, dict[int, Floats]] = {}
    if batches is None:
        time = np.where(problem.allowed[nodes], problem.time[nodes], np.inf)
        time[:reads] = np.where(np.isfinite(time[:reads]), 0.0, np.inf)
    else:
        known = batches.time[nodes]
        known[:reads] = np.where(np.isfinite(known[:reads]), 0.0, np.inf)
        time = np.where(np.isfinite(problem.time[nodes]), problem.time[nodes], 0.0)
        sizes, chunk = batches.batching.sizes, batches.batching.chunk
        tables = {name: {size * chunk: known[:, d, size] for size in sizes[d]} for d, name in enumerate(names)}
    return Graph.create(
        [graph.names[v] for v in nodes.tolist()],
        zip(local[graph.tails[edges]].tolist(), local[graph.heads[edges]].tolist(), strict=True),
        params=np.where(inside, graph.params[nodes], 0.0),
        output=np.where(inside, graph.output[nodes], 0.0),
        memory=np.where(inside, graph.memory[nodes], 0.0),
        sizes=graph.sizes[edges].tolist(),
        times={name: time[:, d] for d, name in enumerate(names)},
        batch_times=tables,
        work_unit=graph.work_unit if graph.work_unit != "FLOP" else "s",
        size_unit=graph.size_unit,
        memory_unit=graph.memory_unit,
    )


def _inside(problem: Problem, local: Ints, limit: Floats) -> list[Constraint]:
    """Return the constraints of the problem restricted to the tasks, without those that the times respect already."""
    inside: list[Constraint] = []
    for constraint in problem.constraints:
        if isinstance(constraint, Colocate | Separate):
            members = tuple(sorted(int(local[v]) for v in constraint.nodes if local[v] >= 0))
            if len(members) > 1:
                inside.append(replace(constraint, nodes=members))
        elif isinstance(constraint, BatchSizes | ExclusiveLinks):
            inside.append(constraint)
    if np.isfinite(limit).any():
        inside.append(Memory(devices=tuple(np.flatnonzero(np.isfinite(limit)).tolist())))
    return inside


# Classes of equal modules, and their timetables.


@dataclass(frozen=True, eq=False)
class Timetable:
    """Devices and times of the nodes of a module whose inputs are there at 0.

    Attributes:
        device: [s, chunks] of every task; one sample is one chunk.
        start: [s, 1] of every task, or [s, k] of its batches; nan where there is none.
        sent: [e] of transfers; nan where nothing is sent, or links are not exclusive.
    """

    device: Ints
    start: Floats
    sent: Floats

    def place(self, task: int) -> Place:
        """Return the device, or devices, of a task."""
        return tuple(self.device[task].tolist())


@dataclass(frozen=True, eq=False)
class SameModules:
    """The classes of some modules: the first of each, and every module as a member."""

    firsts: tuple[ModuleTasks, ...]
    members: tuple[EqualMember, ...]


def grouped(parts: Sequence[ModuleTasks]) -> SameModules:
    """Return the classes of equal modules."""
    firsts, members = equal_modules(parts, [part.form for part in parts])
    return SameModules(tuple(parts[i] for i in firsts), members)


def timetable(part: ModuleTasks, plan: Plan) -> Timetable:
    """Return the timetable of a plan of the module's problem."""
    if plan.batches is not None:
        chunk = part.problem.batching.chunk
        return Timetable(plan.batches.device[:, ::chunk], plan.batches.start, np.full(len(part.edges), np.nan))
    assert plan.schedule is not None
    return Timetable(plan.assignment[:, None], plan.schedule.start[:, None], plan.schedule.sent)
