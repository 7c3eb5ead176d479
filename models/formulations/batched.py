"""The throughput of a batch as a mixed-integer programme (ghannane2023, chapter 3.2, corrected)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Forbid,
    Memory,
    Pin,
    PinChunks,
    Repeat,
    Separate,
)
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation
from mtpp_dsl.core.plans.batches import batch_lengths, lane_counts
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph
from mtpp_dsl.core.views.lanes import lanes_of, lanes_refusal
from mtpp_dsl.core.views.symmetry import Measure, ordered
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.batches import Runs, batch_schedule, batch_sizes, growing_transfers
from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.blocks.custom import SEVERAL_DEVICES, custom_refusal, custom_rows, offer_chunks, start_custom
from mtpp_dsl.models.blocks.disjunction import disjunction
from mtpp_dsl.models.blocks.lanes import lane_rows
from mtpp_dsl.models.blocks.memory import memory
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.symmetry import chunks_in_order, devices_in_order
from mtpp_dsl.models.blocks.transfer import routed_edges, transfer
from mtpp_dsl.models.extract.batch_plan import batch_plan, chunk_classes, sorted_chunks
from mtpp_dsl.models.facts.batches import (
    BatchTimes,
    batch_horizon,
    batch_items,
    batch_times,
    class_memory,
    copied,
    pinned,
)
from mtpp_dsl.models.facts.clashes import clashes
from mtpp_dsl.models.facts.scaling import FEASIBILITY, Scale, scheduled
from mtpp_dsl.models.formulations.derived import chunks_alike, extended, keeps_symmetry

__all__ = ["SCOPE", "Batched", "chunks_of", "needs_of", "scale_of", "too_large"]

SCOPE = Scope(
    objectives=("batch",),
    interconnects=("links",),
    constraints=(BatchSizes, BreakSymmetry, Colocate, Forbid, Memory, Pin, PinChunks, Separate),
    backward=True,
    unequal=True,
)

REPEATING = replace(SCOPE, constraints=(*SCOPE.constraints, Repeat))

MAX_SIZE = 5_000_000
"""Orders of batches and ways of chunks; larger models take gigabytes before any solver sees them."""


class Batched(Scoped, CutoffFormulation):
    """Every batched schedule, and nothing else: a chunk waits for itself, not for the batches of other chunks.

    Beside the correction of (3.3): chunks in place of inputs, and these sorted; batch sizes without any M; precedence
    between chunks, without an M either; windows of batches from a known plan and the longest paths into and out of
    them; orders of two batches on one device only where windows leave both, also of nodes on one path, which (3.3) as
    corrected does not order; batches that take no time need no order.
    """

    name = "batched"
    exact = True
    role: Role = "exact"
    summary = "optimal throughput of a batch, by mixed-integer programming (ghannane2023, 3.2, corrected)"
    floor = "the longest path of least batches, or all work shared, each batch where its inputs take least"
    scopes = (replace(REPEATING, families=(CustomConstraint,)),)

    def beyond(self, problem: Problem) -> str | None:
        """Return why the model would be too large, or lacks what a plug-in's constraint asks for, or None."""
        reason = too_large(self.name, problem) or lanes_refusal(self.name, problem)
        return reason or custom_refusal(self.name, problem, SEVERAL_DEVICES)

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the problem's cost.

        ``model.on(v, d, c)`` is 1 where chunk c of node v is on device d, ``model.on(v, d)`` where some chunk is, and
        ``model.load(d)`` is the time of the batches of d, all by the problem's own numbers; there is no ``model.cut``.
        Under ``constraint repeat`` a device is as many lanes, of which each runs one batch of a node
        (:mod:`mtpp_dsl.core.views.lanes`).
        """
        lanes, asked = lanes_of(problem), problem
        problem = lanes.expanded
        view = hypergraph(problem)
        free = not extended(self, problem) and not lanes.apart
        scale = scale_of(problem, view, self.cost, free=free, devices=asked.k)
        batches = batch_times(problem, view, scale.ceiling, scale.unit)
        count, chunks = view.n, problem.batching.count
        model = pyo.ConcreteModel(name=self.name)
        model.cost_scale, model.cost_margin = scale.unit, FEASIBILITY
        model.view, model.pins, model.lanes = view, pinned(problem), lanes
        model.V, model.D = pyo.RangeSet(0, count * chunks - 1), pyo.RangeSet(0, problem.k - 1)
        may = batches.times.may[view.first]
        if not may.any(axis=1).all() or (model.pins < -1).any():
            model.C = pyo.Var()
            model.objective = pyo.Objective(expr=model.C)
            impossible(model, "nowhere")
            return model
        on = assignment.assigned(model, np.tile(may, (chunks, 1)))
        model.symmetric = keeps_symmetry(self)
        for v, c in np.argwhere(model.pins >= 0).tolist():
            _settle(model, int(view.of[v]) + c * count, int(model.pins[v, c]))
        runs = batch_sizes(model, batches, view, on)
        if lanes.slots == 1:
            offer_chunks(model, problem, view.of.tolist(), lambda h, d, c: on(h + c * count, d), model.sizes.b)
        batch_schedule(model, batches, view, on, runs, scale.floor / scale.unit, lanes.machine)
        self._sequence(model, problem, batches, on)
        if lanes.slots == 1:
            memory(model, problem, *needs_of(model, problem, batches, view))
            separate(model, problem, view.of.tolist(), on, [c * count for c in range(chunks)])
        else:
            lane_rows(model, lanes, batches, view, on, runs)
        self._sort(model, problem, batches, on, runs)
        custom_rows(model, problem)
        return model

    def _sequence(self, model: Any, problem: Problem, batches: BatchTimes, on: assignment.On) -> None:
        """Add transfers of chunks, and that no two batches of a device overlap."""
        view, graph, chunks = model.view, problem.graph, problem.batching.count
        copies, times = copied(graph, batches.times, chunks)
        home = (np.arange(chunks)[:, None] * view.n + view.of).ravel()
        transfer(model, times, copies, home, on, routed_edges(times, copies, home), [])
        if problem.batching.per_input:
            growing_transfers(model, batches, copies.tails.tolist(), copies.heads.tolist(), graph.m)
        pairs = clashes(batch_items(batches, graph, model.lanes), batches.times.most)
        items = list(model.batch.s)
        b, k, homes = model.sizes.b, problem.k, view.of.tolist()
        busy = {
            i: sum(
                b[homes[i // k], i % k, p] for p in batches.menu(i // k, i % k) if batches.takes[i // k, i % k, p] > 0
            )
            for i in items
        }
        part = model.batch
        disjunction(
            model,
            "orders",
            pairs,
            {i: i for i in items},
            lambda i, _: busy[i],
            lambda i: part.s[i],
            lambda i: part.f[i],
        )

    def _sort(self, model: Any, problem: Problem, batches: BatchTimes, on: assignment.On, runs: Runs) -> None:
        """Break the symmetry of devices, where that is asked for, and of chunks."""
        view = model.view
        members = np.bincount(view.of).tolist()
        may = batches.times.may

        def does(by: Measure, d: int) -> list[tuple[float, Any]]:
            if by == "tasks":
                return [(members[h], runs(h, d)) for h in range(view.n) if may[view.first[h], d]]
            terms = model.sizes.b.items()
            if by == "batches":
                return [(float(p * members[h]), b) for (h, f, p), b in terms if f == d]
            total = view.total(batches.takes)
            return [(float(total[h, d, p]), b) for (h, f, p), b in terms if f == d and total[h, d, p] > 0]

        if model.symmetric:
            devices_in_order(model, problem, does)
        model.leader = leading(may, model.pins) if chunks_alike(self, problem) else None
        if model.leader is not None:
            first = int(view.of[model.leader])
            devices = np.flatnonzero(may[model.leader]).tolist()
            chunks_in_order(model, lambda c, d: on(c * view.n + first, d), chunk_classes(model.pins), devices)

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries from *plan*, its devices and chunks in the order that the model asks for."""
        if plan.batches is None or model.component("x") is None:
            return
        view: Hypergraph = model.view
        plan = ordered(problem, plan) if model.symmetric else plan
        if model.lanes.slots == 1:
            start_custom(model, problem, plan)
        where, begins = model.lanes.chunks(plan)
        if model.leader is not None:
            where = sorted_chunks(where, chunk_classes(model.pins), model.leader)
        for (i, d), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(where[view.first[i % view.n], i // view.n] == d))
        for (h, d, p), variable in model.sizes.b.items():
            variable.set_value(int((where[view.first[h]] == d).sum() == p))
        middle = (
            begins + batch_lengths(problem, lane_counts(where, begins.shape[1]), model.lanes.slots, chunks=True) / 2
        )
        middle = middle.ravel()
        for (i, j), variable in model.orders.o.items():
            variable.set_value(int(middle[i] < middle[j]))  # nan, where there is no batch, is before nothing

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the model's variables mean, with exact times in their order."""
        view: Hypergraph = model.view
        count = len(model.lanes.machine)
        where = chunks_of(model.x, view.n, model.lanes.expanded)[view.of]
        middle = np.zeros(problem.graph.n * count)
        for i in model.batch.s:
            middle[i] = (model.batch.s[i].value or 0.0) + (model.batch.f[i].value or 0.0)
        return batch_plan(problem, where, middle.reshape(problem.graph.n, count), slots=model.lanes.slots)


def too_large(name: str, problem: Problem) -> str | None:
    """Return why the model of formulation *name* would be too large, or None."""
    slots = problem.batching.slots
    size = problem.k * (slots * problem.graph.n) ** 2 // 2
    size += problem.graph.m * (slots * problem.k) ** 2 * problem.batching.count
    if size > MAX_SIZE:
        return (
            f"{name} would have {size:,} orders of batches and ways of chunks; {MAX_SIZE:,} are the most (coarsen the "
            "graph, or give larger batch sizes)"
        )
    return None


def scale_of(
    problem: Problem, view: Hypergraph, cost: float | None, *, free: bool = True, devices: int | None = None
) -> Scale:
    """Return the unit of the model; its ceiling is *cost*, or what no least makespan is above.

    Where they are not *free*, rows of somebody's own may say where chunks run. Of *devices* each runs one batch at a
    time; None for those of the problem.
    """
    ceiling = batch_horizon(problem, free=free) if cost is None else cost
    batches = batch_times(problem, view, ceiling, 1.0)
    times = batches.times
    path = (times.head + times.time + times.tail).min(axis=1, initial=np.inf)
    return scheduled(float(max(path.max(initial=0.0), batches.least_work.sum() / (devices or problem.k))), ceiling)


def needs_of(model: Any, problem: Problem, batches: BatchTimes, view: Hypergraph) -> tuple[Any, assignment.On]:
    """Return [classes * (chunks + 1), devices] what batches take in memory, and whether there is such a batch."""
    count = problem.batching.count
    menus = np.isfinite(batches.takes[view.first])
    need = np.where(menus, class_memory(problem.batching, view)[:, None, :], 0.0)
    return (
        need.transpose(0, 2, 1).reshape(view.n * (count + 1), problem.k),
        lambda i, d: model.sizes.b[i // (count + 1), d, i % (count + 1)],
    )


def chunks_of(x: Any, count: int, problem: Problem) -> Ints:
    """Return [classes, chunks] the device of every chunk by the values of the binaries of all copies."""
    share = np.zeros((count * problem.batching.count, problem.k))
    for (i, d), variable in x.items():
        share[i, d] = variable.value or 0.0
    where: Ints = share.argmax(axis=1).reshape(problem.batching.count, count).T
    return where


def leading(may: Bools, pins: Ints) -> int | None:
    """Return the node by whose devices chunks are sorted: of those not pinned, one that may use most; None: none."""
    free = np.flatnonzero((pins < 0).all(axis=1))
    return int(free[may[free].sum(axis=1).argmax()]) if free.size and pins.shape[1] > 1 else None


def _settle(model: Any, i: int, d: int) -> None:
    """Put class *i* of a chunk on device *d*, if it may be there."""
    for f in model.D:
        if f != d and not model.x[i, f].fixed:
            model.x[i, f].fix(0)
