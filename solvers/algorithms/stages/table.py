"""The table of stages of a problem, in seconds and bytes, and in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.core.views.whole_numbers import binary_unit, floored
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.costs import StageCosts

BITS = 60
ANYTHING = 1e300
"""Room for whatever there is."""

Tensors = dict[tuple[int, tuple[int, ...]], float]


class Shape(NamedTuple):
    """One way to run a stage.

    Attributes:
        kind: the device type.
        shards: over how many devices each node is split.
        replicas: how many groups of so many devices share the inputs.
        recompute: whether it runs its forward part again.
    """

    kind: int
    shards: int = 1
    replicas: int = 1
    recompute: bool = False

    @property
    def devices(self) -> int:
        """How many devices it takes."""
        return self.shards * self.replicas


class LoadRow(NamedTuple):
    """What a load is made of, for single nodes; a row of the table is its sum over a stage.

    Attributes:
        time: [nodes, types] ``inf`` where a node may not be.
        tensor: [nodes] time to transfer the node's tensor.
        reduce: [nodes] time to pass once what the devices of a group add up.
        again, reduce_again: [nodes, types], [nodes] what a stage that recomputes adds to both.
        streams, exchanges: whether it has what is streamed, and what replicas exchange.
        remains: the number of the row whose stages leave it the rest of what replicas exchange; -1 for none.
    """

    time: Floats
    tensor: Floats
    reduce: Floats
    again: Floats
    reduce_again: Floats
    streams: bool = True
    exchanges: bool = True
    remains: int = -1


@dataclass(frozen=True, eq=False)
class StageTable:
    """What stages cost on every shape, as floats; see :class:`mtpp_dsl.solvers.algorithms.stages.costs.StageCosts`.

    Attributes:
        supernodes: what stages are made of.
        types: of the devices.
        shapes: how a stage may be run.
        time: [rows, shapes, n]; 0 where a supernode may not be, of which ``fixed`` is ``inf``.
        base: [rows, shapes].
        rate: [rows, shapes].
        nets: the pins of each net, and [rates, nets] ``cost``.
        loads: how many rows are loads; those after them are sums.
        streams, exchanges, remains: [rows].
        sync, stream: [shapes, n] seconds, and [shapes] ``spared``.
        fixed, further: [shapes, n] bytes; [shapes, most stages] ``kept``, ``enter``; [shapes] ``room``.
        tensors: the supernode that makes each tensor and those that read it, with its bytes.
    """

    supernodes: OrderedSupernodes
    types: DeviceTypes
    shapes: tuple[Shape, ...]
    time: Floats
    base: Floats
    rate: Ints
    nets: tuple[tuple[int, ...], ...]
    cost: Floats
    loads: int
    streams: Bools
    exchanges: Bools
    remains: Ints
    sync: Floats
    stream: Floats
    spared: Floats
    fixed: Floats
    further: Floats
    kept: Floats
    enter: Floats
    room: Floats
    tensors: Tensors

    @property
    def take(self) -> Ints:
        """[shapes, types] how many devices of each type a stage takes."""
        take = np.zeros((len(self.shapes), len(self.types.members)), np.int64)
        for a, shape in enumerate(self.shapes):
            take[a, shape.kind] = shape.devices
        return take

    @property
    def counts_stages(self) -> bool:
        """Whether the number of stages matters and is not that of the devices used."""
        return self.keeps_by_place and any(shape.devices > 1 for shape in self.shapes)

    @property
    def keeps_by_place(self) -> bool:
        """Whether what a stage keeps depends on how many stages come after it."""
        return bool((np.diff(self.kept, axis=1) != 0).any() or (np.diff(self.enter, axis=1) != 0).any())

    @property
    def allowed(self) -> Bools:
        """[n, shapes] where a supernode may be and fits when it is alone and no stage comes after it."""
        alone = self.fixed + self.kept[:, :1] * self.further
        return np.asarray((alone <= self.room[:, None]).T, np.bool_)

    def held(self, block: Ints, a: int, after: int) -> float:
        """Return what each device of a stage on shape *a* holds in its memory, with so many stages *after* it."""
        inside = set(block.tolist())
        read = sum(
            size
            for (maker, readers), size in self.tensors.items()
            if maker not in inside and inside.intersection(readers)
        )
        size = self.fixed[a, block].sum() + self.kept[a, after] * self.further[a, block].sum()
        return float(size + self.enter[a, after] * read)

    def with_room(self, room: Floats) -> StageTable:
        """Return the table with other limits of what a stage holds, [shapes]."""
        return replace(self, room=room)

    def with_prices(self, prices: Floats) -> StageTable:
        """Return the table with one more load: the first one times the price of its device type.

        Args:
            prices: [types] zero or more.
        """
        factor = np.array([prices[shape.kind] for shape in self.shapes])
        rates, rate = [self.cost], np.full(len(self.shapes), -1)
        number = len(self.cost)
        for q, price in enumerate(prices.tolist()):
            for old in np.unique(self.rate[0]).tolist():
                at = [a for a, shape in enumerate(self.shapes) if shape.kind == q and self.rate[0, a] == old >= 0]
                if at:
                    rates.append(price * self.cost[old : old + 1])
                    rate[at] = number
                    number += 1
        if (self.stream.any() and np.isfinite(self.spared).any()) or self.sync.any():
            raise ValueError("prices of parameters that are streamed or exchanged")
        where = self.loads
        return replace(
            self,
            time=np.insert(self.time, where, factor[:, None] * self.time[0], axis=0),
            base=np.insert(self.base, where, factor * self.base[0], axis=0),
            rate=np.insert(self.rate, where, rate, axis=0),
            cost=np.concatenate(rates),
            loads=self.loads + 1,
            streams=np.insert(self.streams, where, False),
            exchanges=np.insert(self.exchanges, where, False),
            remains=np.insert(self.remains, where, -1),
        )

    def with_sum(self, values: Floats, base: Floats | float = 0.0) -> StageTable:
        """Return the table with one more row, that only adds up.

        Args:
            values: [shapes, n] or what is like it; zero or more.
            base: [shapes] of every stage, as the price of its devices.
        """
        shapes, n = self.fixed.shape
        added = np.broadcast_to(np.asarray(values, np.float64), (shapes, n))
        begin = np.broadcast_to(np.asarray(base, np.float64), (shapes,))
        return replace(
            self,
            time=np.concatenate((self.time, added[None])),
            base=np.concatenate((self.base, begin[None])),
            rate=np.concatenate((self.rate, np.full((1, shapes), -1))),
            streams=np.append(self.streams, False),
            exchanges=np.append(self.exchanges, False),
            remains=np.append(self.remains, -1),
        )

    def whole(self, top: float) -> tuple[StageCosts, Floats, int]:
        """Return the table in whole numbers, rounded down, so that sums are exact and nothing is overstated.

        A time of a load above *top*, times the most replicas, counts as that much: use a limit of *top* or less.

        Args:
            top: what no load of interest reaches, more than zero.

        Returns:
            The table; [rows] the unit of each row, a power of two, the same for all loads; *top* in that unit, down.
        """
        n, replicas = self.supernodes.n, max((shape.replicas for shape in self.shapes), default=1)
        terms = 2 * replicas * (n + sum(map(len, self.nets)) + int(self.types.counts.sum()) + 4)
        streams = self.stream.any() and np.isfinite(self.spared).any()
        most_streamed = float(self.stream.sum(axis=1).max(initial=0.0)) if streams else 0.0
        unit = binary_unit(max(top * terms, 2 * most_streamed), BITS)
        most = int(top // unit)
        cap = most * replicas
        units = np.full(len(self.time), unit)
        time = np.zeros(self.time.shape, np.int64)
        base = np.zeros(self.base.shape, np.int64)
        for p in range(len(self.time)):
            if p >= self.loads:
                total = float(self.time[p].max(axis=0, initial=0.0).sum() + n * self.base[p].max(initial=0.0))
                units[p] = binary_unit(total or 1.0, BITS - 2)
            bound = cap if p < self.loads else None
            time[p], base[p] = floored(self.time[p], units[p], bound), floored(self.base[p], units[p], bound)
        spared = np.where(np.isfinite(self.spared), self.spared, most_streamed)
        nets_at: list[list[int]] = [[] for _ in range(n)]
        for t, pins in enumerate(self.nets):
            for v in pins:
                nets_at[v].append(t)
        start, tensor = compressed(nets_at)
        flow_start, flow, makes, size = _flows(n, self.tensors if self.enter.any() else {})
        costs = StageCosts(
            start=start, tensor=tensor, pins=np.array([len(pins) for pins in self.nets], np.int64),
            cost=floored(self.cost, unit, cap), time=time, base=base, rate=self.rate.astype(np.int64),
            parts=np.array([shape.replicas for shape in self.shapes], np.int64),
            sync=floored(self.sync, unit, 2 * most), stream=floored(self.stream if streams else 0 * self.stream, unit),
            spared=np.ceil(spared / unit).astype(np.int64), loads=self.loads, streams=self.streams & bool(streams),
            exchanges=self.exchanges, remains=self.remains, ulp=n + len(self.nets) + 4, fixed=self.fixed,
            further=self.further, kept=self.kept, enter=self.enter, room=np.minimum(self.room, ANYTHING),
            flow_start=flow_start, flow=flow, makes=makes, size=size,
        )  # fmt: skip
        return costs, units, most


def nets_of(problem: Problem, of: Ints, rates: Floats) -> tuple[tuple[tuple[int, ...], ...], Floats]:
    """Return the pins of the nets between supernodes, and [rates, nets] their costs; those of equal pins are one.

    Args:
        problem: the problem.
        of: [nodes] the supernode of each node.
        rates: [rates, nodes] of one transfer of each tensor.
    """
    costs: dict[tuple[int, ...], Floats] = {}
    for (maker, readers), u in _tensors(problem, of):
        pins = tuple(sorted({maker, *readers}))
        if rates[:, u].any():
            costs[pins] = costs.get(pins, np.zeros(len(rates))) + rates[:, u]
    return tuple(costs), np.array(list(costs.values()), np.float64).reshape(len(costs), len(rates)).T.copy()


def tensors_of(problem: Problem, of: Ints) -> Tensors:
    """Return the bytes of the tensors between supernodes, by who makes and who reads them."""
    tensors: Tensors = {}
    for ends, u in _tensors(problem, of):
        tensors[ends] = tensors.get(ends, 0.0) + float(problem.graph.output[u])
    return tensors


def _tensors(problem: Problem, of: Ints) -> list[tuple[tuple[int, tuple[int, ...]], int]]:
    """Return, for every tensor between supernodes, the one that makes it, the others that read it, and its node."""
    readers: dict[int, set[int]] = {}
    graph = problem.graph
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if of[u] != of[v]:
            readers.setdefault(u, set()).add(int(of[v]))
    return [((int(of[u]), tuple(sorted(others))), u) for u, others in sorted(readers.items())]


def _flows(n: int, tensors: Tensors) -> tuple[Ints, Ints, Bools, Floats]:
    at: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for number, (maker, readers) in enumerate(tensors):
        at[maker].append((number, True))
        for v in readers:
            at[v].append((number, False))
    start, flow = compressed([[number for number, _ in row] for row in at])
    makes = np.array([made for row in at for _, made in row], np.bool_)
    return start, flow, makes, np.array(list(tensors.values()), np.float64)
