"""What a module takes at least between the devices of its ends: a branch and bound over devices, then over orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH

__all__ = ["FAR", "Module", "ModuleSearch"]

FAR = 1 << 58
"""Units that nothing takes: a device that may not run a node, a way that there is not."""
MAX_DEPTH = 400
"""Boxes that wait, and arcs of orders."""
STEPS = 2_000
"""Boxes between two looks at the clock."""
OPEN, CLOSED, DEEP = 0, 1, 2
"""What became of a search: it goes on, it is through, or it has more boxes or arcs than there is room for."""


class Module(NamedTuple):
    """Nodes in topological order, what they take in whole units, and what leads from one to another.

    Attributes:
        time: [n, k] of every node on every device, or :data:`FAR`.
        source, target: [m] of every edge; the source has the smaller number.
        cost: [m, k, k] of every edge from device to device, 0 on one, or :data:`FAR`.
        exclusive: whether a device sends one tensor at a time, and receives one.
    """

    time: Ints
    source: Ints
    target: Ints
    cost: Ints
    exclusive: bool


class ModuleSearch:
    """Looks for a schedule of a module that is shorter than a cutoff, some of its nodes on given devices.

    Boxes are sets of devices for every node, and arcs between tasks on one resource that say which comes first.

    Attributes:
        least: units below which there is no schedule, once the search is through.
        boxes: looked at so far.

    Args:
        module: of up to 62 devices.
        first: [n] the devices of every node, as bits.
        cutoff: units.
    """

    def __init__(self, module: Module, first: Ints, cutoff: int) -> None:
        n, m = len(first), len(module.source)
        self._module = module
        self._devices = np.zeros((MAX_DEPTH, n), np.int64)
        self._devices[0] = first
        self._arcs = np.zeros((MAX_DEPTH, MAX_DEPTH, 2), np.int64)
        self._many = np.zeros(MAX_DEPTH, np.int64)
        self._state = np.array([1, cutoff, 0], np.int64)
        self._spare = np.zeros((6, n + m), np.int64), np.zeros((2, n, module.time.shape[1]), np.int64)

    def run(self, limits: Limits) -> bool:
        """Return whether the search came to its end, so that :attr:`least` is what the module takes, or the cutoff.

        Raises:
            UsageError: the time is not enough.
        """
        while True:
            if limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            steps = SEARCH.portion(STEPS)
            ended = SEARCH.pick(0.0)(
                self._module, self._devices, self._arcs, self._many, self._state, *self._spare, steps
            )
            if ended != OPEN:
                return ended == CLOSED

    @property
    def least(self) -> int:
        """Units below which there is no schedule: the cutoff, or what a shorter one takes."""
        return int(self._state[1])

    @property
    def boxes(self) -> int:
        """How many were looked at."""
        return int(self._state[2])


def _paths(module: Module, devices: Ints, cutoff: int, head: Ints, tail: Ints) -> bool:
    """Write longest paths to and from every node on each of its devices, and take devices away that are too late.

    Return whether every node has a device left from which the longest path through it is below the cutoff.
    """
    n, k = module.time.shape
    m = len(module.source)
    changed = True
    while changed:
        changed = False
        head[:] = 0
        tail[:] = 0
        e = 0
        for v in range(n):  # edges are sorted by their targets
            while e < m and module.target[e] == v:
                u = module.source[e]
                for d in range(k):
                    if devices[v] >> d & 1:
                        soonest = FAR
                        for x in range(k):
                            if devices[u] >> x & 1:
                                soonest = min(soonest, head[u, x] + module.time[u, x] + module.cost[e, x, d])
                        head[v, d] = max(head[v, d], min(soonest, FAR))
                e += 1
        e = m - 1
        for v in range(n - 1, -1, -1):
            left = 0
            for d in range(k):
                if devices[v] >> d & 1 and head[v, d] + module.time[v, d] + tail[v, d] < cutoff:
                    left |= 1 << d
            if left == 0:
                return False
            if left != devices[v]:
                devices[v] = left
                changed = True
            while e >= 0 and module.target[e] == v:
                u = module.source[e]
                for x in range(k):
                    if devices[u] >> x & 1:
                        soonest = FAR
                        for d in range(k):
                            if devices[v] >> d & 1:
                                soonest = min(soonest, module.cost[e, x, d] + module.time[v, d] + tail[v, d])
                        tail[u, x] = max(tail[u, x], min(soonest, FAR))
                e -= 1
    return True


def _tasks(module: Module, devices: Ints, head: Ints, tail: Ints, task: Ints) -> bool:
    """Write the tasks whose devices are known; return whether all are.

    A row of *task* is: resource, a second one or -1, head, time, tail, and whether it is one; nodes come first.
    Resources are the devices, then where they send, then where they receive.
    """
    n, k = module.time.shape
    known = True
    for v in range(n):
        task[5, v] = 0
        if devices[v] & (devices[v] - 1):
            known = False
            continue
        d = 0
        while not devices[v] >> d & 1:
            d += 1
        task[0, v], task[1, v], task[5, v] = d, -1, 1
        task[2, v], task[3, v], task[4, v] = head[v, d], module.time[v, d], tail[v, d]
    for e in range(len(module.source)):
        u, v = module.source[e], module.target[e]
        task[5, n + e] = 0
        if task[5, u] and task[5, v] and task[0, u] != task[0, v] and module.exclusive:
            d, f = task[0, u], task[0, v]
            task[0, n + e], task[1, n + e], task[5, n + e] = k + d, 2 * k + f, 1
            task[2, n + e], task[3, n + e] = head[u, d] + module.time[u, d], module.cost[e, d, f]
            task[4, n + e] = module.time[v, f] + tail[v, f]
    return known


def _fits(task: Ints, resources: int, cutoff: int, order: Ints) -> bool:
    """Return whether each resource has the time, below the cutoff, for what it does between any head and tail."""
    count = task.shape[1]
    for r in range(resources):
        many = 0
        for i in range(count):  # by falling tails
            if task[5, i] and task[3, i] > 0 and (task[0, i] == r or task[1, i] == r):
                place = many
                while place > 0 and task[4, order[place - 1]] < task[4, i]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = i
                many += 1
        for a in range(many):
            start, work = task[2, order[a]], 0
            for b in range(many):
                if task[2, order[b]] >= start:
                    work += task[3, order[b]]
                    if start + work + task[4, order[b]] >= cutoff:
                        return False
    return True


def _ordered(module: Module, task: Ints, arcs: Ints, many: int, cutoff: int) -> bool:
    """Write heads and tails of tasks whose devices are all known; return whether all paths are below the cutoff."""
    n = module.time.shape[0]
    m = len(module.source)
    for forth in range(2):
        at = 2 if forth == 0 else 4
        task[at] = 0
        changed = True
        while changed:
            changed = False
            for i in range(m + many):
                if i < m:
                    a, b = module.source[i], module.target[i]
                    lag = 0
                    if task[5, n + i]:
                        a, b = (a, n + i) if forth == 0 else (n + i, b)
                    else:
                        lag = module.cost[i, task[0, a], task[0, b]]
                else:
                    a, b = arcs[i - m, 0], arcs[i - m, 1]
                    lag = 0
                if forth == 1:
                    a, b = b, a
                if task[at, b] < task[at, a] + task[3, a] + lag:
                    task[at, b] = task[at, a] + task[3, a] + lag
                    changed = True
                    if task[at, b] + task[3, b] >= cutoff:
                        return False
                if i < m and task[5, n + i]:
                    a, b = (n + i, module.target[i]) if forth == 0 else (n + i, module.source[i])
                    if task[at, b] < task[at, a] + task[3, a]:
                        task[at, b] = task[at, a] + task[3, a]
                        changed = True
                        if task[at, b] + task[3, b] >= cutoff:
                            return False
    longest = 0
    for i in range(n + m):
        if task[5, i]:
            longest = max(longest, task[2, i] + task[3, i] + task[4, i])
    return longest < cutoff


def _overlap(task: Ints, cutoff: int) -> tuple[int, int, int]:
    """Return two tasks that would be under way at once on one resource, and which orders of them the cutoff allows.

    The orders are 1 where only the first may come first, 2 where only the second may, 3 where both may, 0 where none
    may; -1 as the first task where no two tasks overlap. Where one order is left of any two, it is these.
    """
    count = task.shape[1]
    one, other, orders, least = -1, -1, 3, FAR
    for i in range(count):
        if not task[5, i] or task[3, i] == 0:
            continue
        for j in range(i + 1, count):
            if not task[5, j] or task[3, j] == 0:
                continue
            if task[0, i] != task[0, j] and (task[1, i] < 0 or task[1, i] != task[1, j]):
                continue
            if task[2, i] + task[3, i] <= task[2, j] or task[2, j] + task[3, j] <= task[2, i]:
                continue
            work = task[3, i] + task[3, j]
            forth, back = task[2, i] + work + task[4, j], task[2, j] + work + task[4, i]
            allowed = (1 if forth < cutoff else 0) + (2 if back < cutoff else 0)
            if allowed < 3:
                return i, j, allowed
            if cutoff - max(forth, back) < least:
                one, other, least = i, j, cutoff - max(forth, back)
    return one, other, orders


def _search(
    module: Module,
    devices: Ints,
    arcs: Ints,
    many: Ints,
    state: Ints,
    task: Ints,
    ends: Ints,
    steps: int,
) -> int:
    """Look at up to so many boxes; *state* is how many wait, the cutoff, and how many have been looked at."""
    n, k = module.time.shape
    head, tail = ends[0], ends[1]
    order = np.empty(task.shape[1], np.int64)
    for _ in range(steps):
        if state[0] == 0:
            return CLOSED
        p = state[0] - 1
        state[0] = p
        state[2] += 1
        if not _paths(module, devices[p], state[1], head, tail):
            continue
        known = _tasks(module, devices[p], head, tail, task)
        if not _fits(task, 3 * k, state[1], order):
            continue
        if not known:
            # Part the box by the devices of the node that has fewest left; the one with the shortest path goes first.
            v, fewest = -1, k + 1
            for w in range(n):
                left = 0
                for d in range(k):
                    left += devices[p, w] >> d & 1
                if 1 < left < fewest:
                    v, fewest = w, left
            if p + fewest > len(devices):
                return DEEP
            free = devices[p, v]
            for i in range(fewest):
                devices[p + i] = devices[p]
                many[p + i] = 0
                worst, chosen = -1, 0
                for d in range(k):
                    through = head[v, d] + module.time[v, d] + tail[v, d]
                    if free >> d & 1 and through > worst:
                        worst, chosen = through, d
                devices[p + i, v] = 1 << chosen
                free ^= 1 << chosen
            state[0] = p + fewest
            continue
        while True:
            if not _ordered(module, task, arcs[p], many[p], state[1]) or not _fits(task, 3 * k, state[1], order):
                break
            i, j, orders = _overlap(task, state[1])
            if i < 0:  # nothing overlaps: heads are a schedule
                length = 0
                for v in range(n):
                    length = max(length, task[2, v] + task[3, v])
                state[1] = length
                break
            if orders == 0:
                break
            if many[p] + 1 >= arcs.shape[1] or p + 2 > len(devices):
                return DEEP
            if orders == 3:  # a box for either order; the one that begins earlier goes first
                devices[p + 1], many[p + 1] = devices[p], many[p] + 1
                arcs[p + 1, : many[p]] = arcs[p, : many[p]]
                if task[2, i] > task[2, j]:
                    i, j = j, i
                arcs[p + 1, many[p], 0], arcs[p + 1, many[p], 1] = i, j
                arcs[p, many[p], 0], arcs[p, many[p], 1] = j, i
                many[p] += 1
                state[0] = p + 2
                break
            if orders == 2:
                i, j = j, i
            arcs[p, many[p], 0], arcs[p, many[p], 1] = i, j
            many[p] += 1
    return OPEN if state[0] else CLOSED


SEARCH = Kernel(_search, 300.0, _paths, _tasks, _fits, _ordered, _overlap)
