"""Everything on one device: what any split is measured against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.lanes import Lanes, lanes_of
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.algorithms.windows.batch_bounds import closed
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.chunk_splits import alike, alone, parted

NAME = "single-device"


def single_device(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return everything on the fastest device that can hold it, or no plan, with what keeps everything off each."""
    incumbent = Incumbent(NAME, problem, limits, progress)
    if problem.objective.batch is not None:
        return _of_a_batch(problem, incumbent)
    for group in interchangeable(problem):
        d = group[0]
        if not incumbent.take(_all_on(problem, d)):
            more = f" (and {len(group) - 1} more like it)" if len(group) > 1 else ""
            incumbent.note(f"not everything on {problem.devices[d].name}{more}: {incumbent.broken}")
    return incumbent.result()


def _of_a_batch(problem: Problem, incumbent: Incumbent) -> Result:
    """Return the best plan with all inputs on one device, or without such a plan the best with one spread for all."""
    if problem.batching.slots > 1:
        return _in_several_batches(problem, incumbent)
    instance = BatchInstance.of(problem)
    for d in alone(instance):
        if not incumbent.take(alike(instance, np.full(instance.chunks, d))):
            incumbent.note(f"not everything on {problem.devices[d].name}: {incumbent.broken}")
    row = parted(instance) if incumbent.plan is None else None
    if row is not None and incumbent.take(alike(instance, row)):
        sizes = np.bincount(row, minlength=problem.k) * instance.batching.chunk
        shown = ", ".join(f"{problem.devices[d].name} {sizes[d]}" for d in np.flatnonzero(sizes).tolist())
        incumbent.note(f"no device can run all inputs at once: they are parted, {shown}")
    elif incumbent.plan is None:
        why = "sizes and memory leave none" if row is None else incumbent.broken
        incumbent.note(f"no way was found to run every node on the same devices: {why}")
    return incumbent.result()


def _in_several_batches(problem: Problem, incumbent: Incumbent) -> Result:
    """Return the best plan in which every node runs in the same batches, on one device or parted among several."""
    lanes, batching = lanes_of(problem), problem.batching
    single = batching.time.sum(axis=0)
    rows: list[tuple[str, dict[int, int]]] = [(d.name, {i: batching.count}) for i, d in enumerate(problem.devices)]
    among = parted(closed(BatchInstance.of(problem)))
    if among is not None:
        rows.append(("several devices", dict(Counter(among.tolist()))))
    for name, shares in rows:
        parts = [(d, _cheapest_sizes(single[d, : share + 1], batching.repeat[d])) for d, share in shares.items()]
        if any(sizes is None for _, sizes in parts):
            incumbent.note(f"not everything on {name}: no batches that all nodes can have add up to all inputs")
            continue
        row = [
            lane
            for d, sizes in parts
            for lane, size in zip(lanes.of(d), sizes or (), strict=False)
            for _ in range(size)
        ]
        for plan in _in_both_orders(lanes, np.tile(np.array(row, np.int64), (problem.graph.n, 1))):
            if not incumbent.take(plan):
                incumbent.note(f"not everything on {name}: {incumbent.broken}")
                break
    return incumbent.result()


def _in_both_orders(lanes: Lanes, where: Ints) -> Iterator[Plan]:
    """Yield the plans with chunks in these lanes, node by node, and batch by batch through all nodes."""
    place = np.argsort(lanes.problem.graph.topological_order).astype(np.float64)[:, None]
    slot = (np.arange(len(lanes.machine)) % lanes.slots)[None, :]
    yield lanes.plan(where, place * lanes.slots + slot)
    yield lanes.plan(where, place + len(place) * slot)


def _cheapest_sizes(time: Floats, most: int) -> list[int] | None:
    """Return the sizes of up to *most* batches that are all chunks, of the least time together; None for none.

    Args:
        time: [chunks + 1] of a batch of so many chunks; ``inf`` where there is none.
        most: batches.
    """
    count = len(time) - 1
    best: list[dict[int, tuple[float, list[int]]]] = [{0: (0.0, [])}]
    for _ in range(most):
        level: dict[int, tuple[float, list[int]]] = dict(best[-1])
        for done, (spent, sizes) in best[-1].items():
            for p in np.flatnonzero(np.isfinite(time[: count - done + 1])).tolist():
                total = spent + float(time[p])
                if p and (done + p not in level or total < level[done + p][0]):
                    level[done + p] = total, [*sizes, p]
        best.append(level)
    return best[-1][count][1] if count in best[-1] else None


def _all_on(problem: Problem, d: int) -> Plan:
    """Return the plan with everything on device *d*; for a makespan, one node after another."""
    device = np.full(problem.graph.n, d)
    if problem.objective.quantity != "makespan" or not np.isfinite(problem.time[:, d]).all():
        return Plan.create(problem, device)
    order = problem.graph.topological_order
    end = np.empty(problem.graph.n)
    end[order] = np.cumsum(problem.time[order, d])
    start = np.empty(problem.graph.n)
    start[order] = np.append(0.0, end[order[:-1]])
    return Plan.create(problem, device, schedule=Schedule.create(problem.graph, start, end))
