"""Hold what searches over batches share: the supernodes that move, and the state of a schedule of batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.core.views.tasks import BatchInstance

__all__ = [
    "BITS",
    "ROUNDING",
    "STRIDE",
    "BatchField",
    "BatchState",
    "batch_field_of",
    "batch_order_of",
    "batch_plan_of",
    "batch_state_of",
    "is_plan",
    "recount",
]

BITS = 62
"""Chunks of one word of a mask."""
STRIDE = 16
"""Places of the order between two that a schedule can be taken up from."""
ROUNDING = 1e-9
"""Relative: what sums of memory may be above a limit by their rounding alone."""


class BatchField(NamedTuple):
    """A batched throughput as kernels take it; edges are numbered as in the graph.

    Attributes:
        offsets, heads, tails: the edges ``offsets[v]`` to ``offsets[v + 1] - 1`` leave v, for these ``heads``.
        offsets_in, entering: the edges that reach v are ``entering[offsets_in[v]:offsets_in[v + 1]]``, ascending.
        rank: [n] of every node in the topological order of the graph.
        time: [n, k, chunks + 1]; ``inf`` where a batch may not be.
        fixed, growing, row: see :class:`BatchInstance`. per_input: whether ``growing`` counts.
        tail: [n, k] how long before the end a batch of a node on a device ends at least.
        group: [n] supernode of every node: those of one run every chunk on the same device.
        members_at, members: the nodes of supernode c are ``members[members_at[c]:members_at[c + 1]]``.
        may: [supernodes, k, chunks + 1] which batches it may have. pinned: [supernodes] whether its row is given.
        kind, reach: [supernodes], [kinds, k + 1, chunks + 1] whether devices d to k - 1 can run so many chunks.
        weights, share: [supernodes] memory on every device with a batch, and of every chunk. limit: [k].
        apart_at, apart: the supernodes that may not run a chunk where c runs it.
    """

    offsets: Ints
    heads: Ints
    tails: Ints
    offsets_in: Ints
    entering: Ints
    rank: Ints
    time: Floats
    fixed: Floats
    growing: Floats
    row: Ints
    per_input: bool
    tail: Floats
    group: Ints
    members_at: Ints
    members: Ints
    may: Bools
    pinned: Bools
    kind: Ints
    reach: Bools
    weights: Floats
    share: Floats
    limit: Floats
    apart_at: Ints
    apart: Ints


class BatchState(NamedTuple):
    """Chunks on devices, an order of all batches, and the times that follow. Batch v * k + d is that of v on d.

    Attributes:
        home: [supernodes, chunks] device. size: [supernodes, k] chunks there. mask: [supernodes, k, words] which.
        active, actives: [supernodes, k] devices with a batch, ascending, and [supernodes] how many.
        used: [k] memory taken. clash: [1] chunks that supernodes held apart run on one device.
        order, length, place: batches in an order that precedence allows, [1] how many, [n k] where (-1: no batch).
        end: [n k] of every batch.
        free, peak, lacking: [places / STRIDE + 1, k] when devices are free, the last end, and how many batches have got
            their inputs without a link, before that place.
        cost: [1] the makespan, and what is charged for what may not be.
    """

    home: Ints
    size: Ints
    mask: Ints
    active: Ints
    actives: Ints
    used: Floats
    clash: Ints
    order: Ints
    length: Ints
    place: Ints
    end: Floats
    free: Floats
    peak: Floats
    lacking: Ints
    cost: Floats


def batch_field_of(instance: BatchInstance) -> BatchField | None:
    """Return the field of an instance; None if a supernode has no spread of its chunks that all its nodes can run.

    Spreads are then given by sizes and pins alone; what memory, links and ``separate`` leave is not looked at.
    """
    graph, group, supernodes = instance.graph, instance.together, instance.supernodes
    count, k, chunks = supernodes.n, instance.k, instance.chunks
    may = supernodes.every(np.isfinite(instance.time))
    given = np.full((count, chunks), -1)
    for v in np.flatnonzero((instance.pins >= 0).any(axis=1)).tolist():
        row = given[group[v]]
        if ((row >= 0) & (instance.pins[v] >= 0) & (row != instance.pins[v])).any():
            return None
        given[group[v]] = np.where(instance.pins[v] >= 0, instance.pins[v], row)
    pinned: Bools = np.asarray((given >= 0).any(axis=1))
    sizes = np.zeros((count, k), np.int64)
    np.add.at(sizes, (np.repeat(np.arange(count), chunks), np.maximum(given, 0).ravel()), (given >= 0).ravel())
    if not np.take_along_axis(may, sizes[:, :, None], axis=2)[pinned].all():
        return None
    kinds, kind = np.unique(may.reshape(count, -1), axis=0, return_inverse=True)
    reach = _reach(kinds.reshape(-1, k, chunks + 1))
    if any(len(set(members)) < len(members) for members in supernodes.conflict_sets):
        return None
    if not reach[kind.reshape(-1), 0, chunks].all():
        return None
    rank = np.empty(graph.n, np.int64)
    rank[graph.topological_order] = np.arange(graph.n)
    members_at, members = compressed(supernodes.members)
    apart_at, apart = compressed([sorted(others) for others in supernodes.conflicts])
    return BatchField(
        offsets=graph.offsets,
        heads=graph.heads,
        tails=graph.tails,
        offsets_in=graph.offsets_in,
        entering=graph.by_head,
        rank=rank,
        time=instance.time,
        fixed=instance.fixed,
        growing=instance.growing,
        row=instance.row,
        per_input=instance.batching.per_input,
        tail=tails_of(instance),
        group=np.array(group, np.int64),
        members_at=members_at,
        members=members,
        may=may,
        pinned=pinned,
        kind=kind.reshape(-1).astype(np.int64),
        reach=reach,
        weights=supernodes.total(instance.batching.weights),
        share=supernodes.total(instance.batching.share),
        limit=np.asarray(instance.limit * (1 + ROUNDING)),
        apart_at=apart_at,
        apart=apart,
    )


def _reach(kinds: Bools) -> Bools:
    """Return [kinds, k + 1, chunks + 1] whether devices d to k - 1 can run so many chunks, each a batch or none."""
    count, k, most = kinds.shape
    reach = np.zeros((count, k + 1, most), np.bool_)
    reach[:, k, 0] = True
    for d in range(k - 1, -1, -1):
        for p in range(most):
            reach[:, d, p:] |= kinds[:, d, p, None] & reach[:, d + 1, : most - p]
    return reach


def tails_of(instance: BatchInstance) -> Floats:
    """Return [n, k] the longest path from the end of a batch to the end of all, every node in its shortest batch.

    Each batch has some chunk, of which every successor has to run too. Where no link leads on, it is 0.
    """
    graph = instance.graph
    shortest = instance.time[:, :, 1:].min(axis=2, initial=np.inf)
    tail = np.zeros((instance.n, instance.k))
    for u in graph.topological_order[::-1].tolist():
        for e in range(int(graph.offsets[u]), int(graph.offsets[u + 1])):
            v = int(graph.heads[e])
            carried = instance.fixed[instance.row[e]] + instance.growing[instance.row[e]]
            ahead = (carried + shortest[v] + tail[v]).min(axis=1)
            tail[u] = np.maximum(tail[u], np.where(np.isfinite(ahead), ahead, 0.0))
    return tail


def batch_state_of(field: BatchField, home: Ints, priority: Floats) -> BatchState:
    """Return the state of chunks on devices and priorities of batches; times are zero until it is timed.

    Args:
        field: the problem.
        home: [supernodes, chunks] devices.
        priority: [n, k] of batches, least first; ties by topological order.
    """
    n, k, _ = field.time.shape
    supernodes, chunks = home.shape
    size = np.zeros((supernodes, k), np.int64)
    np.add.at(size, (np.repeat(np.arange(supernodes), chunks), home.ravel()), 1)
    mask = np.zeros((supernodes, k, -(-chunks // BITS)), np.int64)
    for i in range(chunks):
        mask[np.arange(supernodes), home[:, i], i // BITS] |= 1 << (i % BITS)
    active = np.zeros((supernodes, k), np.int64)
    actives = (size > 0).sum(axis=1)
    for c in range(supernodes):
        active[c, : actives[c]] = np.flatnonzero(size[c])
    node, device = np.nonzero(size[field.group])
    listed = np.lexsort((device, field.rank[node], priority[node, device]))
    items = (node * k + device)[listed]
    room = n * min(k, chunks)
    order = np.zeros(room, np.int64)
    order[: len(items)] = items
    place = np.full(n * k, -1)
    place[items] = np.arange(len(items))
    apart = [(c, x) for c in range(supernodes) for x in field.apart[field.apart_at[c] : field.apart_at[c + 1]] if x < c]
    state = BatchState(
        home=home.astype(np.int64),
        size=size,
        mask=mask,
        active=active,
        actives=actives,
        used=np.zeros(k),
        clash=np.array([sum(int((home[c] == home[x]).sum()) for c, x in apart)], np.int64),
        order=order,
        length=np.array([len(items)]),
        place=place,
        end=np.zeros(n * k),
        free=np.zeros((room // STRIDE + 1, k)),
        peak=np.zeros(room // STRIDE + 1),
        lacking=np.zeros(room // STRIDE + 1, np.int64),
        cost=np.full(1, np.inf),
    )
    recount(field, state)
    return state


def recount(field: BatchField, state: BatchState) -> None:
    """Count memory anew: sums that change by differences drift."""
    state.used[:] = field.weights @ (state.size > 0) + field.share @ state.size


def is_plan(field: BatchField, state: BatchState) -> bool:
    """Return whether chunks are where memory, links and supernodes held apart let them be."""
    where = state.home[field.group]
    joined = np.isfinite(field.fixed[field.row[:, None], where[field.tails], where[field.heads]]).all()
    return bool(joined and state.clash[0] == 0 and (state.used <= field.limit).all())


def batch_order_of(instance: BatchInstance, plan: Plan) -> tuple[Ints, Floats]:
    """Return [n, chunks] the devices of a plan, and [n, k] its starts as priorities of batches."""
    assert plan.batches is not None
    return np.array(plan.batches.device[:, :: instance.batching.chunk]), np.nan_to_num(plan.batches.start)


def batch_plan_of(instance: BatchInstance, home: Ints, place: Ints) -> Plan:
    """Return the plan of supernodes' chunks on devices and places of batches in an order that precedence allows."""
    return instance.plan(home[instance.together], place.reshape(instance.n, instance.k).astype(np.float64))
