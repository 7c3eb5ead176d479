"""The anchor bound on links and trees: what a device pays at least for a node, at the best rates that lead to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cheapest_set import FREE, IN, OUT
from mtpp_dsl.solvers.algorithms.directed_cut import DirectedCuts
from mtpp_dsl.solvers.algorithms.homes.of_problem import shipping_of
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.partition.around import scale_for
from mtpp_dsl.solvers.bounds.partition.bound_instance import finished, typical_speeds

NAME = "anchor"
ROUNDING = 1e-12
MOST = 1 << 50
"""Units of a cost that no device can pay."""
ROUNDS, PULL = 8, 2.0
"""How often the weights of work, sending and receiving are turned towards the largest of them, and how far."""
MOST_SUBSETS = 6
"""Up to so many devices all sets of them are tried as sides of a cut."""
DETAIL = (
    "no device takes a node below this, by minimum cuts of work, sending and receiving at the best rates that lead to "
    "the device, in whole units, rounded down; what is left to the other devices takes them as long"
)
APART = (
    "nodes that must be on different devices are held apart by channels that take this long for any cut between them"
)


def network_anchor(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound by minimum cuts on links or a tree; stopped early, the best of the cuts made so far."""
    simple = least_load(problem, limits, progress)
    if simple.infeasibility is not None or simple.bound is None:
        return replace(simple, method=NAME)
    run = _Cuts(problem, limits, progress, simple.bound)
    run.apart()
    complete = run.anchored()
    return finished(NAME, limits, progress, run.bound, complete)


class _Cuts:
    """One problem, and the best bound so far."""

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, bound: Bound) -> None:
        self.problem, self.limits, self.progress, self.bound = problem, limits, progress, bound
        self.shipping, self.of = shipping_of(problem, ordered=False)
        self.allowed: Bools = np.asarray(np.isfinite(self.shipping.time), np.bool_)
        tensors = len(self.shipping.readers)
        many = self.shipping.n * len(set(self.shipping.types().tolist())) * (ROUNDS if self.shipping.overlap else 1)
        self.cuts = DirectedCuts(self.shipping.n, self.shipping.producer, self.shipping.readers, many)
        self.nothing = np.zeros(tensors, np.int64)

    def anchored(self) -> bool:
        """Cut around every node on every type of device; return whether there was time for all."""
        shipping = self.shipping
        types, costliest, complete = shipping.types(), shipping.time.copy(), True
        for d in sorted(set(types.tolist())):
            port = _Port(shipping, d, self.cuts)
            for v in np.argsort(-np.where(self.allowed[:, d], port.alone, -1.0), kind="stable").tolist():
                if not self.allowed[v, d] or port.alone[v] <= self.bound.cost:
                    break
                if self.progress.stopped or self.limits.remaining <= 0:
                    complete = False
                    break
                costliest[v, types == d] = max(costliest[v, d], port.least(v, self.bound.cost))
        self._raise(_shares(shipping.time, costliest, self.bound.cost), DETAIL)
        return complete

    def apart(self) -> None:
        """Cut between nodes that only some devices may take and nodes that only the others may take."""
        sizes, k = self._sizes(), self.shipping.k
        most = k - 1 if k <= MOST_SUBSETS else 1
        for size in range(1, most + 1):
            for devices in combinations(range(k), size):
                side: Bools = np.isin(np.arange(k), devices)
                inside = ~self.allowed[:, ~side].any(axis=1)
                outside = ~self.allowed[:, side].any(axis=1)
                if not (inside.any() and outside.any()) or self.limits.remaining <= 0:
                    continue
                rate = _rate(self.problem, side)
                total = float(sizes.sum())
                if not 0 < rate < inf or not 0 < total < inf:
                    continue
                scale = scale_for(total)
                state = np.where(inside, IN, np.where(outside, OUT, FREE))
                leaves = _whole(sizes, scale)
                value, _ = self.cuts.least(state, np.zeros(len(state), np.int64), self.nothing, leaves)
                self._raise(value / scale / rate * (1 - ROUNDING), APART)

    def _sizes(self) -> Floats:
        """Return [tensors] the least size of each."""
        graph = self.problem.graph
        outside = np.flatnonzero(self.of[graph.tails] != self.of[graph.heads])
        made, place = np.unique(graph.tails[outside], return_inverse=True)
        sizes = np.full(len(made), inf)
        np.minimum.at(sizes, place, graph.sizes[outside])
        return sizes

    def _raise(self, cost: float, detail: str) -> None:
        if self.bound.cost < cost < inf:
            self.bound = Bound(cost, method=NAME, proof="checked", by="mtpp", detail=detail)
            self.progress.report_bound(self.bound)


class _Port:
    """What one device pays for sets of nodes.

    A tensor that enters costs what the cheapest device that may make it charges; one that leaves what the cheapest
    device that may read it does. Without overlap all of this and the work add up; with it the load is no less than any
    weighted mean of work, sending and receiving, or of work and both where they share one channel.
    """

    def __init__(self, shipping: Shipping, d: int, cuts: DirectedCuts) -> None:
        self._cuts, self._n = cuts, shipping.n
        allowed = np.isfinite(shipping.time)
        others: Bools = np.arange(shipping.k) != d
        made = allowed[shipping.producer] & others
        read = np.array([allowed[list(nodes)].any(axis=0) for nodes in shipping.readers], np.bool_)
        read = read.reshape(len(shipping.readers), shipping.k) & others
        self._in = np.where(made, shipping.received[:, :, d], inf).min(axis=1, initial=inf)
        self._out = np.where(read, shipping.sent[:, d, :], inf).min(axis=1, initial=inf)
        self._work = np.where(allowed[:, d], shipping.time[:, d], 0.0)
        self._shut = np.flatnonzero(~allowed[:, d])
        self._half, self._overlap = bool(shipping.half[d]), shipping.overlap
        enters, leaves = np.zeros(self._n), np.zeros(self._n)
        for t, readers in enumerate(shipping.readers):
            leaves[shipping.producer[t]] += self._out[t]
            enters[list(readers)] += self._in[t]
        parts = self._parts(self._work, enters, leaves)
        self.alone = np.max(parts, axis=0)
        """[n] the load with the node alone, at these rates: a cut is no more."""
        finite = self.alone[np.isfinite(self.alone)]
        everything = float(self._work.sum())
        self._scale = scale_for(max(float(finite.max(initial=0.0)), everything, 1e-300))

    def _parts(self, work: Floats, enters: Floats, leaves: Floats) -> list[Floats]:
        if not self._overlap:
            return [work + enters + leaves]
        return [work, enters + leaves] if self._half else [work, enters, leaves]

    def least(self, v: int, known: float) -> float:
        """Return what the device pays at least for a set with node *v*."""
        state = np.full(self._n, FREE, np.int64)
        state[self._shut] = OUT
        state[v] = IN
        count = 3 if self._overlap and not self._half else 1 + self._overlap
        turn, best = np.full(count, 1 / count), 0.0
        for _ in range(ROUNDS if self._overlap else 1):
            weight = turn / turn.sum() * (1 - ROUNDING)
            mine = np.full(3, weight[0])
            mine[1:] = weight[-1] if count < 3 else weight[1:]
            value, side = self._cuts.least(
                state,
                _whole(self._work * mine[0], self._scale),
                _whole(self._in * mine[1], self._scale),
                _whole(self._out * mine[2], self._scale),
            )
            best = max(best, value / self._scale)
            if not self._overlap or (value >= MOST):
                break
            enters, leaves = self._cuts.crossing(side)
            paid = np.array([self._work[side].sum(), self._in[enters].sum(), self._out[leaves].sum()])
            loads = np.array([float(part) for part in self._parts(*paid)])
            if loads.max() <= known:
                break  # no weights take this set above what is known
            turn = turn * np.exp(PULL * (loads / loads.max() - 1))
        return best


def _whole(values: Floats, scale: float) -> Ints:
    """Return values in units, rounded down."""
    return np.asarray(np.floor(np.minimum(values * scale * (1 - ROUNDING), MOST)), np.int64)


def _rate(problem: Problem, side: Bools) -> float:
    """Return the bandwidth of channels that every tensor uses that leaves a set of devices; ``inf`` where none limits.

    They are picked greedily: the one on the most routes, for its bandwidth, first.
    """
    net = problem.network
    ways = [set(net.route[d][e]) for d in np.flatnonzero(side) for e in np.flatnonzero(~side) if net.rate[d, e] > 0]
    total = 0.0
    while ways:
        if not all(ways):
            return inf
        common = set.intersection(*ways)
        many = {c: sum(c in way for way in ways) for way in ways for c in way}
        pick = (
            min(common, key=lambda c: net.bandwidth[c])
            if common
            else max(many, key=lambda c: many[c] / net.bandwidth[c])
        )
        total += float(net.bandwidth[pick])
        ways = [way for way in ways if pick not in way]
    return total


def _shares(time: Floats, costliest: Floats, known: float) -> float:
    """Return the best bound that closing devices to nodes gives, where a device with the node pays a target or more.

    For loads below T, a device is closed to a node where ``costliest`` is T or more. For any weights p the least of
    ``p * time`` over open devices, summed over the nodes, is at most T times the sum of p.
    """
    best = known
    finite = np.isfinite(time)
    levels = np.unique(costliest[np.isfinite(costliest)])
    levels = np.append(levels[levels > known], inf)
    for p in map(np.asarray, (finite.any(axis=0).astype(np.float64), typical_speeds(time))):
        low, high = 0, len(levels) - 1
        while low <= high:
            middle = (low + high) // 2
            share = _share(time, costliest < levels[middle], p)
            if min(levels[middle], share) < inf:
                best = max(best, float(min(levels[middle], share)))
            low, high = (middle + 1, high) if share >= levels[middle] else (low, middle - 1)
    return best


def _share(time: Floats, below: Bools, p: Floats) -> float:
    """Return the share of the work of open devices, ``inf`` if a node has none."""
    opened = np.isfinite(time) & below
    if not opened.any(axis=1).all():
        return inf
    cost = float(np.where(opened, np.where(opened, time, 0.0) * p, inf).min(axis=1).sum())
    return cost / float(p.sum()) * (1 - ROUNDING) if p.sum() > 0 else 0.0
