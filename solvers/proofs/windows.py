"""Certificates ``windows``: a makespan on links that no schedule keeps to, as some node has no time left to run in."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import ExclusiveLinks, Memory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import (
    barred_nodes,
    colocation_class,
    least_workspace,
    number,
    numbers_by_device,
    refuse_copies,
)

__all__ = ["Windows", "refuse_others", "running_times"]

ROUNDING = 1e-12
NEARLY = 3e-13
"""Relative: sums of times are taken to be so much less or more, whichever proves less."""
MAX_INTERPRETED = 200
"""Claims up to which the loops run as they stand."""
LARGEST_COUNT = 10_000


class Claims(NamedTuple):
    """What a certificate says of starts beyond longest paths.

    Attributes:
        at: [n, k] number of the claim about a node on a device; -1 without one.
        time, since: of each claim. weight: of each claim, those of the devices, and at last that of the port.
    """

    at: Ints
    time: Floats
    since: Floats
    weight: Floats


class WindowArcs(NamedTuple):
    """The graph in one direction: what comes *before* a node has smaller places.

    Attributes:
        order, place: [n] the nodes in topological order, and where they stand.
        into_at, into, from_at, out: the edges into a node, and those out of it.
        source, target: [m] of every edge. cost: [m, k, k] of every edge from device to device.
        group: [n] nodes of one are on one device.
    """

    order: Ints
    place: Ints
    into_at: Ints
    into: Ints
    from_at: Ints
    out: Ints
    source: Ints
    target: Ints
    cost: Floats
    group: Ints


class Windows:
    """Heads and tails of all nodes, round by round, and at the end a node without a window, or an interval.

    ``{"target": T, "count": c, "rounds": [{"heads": claims, "tails": claims}], "interval": …}``. Heads are longest
    paths, and where a claim ``{"node", "device", "time", "since", "weights", "port"}`` says more, it is tested: of the
    last c nodes before the node, what they have to run after ``since`` if the node starts any earlier than ``time``
    weighs more than what the devices, so weighted, can run (and what can reach the device, where links are exclusive).
    A schedule that ends by T has no start after T: of a claim beyond it, as much is tested as says that.
    Tails are the heads of the reversed graph. A device on which a node's head, time and tail add up to more than T
    is closed to its class in all further rounds. ``{"start", "end", "weights"}`` is an interval in which the work of
    the nodes, weighted at its least, is more than devices can run.
    """

    name = "windows"
    summary = "a makespan on links for which some node or interval has too little time"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the bound; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        refuse_others(problem)
        target = number(data, "target")
        count = number(data, "count")
        if target == 0:
            return 0.0  # no time is negative
        if count != int(count) or count > LARGEST_COUNT:
            raise Refused("the certificate's count is no whole number up to 10000")
        rounds = data.get("rounds")
        if not isinstance(rounds, list) or not rounds:
            raise Refused("the certificate has no rounds")
        forth = _arcs(problem)
        back = _turned(forth)
        time = running_times(problem, forth.group)
        proved = target * (1 - ROUNDING * (1 + problem.graph.n / 1e3))
        for given in rounds:
            if limits.remaining <= 0:
                raise UsageError("the time was not enough to check the certificate")
            if not isinstance(given, Mapping):
                raise Refused("a round of the certificate is no object")
            head, tail = (
                _side(problem, arcs, time, int(count), given.get(key), target)
                for arcs, key in ((forth, "heads"), (back, "tails"))
            )
            late = np.zeros(time.shape, np.bool_)
            np.logical_or.at(late, forth.group, head + time + tail > target * (1 + NEARLY))
            time = np.where(late[forth.group], inf, time)
            if not np.isfinite(time).any(axis=1).all():
                return proved
        if _overloaded(problem, data.get("interval"), head, time, tail, target):
            return proved
        raise Refused("the certificate leaves every node a window and every interval room")


def refuse_others(problem: Problem) -> None:
    """Refuse what is not about the makespan of one sample on links, each node run once.

    Raises:
        Refused: it is about something else.
    """
    if problem.objective.quantity != "makespan" or problem.objective.batch is not None:
        raise Refused("certificates of windows are about the makespan of one sample")
    if not isinstance(problem.interconnect, Links):
        raise Refused("certificates of windows are about links")
    refuse_copies(problem)


def _arcs(problem: Problem) -> WindowArcs:
    graph, k = problem.graph, problem.k
    order = np.array(graph.topological_order)
    place = np.empty(graph.n, np.int64)
    place[order] = np.arange(graph.n)
    cost = np.zeros((graph.m, k, k))
    for e in range(graph.m):
        cost[e] = problem.transfers.of(e)
        np.fill_diagonal(cost[e], 0.0)
    group = colocation_class(problem)
    for e in range(graph.m):
        if group[graph.tails[e]] == group[graph.heads[e]]:
            cost[e] = np.where(np.eye(k, dtype=bool), 0.0, inf)
    return WindowArcs(
        order,
        place,
        np.searchsorted(np.sort(graph.heads), np.arange(graph.n + 1)),
        np.argsort(graph.heads, kind="stable"),
        np.searchsorted(np.sort(graph.tails), np.arange(graph.n + 1)),
        np.argsort(graph.tails, kind="stable"),
        np.array(graph.tails),
        np.array(graph.heads),
        cost,
        np.array(group, np.int64),
    )


def _turned(arcs: WindowArcs) -> WindowArcs:
    return WindowArcs(
        np.ascontiguousarray(arcs.order[::-1]),
        len(arcs.order) - 1 - arcs.place,
        arcs.from_at,
        arcs.out,
        arcs.into_at,
        arcs.into,
        arcs.target,
        arcs.source,
        np.ascontiguousarray(arcs.cost.transpose(0, 2, 1)),
        arcs.group,
    )


def running_times(problem: Problem, group: Ints) -> Floats:
    """Return [n, k] running times; ``inf`` where the class of a node cannot be."""
    time = np.array(problem.time)
    for d in range(problem.k):
        time[sorted(barred_nodes(problem, d)), d] = inf
    closed = np.zeros(time.shape, np.bool_)
    np.logical_or.at(closed, group, np.isinf(time))
    need = np.bincount(group, weights=problem.graph.memory, minlength=len(group))
    for constraint in problem.of(Memory):
        for d in range(problem.k) if constraint.devices is None else constraint.devices:
            device = problem.devices[d]
            if device.memory is not None:
                room = max(0.0, device.room - least_workspace(problem, d)) * (1 + TOLERANCE)
                closed[:, d] |= need * (1 - ROUNDING) > room * (1 + ROUNDING)
    allowed: Floats = np.where(closed[group], inf, time)
    return allowed


def _side(problem: Problem, arcs: WindowArcs, time: Floats, count: int, given: object, target: float) -> Floats:
    claims = _claims(problem, given)
    start = np.zeros(time.shape)
    exclusive = any(problem.of(ExclusiveLinks))
    run = HEADS.plain if len(claims.time) + len(arcs.source) <= MAX_INTERPRETED else HEADS.compiled()
    failed = run(arcs, time, claims, max(count, 1), exclusive, target * (1 + NEARLY), start)
    if failed >= 0:
        v, d = np.argwhere(claims.at == failed)[0]
        name, device = problem.graph.names[v], problem.devices[d].name
        raise Refused(
            f"the certificate says when {name!r} can start on {device!r} (or has to end), and does not prove it"
        )
    return start


def _claims(problem: Problem, given: object) -> Claims:
    graph, k = problem.graph, problem.k
    if not isinstance(given, list) or not all(isinstance(row, Mapping) for row in given):
        raise Refused("the heads or tails of the certificate are no list of objects")
    at = np.full((graph.n, k), -1, np.int64)
    weight = np.zeros((len(given), k + 1))
    for i, row in enumerate(given):
        node, device = row.get("node"), row.get("device")
        if not isinstance(node, str) or not isinstance(device, str):
            raise Refused("a claim of the certificate names no node or no device")
        if node not in graph.index or device not in problem.device_index:
            raise Refused(f"the certificate names {node!r:.40} on {device!r:.40}, which is no node or no device")
        if at[graph.index[node], problem.device_index[device]] >= 0:
            raise Refused(f"the certificate speaks of {node!r} on {device!r} twice")
        at[graph.index[node], problem.device_index[device]] = i
        weight[i, :k] = numbers_by_device(problem, row, "weights")
        weight[i, k] = number(row, "port")
    times = np.array([number(row, "time") for row in given], np.float64)
    since = np.array([number(row, "since") for row in given], np.float64)
    return Claims(at, times, since, weight)


def _overloaded(problem: Problem, given: object, head: Floats, time: Floats, tail: Floats, target: float) -> bool:
    """Whether the work that has to lie in an interval, weighted at its least, is more than devices can do."""
    if not isinstance(given, Mapping):
        return False
    since, until = number(given, "start"), number(given, "end")
    y = numbers_by_device(problem, given, "weights")
    if not since < until <= target * (1 + NEARLY):
        return False
    with np.errstate(invalid="ignore"):
        early, late = head + time - since, until - (target - tail - time)
        inside = np.maximum(0.0, np.minimum(np.minimum(time, until - since), np.minimum(early, late)))
        least = np.where(np.isfinite(time), y * inside, inf).min(axis=1)
    return bool(least.sum() > (until - since) * y.sum() * (1 + NEARLY) and y.sum() > 0)


def _heads(
    arcs: WindowArcs, time: Floats, claims: Claims, count: int, exclusive: bool, last: float, start: Floats
) -> int:
    """Write when nodes can start; return the number of the first claim that is not proved, -1 if all are.

    No node starts after *last*: claims beyond it are proved if nothing can start until then.
    """
    n, k = time.shape
    before = np.empty(count, np.int64)
    slot = np.full(n, -1, np.int64)
    path = np.empty((count, k))
    for v in arcs.order:
        # Longest paths: of every input the fastest way, of several inputs the latest.
        for d in range(k):
            start[v, d] = np.inf if time[v, d] == np.inf else 0.0
            for i in range(arcs.into_at[v], arcs.into_at[v + 1]):
                e = arcs.into[i]
                u = arcs.source[e]
                soonest = np.inf
                for x in range(k):
                    soonest = min(soonest, start[u, x] + time[u, x] + arcs.cost[e, x, d])
                start[v, d] = max(start[v, d], soonest)
        # Where a claim says more, test it.
        for d in range(k):
            c = claims.at[v, d]
            if c < 0 or claims.time[c] <= start[v, d] * (1 + NEARLY):
                continue
            # Collect up to so many nodes before v that a path leads from to v, the last first, and the least time of
            # such a path by their devices.
            goal = min(claims.time[c], last)
            slot[:] = -1
            slot[v] = count
            many = 0
            place = arcs.place[v] - 1
            while place >= 0 and many < count:
                w = arcs.order[place]
                place -= 1
                follows = False
                for x in range(k):
                    path[many, x] = np.inf if arcs.group[w] == arcs.group[v] and x != d else 0.0
                for i in range(arcs.from_at[w], arcs.from_at[w + 1]):
                    e = arcs.out[i]
                    h = arcs.target[e]
                    if slot[h] < 0:
                        continue
                    follows = True
                    for x in range(k):
                        way = arcs.cost[e, x, d]
                        if h != v:
                            way = np.inf
                            for z in range(k):
                                way = min(way, arcs.cost[e, x, z] + time[h, z] + path[slot[h], z])
                        path[many, x] = max(path[many, x], way)
                if follows:
                    slot[w] = many
                    before[many] = w
                    many += 1
            # What the devices, and the port, can do in one unit of time, weighted as the claim says.
            room = 0.0
            for x in range(k + 1):
                if x < k or exclusive:
                    room += claims.weight[c, x]
            # Suppose that v starts before the goal. Then each of these nodes is on a device from which the path fits,
            # and what it runs after the begin of the claim counts; the least over these devices is work in any case.
            work = 0.0
            for j in range(many):
                w = before[j]
                least = np.inf
                for x in range(k):
                    if not start[w, x] + time[w, x] + path[j, x] <= goal * (1 + NEARLY):
                        continue
                    part = min(time[w, x], max(0.0, start[w, x] + time[w, x] - claims.since[c]))
                    value = claims.weight[c, x] * part
                    for i in range(arcs.from_at[w], arcs.from_at[w + 1]):
                        e = arcs.out[i]
                        if exclusive and arcs.target[e] == v:
                            moved = start[w, x] + time[w, x] + arcs.cost[e, x, d] - claims.since[c]
                            value += claims.weight[c, k] * min(arcs.cost[e, x, d], max(0.0, moved))
                    least = min(least, value)
                work += least
            # The claim holds if that work does not fit between its begin and the goal.
            if work < np.inf:  # else some node has no device left
                proved = room > 0 and claims.since[c] < goal
                if not (proved and claims.since[c] + work / room >= goal):
                    return int(c)
            start[v, d] = claims.time[c]
    return -1


HEADS = Kernel(_heads)
