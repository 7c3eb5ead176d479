"""Heads and tails of nodes on links, narrowed by a target until it is refuted or nothing more follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import (
    EARLIEST,
    PATHS,
    DirectedNet,
    class_time,
    joining_steps,
    net_of,
    nodes_at_once,
    reversed_net,
)

__all__ = ["Refutation", "Tightening", "WindowSide"]

MAX_ROUNDS = 20
SLOWEST = 0.05
"""A round that closes a smaller share of what was open is the last, where nodes before others count."""
NEARLY = 1e-12
TUNINGS = 12
CELLS = 5e7
"""Steps that a look at intervals may take, about."""
MAX_ENDS = 24


class TimeUp(Exception):
    """Time is up."""


@dataclass(frozen=True, eq=False)
class WindowSide:
    """When nodes can start at the earliest, or by how much they have to end before the makespan.

    Attributes:
        times: [n, k].
        since, weight: of :func:`mtpp_dsl.solvers.algorithms.windows.earliest_starts.earliest`; nan where a path is
        behind a time.
            Of a node that can never start, 0.0 and no weights.
    """

    times: Floats
    since: Floats
    weight: Floats

    def claims(self, problem: Problem, target: float) -> list[dict[str, Any]]:
        """Return what no longest path explains, for a certificate that refutes *target*: later is as good as never."""
        names, devices = problem.graph.names, [device.name for device in problem.devices]
        rows = []
        for v, d in np.argwhere(~np.isnan(self.since)).tolist():
            weights = self.weight[v, d]
            rows.append(
                {
                    "node": names[v],
                    "device": devices[d],
                    "time": min(float(self.times[v, d]), 2 * target),
                    "since": float(self.since[v, d]),
                    "weights": {name: y for name, y in zip(devices, weights[:-1].tolist(), strict=True) if y > 0},
                    "port": float(weights[-1]),
                }
            )
        return rows


@dataclass(frozen=True)
class Refutation:
    """Why no schedule ends by a target: the rounds in which windows shrank, and an interval that is too full.

    Attributes:
        target: the makespan.
        count: how many nodes count where edges meet.
        rounds: heads and tails, each with what the rounds before left open.
        interval: start, end, and weights of the devices; None where a node has no window left.
    """

    target: float
    count: int
    rounds: tuple[tuple[WindowSide, WindowSide], ...]
    interval: tuple[float, float, Floats] | None

    def data(self, problem: Problem) -> dict[str, Any]:
        """Return the data of a certificate ``windows``."""
        interval = None
        if self.interval is not None:
            names = [device.name for device in problem.devices]
            since, until, y = self.interval
            weights = {name: w for name, w in zip(names, y.tolist(), strict=True) if w > 0}
            interval = {"start": since, "end": until, "weights": weights}
        return {
            "target": self.target,
            "count": self.count,
            "rounds": [
                {"heads": a.claims(problem, self.target), "tails": b.claims(problem, self.target)}
                for a, b in self.rounds
            ],
            "interval": interval,
        }


class Tightening:
    """Looks for makespans that no schedule of a problem on links keeps to.

    Args:
        problem: on links, with a makespan to minimise.
        most: how many nodes count where edges meet; 0 for paths alone.
        say: told when code has to be compiled.
        stopped: whether to give up.
    """

    def __init__(
        self, problem: Problem, most: int, say: Callable[[str], None], stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._problem, self._most, self._say, self._stopped = problem, most, say, stopped
        self.net = net_of(problem)
        self.back = reversed_net(self.net)
        self.time = class_time(problem)
        self._classes = int(self.net.group.max(initial=-1)) + 1

    def side(self, net: DirectedNet, time: Floats) -> WindowSide:
        """Return the heads of all nodes; of the reversed net, their tails.

        Raises:
            TimeUp: when asked to stop.
        """
        n, k = time.shape
        behind = (n, k) if self._most else (0, 0)
        side = WindowSide(np.zeros((n, k)), np.full(behind, np.nan), np.zeros((*behind, k + 1)))
        steps = joining_steps(net, k, self._most) if self._most else len(net.tail) * k * k
        kernel = EARLIEST if self._most else PATHS
        run: Any = kernel.pick(steps, self._say)
        behind_each = (self._most, side.times, side.since, side.weight) if self._most else (side.times,)
        step = nodes_at_once(kernel, n, self._most, steps)
        for first in range(0, n, step):
            if self._stopped():
                raise TimeUp
            run(net, time, first, min(n, first + step), *behind_each)
        if self._most:  # a node that may be there, and can never start
            side.since[np.isinf(side.times) & np.isfinite(time) & np.isnan(side.since)] = 0.0
        return side

    def longest(self, head: Floats, tail: Floats, time: Floats) -> Floats:
        """Return [classes, k] the least makespan with a class on each device."""
        through = np.zeros((self._classes, time.shape[1]))
        np.maximum.at(through, self.net.group, head + time + tail)
        return through

    def first(self, margin: float) -> Refutation:
        """Return why no schedule ends by the longest path that there is, less the share *margin*; ``inf``: at all.

        Raises:
            TimeUp: when asked to stop.
        """
        head, tail = self.side(self.net, self.time), self.side(self.back, self.time)
        path = float(self.longest(head.times, tail.times, self.time).min(axis=1).max(initial=0.0))
        return Refutation(path * (1 - margin), self._most, (self._claimed(head, tail),), None)

    def _claimed(self, head: WindowSide, tail: WindowSide) -> tuple[WindowSide, WindowSide]:
        """Return what a certificate needs of a round: of longest paths nothing, which are found again without it."""
        if self._most:
            return head, tail
        nothing = np.zeros((0, 0))
        return (WindowSide(nothing, head.since, head.weight), WindowSide(nothing, tail.since, tail.weight))

    def refuted(self, target: float, *, intervals: bool) -> Refutation | None:
        """Return why no schedule ends by *target*, or None where nothing says so.

        Raises:
            TimeUp: when asked to stop.
        """
        time, rounds = self.time, list[tuple[WindowSide, WindowSide]]()
        for _ in range(MAX_ROUNDS):
            head, tail = self.side(self.net, time), self.side(self.back, time)
            rounds.append(self._claimed(head, tail))
            late = self.longest(head.times, tail.times, time) > target * (1 + NEARLY)
            if late.all(axis=1).any():
                return Refutation(target, self._most, tuple(rounds), None)
            narrower = np.where(late[self.net.group], inf, time)
            if intervals:
                interval = self._interval(target, head.times, narrower, tail.times)
                if interval is not None:
                    return Refutation(target, self._most, tuple(rounds), interval)
            closed = np.isfinite(time).sum() - np.isfinite(narrower).sum()
            if closed <= (SLOWEST if self._most else 0.0) * np.isfinite(time).sum():
                return None
            time = narrower
        return None

    def _interval(self, target: float, head: Floats, time: Floats, tail: Floats) -> tuple[float, float, Floats] | None:
        """Return start, end and weights of the interval that is fullest, if more has to run in it than can.

        Raises:
            TimeUp: when asked to stop.
        """
        n, k = time.shape
        open_ = np.isfinite(time)
        ends = int(min(MAX_ENDS, max(1.0, np.sqrt(CELLS / (n * k * (k + TUNINGS))))))
        since = _spread(np.where(open_, head, inf).min(axis=1), ends)
        until = _spread(np.where(open_, target - tail, -inf).max(axis=1), ends)
        pair = n * k * (k + TUNINGS)
        run = OVERLOAD.pick(len(since) * len(until) * pair, self._say)
        fullest, interval = 0.0, np.zeros(2 + k)
        for starts, stops in _portions(since, until, max(1, OVERLOAD.portion(len(since) * len(until) * pair) // pair)):
            if self._stopped():
                raise TimeUp
            within = np.zeros(2 + k)
            share = run(head, time, tail, target, starts, stops, TUNINGS, within)
            if share > fullest:
                fullest, interval = share, within
        return (float(interval[0]), float(interval[1]), interval[2:]) if fullest > 1 + NEARLY else None


def _portions(since: Floats, until: Floats, pairs: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield starts and ends whose pairs are all pairs in turn, about so many *pairs* at once."""
    rows, columns = max(1, pairs // max(1, len(until))), min(len(until), pairs)
    for i in range(0, len(since), rows):
        for j in range(0, len(until), columns):
            yield since[i : i + rows], until[j : j + columns]


def _spread(values: Floats, count: int) -> Floats:
    """Return up to *count* of the values, spread over all of them, the first and the last among them."""
    distinct = np.unique(values)
    places: Ints = np.unique(np.linspace(0, len(distinct) - 1, count).astype(np.int64))
    return distinct[places]


# Intervals in which more has to run than the devices can (Fernandez and Bussell 1973), on devices that differ.

STEPS_A_SECOND = 1e6


def overload(
    head: Floats,
    time: Floats,
    tail: Floats,
    target: float,
    since: Floats,
    until: Floats,
    tunings: int,
    interval: Floats,
) -> float:
    """Look for an interval [s, u] and weights y of devices that show that no schedule ends by *target*.

    Node v on device d runs within [head, target - tail]; of its time at least
    ``m[v, d] = min(time, u - s, head + time - s, u - (target - tail - time))`` lies in [s, u], if that is positive.
    No schedule ends by the target if ``sum over v of min over d of y[d] m[v, d] > (u - s) sum y``.

    Args:
        head: [n, k] before which no node starts.
        time: [n, k]; ``inf`` where a node may not be, and where it would be too late.
        tail: [n, k] how long before the end every node ends.
        target: the makespan to be refuted.
        since: where intervals begin.
        until: where they end; all pairs with s < u are looked at.
        tunings: how often weights are changed for each interval, after every device alone and all of them.
        interval: [2 + k] written: s, u and y of the interval that is fullest.

    Returns:
        The largest ``sum over v / ((u - s) sum y)`` met; more than 1 refutes the target.
    """
    n, k = time.shape
    part = np.empty((n, k))
    load = np.empty(k)
    y = np.empty(k)
    best = 0.0
    for s in since:
        for u in until:
            if not s < u:
                continue
            # How long each node runs inside the interval at the least, on each device.
            for v in range(n):
                for d in range(k):
                    part[v, d] = np.inf
                    if time[v, d] < np.inf:
                        early = head[v, d] + time[v, d] - s
                        late = u - (target - tail[v, d] - time[v, d])
                        part[v, d] = max(0.0, min(min(time[v, d], u - s), min(early, late)))
            for trial in range(k + tunings):
                # Weights: each device alone, then all of them, tuned by multiplicative weights: a device that is more
                # loaded than the interval is long gets more.
                if trial < k:
                    y[:] = 0.0
                    y[trial] = 1.0
                elif trial == k:
                    y[:] = 1.0 / k
                else:
                    total = 0.0
                    for d in range(k):
                        y[d] *= np.exp(min(max(load[d] / (u - s) - 1.0, -1.0), 1.0) / (1.0 + 0.2 * (trial - k)))
                        total += y[d]
                    for d in range(k):
                        y[d] /= total
                # Every node goes where its weighted time is least: no schedule does less weighted work inside.
                load[:] = 0.0
                work = 0.0
                for v in range(n):
                    lowest, chosen = np.inf, -1
                    for d in range(k):
                        if part[v, d] < np.inf:
                            value = y[d] * part[v, d]
                            if value < lowest:
                                lowest, chosen = value, d
                    if chosen >= 0:
                        load[chosen] += part[v, chosen]
                        work += lowest
                total = 0.0
                for d in range(k):
                    total += y[d]
                # The share of what the devices can do in the interval; above 1 it refutes the target.
                share = work / ((u - s) * total)
                if share > best:
                    best = share
                    interval[0] = s
                    interval[1] = u
                    interval[2:] = y
    return best


OVERLOAD = Kernel(overload, STEPS_A_SECOND)
