"""Turn a batched problem into a request in whole numbers, and a solution into a plan."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.plans.batches import Batches
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.lanes import Lanes, lanes_of
from mtpp_dsl.core.views.symmetry import ordered, rankings
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest, BatchSolution
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import WholeScale, memory, scale, shorter


@dataclass(frozen=True, eq=False)
class WholeBatches:
    """A batched problem in whole numbers.

    Attributes:
        instance: the problem as arrays, with lanes in place of devices under ``constraint repeat``.
        lanes: of the devices.
        scale: what one unit of the model's time is worth.
        request: for CP-SAT.
        complete: whether a plan within the request's cutoff exists wherever the problem has a plan at all.
    """

    instance: BatchInstance
    lanes: Lanes
    scale: WholeScale
    request: BatchRequest
    complete: bool

    def plans(self, solution: BatchSolution) -> list[Plan]:
        """Return the plan with the devices and the order of *solution*, in exact times."""
        problem, priority = self.lanes.problem, self._priority(solution)
        if self.request.barrier:
            return [behind_barriers(problem, solution.device, priority)]
        return [self.lanes.plan(solution.device, priority)]

    def over(self, plan: Plan) -> bool:
        """Return whether a plan exceeds a memory, within the tolerance of the check."""
        assert plan.batches is not None
        batching = self.instance.batching
        chunks = plan.batches.sizes // batching.chunk
        used = ((chunks > 0) * batching.weights[:, None] + chunks * batching.share[:, None]).sum(axis=0)
        return bool((used > self.lanes.problem.memory_room * (1 + 1e-12)).any())

    def _priority(self, solution: BatchSolution) -> Floats:
        """Return [n, k] ranks of batches by start; among equal starts the shorter batch comes first."""
        n, k = solution.start.shape
        counts = (solution.device[:, :, None] == np.arange(k)).sum(axis=1)
        takes = np.take_along_axis(self.request.duration, counts[:, :, None], axis=2)[:, :, 0]
        place = np.empty(n)
        place[self.instance.graph.topological_order] = np.arange(n)
        order = np.lexsort(
            (np.repeat(place, k), (solution.start + takes).ravel(), solution.start.ravel()),
        )
        priority = np.empty(n * k)
        priority[order] = np.arange(n * k)
        return priority.reshape(n, k)


def lower_batches(
    problem: Problem,
    plan: Plan | None = None,
    *,
    strict: bool = False,
    at_least: float = 0.0,
    within: float = inf,
    barrier: bool = False,
) -> WholeBatches:
    """Turn *problem* into whole numbers.

    Args:
        problem: a batched throughput.
        plan: a known plan: the request is for plans that cost no more, and the search starts from it.
        strict: True for plans: memory limits hold to the last byte. False for bounds: limits are as loose as the
            independent check, so that no plan that it accepts is excluded.
        at_least: a lower bound on the cost of every plan.
        within: the request is for plans that cost no more than this.
        barrier: whether all batches of a node end before any batch of its successors starts; *plan* has to keep it too.
    """
    lanes = lanes_of(problem)
    instance = BatchInstance.of(lanes.expanded)
    longest = _serial(instance) if plan is None else evaluate(problem, plan).cost
    complete = plan is None and longest <= within
    longest = min(longest, within)
    times = np.concatenate([instance.time.ravel(), instance.fixed.ravel(), instance.growing.ravel()])
    units = scale(times, longest, instance.n * instance.k + instance.m)
    batching = instance.batching
    sizes, capacities = memory(
        np.concatenate([batching.weights, batching.share]),
        instance.limit,
        strict=strict,
        times=np.repeat([1, instance.chunks], instance.n),
    )
    cutoff = units.by(longest)
    request = BatchRequest(
        duration=units.down(shorter(instance.time, longest)),
        alone=instance.time > 0,
        tails=instance.graph.tails,
        heads=instance.graph.heads,
        row=instance.row,
        fixed=units.down(shorter(instance.fixed, longest)),
        growing=units.down(shorter(instance.growing, longest)),
        barrier=barrier,
        cutoff=cutoff,
        at_least=min(cutoff, units.down(np.array([at_least])).item()),
        weights=sizes[: instance.n],
        share=sizes[instance.n :],
        capacity=capacities,
        together=instance.together,
        apart=lanes.apart if lanes.slots > 1 else instance.apart,
        pins=instance.pins,
        ranks=tuple(rankings(lanes.expanded)),
        head=np.zeros((instance.n, instance.k), np.int64),
        tail=np.zeros((instance.n, instance.k), np.int64),
        hint=None if plan is None else _hint(units, lanes, ordered(problem, plan)),
        slots=lanes.slots,
        united=lanes.together,
    )
    return WholeBatches(instance, lanes, units, request, complete)


def behind_barriers(problem: Problem, device: Ints, priority: Floats) -> Plan:
    """Return the earliest plan in which every batch waits for all batches of the nodes that it reads.

    Like :func:`mtpp_dsl.core.plans.batches.timed`, with the precedence rows of ghannane2023, (3.3), as published.

    Args:
        problem: a batched throughput.
        device: [n, chunks].
        priority: [n, devices] ranks of batches; no batch comes before one that it waits for.
    """
    batching, graph, k = problem.batching, problem.graph, problem.k
    counts = (device[:, :, None] == np.arange(k)).sum(axis=1)
    takes = np.take_along_axis(batching.time, counts[:, :, None], axis=2)[:, :, 0]
    start, end = np.full((2, graph.n, k), np.nan)
    free = np.zeros(k)
    nodes, devices = np.nonzero(counts)
    for i in np.lexsort((np.argsort(graph.topological_order)[nodes], priority[nodes, devices])).tolist():
        v, f = int(nodes[i]), int(devices[i])
        ready = float(free[f]) if takes[v, f] > 0 else 0.0
        for e in graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist():
            u = int(graph.tails[e])
            shared = np.bincount(device[u][device[v] == f], minlength=k)
            for d in np.flatnonzero(counts[u]).tolist():
                carried = 0.0
                if shared[d]:
                    inputs = int(shared[d]) * batching.chunk
                    carried = (
                        problem.transfers.scaled(e, d, f, inputs)
                        if batching.per_input
                        else problem.transfers.time(e, d, f)
                    )
                ready = max(ready, float(end[u, d]) + carried)
        start[v, f], end[v, f] = ready, ready + takes[v, f]
        if takes[v, f] > 0:
            free[f] = end[v, f]
    return Plan.of_batches(Batches.create(problem, device, start, end))


def _serial(instance: BatchInstance) -> float:
    """Return an upper bound on the makespan: everything runs one after another, on the slowest device."""
    work = np.where(np.isfinite(instance.time), instance.time, 0.0).max(axis=2).sum()
    carried = instance.fixed + instance.chunks * instance.growing
    longest = np.where(np.isfinite(carried), carried, 0.0).max(axis=(1, 2), initial=0.0)
    return float(work + longest[instance.row].sum())


def _hint(units: WholeScale, lanes: Lanes, plan: Plan) -> BatchSolution:
    lane, start = lanes.chunks(plan)
    return BatchSolution(lane, units.down(np.nan_to_num(start)))
