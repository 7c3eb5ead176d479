"""The ideals of a graph, and what devices take and need for what one ideal has more than another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, inf

import networkx as nx
import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading

__all__ = ["GENEROUS", "SUMMED", "Border", "IdealSets", "LoadBlocks", "ideals_of", "sums_of"]

MAX_ENTRIES = 30_000_000
"""Numbers in the largest table, of ideals and groups or tensors."""
GENEROUS = 1e-11
"""Relative to a target: by so much more a plan may cost and still count as below it."""
SUMMED = 1e-12
"""Relative to a sum of all nodes or tensors: by so much it may be rounded."""


def ideals_of(reading: ProofReading, limits: Limits, most: int) -> list[int]:
    """Return the ideals of the graph of groups as sets of bits, smaller ones first.

    The graph has the edges of the forward part. Groups that wait for each other come together.

    Raises:
        Refused: there are more than *most* ideals.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(reading.members)))
    graph.add_edges_from((reading.group[u], reading.group[v]) for u, v in reading.edges(backward=False))
    graph.remove_edges_from(nx.selfloop_edges(graph))
    joined = nx.condensation(graph)
    unit_of = joined.graph["mapping"]
    units, needs, readers = ([0] * len(joined) for _ in range(3))  # of each unit its groups, and units
    for group, unit in unit_of.items():
        units[unit] |= 1 << group
    for a, b in joined.edges:
        needs[b] |= 1 << a
        readers[a] |= 1 << b
    level, ideals = {0: sum(1 << i for i, need in enumerate(needs) if not need)}, [0]  # and what could come next
    for _ in units:
        if limits.remaining <= 0:
            raise UsageError(NOT_ENOUGH)
        larger: dict[int, int] = {}
        for ideal, ready in level.items():
            for i in _bits(ready):
                grown = ideal | 1 << i
                if grown not in larger:
                    opened = sum(1 << j for j in _bits(readers[i]) if not needs[j] & ~grown)
                    larger[grown] = ready ^ 1 << i | opened
        level = larger
        ideals += larger
        if len(ideals) > most or len(ideals) * max(len(units), len(reading.tensors)) > MAX_ENTRIES:
            raise Refused(f"the graph has more than {most:,} ideals, or they take too much memory")
    return [sum(units[i] for i in _bits(ideal)) for ideal in ideals]


def _bits(number: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while number:
        bit = number & -number
        yield bit.bit_length() - 1
        number ^= bit


class IdealSets:
    """The ideals of a graph of groups, as rows of a table.

    Attributes:
        count: of ideals.
        inside: [ideal, group] 1 where the group is in it, else 0.

    Args:
        ideals: as sets of bits, smaller ones first.
        groups: how many there are.
    """

    def __init__(self, ideals: Sequence[int], groups: int) -> None:
        self.count = len(ideals)
        width = 8 * ((groups + 63) // 64)  # in bytes: whole words
        packed = np.frombuffer(b"".join(ideal.to_bytes(width, "little") for ideal in ideals), np.uint8)
        self._packed = packed.view(np.uint64).reshape(self.count, width // 8)
        bits = np.unpackbits(packed.reshape(self.count, width), axis=1, bitorder="little")
        self.inside: Floats = bits[:, :groups].astype(np.float64)

    def holding(self, i: int, among: Ints) -> Ints:
        """Return which of some ideals hold all of ideal *i*."""
        held: Ints = among[((self._packed[among] & self._packed[i]) == self._packed[i]).all(axis=1)]
        return held


class Border:
    """The tensors that cross the border of what one ideal has more than another.

    Args:
        ideals: of the graph.
        costs: of each tensor, by its pins (groups): a block that holds some of them and not all pays these.
        width: how many costs each tensor has.
    """

    def __init__(self, ideals: IdealSets, costs: Mapping[frozenset[int], Sequence[float]], width: int = 1) -> None:
        pins = list(costs)
        member = np.zeros((ideals.inside.shape[1], len(pins)))
        for e, groups in enumerate(pins):
            member[list(groups), e] = 1.0
        self._costs = np.array([costs[groups] for groups in pins]).reshape(len(pins), width)
        self._touched = (ideals.inside @ member).astype(np.int32)
        self._parted = (self._touched > 0) & (self._touched < member.sum(axis=0))
        self._total: Floats = self._parted @ self._costs

    def crossing(self, i: int, larger: Ints) -> Floats:
        """Return [larger, costs] what crosses the border of the block from ideal *i* to each of some larger ones.

        A tensor of which the smaller ideal has no pin crosses it if the larger one has some and not all. One of which
        the smaller ideal has some and not all crosses it if the larger one has more: so only these few are looked at
        one by one. One of which the smaller ideal has all pins does not. Sums are rounded down.
        """
        parted = np.flatnonzero(self._parted[i])
        more = self._touched[np.ix_(larger, parted)] != self._touched[i, parted]
        still = self._parted[np.ix_(larger, parted)]
        total: Floats = self._total[larger]
        crossing: Floats = total * (1 - SUMMED) + (more.astype(np.float64) - still) @ self._costs[parted]
        return crossing

    def entering(self, i: int, larger: Ints) -> Floats:
        """Return [larger, costs] what crosses it of tensors that ideal *i* has in part: those from before the block."""
        parted = np.flatnonzero(self._parted[i])
        more = self._touched[np.ix_(larger, parted)] != self._touched[i, parted]
        entering: Floats = more.astype(np.float64) @ self._costs[parted]
        return entering


class LoadBlocks:
    """What devices take for what one ideal has more than another, and whether they can hold it.

    Loads are work, the tensors that cross the block's border, and streaming.

    Attributes:
        least: [ideal] what its nodes take at least, each where it is fastest, rounded down.

    Args:
        reading: of the problem.
        ideals: of its graph.
    """

    def __init__(self, reading: ProofReading, ideals: IdealSets) -> None:
        self._ideals, self._kinds, self._bandwidth = ideals, reading.kinds, reading.bandwidth
        inside = ideals.inside
        self._memory = inside @ np.array(reading.memory)
        self._params = inside @ np.array(reading.params)
        times = np.array([kind.time for kind in reading.kinds])
        self._work = inside @ np.where(np.isfinite(times), times, 0.0).T
        self._barred = inside @ (~np.isfinite(times)).T.astype(np.float64)
        least = times.min(axis=0, initial=inf)
        self.least = inside @ np.where(np.isfinite(least), least, 0.0)
        self.least -= SUMMED * self.least[-1]
        self._border = Border(ideals, {pins: (cost,) for pins, cost in reading.tensors.items()})

    def larger(self, i: int, below: float = inf, after: float = inf) -> Ints:
        """Return the ideals that hold ideal *i* and more, of which the rest takes less than *below* on any device.

        What these leave takes no more than *after*, each node where it is fastest.
        """
        off, least = 2 * SUMMED * self.least[-1], self.least[i + 1 :]
        possible = least - self.least[i] < below * (1 + GENEROUS) + off
        if after < inf:
            possible &= self.least[-1] - least <= after * (1 + GENEROUS) + off
        return self._ideals.holding(i, i + 1 + np.flatnonzero(possible))

    def loads(self, i: int, larger: Ints) -> Floats:
        """Return [larger, kinds] the loads of devices of each kind, rounded down."""
        crossing = self._border.crossing(i, larger)[:, 0]
        loads: Floats = self._work[larger] - self._work[i] - SUMMED * self._work[-1]
        params = self._params[larger] - self._params[i]
        for q, kind in enumerate(self._kinds):
            if kind.pays:
                loads[:, q] += crossing
            if kind.free < inf:
                excess = params - kind.free - SUMMED * (self._params[-1] + abs(kind.free))
                loads[:, q] += np.maximum(excess, 0.0) / self._bandwidth
        return loads

    def fits(self, i: int, larger: Ints) -> Bools:
        """Return [larger, kinds] whether devices of each kind can run and hold the blocks."""
        fits: Bools = self._barred[larger] == self._barred[i]
        memory = self._memory[larger] - self._memory[i]
        for q, kind in enumerate(self._kinds):
            if kind.memory < inf:
                fits[:, q] &= memory <= kind.memory + SUMMED * (self._memory[-1] + abs(kind.memory))
        return fits


def sums_of(reading: ProofReading, values: Floats) -> Floats:
    """Return [groups] the sums of the values of the nodes of each group."""
    sums: Floats = np.array([fsum(float(values[v]) for v in nodes) for nodes in reading.members])
    return sums
