"""Make the table of stages of a problem, and the states of its devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import StageMemory
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.costs import ShapeStates, shape_states
from mtpp_dsl.solvers.algorithms.stages.table import LoadRow, Shape, StageTable, nets_of, tensors_of

__all__ = [
    "load_rows",
    "of_stages",
    "shapes_of",
    "stage_table",
    "staged_types",
    "states_of_table",
    "thresholds",
    "with_deviations",
    "with_workspaces",
    "workspaces",
]

ROUNDING = 1e-6
"""As a share of the 'tolerance' of the check of plans, so that no plan that it accepts is left out."""
AGAIN = {"never": (False,), "always": (True,), "free": (False, True)}


def of_stages(problem: Problem) -> bool:
    """Return whether *problem* speaks of memory by stage, of an iteration, or of groups that share nodes."""
    staged = any(problem.stage_memory) or any(problem.shard)
    return staged or any(objective.is_iteration for objective in problem.objectives)


def shapes_of(problem: Problem, types: DeviceTypes) -> tuple[Shape, ...]:
    """Return all ways to run a stage: numbers of shards and replicas, recomputing or not, on each device type."""
    shapes = []
    for q, members in enumerate(types.members):
        shard, rule = problem.shard[members[0]], problem.stage_memory[members[0]]
        for t in (1,) if shard is None else shard.by:
            for r in range(1, int(types.replicas[q]) + 1):
                if t * r <= len(members):
                    shapes += [Shape(q, t, r, again) for again in AGAIN["never" if rule is None else rule.recompute]]
    return tuple(shapes)


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
    fixed, further = np.zeros((count, n)), np.zeros((count, n))
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
            fixed[a], further[a], kept[a], enter[a] = _kept(keeps, shape, supernodes, problem, stages)
            room[a] = problem.stage_limit[types.members[q][0]] * (1 + tolerance * (1 + ROUNDING))
        fixed[a, ~np.isfinite(total(np.where(np.isfinite(types.time[:, q]), 0.0, np.inf)))] = np.inf
    nets, cost = nets_of(problem, of, np.array([row.tensor for row in rows]))
    table = StageTable(
        supernodes=supernodes, types=types, shapes=shapes, time=time, base=np.zeros((len(rows), count)), rate=rate,
        nets=nets, cost=cost, loads=len(rows), streams=np.array([row.streams for row in rows]),
        exchanges=np.array([row.exchanges for row in rows]), remains=np.array([row.remains for row in rows]),
        sync=sync, stream=stream,
        spared=types.overflow[[s.kind for s in shapes]] / types.bandwidth, fixed=fixed, further=further, kept=kept,
        enter=enter, room=room, tensors=tensors_of(problem, of) if enter.any() else {},
    )  # fmt: skip
    return with_workspaces(table, problem)


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
        further = params if shape.recompute else params + saved
        return state + saved, further, number - 1, number if shape.recompute else nothing
    begin = state + (rule.versions(0) - 1) * params
    if shape.recompute:
        return begin + saved, np.zeros(n), nothing, number
    return begin, saved, number, nothing


# Stages in the order of devices: each device is a type of its own, and a state is how far a chain has come.


def staged_types(problem: Problem) -> DeviceTypes:
    """Return the types of devices for chains of stages: where devices are in an order, one of each, in that order."""
    types, line = device_types(problem), problem.line
    if line is None:
        return types
    old = types.of[list(line.devices)]
    return replace(
        types,
        members=tuple((d,) for d in line.devices),
        of=frozen(np.argsort(np.array(line.devices)), np.int64),
        time=frozen(types.time[:, old], np.float64),
        pays=frozen(types.pays[old], np.bool_),
        memory=frozen(types.memory[old], np.float64),
        overflow=frozen(types.overflow[old], np.float64),
        replicas=frozen(types.replicas[old], np.int64),
        syncs=frozen(types.syncs[old], np.bool_),
    )


def states_of_table(table: StageTable, problem: Problem, *, backwards: bool = False) -> ShapeStates:
    """Return the states of the devices of a table, with the stages counted apart where their number matters.

    Args:
        table: of stages, on :func:`staged_types`.
        problem: whose devices may be in an order.
        backwards: whether chains begin with the last stage.
    """
    if problem.line is not None:
        return line_states(table, problem, backwards=backwards)
    stages = int(table.types.counts.sum()) if table.counts_stages else 0
    return shape_states(table.types.counts, table.take, stages=stages)


def line_states(table: StageTable, problem: Problem, *, backwards: bool = False) -> ShapeStates:
    """Return how far along the order of devices a chain has come, and where it matters how many stages it has.

    A stage may be on any device after the last one, if none between has to have a node. A chain may end where none
    after it has to. Of two chains of the same ideal the one that has come less far has more devices left; that tells
    which is better only if none between has to have a node.
    """
    line = problem.line
    assert line is not None
    k = problem.k
    place = np.arange(k)[::-1] if backwards else np.arange(k)  # of each type, in the order in which chains go
    filled = np.array([d in line.filled for d in line.devices], np.bool_)[np.argsort(place)]
    owed = np.concatenate([[0], np.cumsum(filled)])  # devices before each place that have to have a node
    counts = table.keeps_by_place and not filled.all()
    rows = k + 1 if counts else 1
    come, stages = (numbers.ravel() for numbers in np.divmod(np.arange((k + 1) * rows), rows))
    passed = (place[None, :] < come[:, None]).astype(np.int64)
    columns: list[Ints] = [passed]
    if filled.any():
        columns.append((owed[-1] - owed[come])[:, None])  # two chains are compared where this is equal
    if counts:
        columns.append(stages[:, None])
    used = np.concatenate(columns, axis=1)
    stride = np.array([*([rows] * k), *([0] if filled.any() else []), *([1] if counts else [])], np.int64)
    if filled.any():
        stride[:] = 0  # no state is better than another one
    at = place[[shape.kind for shape in table.shapes]]
    ahead = at[None, :] >= come[:, None]
    skipped = np.where(ahead, owed[at][None, :] - owed[come][:, None], 1)
    to = np.where(ahead, (at[None, :] + 1) * rows, 0)
    fits = ahead & (skipped == 0)
    if counts:
        to = to + np.minimum(stages + 1, k)[:, None]
        fits &= (stages < k)[:, None]
    return ShapeStates(
        used=used,
        stride=stride,
        after=np.ascontiguousarray(stages if counts else np.minimum(come, k)),
        to=np.ascontiguousarray(np.where(fits, to, 0)),
        open=np.ascontiguousarray(fits),
        final=np.ascontiguousarray(owed[come] == owed[-1]),
    )


# Stages whose times are off: the largest deviations of a stage, as one shape for each threshold.


def thresholds(problem: Problem, device: int) -> Floats:
    """Return the deviations of nodes on *device* that may be the last of those counted, and 0; just 0 if none is.

    Fewer nodes than are counted may be there, which is 0. What is among the largest of the graph that are counted, but
    for the last of these, is never the last that is counted.
    """
    own = problem.deviation[problem.allowed[:, device], device]
    rule = problem.robust
    if rule is None or rule.most >= len(own):
        return np.zeros(1)
    return np.unique(np.append(np.sort(own)[: len(own) - rule.most + 1], 0.0))


def with_deviations(table: StageTable, problem: Problem) -> StageTable:
    """Return *table* with the deviations of the nodes in the loads, as ``constraint robust`` asks.

    The sum of the g largest deviations of a stage is the least, over thresholds t, of ``g t + sum of max(0, deviation -
    t)``; the least is at the last deviation that is counted, or at 0 (Bertsimas and Sim, 2003). So a shape with each
    threshold, whose load has ``g t`` more and whose nodes take so much longer, has a load that is no less than the
    right one, and one of them has that.

    Args:
        table: of shapes of one device each, with the load as its only row.
        problem: whose nodes it is made of.
    """
    rule = problem.robust
    if rule is None:
        return table
    assert len(table.time) == 1, "the rows of the table are what its loads are made of"
    assert all(shape.devices == 1 for shape in table.shapes), "no deviation is said of nodes that devices share"
    old: list[int] = []
    base, time = [], []
    for a, shape in enumerate(table.shapes):
        device = table.types.members[shape.kind][0]
        own = np.where(problem.allowed[:, device], problem.deviation[:, device], 0.0)
        for threshold in thresholds(problem, device).tolist():
            more = np.maximum(own - threshold, 0.0)
            old.append(a)
            base.append(table.base[0, a] + rule.most * threshold)
            time.append(table.time[0, a] + np.bincount(table.supernodes.of, more, minlength=table.supernodes.n))
    return replace(_chosen(table, old), time=np.array(time)[None], base=np.array(base)[None])


def _chosen(table: StageTable, shapes: Sequence[int]) -> StageTable:
    """Return the table with these of its shapes, some of them several times."""
    some = list(shapes)
    return replace(
        table,
        shapes=tuple(table.shapes[a] for a in some),
        time=table.time[:, some],
        base=table.base[:, some],
        rate=table.rate[:, some],
        sync=table.sync[some],
        stream=table.stream[some],
        spared=table.spared[some],
        fixed=table.fixed[some],
        further=table.further[some],
        kept=table.kept[some],
        enter=table.enter[some],
        room=table.room[some],
    )


# Stages whose nodes need different workspaces: one shape for each that may be the largest.


def workspaces(problem: Problem, device: int) -> Floats:
    """Return the workspaces of the nodes that may be on *device*, ascending; ``inf`` without a limit of memory."""
    own = np.unique(problem.graph.workspace[problem.allowed[:, device]])
    return own if np.isfinite(problem.memory_limit[device]) and len(own) else np.array([np.inf])


def with_workspaces(table: StageTable, problem: Problem) -> StageTable:
    """Return *table* with what the nodes of a stage need while they run, of which the largest counts.

    A shape for each workspace w that may be the largest of a stage: nodes that need more may not be there, and the room
    is less by w. A stage fits into its memory if and only if it fits on one of these shapes.

    Args:
        table: of shapes of one device each, with the memory of :attr:`Problem.memory_limit` as their room.
        problem: whose nodes it is made of.
    """
    if not problem.uneven_workspace:
        return table
    assert all(shape.devices == 1 for shape in table.shapes), "no workspace is said of nodes that devices share"
    needed = np.zeros(table.supernodes.n)
    np.maximum.at(needed, table.supernodes.of, problem.graph.workspace)
    old: list[int] = []
    fixed, room = [], []
    for a, shape in enumerate(table.shapes):
        device = table.types.members[shape.kind][0]
        limit, least = float(problem.memory_limit[device]), float(problem.least_workspace[device])
        passed = float(table.room[a]) / limit if 0 < limit < np.inf else 1.0  # the tolerance of the check, or none
        for largest in workspaces(problem, device).tolist():
            old.append(a)
            fixed.append(np.where(needed <= largest, table.fixed[a], np.inf))
            room.append((limit - (largest - least)) * passed if largest < np.inf else table.room[a])
    return replace(_chosen(table, old), fixed=np.array(fixed), room=np.array(room))
