"""Hold a problem of a weighted sum as arrays, and a split of it with the sums that moves keep up to date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Contiguous, Decision, Latency, Linear, Load, On, Penalties, Used
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.colocation import convex_edges, ordered_edges
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, compressed, hypergraph, incidence
from mtpp_dsl.solvers.partition.annealing.split_state import counts_by_device, members_of

__all__ = ["WeightedInstance", "WeightedState", "instance_of", "state_of"]


class WeightedRows(NamedTuple):
    """Labelled rows, those with a penalty first: ``low <= on + load + use + peak + paid <= high``.

    Attributes:
        load, use: [rows, devices] coefficients of loads and of devices that are used.
        peak, paid: [rows] coefficients of the bottleneck and of what soft rows cost.
        low, high: [rows] limits.
        price: [rows] what a unit of violation costs; 0 of rows that must hold.
        hard: [rows] what a unit of violation counts as, of the size of the row; 0 of soft rows.
        whole: the rows that speak of more than ``on``: they are counted anew for every move.
        on_at: [supernodes + 1] row pointers into the three lists below.
        on_row, on_device, on_value: the rows, devices and coefficients of a supernode's ``on``.
    """

    load: Floats
    use: Floats
    peak: Floats
    paid: Floats
    low: Floats
    high: Floats
    price: Floats
    hard: Floats
    whole: Ints
    is_whole: Bools
    on_at: Ints
    on_row: Ints
    on_device: Ints
    on_value: Floats


class WeightedInstance(NamedTuple):
    """Supernodes, nets, devices, the objective and rows.

    Attributes:
        time: [n, devices] running time of each supernode.
        allowed: [n, devices] where it may be.
        nets_at, net: the nets at each supernode, as compressed rows; pins_at, pin: the supernodes of each net.
        cost: [nets] what a device pays that holds some pins of a net and not all.
        pays: [devices] which pay.
        size, room: [n] memory, and [devices] its limit.
        stream, kept: [n] time to stream the parameters, and [devices] the time that is not streamed.
        aparts_at, apart: the conflict sets of each supernode; aparts: how many sets there are.
        arcs_at, arc, outward, part: edges that must not make a cycle of devices: of each supernode the other ends,
            whether the edge leaves it, and the part of the graph; parts: how many parts there are.
        on: [n, devices] coefficients in the objective; load, use: [devices]; peak, constant; paid: 1.0 where what soft
            rows cost counts, else 0.0.
        rows: labelled rows.
    """

    time: Floats
    allowed: Bools
    nets_at: Ints
    net: Ints
    pins_at: Ints
    pin: Ints
    cost: Floats
    pays: Bools
    size: Floats
    room: Floats
    stream: Floats
    kept: Floats
    aparts_at: Ints
    apart: Ints
    aparts: int
    arcs_at: Ints
    arc: Ints
    outward: Bools
    part: Ints
    parts: int
    on: Floats
    load: Floats
    use: Floats
    peak: float
    constant: float
    paid: float
    rows: WeightedRows


class _Sum:
    """A weighted sum of decisions, by kind."""

    def __init__(self, view: Hypergraph, terms: Sequence[tuple[Decision, float]]) -> None:
        k = view.problem.k
        self.load, self.use = np.zeros(k), np.zeros(k)
        self.peak = self.paid = 0.0
        self.on: dict[tuple[int, int], float] = {}
        for decision, a in terms:
            match decision:
                case On(node, device):
                    key = int(view.of[node]), device
                    self.on[key] = self.on.get(key, 0.0) + a
                case Load(device):
                    self.load[device] += a
                case Used(device):
                    self.use[device] += a
                case Latency():
                    self.load += a
                case Bottleneck():
                    self.peak += a
                case Penalties():
                    self.paid += a
                case _:
                    raise Refused(f"a split has no {type(decision).__name__.lower()}")


def instance_of(problem: Problem, view: Hypergraph | None = None) -> WeightedInstance:
    """Return the instance of a problem on ``shared`` or ``host`` whose plans say nothing of times.

    Sets that must be convex without an acyclic quotient graph are kept so by an acyclic one, which leaves fewer plans.

    Raises:
        Refused: a row or the objective speaks of times.
    """
    graph = view or hypergraph(problem)
    link = problem.channel
    nets = graph.sorted_nets(problem.tensor_time)
    pins = [net.pins for net in nets]
    nets_at, net = compressed(incidence(graph.n, pins))
    pins_at, pin = compressed(pins)
    aparts_at, apart = compressed(incidence(graph.n, graph.conflict_sets))
    arcs_at, arc, outward, part, parts = _arcs(problem, graph)
    limit = problem.overflow_limit
    terms, constant = problem.objective.cost_terms
    goal = _Sum(graph, terms)
    on = np.zeros((graph.n, problem.k))
    for (v, d), a in goal.on.items():
        on[v, d] = a
    return WeightedInstance(
        time=np.asarray(graph.time, np.float64),
        allowed=graph.every(problem.allowed),
        nets_at=nets_at,
        net=net,
        pins_at=pins_at,
        pin=pin,
        cost=np.array([net.cost for net in nets], np.float64),
        pays=np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices]),
        size=np.asarray(graph.memory, np.float64),
        room=np.asarray(problem.memory_room, np.float64),
        stream=np.asarray(graph.params / link.bandwidth if np.isfinite(limit).any() else np.zeros(graph.n), np.float64),
        kept=np.asarray(limit / link.bandwidth, np.float64),
        aparts_at=aparts_at,
        apart=apart,
        aparts=len(graph.conflict_sets),
        arcs_at=arcs_at,
        arc=arc,
        outward=outward,
        part=part,
        parts=parts,
        on=on,
        load=goal.load,
        use=goal.use,
        peak=goal.peak,
        constant=constant,
        paid=goal.paid,
        rows=_rows(problem, graph),
    )


def _arcs(problem: Problem, graph: Hypergraph) -> tuple[Ints, Ints, Bools, Ints, int]:
    """Return the edges between supernodes that must not make a cycle of devices, from both of their ends."""
    parts = ordered_edges(problem)
    if any(problem.of(Contiguous)):
        parts = [*parts, *((tails, heads) for tails, heads, _ in convex_edges(problem).values())]
    ends: list[list[tuple[int, bool, int]]] = [[] for _ in range(graph.n)]
    for number, (tails, heads) in enumerate(parts):
        for a, b in graph.edges(tails, heads):
            ends[a].append((b, True, number))
            ends[b].append((a, False, number))
    flat = [end for its in ends for end in its]
    at = np.concatenate(([0], np.cumsum([len(its) for its in ends]))).astype(np.int64)
    return (
        at,
        np.array([end[0] for end in flat], np.int64),
        np.array([end[1] for end in flat], np.bool_),
        np.array([end[2] for end in flat], np.int64),
        len(parts),
    )


def _rows(problem: Problem, graph: Hypergraph) -> WeightedRows:
    """Return the labelled rows."""
    rows = [*problem.soft_rows, *problem.hard_rows]
    sums = [_Sum(graph, row.terms) for row in rows]
    k, count = problem.k, len(rows)
    typical = float(graph.least_work.sum()) / k or 1.0
    whole = [s.peak != 0 or s.paid != 0 or bool(s.load.any()) or bool(s.use.any()) for s in sums]
    entries: list[list[tuple[int, int, float]]] = [[] for _ in range(graph.n)]
    for number, one in enumerate(sums):
        for (v, d), a in one.on.items():
            entries[v].append((number, d, a))
    flat = [entry for its in entries for entry in its]
    return WeightedRows(
        load=np.array([s.load for s in sums], np.float64).reshape(count, k),
        use=np.array([s.use for s in sums], np.float64).reshape(count, k),
        peak=np.array([s.peak for s in sums], np.float64),
        paid=np.array([s.paid for s in sums], np.float64),
        low=np.array([-np.inf if row.sense == "<=" else row.rhs for row in rows], np.float64),
        high=np.array([np.inf if row.sense == ">=" else row.rhs for row in rows], np.float64),
        price=np.array([row.penalty or 0.0 for row in rows], np.float64),
        hard=np.array([0.0 if row.soft else 1.0 / _size(row, typical) for row in rows], np.float64),
        whole=np.flatnonzero(whole).astype(np.int64),
        is_whole=np.array(whole, np.bool_),
        on_at=np.concatenate(([0], np.cumsum([len(its) for its in entries]))).astype(np.int64),
        on_row=np.array([entry[0] for entry in flat], np.int64),
        on_device=np.array([entry[1] for entry in flat], np.int64),
        on_value=np.array([entry[2] for entry in flat], np.float64),
    )


def _size(row: Linear, load: float) -> float:
    """Return by what a violation of *row* is measured: its largest number, with loads of about *load*."""
    times = (Load, Bottleneck, Latency)
    return max([abs(row.rhs), *(abs(a) * (load if isinstance(x, times) else 1.0) for x, a in row.terms)]) or 1.0


# Where the supernodes are, and the sums that follow from it, kept up to date move by move.


class WeightedState(NamedTuple):
    """A split, valid or not, and its sums.

    Attributes:
        device: [n] of every supernode.
        inside: [nets, k] pins of each net on each device.
        load: [k] time and cut nets, without overflow.
        streamed: [k] time to stream the parameters, if all were.
        used: [k] memory.
        crowd: [sets held apart, k] how many of each set are on each device.
        clash: [k] how many of these are too many.
        sizes: [k] how many supernodes are on each device.
        members: [k, n] which these are, in any order, in the first ``listed`` columns; ``listed`` is ``sizes`` between
            moves.
        place: [n] the column of each supernode.
        quotient: [parts, k, k] edges from device to device.
        row: [rows] what the ``on`` of each row add up to.
        sums: [3] the ``on`` of the objective; what soft rows over ``on`` alone cost; by how much hard ones are broken.
    """

    device: Ints
    inside: Ints
    load: Floats
    streamed: Floats
    used: Floats
    crowd: Ints
    clash: Ints
    sizes: Ints
    members: Ints
    listed: Ints
    place: Ints
    quotient: Ints
    row: Floats
    sums: Floats


def state_of(instance: WeightedInstance, device: Ints) -> WeightedState:
    """Return the state in which every supernode is on its *device*, [n], one that it may be on."""
    n, k = instance.time.shape
    pins = np.diff(instance.pins_at)
    inside = counts_by_device(np.repeat(np.arange(len(pins)), pins), device[instance.pin], len(pins), k)
    load = np.bincount(device, weights=instance.time[np.arange(n), device], minlength=k).astype(np.float64)
    cut = (inside > 0) & (inside < pins[:, None])
    load += np.where(instance.pays, (cut * instance.cost[:, None]).sum(axis=0), 0.0)
    crowd = counts_by_device(instance.apart, np.repeat(device, np.diff(instance.aparts_at)), instance.aparts, k)
    sizes, members, place = members_of(device, k)
    quotient = np.zeros((instance.parts, k, k), np.int64)
    ends = np.repeat(np.arange(n), np.diff(instance.arcs_at))[instance.outward]
    np.add.at(quotient, (instance.part[instance.outward], device[ends], device[instance.arc[instance.outward]]), 1)
    for part in quotient:
        np.fill_diagonal(part, 0)
    row, sums = _row_sums(instance, device)
    return WeightedState(
        device=device.copy(),
        inside=inside,
        load=load,
        streamed=np.bincount(device, weights=instance.stream, minlength=k).astype(np.float64),
        used=np.bincount(device, weights=instance.size, minlength=k).astype(np.float64),
        crowd=crowd,
        clash=np.maximum(crowd - 1, 0).sum(axis=0).astype(np.int64),
        sizes=sizes,
        members=members,
        listed=sizes.copy(),
        place=place,
        quotient=quotient,
        row=row,
        sums=sums,
    )


def _row_sums(instance: WeightedInstance, device: Ints) -> tuple[Floats, Floats]:
    """Return what the ``on`` of each row add up to, and the sums that follow from it."""
    rows, n = instance.rows, len(device)
    holds = device[np.repeat(np.arange(n), np.diff(rows.on_at))] == rows.on_device
    row = np.zeros(len(rows.low))
    np.add.at(row, rows.on_row[holds], rows.on_value[holds])
    over = np.where(rows.is_whole, 0.0, np.maximum(0.0, np.maximum(rows.low - row, row - rows.high)))
    on = float(instance.on[np.arange(n), device].sum())
    return row, np.array([on, float((over * rows.price).sum()), float((over * rows.hard).sum())])
