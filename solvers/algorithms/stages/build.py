"""Makes the table of stages of a problem: on which shapes a stage may run, and what each node adds there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.constraints import StageMemory
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.table import LoadRow, Shape, StageTable, nets_of, tensors_of

__all__ = ["load_rows", "of_stages", "shapes_of", "stage_table"]

ROUNDING = 1e-6
"""As a share of the 'tolerance' of the check of plans, so that no plan that it accepts is left out."""
AGAIN = {"never": (False,), "always": (True,), "free": (False, True)}


def of_stages(problem: Problem) -> bool:
    """Return whether *problem* speaks of memory by stage, of an iteration, or of groups that share nodes."""
    staged = any(problem.stage_memory) or any(problem.shard)
    return staged or any(objective.is_iteration for objective in problem.objectives)


def shapes_of(problem: Problem, types: DeviceTypes) -> tuple[Shape, ...]:
    """Return all ways to run a stage: numbers of shards and replicas, recomputing or not, on each device type."""
    found = []
    for q, members in enumerate(types.members):
        shard, rule = problem.shard[members[0]], problem.stage_memory[members[0]]
        for t in (1,) if shard is None else shard.by:
            for r in range(1, int(types.replicas[q]) + 1):
                if t * r <= len(members):
                    found += [Shape(q, t, r, again) for again in AGAIN["never" if rule is None else rule.recompute]]
    return tuple(found)


def load_rows(problem: Problem, types: DeviceTypes, *, parts: bool = False) -> list[LoadRow]:
    """Return what the loads of *problem* are made of: all of a load, and with *parts* the forward and backward passes.

    Args:
        problem: on ``shared`` or ``host``.
        types: of its devices.
        parts: whether the passes are rows too.
    """
    graph, share = problem.graph, problem.graph.forward_share
    reduce = graph.reduce / problem.channel.bandwidth
    time = np.where(np.isfinite(types.time), types.time, 0.0)
    again, reduce_again = share[:, None] * time, share * reduce
    rows = [LoadRow(types.time, types.tensor, reduce, again, reduce_again)]
    if parts:
        none, rest = np.zeros_like(again), 1 - share
        rows.append(LoadRow(again, share * types.tensor, reduce_again, none, 0 * share, exchanges=False))
        rows.append(
            LoadRow(
                rest[:, None] * time, rest * types.tensor, rest * reduce, again, reduce_again,
                streams=False, exchanges=False, remains=1,
            )
        )  # fmt: skip
    return rows


def stage_table(
    problem: Problem,
    types: DeviceTypes,
    supernodes: OrderedSupernodes,
    rows: Sequence[LoadRow],
    stages: int,
    tolerance: float = 0.0,
) -> StageTable:
    """Return the table of stages.

    Args:
        problem: on ``shared`` or ``host``, with a network that is as fast between groups as inside.
        types: of its devices.
        supernodes: of its nodes, none eliminated.
        rows: what loads are made of; that of the problem itself comes first.
        stages: the most that a chain has.
        tolerance: by which share plans may exceed a memory in the check of plans.
    """
    assert not supernodes.eliminated, "supernodes that are left out have no place in a table"
    shapes, of, graph = shapes_of(problem, types), supernodes.of, problem.graph
    count, n = len(shapes), supernodes.n
    speeds = [
        1.0 if (rule := problem.shard[types.members[s.kind][0]]) is None else rule.faster(s.shards) for s in shapes
    ]

    def total(values: Floats) -> Floats:
        return np.bincount(of, weights=values, minlength=n).astype(np.float64)

    time = np.zeros((len(rows), count, n))
    rate = np.full((len(rows), count), -1, np.int64)
    fixed, each = np.zeros((count, n)), np.zeros((count, n))
    kept, enter, room = np.zeros((count, stages + 1)), np.zeros((count, stages + 1)), np.full(count, np.inf)
    stream, sync = np.zeros((count, n)), np.zeros((count, n))
    for a, shape in enumerate(shapes):
        q, t = shape.kind, shape.shards
        ring = 2 * (t - 1) / t if types.pays[q] else 0.0
        for p, row in enumerate(rows):
            own = np.where(np.isfinite(row.time[:, q]), row.time[:, q], 0.0) / speeds[a] + ring * row.reduce
            if shape.recompute:
                own = own + row.again[:, q] / speeds[a] + ring * row.reduce_again
            time[p, a] = total(own)
            rate[p, a] = p if types.pays[q] else -1
        if np.isfinite(types.overflow[q]):
            stream[a] = total(graph.params / types.bandwidth)
        if types.syncs[q] and shape.replicas > 1:
            sync[a] = total(2 * graph.params / t / types.bandwidth)
        keeps = problem.stage_memory[types.members[q][0]]
        if keeps is None:
            fixed[a], room[a] = total(graph.memory / t), types.memory[q]
        else:
            fixed[a], each[a], kept[a], enter[a] = _kept(keeps, shape, supernodes, problem, stages)
            room[a] = problem.stage_limit[types.members[q][0]] * (1 + tolerance * (1 + ROUNDING))
        fixed[a, ~np.isfinite(total(np.where(np.isfinite(types.time[:, q]), 0.0, np.inf)))] = np.inf
    nets, cost = nets_of(problem, of, np.array([row.tensor for row in rows]))
    return StageTable(
        supernodes=supernodes, types=types, shapes=shapes, time=time, base=np.zeros((len(rows), count)), rate=rate,
        nets=nets, cost=cost, loads=len(rows), streams=np.array([row.streams for row in rows]),
        exchanges=np.array([row.exchanges for row in rows]), remains=np.array([row.remains for row in rows]),
        sync=sync, stream=stream,
        spared=types.overflow[[s.kind for s in shapes]] / types.bandwidth, fixed=fixed, each=each, kept=kept,
        enter=enter, room=room, tensors=tensors_of(problem, of) if enter.any() else {},
    )  # fmt: skip


def _kept(
    rule: StageMemory, shape: Shape, supernodes: OrderedSupernodes, problem: Problem, stages: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what a stage holds at first, what it holds for each further thing kept, how many, and of what it reads.

    One version of the weights is part of ``state``. With ``pipedream`` there are as many versions as microbatches, so
    ``params`` and ``saved`` are held once more for each of them but the first.
    """
    graph, of, n = problem.graph, supernodes.of, supernodes.n

    def total(values: Floats) -> Floats:
        return np.bincount(of, weights=values / shape.shards, minlength=n).astype(np.float64)

    state, params, saved = total(graph.state), total(graph.params), total(graph.saved)
    number = np.array([rule.kept(after) for after in range(stages + 1)], np.float64)
    nothing = np.zeros(stages + 1)
    if rule.schedule == "pipedream":
        each = params if shape.recompute else params + saved
        return state + saved, each, number - 1, number if shape.recompute else nothing
    begin = state + (rule.versions(0) - 1) * params
    if shape.recompute:
        return begin + saved, np.zeros(n), nothing, number
    return begin, saved, number, nothing
