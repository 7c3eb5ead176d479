"""Certificates ``anchors``: of a makespan, modules along a chain of nodes and what lies beside, by minimum cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_DIRECTED, OUT
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.proof_reading import colocation_class, number
from mtpp_dsl.solvers.proofs.rows import Units
from mtpp_dsl.solvers.proofs.windows import refuse_others, running_times

__all__ = ["AnchorsProof"]

MAX_DEVICES = 30
MAX_NODES = 20_000
MAX_WEIGHT = 1_000
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
MOST_LABELS = 3_000
"""Pairs of sums that are told apart at one anchor on one device."""

FOR_TIMES = (
    *((100, 0, 0), (100, 4, 0), (100, 0, 4), (100, 9, 0), (100, 0, 9), (100, 20, 0), (100, 0, 20)),
    *((100, 50, 0), (100, 0, 50), (100, 100, 100), (20, 100, 0), (20, 0, 100), (0, 1, 0), (0, 0, 1)),
)
"""Weights of load, sending and receiving that are tried for the time of a module."""


class AnchorsProof:
    """``{"target": T, "anchors": […], "beside": [[…], …], "hub": v, "means": [[h, d, load, out, in], …]}``.

    *Modules.* Each anchor comes before the next. What lies between two, with both, is a module: it runs between the end
    of the first and the end of the second, and takes at least its longest path. Edges out of a module are left out.

    *Windows.* Let a module take less than some threshold, and look at one device. Nodes are on it of which the longest
    path would be too long elsewhere, others cannot be on it, and edges are not cut whose transfer would be too late.
    Then a minimum cut is the least of the device's load, its sending and its receiving, each times a weight. They fit
    into the time of the module, and transfers between the first end of a tail and the last time of an arrival.

    *Means.* ``beside`` are nodes that count for a module's cuts and not for its time, one list for each module; each
    node is in one of them. For each weighted mean, a path over the devices of the anchors has a sum of times and a sum
    of cuts, and a schedule takes as long as the larger of both. The ``hub``, an anchor or null, is on each device h in
    turn: one of the means for h has to reach the target. Sending and receiving count on exclusive links alone.

    Memory counts node by node; ``colocate`` where an edge joins two nodes; other constraints are left out. All times
    are whole numbers, rounded down.
    """

    name = "anchors"
    summary = "modules along a chain of nodes, and what lies beside them, by minimum cuts"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.contracts.Checker`."""
        target = number(data, "target")
        refuse_others(problem)
        if target == 0:
            return target
        if problem.k > MAX_DEVICES or problem.graph.n > MAX_NODES:
            raise Refused(f"there are more than {MAX_DEVICES} devices or {MAX_NODES} nodes")
        chain = _Chain(problem, data, _Times(problem, target), limits)
        means = _means(problem, data, exclusive=any(problem.of(ExclusiveLinks)))
        for hub in chain.hubs():
            if not any(chain.reaches(hub, d, weights) for h, d, weights in means if h == hub):
                where = "" if hub is None else f" with the hub on {problem.devices[hub].name}"
                raise Refused(f"as far as the modules tell, a schedule may be shorter than {target!r}{where}")
        return target


class Weights(NamedTuple):
    """What a unit of load, of sending and of receiving counts."""

    load: int
    out: int
    into: int


def _means(problem: Problem, data: Mapping[str, Any], *, exclusive: bool) -> list[tuple[int | None, int, Weights]]:
    """Return the device of the hub, that of the cuts, and the weights, of each mean of a certificate."""
    numbers: dict[object, int] = {device.name: d for d, device in enumerate(problem.devices)}
    given = data.get("means")
    if not isinstance(given, list) or not all(isinstance(mean, list) and len(mean) == 5 for mean in given):
        raise Refused("means is not a list of two devices and three weights each")
    found = []
    for hub, d, *weights in given:
        if not (hub is None or isinstance(hub, str)) or not isinstance(d, str):
            raise Refused(f"{[hub, d]!r} are not two devices")
        if d not in numbers or (hub is not None and hub not in numbers):
            raise Refused(f"{[hub, d]!r} are not two devices")
        if not all(type(weight) is int and 0 <= weight <= MAX_WEIGHT for weight in weights) or sum(weights) == 0:
            raise Refused(f"weights are whole numbers up to {MAX_WEIGHT}, not {weights!r}")
        if not exclusive and (weights[1] or weights[2]):
            raise Refused("without exclusive links, transfers take no time of a port")
        found.append((None if hub is None else numbers[hub], numbers[d], Weights(*weights)))
    return found


class _Times:
    """Times in whole units, rounded down, and the target, rounded up."""

    def __init__(self, problem: Problem, target: float) -> None:
        self._problem, self._units = problem, Units(LONGER * target)
        self.limit = -(-self._units.allowed(target) >> COARSER)
        self.group = np.array(colocation_class(problem), np.int64)
        self.time = self._whole(running_times(problem, self.group))

    def _whole(self, times: Floats) -> Ints:
        flat = [FAR if t == inf else self._units.used(t) >> COARSER for t in times.ravel().tolist()]
        return np.array(flat, np.int64).reshape(times.shape)

    def carries(self, e: int) -> Ints:
        """Return [k, k] how long an edge takes from device to device; :data:`FAR` where it cannot be cut so."""
        problem = self._problem
        times = np.array(problem.transfers.of(e))
        np.fill_diagonal(times, 0.0)
        if self.group[problem.graph.tails[e]] == self.group[problem.graph.heads[e]]:
            times = np.where(np.eye(problem.k, dtype=np.bool_), 0.0, inf)
        return self._whole(times)


@dataclass(frozen=True, eq=False)
class _Module:
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


class _Window(NamedTuple):
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


class _Ends:
    """A module between given devices of its ends: longest paths, and cuts around a device.

    Args:
        module: as there. first, last: devices; None where it has no such end.
        hub: the device of the hub, or None.
    """

    def __init__(self, module: _Module, first: int | None, last: int | None) -> None:
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

    def windows(self, d: int, known: int) -> Iterator[_Window]:
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
            yield _Window(low, high, inside, outside, kept, (free[0], free[1]))

    def cut(self, d: int, window: _Window, weights: Weights, *, all_nodes: bool, hub: int | None) -> int | None:
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


class _Chain:
    """The modules of a certificate in their order.

    Raises:
        Refused: they are no chain.
    """

    def __init__(self, problem: Problem, data: Mapping[str, Any], times: _Times, limits: Limits) -> None:
        self._problem, self._times, self._limits = problem, times, limits
        self._exclusive = any(problem.of(ExclusiveLinks))
        anchors = _nodes(problem, data.get("anchors"), "anchors")
        lists = data.get("beside")
        if not anchors or not isinstance(lists, list) or len(lists) != len(anchors) + 1:
            raise Refused("there must be anchors, and one list of nodes beside each module")
        beside = [_nodes(problem, nodes, "beside") for nodes in lists]
        hub = data.get("hub")
        self._hub = -1 if hub is None else _nodes(problem, [hub], "hub")[0]
        if self._hub >= 0 and self._hub not in anchors:
            raise Refused("the hub is no anchor")
        self._anchors = anchors
        self._modules = self._read(beside)
        self._ends: list[dict[tuple[int, int], _Ends]] = []
        self._least: list[Ints] = []
        for module in self._modules:
            shape = (times.time.shape[1] if module.entry else 1, times.time.shape[1] if module.leave else 1)
            ends = {
                at: _Ends(module, at[0] if module.entry else None, at[1] if module.leave else None)
                for at in np.ndindex(*shape)
            }
            self._ends.append(ends)
            self._least.append(np.array([ends[at].least for at in np.ndindex(*shape)]).reshape(shape))
        self._raise()

    def hubs(self) -> Sequence[int | None]:
        """Return the devices that the hub may be on; None where there is no hub."""
        if self._hub < 0:
            return [None]
        return np.flatnonzero(self._times.time[self._hub] < FAR).tolist() or [0]

    def _read(self, beside: list[list[int]]) -> list[_Module]:
        """Return the modules: what comes after one anchor and before the next."""
        graph, anchors = self._problem.graph, self._anchors
        order = graph.topological_order.tolist()
        place = {v: i for i, v in enumerate(order)}
        behind, ahead = (
            [_reached(graph, v, forward=True) for v in anchors],
            [_reached(graph, v, forward=False) for v in anchors],
        )
        if not all(behind[j][anchors[j + 1]] for j in range(len(anchors) - 1)):
            raise Refused("an anchor does not come before the next")
        members = []
        for j in range(len(anchors) + 1):
            inside = np.ones(graph.n, np.bool_)
            if j > 0:
                inside &= behind[j - 1]
            if j < len(anchors):
                inside &= ahead[j]
            nodes = sorted(np.flatnonzero(inside).tolist(), key=place.__getitem__)
            members.append([*anchors[j - 1 : j][: j > 0], *nodes, *anchors[j : j + 1]])
        used = [v for nodes in members for v in nodes if v not in set(anchors)] + anchors
        aside = [v for nodes in beside for v in nodes]
        if len({*used, *aside}) != len(used) + len(aside):
            raise Refused("a node is in two places")
        return [self._module(j, nodes, near) for j, (nodes, near) in enumerate(zip(members, beside, strict=True))]

    def _module(self, j: int, members: list[int], near: list[int]) -> _Module:
        graph, times = self._problem.graph, self._times
        number_of = {v: i for i, v in enumerate((*members, *near))}
        inside, aside, size = set(members), set(near), len(members)
        outer = [self._hub] if self._hub >= 0 and self._hub not in number_of else []
        number_of |= {v: len(number_of) for v in outer}
        own, others = [], []
        for v in number_of:
            for e in graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist():
                u = int(graph.tails[e])
                if u in inside and v in inside:
                    own.append((number_of[v], number_of[u], e))
                elif u in number_of and (u in aside or v in aside):
                    others.append((number_of[v], number_of[u], e))
        edges = [*sorted(own), *others]
        time = times.time[[*members, *near, *outer]]
        entry, leave = j > 0, j < len(self._anchors)
        if entry:
            time[0] = np.where(time[0] < FAR, 0, FAR)
        time[len(members) + len(near) :] = 0
        carry = np.array([times.carries(e) for _, _, e in edges], np.int64).reshape(-1, time.shape[1], time.shape[1])
        ends = np.array([(u, v) for v, u, _ in edges], np.int64).reshape(-1, 2)
        at = len(number_of) - 1 if outer else -1
        return _Module(size, entry, leave, time, ends[:, 0].copy(), ends[:, 1].copy(), carry, len(own), at)

    def _raise(self) -> None:
        """Raise the times of modules by cuts, where a path below the target could use them."""
        for j in sorted(range(len(self._modules)), key=lambda j: -self._modules[j].size):
            if self._modules[j].size <= 1 + self._modules[j].entry + self._modules[j].leave:
                continue
            before, behind = self._sums()
            for at, ends in self._ends[j].items():
                a, b = at
                rest = int(before[j][a] + behind[j + 1][b])
                if rest + self._least[j][at] < self._times.limit:
                    self._least[j][at] = self._time(ends, int(self._least[j][at]), self._times.limit - rest)

    def _time(self, ends: _Ends, known: int, enough: int) -> int:
        """Return a bound on the time of a module by cuts around each device, or *enough* or more."""
        for d in range(self._problem.k):
            if known >= enough:
                break
            self._pause()
            best = FAR
            for window in ends.windows(d, known):
                if window.low >= best:
                    break
                value = window.low
                for weights in map(Weights._make, FOR_TIMES if self._exclusive else FOR_TIMES[:1]):
                    least = ends.cut(d, window, weights, all_nodes=False, hub=None)
                    free = weights.out * window.free[0] + weights.into * window.free[1]
                    value = FAR if least is None else max(value, (least + free) // sum(weights))
                    if value >= min(window.high, enough):
                        break
                if value < window.high:
                    best = min(best, value)
            known = max(known, best)
        return known

    def reaches(self, hub: int | None, d: int, weights: Weights) -> bool:
        """Return whether each path has a sum of times, or of cuts around a device, of the target or more."""
        limit, total = self._times.limit, sum(weights)
        tables = [self._table(j, hub) for j in range(len(self._modules))]
        behind = _behind(tables)
        labels = [np.zeros((1, 2), np.int64)]
        for j, table in enumerate(tables):
            reached: list[list[Ints]] = [[] for _ in range(table.shape[1])]
            for (a, b), ends in self._ends[j].items():
                ahead = labels[a][labels[a][:, 0] + table[a, b] + behind[j + 1][b] < limit]
                if not len(ahead):
                    continue
                self._pause()
                least = LARGEST
                for window in ends.windows(d, int(table[a, b])):
                    total_cut = ends.cut(d, window, weights, all_nodes=True, hub=hub)
                    if total_cut is not None and total_cut < least:
                        least = total_cut
                        reached[b].append(ahead + np.array([window.low, total_cut]))
            labels = [_kept(parts, behind[j + 1][b], limit, total) for b, parts in enumerate(reached)]
        return not any(len(rows) for rows in labels)

    def _table(self, j: int, hub: int | None) -> Ints:
        """Return the times of a module, :data:`FAR` where its exit is the hub and not on *hub*."""
        table = self._least[j]
        if hub is None or j >= len(self._anchors) or self._anchors[j] != self._hub:
            return table
        closed: Ints = np.where(np.arange(table.shape[1]) == hub, table, FAR)
        return closed

    def _sums(self) -> tuple[list[Ints], list[Ints]]:
        """Return [modules + 1][devices] the least sums of the modules before each end, and of those behind it."""
        before = [np.zeros(1, np.int64)]
        for table in self._least:
            before.append(np.minimum((before[-1][:, None] + table).min(axis=0), FAR))
        return before, _behind(self._least)

    def _pause(self) -> None:
        if self._limits.remaining <= 0:
            raise UsageError(NOT_ENOUGH)


def _behind(tables: Sequence[Ints]) -> list[Ints]:
    """Return [modules + 1][devices] the least sums of the modules behind each end."""
    behind = [np.zeros(tables[-1].shape[1], np.int64)]
    for table in reversed(tables):
        behind.append(np.minimum((table + behind[-1][None, :]).min(axis=1), FAR))
    return behind[::-1]


def _kept(parts: list[Ints], behind: int, limit: int, total: int) -> Ints:
    """Return the pairs of sums that no other is below, less those that have reached the target.

    Of many, neighbours become one that is at most either.
    """
    rows: Ints = np.concatenate([np.zeros((0, 2), np.int64), *parts])
    rows = rows[(rows[:, 0] + behind < limit) & (rows[:, 1] < limit * total)]
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    best = np.minimum.accumulate(rows[:, 1])
    rows = rows[np.concatenate((np.ones(min(len(rows), 1), np.bool_), rows[1:, 1] < best[:-1]))]
    if len(rows) <= MOST_LABELS:
        return rows
    first = np.unique(np.linspace(0, len(rows) - 1, MOST_LABELS).astype(np.int64))
    last = np.append(first[1:], len(rows)) - 1
    return np.stack([rows[first, 0], rows[last, 1]], axis=1)


def _nodes(problem: Problem, names: object, where: str) -> list[int]:
    """Return the numbers of named nodes."""
    number_of = {name: v for v, name in enumerate(problem.graph.names)}
    if not isinstance(names, list) or not all(isinstance(name, str) and name in number_of for name in names):
        raise Refused(f"{where} is not a list of nodes")
    return [number_of[name] for name in names]


def _reached(graph: Any, v: int, *, forward: bool) -> Bools:
    """Return [n] what comes after a node, or before it."""
    near = graph.successors if forward else graph.predecessors
    found = np.zeros(graph.n, np.bool_)
    left = [v]
    while left:
        for w in near(left.pop()).tolist():
            if not found[w]:
                found[w] = True
                left.append(w)
    return found
