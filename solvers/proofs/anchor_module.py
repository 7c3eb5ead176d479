"""Bound one module of a certificate ``anchors`` between given devices: longest paths, windows and minimum cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_DIRECTED, OUT
from mtpp_dsl.solvers.proofs.proof_reading import colocation_class
from mtpp_dsl.solvers.proofs.rows import Units
from mtpp_dsl.solvers.proofs.windows import running_times

__all__ = ["FAR", "LARGEST", "AnchorModule", "ModuleBetween", "Weights", "WholeTimes"]

LONGER = 64
"""Times of up to so many times the target are told apart: those of transfers count for sums where they are not used."""
COARSER = 3
"""Bits that times have less than :class:`Units`, so that a target has some 36."""
FAR = 1 << 44
"""More than any time, in units."""
ENDLESS = 1 << 60
"""What an edge costs that cannot be cut."""
LARGEST = 1 << 58
"""What all weighted times of a module add up to at most."""
THRESHOLDS = 8
"""Windows of a module's time, beside the last, at most."""


class Weights(NamedTuple):
    """What a unit of load, of sending and of receiving counts."""

    load: int
    out: int
    into: int


class WholeTimes:
    """Times in whole units, rounded down, and the target, rounded up."""

    def __init__(self, problem: Problem, target: float) -> None:
        self._problem, self._units = problem, Units(LONGER * target)
        self.limit = -(-self._units.allowed(target) >> COARSER)
        self.group = np.array(colocation_class(problem), np.int64)
        self.time = self._whole(running_times(problem, self.group))

    def _whole(self, times: Floats) -> Ints:
        flat = [FAR if t == inf else self._units.used(t) >> COARSER for t in times.ravel().tolist()]
        return np.array(flat, np.int64).reshape(times.shape)

    def units(self, given: object) -> int:
        """Return a time of a certificate in units, rounded down."""
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < inf:
            raise Refused(f"{given!r:.40} is no time")
        return self._units.used(float(given)) >> COARSER

    def carries(self, e: int) -> Ints:
        """Return [k, k] how long an edge takes from device to device; :data:`FAR` where it cannot be cut so."""
        problem = self._problem
        times = np.array(problem.transfers.of(e))
        np.fill_diagonal(times, 0.0)
        if self.group[problem.graph.tails[e]] == self.group[problem.graph.heads[e]]:
            times = np.where(np.eye(problem.k, dtype=np.bool_), 0.0, inf)
        return self._whole(times)


@dataclass(frozen=True, eq=False)
class AnchorModule:
    """A module, and what lies beside it.

    Attributes:
        size: nodes of the module, the first of all nodes here: the entry first, if it has one, the exit last.
        entry, leave: whether the first is an anchor, and the last.
        time: [n, k] of all nodes, the entry's zero. tails, heads, carry: of all edges; those of the module are first.
        own: how many edges those are.
        hub: the number here of a hub that is no node of the module, or -1.
    """

    size: int
    entry: bool
    leave: bool
    time: Ints
    tails: Ints
    heads: Ints
    carry: Ints
    own: int
    hub: int

    def equals(self, other: AnchorModule) -> bool:
        """Return whether the nodes and edges between the ends are the same as those of another."""
        if (self.size, self.entry, self.leave, self.own) != (other.size, other.entry, other.leave, other.own):
            return False
        pairs = ((self.time[: self.size], other.time[: self.size]), (self.carry[: self.own], other.carry[: self.own]))
        ends = ((self.tails[: self.own], other.tails[: self.own]), (self.heads[: self.own], other.heads[: self.own]))
        return all(np.array_equal(*two) for two in (*pairs, *ends))


class CutWindow(NamedTuple):
    """What holds on a device where a module takes at least *low* and less than *high*.

    Attributes:
        inside, outside: [size] nodes on the device, and not on it. kept: [own, 2] edges that cannot leave, and enter.
        free: how long at least the module neither sends from the device nor receives on it, each by itself.
    """

    low: int
    high: int
    inside: Bools
    outside: Bools
    kept: Bools
    free: tuple[int, int]


class ModuleBetween:
    """A module between given devices of its ends: longest paths, and cuts around a device.

    Args:
        module: as there. first, last: devices; None where it has no such end.
        hub: the device of the hub, or None.
    """

    def __init__(self, module: AnchorModule, first: int | None, last: int | None) -> None:
        self._module = module
        on = module.time[: module.size] < FAR
        on[0] &= first is None or np.arange(on.shape[1]) == first
        on[-1] &= last is None or np.arange(on.shape[1]) == last
        self._on = on
        self.ended, self.rest = self._heads(), self._tails()
        self.paths = np.minimum(self.ended + self.rest, FAR)
        self.least = int(self.paths.min(axis=1).max(initial=0))

    def _heads(self) -> Ints:
        """Return [size, k] the least time from the end of the entry to that of each node."""
        module, on = self._module, self._on
        ready = np.where(on, 0, FAR)
        ended = np.zeros_like(ready)
        e = 0
        for v in range(module.size):
            while e < module.own and module.heads[e] == v:
                ready[v] = np.maximum(ready[v], (ended[module.tails[e]][:, None] + module.carry[e]).min(axis=0))
                e += 1
            ended[v] = np.minimum(np.where(on[v], ready[v] + module.time[v], FAR), FAR)
        return ended

    def _tails(self) -> Ints:
        """Return [size, k] the least time from the end of each node to that of the module."""
        module = self._module
        rest = np.where(self._on, 0, FAR)
        for e in np.argsort(module.tails[: module.own], kind="stable")[::-1].tolist():
            u, v = module.tails[e], module.heads[e]
            behind = (module.carry[e] + (module.time[v] + rest[v])[None, :]).min(axis=1)
            rest[u] = np.minimum(np.maximum(rest[u], behind), FAR)
        return rest

    def windows(self, d: int, known: int) -> Iterator[CutWindow]:
        """Yield windows of the time from *known* on, as device *d* sees them."""
        module, others = self._module, np.delete(np.arange(self._on.shape[1]), d)
        here, away = self.paths[:, d], self.paths[:, others].min(axis=1, initial=FAR)
        tails, heads, carry = module.tails[: module.own], module.heads[: module.own], module.carry[: module.own]
        arrives = module.time[: module.size] + self.rest
        out = self.ended[tails, d, None] + carry[:, d, others] + arrives[heads][:, others]
        into = self.ended[tails][:, others] + carry[:, others, d] + arrives[heads, d, None]
        late = np.stack([out.min(axis=1, initial=FAR), into.min(axis=1, initial=FAR)], axis=1)
        from_here, from_others = self.ended[tails, d], self.ended[tails][:, others].min(axis=1, initial=FAR)
        to_others, to_here = arrives[heads][:, others].min(axis=1, initial=FAR), arrives[heads, d]
        ports = np.stack(
            [carry[:, d, others].min(axis=1, initial=FAR), carry[:, others, d].min(axis=1, initial=FAR)], 1
        )
        levels = np.unique(np.concatenate((here, away)))
        levels = levels[(levels > known) & (levels < FAR)]
        if len(levels) > THRESHOLDS:
            widest = np.argsort(-np.diff(levels, prepend=known), kind="stable")[:THRESHOLDS]
            levels = levels[np.sort(widest)]
        for low, high in zip((known, *levels.tolist()), (*levels.tolist(), FAR + 1), strict=True):
            inside, outside, kept = away >= high, here >= high, late >= high
            sends = ~kept[:, 0] & ~outside[tails] & ~inside[heads] & (ports[:, 0] > 0)
            gets = ~kept[:, 1] & ~inside[tails] & ~outside[heads] & (ports[:, 1] > 0)
            free = [
                min(low, int(first[which].min() + then[which].min())) if which.any() else 0
                for which, first, then in ((sends, from_here, to_others), (gets, from_others, to_here))
            ]
            yield CutWindow(low, high, inside, outside, kept, (free[0], free[1]))

    def cut(self, d: int, window: CutWindow, weights: Weights, *, all_nodes: bool, hub: int | None) -> int | None:
        """Return the least weighted sum in a window, None where nothing fits into it.

        Raises:
            Refused: weighted times are too large.
        """
        module, size, own = self._module, self._module.size, self._module.own
        n, m = (len(module.time), len(module.tails)) if all_nodes else (size, own)
        inside, outside = np.zeros(n, np.bool_), module.time[:n, d] >= FAR
        inside[:size] = window.inside | (self._on[:, d] & (self._on.sum(axis=1) == 1))
        outside[:size] |= window.outside | ~self._on[:, d]
        if module.hub >= 0 and all_nodes:
            inside[module.hub], outside[module.hub] = hub == d, hub != d
        others = np.delete(np.arange(module.time.shape[1]), d)
        leaves = module.carry[:m, d][:, others].min(axis=1, initial=FAR)
        enters = module.carry[:m][:, others, d].min(axis=1, initial=FAR)
        never = np.stack([leaves, enters], axis=1) >= FAR
        never[:own] |= window.kept
        tails, heads = module.tails[:m].copy(), module.heads[:m].copy()
        if not _closed(inside, outside, tails, heads, never):
            return None
        price = np.where(module.time[:n, d] >= FAR, 0, module.time[:n, d]) * weights.load
        leaves, enters = np.where(never[:, 0], 0, leaves) * weights.out, np.where(never[:, 1], 0, enters) * weights.into
        if float(price.sum(dtype=np.float64) + leaves.sum(dtype=np.float64) + enters.sum(dtype=np.float64)) > LARGEST:
            raise Refused("weighted times are too large to be added up")
        leaves[never[:, 0]], enters[never[:, 1]] = ENDLESS, ENDLESS
        state = np.where(inside, IN, np.where(outside, OUT, FREE)).astype(np.int64)
        return int(LEAST_DIRECTED.pick(0.0)(state, price, tails, heads, leaves, enters))


def _closed(inside: Bools, outside: Bools, tails: Ints, heads: Ints, never: Bools) -> bool:
    """Add to both sides what edges that are *never* cut keep together; return whether no node is on both.

    Where:
        never: [m, 2] whether an edge cannot have its tail alone inside, and its head alone.
    """
    count = -1
    while count < (count := int(inside.sum() + outside.sum())):
        inside[heads[never[:, 0] & inside[tails]]] = True
        inside[tails[never[:, 1] & inside[heads]]] = True
        outside[tails[never[:, 0] & outside[heads]]] = True
        outside[heads[never[:, 1] & outside[tails]]] = True
    return not bool((inside & outside).any())
