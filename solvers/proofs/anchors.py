"""Certificates ``anchors``: of a makespan, modules along a chain of nodes and what lies beside, by minimum cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.anchor_module import FAR, LARGEST, AnchorModule, ModuleBetween, Weights, WholeTimes
from mtpp_dsl.solvers.proofs.anchor_reading import means_of, nodes_of, prices_of
from mtpp_dsl.solvers.proofs.anchor_windows import priced_time
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.proof_reading import number
from mtpp_dsl.solvers.proofs.windows import refuse_others

__all__ = ["AnchorsProof"]

MAX_DEVICES = 30
MAX_NODES = 20_000
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

    *Prices.* ``prices`` may be a list of ``[modules, first, last, limit, rounds]``: the numbers of modules, devices of
    their ends (null where there is none), a time, and lists of windows ``[kind, device, head, tail, price]``. The kind
    is 0 for the device, 1 for its sending, 2 for its receiving; see
    :func:`mtpp_dsl.solvers.proofs.anchor_windows.priced_time` for what they prove of the modules.

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
        chain = _Chain(problem, data, WholeTimes(problem, target), limits)
        means = means_of(problem, data, exclusive=any(problem.of(ExclusiveLinks)))
        for hub in chain.hubs():
            if not any(chain.reaches(hub, d, weights) for h, d, weights in means if h == hub):
                where = "" if hub is None else f" with the hub on {problem.devices[hub].name}"
                raise Refused(f"as far as the modules tell, a schedule may be shorter than {target!r}{where}")
        return target


class _Chain:
    """The modules of a certificate in their order.

    Raises:
        Refused: they are no chain.
    """

    def __init__(self, problem: Problem, data: Mapping[str, Any], times: WholeTimes, limits: Limits) -> None:
        self._problem, self._times, self._limits = problem, times, limits
        self._exclusive = any(problem.of(ExclusiveLinks))
        anchors = nodes_of(problem, data.get("anchors"), "anchors")
        lists = data.get("beside")
        if not anchors or not isinstance(lists, list) or len(lists) != len(anchors) + 1:
            raise Refused("there must be anchors, and one list of nodes beside each module")
        beside = [nodes_of(problem, nodes, "beside") for nodes in lists]
        hub = data.get("hub")
        self._hub = -1 if hub is None else nodes_of(problem, [hub], "hub")[0]
        if self._hub >= 0 and self._hub not in anchors:
            raise Refused("the hub is no anchor")
        self._anchors = anchors
        self._modules = self._read(beside)
        self._ends: list[dict[tuple[int, int], ModuleBetween]] = []
        self._least: list[Ints] = []
        for module in self._modules:
            shape = (times.time.shape[1] if module.entry else 1, times.time.shape[1] if module.leave else 1)
            ends = {
                at: ModuleBetween(module, at[0] if module.entry else None, at[1] if module.leave else None)
                for at in np.ndindex(*shape)
            }
            self._ends.append(ends)
            self._least.append(np.array([ends[at].least for at in np.ndindex(*shape)]).reshape(shape))
        self._price(data.get("prices", []))
        self._raise()

    def hubs(self) -> Sequence[int | None]:
        """Return the devices that the hub may be on; None where there is no hub."""
        if self._hub < 0:
            return [None]
        return np.flatnonzero(self._times.time[self._hub] < FAR).tolist() or [0]

    def _read(self, beside: list[list[int]]) -> list[AnchorModule]:
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

    def _module(self, j: int, members: list[int], near: list[int]) -> AnchorModule:
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
        return AnchorModule(size, entry, leave, time, ends[:, 0].copy(), ends[:, 1].copy(), carry, len(own), at)

    def _price(self, given: object) -> None:
        """Raise the times of modules by prices of windows."""
        for modules, at, limit, rounds in prices_of(self._problem, self._times, given, len(self._modules)):
            known: list[tuple[AnchorModule, int]] = []
            for j in modules:
                self._pause()
                module = self._modules[j]
                if (at[0] is None) == module.entry or (at[1] is None) == module.leave:
                    raise Refused(f"prices are for other ends than module {j} has")
                if any(window.kind for windows in rounds for window in windows) and not self._exclusive:
                    raise Refused("without exclusive links, transfers take no time of a port")
                time = next((time for other, time in known if module.equals(other)), None)
                if time is None:
                    time = priced_time(module, *at, limit, rounds)
                    known.append((module, time))
                ends = at[0] or 0, at[1] or 0
                self._least[j][ends] = max(self._least[j][ends], time)

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

    def _time(self, ends: ModuleBetween, known: int, enough: int) -> int:
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
