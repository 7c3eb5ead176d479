"""Requests about splits and their solutions, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.request import Convex, DecisionRow


@dataclass(frozen=True, eq=False)
class SplitSolution:
    """A solution: [n] the device of every supernode."""

    device: Ints


@dataclass(frozen=True, eq=False)
class SplitRequest:
    """Supernodes to be split over devices so that the largest load, or the sum of that of each part, is least.

    Attributes:
        time: [n, k] of every supernode on every device; ``INF`` where it may not be.
        late: the same of the backward nodes alone, if the largest loads of both parts are added up; else None.
        group: [nodes] the supernode of each node: rows speak of nodes.
        nets: the supernodes at each net, what it costs a device that holds some of them, not all, and whether that is
            part of its backward load, if there is one.
        pays: [k] whether nets are part of the load of a device.
        cutoff: no load, nor the sum of the largest, may be more; everything is pruned by it.
        at_least: a lower bound on the largest load, or on that sum.
        size, capacity: [n], [k]: memory of supernodes and of devices.
        apart: conflict sets: lists of supernodes of which no two may share a device; one that is there twice may be
            nowhere.
        rows: labelled constraints.
        orders: for each of these lists of edges (tails, heads), the devices stand in an order in which each of its
            edges stays on its device or leads to a later one.
        convex: edges between nodes, and the devices on which no path along these may leave and come back.
        hint: where the search looks first; need not be feasible.
    """

    time: Ints
    late: Ints | None
    group: Ints
    nets: tuple[tuple[tuple[int, ...], int, bool], ...]
    pays: Bools
    cutoff: int
    at_least: int
    size: Ints
    capacity: Ints
    apart: tuple[tuple[int, ...], ...]
    rows: tuple[DecisionRow, ...]
    orders: tuple[tuple[Ints, Ints], ...]
    convex: tuple[Convex, ...]
    hint: SplitSolution | None

    @property
    def n(self) -> int:
        """Number of supernodes."""
        return len(self.time)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.time.shape[1])

    @property
    def possible(self) -> bool:
        """Whether every supernode may be on some device."""
        return bool((self.time <= self.cutoff).any(axis=1).all())
