"""Anneal windows of a schedule of one sample again, with all else as it is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import inf
from time import monotonic

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.backends.cpsat.sample_problem import moves
from mtpp_dsl.solvers.runtime.reduced import Aside
from mtpp_dsl.solvers.schedule.search.sample_state import sample_order_of
from mtpp_dsl.solvers.schedule.search.schedule_annealing import anneal_sample

__all__ = ["Reannealing", "refused"]

SIZE = 32
"""Nodes of a window; two neighbours share half of them."""
MOVES, MOST_MOVES = 50, 800
"""Of an annealing of a window, per node and device: in the first sweep, and at most; twice as many in each sweep."""
SECONDS = 0.5
"""Between two plans that are reported: each is checked anew."""


def refused(problem: Problem) -> bool:
    """Return whether nodes are bound to others by more than edges, devices and memories, so that windows are too."""
    others = any(not isinstance(one, Memory | Pin | Forbid) for one in problem.constraints)
    return problem.objective.batch is not None or others


class Reannealing:
    """A schedule, and windows of it that are annealed again.

    A window is nodes that come one after another in the order of their starts. What comes before it stays when and
    where it is. What comes behind stays where it is and in its order: it has a *rest*, the time from the end of a node
    to the end of everything, were all behind it as late as that order lets it. So the least time of the whole is that
    of a problem with the nodes of the window alone, in which a first task sends to each node for as long as it cannot
    start, on every device, and each node sends to a last task for what is left behind it.

    Args:
        problem: a makespan on links that is not :func:`refused`.
        plan: with a schedule.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self._problem, self._instance = problem, ScheduleInstance.of(problem)
        self._row, self._table = moves(self._instance)
        self._take(plan)

    def run(self, limits: Limits, progress: Progress, take: Callable[[Plan], object]) -> None:
        """Anneal windows along the schedule, sweep by sweep, until a sweep with the most moves does not help.

        Args:
            limits: when to stop, and the seed.
            progress: asked whether to stop.
            take: called with shorter plans.
        """
        n, told, tries = self._instance.n, monotonic(), MOVES
        for sweep in count():
            before = self.makespan
            progress.say(f"annealing windows of {SIZE} nodes again")
            random = np.random.default_rng((limits.seed, sweep))
            for first in range(-int(random.integers(SIZE // 2)), max(1, n - SIZE // 2), SIZE // 2):
                if progress.ended(limits) is not None:
                    take(self.plan)
                    return
                own = limits.within(limits.remaining, seed=int(random.integers(1 << 31)))
                better = self.anneal(max(0, first), min(n, first + SIZE), own, progress, tries)
                if better and monotonic() >= told + SECONDS:
                    told = monotonic()
                    take(self.plan)
            take(self.plan)
            if self.makespan >= before and tries >= MOST_MOVES:
                return
            tries = min(MOST_MOVES, 2 * tries)

    def anneal(self, first: int, last: int, limits: Limits, progress: Progress, tries: int) -> bool:
        """Anneal the nodes at places *first* to *last* of the order; return whether the schedule became shorter.

        Args:
            first: place.
            last: place behind them.
            limits: when to stop, and the seed.
            progress: asked whether to stop.
            tries: moves, per node and device.
        """
        nodes = self._order[first:last]
        window, _ = self.window(first, last)
        instance = ScheduleInstance.of(window)
        start = timed(
            instance,
            np.append(self._device[nodes], [self._instance.k] * 2),
            np.append(np.arange(1, len(nodes) + 1), [0, len(nodes) + 1]),
        )
        found = anneal_sample(window, limits.within(limits.remaining, start=start), Aside(progress), 1, tries).plan
        if found is None:
            return False
        device, place = self._device.copy(), np.empty(self._instance.n)
        device[nodes] = found.assignment[: len(nodes)]
        inside = sample_order_of(instance, found)
        order = self._order.copy()
        order[first:last] = nodes[inside[inside < len(nodes)]]
        place[order] = np.arange(self._instance.n)
        plan = timed(self._instance, device, place)
        assert plan.schedule is not None
        if plan.schedule.makespan >= self.makespan:
            return False
        self._take(plan)
        return True

    def _take(self, plan: Plan) -> None:
        """Go on from a plan."""
        assert plan.schedule is not None
        instance = self._instance
        self.plan, self.makespan = plan, plan.schedule.makespan
        self._device = np.asarray(plan.assignment, np.int64)
        self._end = plan.schedule.end
        self._order = sample_order_of(instance, plan)
        self._takes = instance.time[np.arange(instance.n), self._device]
        self._rest = self._rests()

    def _rests(self) -> Floats:
        """Return [n] the time from the end of each node to the end of everything, all being as late as it can."""
        graph, device, takes = self._instance.graph, self._device.tolist(), self._takes.tolist()
        carry = self._table[self._row, self._device[graph.tails], self._device[graph.heads]].tolist()
        heads, offsets = graph.heads.tolist(), graph.offsets.tolist()
        rest, busy = [0.0] * self._instance.n, [0.0] * self._instance.k
        for v in reversed(self._order.tolist()):
            left = busy[device[v]] if takes[v] > 0 else 0.0
            for e in range(offsets[v], offsets[v + 1]):
                w = heads[e]
                left = max(left, carry[e] + takes[w] + rest[w])
            rest[v] = left
            if takes[v] > 0:
                busy[device[v]] = left + takes[v]
        return np.array(rest)

    def _sides(self, nodes: Ints) -> tuple[Floats, Floats]:
        """Return [nodes, k] from when on each may start, and what is left behind each at the least, by device."""
        instance, graph = self._instance, self._instance.graph
        place = np.empty(instance.n, np.int64)
        place[self._order] = np.arange(instance.n)
        first, last = int(place[nodes[0]]), int(place[nodes[-1]])
        number = np.full(instance.n, -1)
        number[nodes] = np.arange(len(nodes))
        free, left = np.zeros(instance.k), np.zeros(instance.k)
        runs = self._takes > 0
        before, behind = (place < first) & runs, (place > last) & runs
        np.maximum.at(free, self._device[before], self._end[before])
        np.maximum.at(left, self._device[behind], (self._takes + self._rest)[behind])
        waits = instance.time[nodes] > 0
        head, tail = np.where(waits, free, 0.0), np.where(waits, left, 0.0)
        into = np.flatnonzero((number[graph.heads] >= 0) & (number[graph.tails] < 0))
        u, v = graph.tails[into], graph.heads[into]
        np.maximum.at(head, number[v], self._end[u][:, None] + self._table[self._row[into], self._device[u], :])
        out = np.flatnonzero((number[graph.tails] >= 0) & (number[graph.heads] < 0))
        u, v = graph.tails[out], graph.heads[out]
        rest = (self._takes + self._rest)[v]
        np.maximum.at(tail, number[u], rest[:, None] + self._table[self._row[out], :, self._device[v]])
        return head, tail

    def window(self, first: int, last: int) -> tuple[Problem, float]:
        """Return the window at places *first* to *last* as a problem, and what has to be added to its makespan.

        The first task and the last have a device of their own.
        """
        instance, graph, k, s = self._instance, self._instance.graph, self._instance.k, last - first
        nodes = self._order[first:last]
        number = np.full(instance.n, -1)
        number[nodes] = np.arange(s)
        inner = np.flatnonzero((number[graph.tails] >= 0) & (number[graph.heads] >= 0))
        head, tail = self._sides(nodes)
        since, rest = float(head.min()), float(tail.min())
        carried = np.zeros((len(inner) + 2 * s, k + 1, k + 1))
        carried[: len(inner), :k, :k] = self._table[self._row[inner]]
        carried[len(inner) : len(inner) + s, k, :k] = head - since
        carried[len(inner) + s :, :k, k] = tail - rest
        tails = np.concatenate([number[graph.tails[inner]], np.full(s, s), np.arange(s)])
        heads = np.concatenate([number[graph.heads[inner]], np.arange(s), np.full(s, s + 1)])
        time = np.full((s + 2, k + 1), inf)
        time[:s, :k], time[s:, k] = instance.time[nodes], 0.0
        used = np.bincount(self._device, instance.memory, k) - np.bincount(
            self._device[nodes], instance.memory[nodes], k
        )
        room = np.maximum(np.array(instance.limit) - used, 0.0)
        devices = [Device(f"d{d}", memory=None if own == inf else float(own)) for d, own in enumerate([*room, inf])]
        limited = tuple(np.flatnonzero(np.isfinite(room)).tolist())
        rules: list[Constraint] = [Memory(devices=limited)] if limited else []
        order = np.lexsort((heads, tails))
        window = Problem.create(
            Graph.create(
                [str(v) for v in range(s + 2)],
                zip(tails[order].tolist(), heads[order].tolist(), strict=True),
                memory=np.append(instance.memory[nodes], [0.0, 0.0]),
                times={device.name: time[:, d] for d, device in enumerate(devices)},
            ),
            devices,
            Links(np.ones((k + 1, k + 1)), np.zeros((k + 1, k + 1)), carried[order]),
            Objective("makespan"),
            rules,
        )
        return window, since + rest
