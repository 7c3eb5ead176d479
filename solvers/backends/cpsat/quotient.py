"""Constraints of a CP-SAT model on the quotient graph: devices in an order, and convex sets of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mtpp_dsl.core.plans.plan import quotient_order
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.backends.cpsat.request import Convex
from mtpp_dsl.solvers.backends.cpsat.time_windows import ordered


class DeviceOrder:
    """An order of the devices in which every edge stays on its device or leads to a later one.

    Every device has a place, an integer; a literal for two devices says which place is less. One edge from a device to
    another makes it true (archer2024, 2.2: the quotient graph has no cycle).

    Args:
        model: the CP-SAT model to add to.
        on: of every task, by device, the literal that it is there; tasks that stay together share theirs.
        tails, heads: of the edges.
        k: number of devices.
    """

    def __init__(self, model: Any, on: Sequence[dict[int, Any]], tails: Ints, heads: Ints, k: int) -> None:
        self._model, self._tails, self._heads, self._k = model, tails, heads, k
        self._place = [model.new_int_var(0, k - 1, "") for _ in range(k)]
        self._first: dict[tuple[int, int], Any] = {}
        done: set[tuple[int, int]] = set()
        for u, v in zip(tails.tolist(), heads.tolist(), strict=True):
            ends = id(on[u]), id(on[v])
            if on[u] is on[v] or ends in done:
                continue
            done.add(ends)
            for d, leaves in on[u].items():
                for f, arrives in on[v].items():
                    if d != f:
                        model.add_bool_or(~leaves, ~arrives, self._before(d, f))

    def _before(self, d: int, f: int) -> Any:
        """Return a literal for: device *d* has a lower place than *f*."""
        if d > f:
            return ~self._before(f, d)
        if (d, f) not in self._first:
            first = self._model.new_bool_var("")
            self._model.add(self._place[d] < self._place[f]).only_enforce_if(first)
            self._model.add(self._place[f] < self._place[d]).only_enforce_if(~first)
            self._first[d, f] = first
        return self._first[d, f]

    def hint(self, device: Ints) -> None:
        """Add a hint: the positions of devices that follow from tasks on *device*, if these respect some order."""
        order = quotient_order(device, self._tails, self._heads, self._k)
        if order is None:
            return
        for place, d in enumerate(order):
            self._model.add_hint(self._place[d], place)
        for (d, f), first in self._first.items():
            self._model.add_hint(first, order.index(d) < order.index(f))


class ConvexSets:
    """Sets of tasks on devices that no path leaves and enters again.

    A literal for a task and a device is true if the task or one that a path leads to is on the device. Where an edge
    leaves the device, the literal of its head is false (tarnawski2020, Figure 3). Colocated tasks have a literal each,
    since a path does not go from one to the other.

    Args:
        model: the CP-SAT model to add to.
        on: as of :class:`DeviceOrder`.
        convex: the edges and the devices.
    """

    def __init__(self, model: Any, on: Sequence[dict[int, Any]], convex: Convex) -> None:
        self._model, self._on, self._convex = model, on, convex
        self._reaches: dict[tuple[int, int], Any] = {}
        members = sorted({*convex.tails.tolist(), *convex.heads.tolist()})
        for d in convex.devices:
            self._reaches |= {(v, d): model.new_bool_var("") for v in members}
            for v in members:
                if d in on[v]:
                    model.add_implication(on[v][d], self._reaches[v, d])
            for u, v in self._edges():
                model.add_implication(self._reaches[v, d], self._reaches[u, d])
                if d in on[u] and on[u] is not on[v]:
                    stays = [on[v][d]] if d in on[v] else []
                    model.add_bool_or(~on[u][d], ~self._reaches[v, d], *stays)

    def _edges(self) -> Iterator[tuple[int, int]]:
        return zip(self._convex.tails.tolist(), self._convex.heads.tolist(), strict=True)

    def hint(self, device: Ints) -> None:
        """Add a hint: from which tasks a path leads to each device, with the tasks on *device*."""
        place = {v: i for i, v in enumerate(ordered(len(self._on), self._convex.tails, self._convex.heads))}
        edges = sorted(self._edges(), key=lambda edge: place[edge[0]], reverse=True)
        for d in self._convex.devices:
            reached = {v: bool(device[v] == d) for v, f in self._reaches if f == d}
            for u, v in edges:
                reached[u] |= reached[v]
            for v, truth in reached.items():
                self._model.add_hint(self._reaches[v, d], truth)
