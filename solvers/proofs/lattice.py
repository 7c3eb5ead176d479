"""Certificates ``ideals``: of a pipeline whose graph has few ideals, all chains of ideals, by the definition alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, inf
from typing import Any

import networkx as nx
import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, InOrder, Linear, Used
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading, number

__all__ = ["IdealsProof"]

MAX_IDEALS = 20_000
MAX_ENTRIES = 30_000_000
"""Numbers in the largest table, of ideals and groups or tensors."""
MAX_COUNTS = 4_096
"""Ways to have used some devices of each kind."""
GENEROUS = 1e-11
"""Relative to the target: by so much more a device may be loaded and still count as below it."""
SUMMED = 1e-12
"""Relative to a sum of all nodes or tensors: by so much it may be rounded."""
ALLOWED = 3e-6
"""Relative: by so much more than a row allows a load may be, as the check of plans tolerates."""


class IdealsProof:
    """``{"target": T}``: no chain of ideals has all blocks below T.

    The devices of an acyclic plan have an order in which what the first of them hold is an ideal: with a node it has
    all that the node needs. So a plan is a chain of ideals, and a device's block is what one ideal has more than the
    one before. Of a training graph these are ideals of the forward part. For every ideal, in the order of size, the
    checker notes which numbers of devices of each kind can hold it with loads below T (tarnawski2020, 5.1.1). If none
    can hold the whole graph, no plan is below T. With ``constraint stages`` over all devices, their order is the given
    one.

    Where used devices have prices, the same with loads up to the bottleneck that a row allows: the least price of
    numbers of devices that can hold the whole graph is T or more.

    Loads are work, the tensors that cross the block's border, and streaming; on networks of links, work alone. A block
    whose load as it is computed is below the target by no more than rounding counts as below it.
    """

    name = "ideals"
    summary = "all chains of ideals, where the graph has few (tarnawski2020, 5.1.1)"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.contracts.Checker`."""
        target = number(data, "target")
        prices = None if problem.objective.quantity == "bottleneck" else prices_of(problem)
        if not problem.acyclic:
            raise Refused("only acyclic plans are chains of ideals")
        rules = [rule for rule in problem.constraints if not isinstance(rule, Linear)]
        reading = ProofReading(problem.asking(Objective("bottleneck"), rules), work_alone=True)
        most = target if prices is None else _most_allowed(problem)
        blocks = _Blocks(reading, _ideals(reading, limits), most, limits)
        order = next((rule for rule in problem.of(InOrder) if _names_all(rule, problem.k)), None)
        if prices is not None:
            reachable = _in_any_order(blocks, reading)
            least = min(_least_prices(reachable, reading, prices), default=inf)
            possible = least + problem.objective.constant < target
        elif order is not None:
            possible = _in_order(blocks, reading, range(problem.k) if order.devices is None else order.devices)
        else:
            possible = bool(_in_any_order(blocks, reading).any())
        if possible:
            raise Refused(f"a chain of ideals has all blocks below {target!r}")
        return target


def prices_of(problem: Problem) -> dict[str, float]:
    """Return what the use of each device costs, by its name.

    Raises:
        Refused: something else costs, too.
    """
    objective = problem.objective
    if not objective.is_linear or objective.sense != "minimize" or objective.constant < 0:
        raise Refused("chains of ideals have bottlenecks, and prices of the devices that are used")
    prices = dict.fromkeys((device.name for device in problem.devices), 0.0)
    for decision, price in objective.terms:
        if not isinstance(decision, Used) or price < 0:
            raise Refused(f"{objective.name} is not a sum of prices of the devices that are used")
        prices[problem.devices[decision.device].name] = price
    return prices


def _most_allowed(problem: Problem) -> float:
    """Return a load that no device may exceed, by the rows that limit the bottleneck alone; ``inf`` without one."""
    rows = (row for row in problem.hard_rows if row.sense in ("<=", "==") and len(row.terms) == 1)
    limits = (row.rhs / a for row in rows for decision, a in row.terms if decision == Bottleneck() and a > 0)
    return min((limit * (1 + ALLOWED) for limit in limits if limit > 0), default=inf)


def _least_prices(reachable: Bools, reading: ProofReading, prices: Mapping[str, float]) -> Iterator[float]:
    """Yield the least price of all numbers of devices of each kind that can hold the whole graph, rounded down."""
    sums = []
    for kind in reading.kinds:
        costs = sorted(prices[name] for name in kind.devices)
        sums.append([fsum(costs[:count]) for count in range(len(costs) + 1)])
    for counts in np.argwhere(reachable).tolist():
        total = fsum(of_kind[count] for of_kind, count in zip(sums, counts, strict=True))
        yield total * (1 - GENEROUS)


def _names_all(rule: InOrder, k: int) -> bool:
    """Return whether a rule gives an order to all devices."""
    return rule.devices is None or len(set(rule.devices)) == k


def _ideals(reading: ProofReading, limits: Limits) -> list[int]:
    """Return the ideals of the graph of groups as sets of bits, smaller ones first.

    The graph has the edges of the forward part. Groups that wait for each other come together.

    Raises:
        Refused: there are too many ideals.
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
        if len(ideals) > MAX_IDEALS or len(ideals) * max(len(units), len(reading.tensors)) > MAX_ENTRIES:
            raise Refused(f"the graph has more than {MAX_IDEALS:,} ideals, or they take too much memory")
    return [sum(units[i] for i in _bits(ideal)) for ideal in ideals]


def _bits(number: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while number:
        bit = number & -number
        yield bit.bit_length() - 1
        number ^= bit


class _Blocks:
    """Which devices can hold what one ideal has more than another, at a load below the target.

    Args:
        ideals: as sets of bits, smaller ones first.
        target: in the problem's unit of time.
    """

    def __init__(self, reading: ProofReading, ideals: Sequence[int], target: float, limits: Limits) -> None:
        self.count, self._limits, self._target = len(ideals), limits, target
        groups = len(reading.members)
        width = 8 * ((groups + 63) // 64)  # in bytes: whole words
        packed = np.frombuffer(b"".join(ideal.to_bytes(width, "little") for ideal in ideals), np.uint8)
        self._packed = packed.view(np.uint64).reshape(self.count, width // 8)
        bits = np.unpackbits(packed.reshape(self.count, width), axis=1, bitorder="little")
        inside = bits[:, :groups].astype(np.float64)
        self._memory = inside @ np.array(reading.memory)
        self._params = inside @ np.array(reading.params)
        self._bandwidth = reading.bandwidth
        times = np.array([kind.time for kind in reading.kinds])
        self._work = inside @ np.where(np.isfinite(times), times, 0.0).T
        self._barred = inside @ (~np.isfinite(times)).T.astype(np.float64)
        least = times.min(axis=0, initial=inf)
        self._least = inside @ np.where(np.isfinite(least), least, 0.0)
        self._tensors(reading, inside)

    def _tensors(self, reading: ProofReading, inside: Floats) -> None:
        """Note of each ideal how many pins of each tensor it has, and which tensors it has in part."""
        pins = list(reading.tensors)
        member = np.zeros((len(reading.members), len(pins)))
        for e, groups in enumerate(pins):
            member[list(groups), e] = 1.0
        self._costs = np.array([reading.tensors[groups] for groups in pins])
        self._touched = (inside @ member).astype(np.int32)
        self._parted = (self._touched > 0) & (self._touched < member.sum(axis=0))
        self._border = self._parted @ self._costs

    def from_(self, i: int, kinds: Sequence[DeviceKind]) -> tuple[Ints, list[Bools]]:
        """Return the larger ideals that one more device may reach, and for each kind which of them it can."""
        if i % 64 == 0 and self._limits.remaining <= 0:
            raise UsageError(NOT_ENOUGH)
        most = self._target * (1 + GENEROUS) + SUMMED * self._least[-1]
        larger = i + 1 + np.flatnonzero(self._least[i + 1 :] - self._least[i] < most)
        holds = ((self._packed[larger] & self._packed[i]) == self._packed[i]).all(axis=1)
        larger = larger[holds]
        crossing = self._crossing(i, larger)
        memory = self._memory[larger] - self._memory[i]
        params = self._params[larger] - self._params[i]
        able = []
        for q, kind in enumerate(kinds):
            load = self._work[larger, q] - self._work[i, q] + (crossing if kind.pays else 0.0)
            if kind.free < inf:
                excess = params - kind.free - SUMMED * (self._params[-1] + abs(kind.free))
                load = load + np.maximum(excess, 0.0) / self._bandwidth
            fits = load < self._target * (1 + GENEROUS) + SUMMED * self._work[-1, q]
            fits &= self._barred[larger, q] == self._barred[i, q]
            if kind.memory < inf:
                fits &= memory <= kind.memory + SUMMED * (self._memory[-1] + abs(kind.memory))
            able.append(fits)
        return larger, able

    def _crossing(self, i: int, larger: Ints) -> Floats:
        """Return the cost of what crosses the border of the block from an ideal to each of some larger ones, or less.

        A tensor of which the smaller ideal has no pin crosses it if the larger one has some and not all. One of which
        the smaller ideal has some and not all crosses it if the larger one has more: so only these few are looked at
        one by one. One of which the smaller ideal has all pins does not.
        """
        parted = np.flatnonzero(self._parted[i])
        more = self._touched[np.ix_(larger, parted)] != self._touched[i, parted]
        still = self._parted[np.ix_(larger, parted)]
        border: Floats = self._border[larger]
        crossing: Floats = border * (1 - SUMMED) + (more.astype(np.float64) - still) @ self._costs[parted]
        return crossing


def _in_any_order(blocks: _Blocks, reading: ProofReading) -> Bools:
    """Return [count + 1 of each kind] which numbers of devices can hold the whole graph below the target."""
    counts = tuple(len(kind.devices) + 1 for kind in reading.kinds)
    if np.prod(counts, dtype=np.float64) > MAX_COUNTS:
        raise Refused(f"there are more than {MAX_COUNTS:,} numbers of devices of each kind")
    reachable = np.zeros((blocks.count, *counts), np.bool_)  # of each ideal, by which numbers of devices of each kind
    reachable[(0,) * reachable.ndim] = True
    for i in range(blocks.count - 1):
        if not reachable[i].any():
            continue
        larger, able = blocks.from_(i, reading.kinds)
        for q, fits in enumerate(able):
            one_more = np.zeros_like(reachable[i])
            given, taken = [slice(None)] * len(counts), [slice(None)] * len(counts)
            given[q], taken[q] = slice(1, None), slice(None, -1)
            one_more[tuple(given)] = reachable[i][tuple(taken)]
            reachable[larger[fits]] |= one_more
    whole: Bools = reachable[-1]
    return whole


def _in_order(blocks: _Blocks, reading: ProofReading, order: Sequence[int]) -> bool:
    """Return whether devices in this order can hold the whole graph below the target; some may stay empty."""
    kind_of = {name: q for q, kind in enumerate(reading.kinds) for name in kind.devices}
    kinds = [kind_of[reading.problem.devices[d].name] for d in order]
    first = np.full(blocks.count, len(kinds) + 1)  # how many devices of the order have to be gone through to hold it
    first[0] = 0
    for i in range(blocks.count - 1):
        if first[i] >= len(kinds):
            continue
        larger, able = blocks.from_(i, reading.kinds)
        for place in range(len(kinds) - 1, int(first[i]) - 1, -1):
            reached = larger[able[kinds[place]]]
            first[reached] = np.minimum(first[reached], place + 1)
    return bool(first[-1] <= len(kinds))
