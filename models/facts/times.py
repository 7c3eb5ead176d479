"""Derive what is true of the times in every schedule on links: heads, tails, and how long it need be at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, Finish, Linear, Load, Makespan, On, Separate, Start
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph

END = -1
"""Stands for the makespan among the nodes."""


@dataclass(frozen=True)
class _RowSide:
    """A labelled constraint as ``sum(times[v] * start(v)) + sum(rest) <= high``; node -1 is the makespan.

    The durations of nodes whose finish it names are among the rest, with :class:`Finish` for their decision.
    """

    times: dict[int, float]
    rest: tuple[tuple[Decision, float], ...]
    high: float


@dataclass(frozen=True)
class Lag:
    """``start(after) >= start(before) + by``; ``before`` None: after the beginning, -1: after the end of all."""

    after: int
    before: int | None
    by: float


def sides(constraint: Linear) -> Iterator[_RowSide]:
    """Yield *constraint* as one or two upper bounds."""
    for sign, other in ((1.0, ">="), (-1.0, "<=")):
        if constraint.sense == other:
            continue
        times: dict[int, float] = {}
        rest: list[tuple[Decision, float]] = []
        for decision, a in constraint.terms:
            if isinstance(decision, (Start, Finish, Makespan)):
                v = END if isinstance(decision, Makespan) else decision.node
                times[v] = times.get(v, 0.0) + sign * a
            if not isinstance(decision, (Start, Makespan)):
                rest.append((decision, sign * a))
        yield _RowSide({v: a for v, a in times.items() if a}, tuple(rest), sign * constraint.rhs)


def without_horizon(constraint: Linear) -> str | None:
    """Return why *constraint* leaves no bound on how long schedules have to be, or None.

    A side whose times all have coefficients above zero is kept by the earliest schedule, if by any; one that says how
    long after another, or after the beginning, a node starts has a lag that can be added up.
    """
    for side in sides(constraint):
        late = [v for v, a in side.times.items() if a < 0]
        early = {a for a in side.times.values() if a > 0}
        if END in late:
            return "asks for a long makespan, which is minimised"
        if len(late) > 1 or (late and (len(side.times) > 2 or not early <= {-side.times[late[0]]})):
            return (
                "asks for late times of several nodes together; only differences of two, with one coefficient, "
                "leave a bound on how long a schedule has to be"
            )
    return None


def lags(problem: Problem, value: Callable[[Decision], float]) -> list[Lag]:
    """Return the lags that the labelled constraints ask for, given what the decisions other than times are.

    Args:
        problem: of whose constraints :func:`without_horizon` has nothing to say.
        value: of ``on``, ``load`` and ``bottleneck``, and for ``finish(v)`` the duration of v.
    """
    least = []
    for side in (side for constraint in problem.hard_rows for side in sides(constraint)):
        late = next((v for v, a in side.times.items() if a < 0), None)
        if late is not None:
            before = next((v for v, a in side.times.items() if a > 0), None)
            rest = sum(a * value(decision) for decision, a in side.rest)
            least.append(Lag(late, before, (rest - side.high) / -side.times[late]))
    return least


def _longest_lags(problem: Problem) -> float:
    """Return what the lags of the labelled constraints add up to at most."""
    times = [float(row[row < float("inf")].max(initial=0.0)) for row in problem.time]
    work = sum(times)

    def most(decisions: Sequence[tuple[Decision, float]]) -> float:
        sizes = {On: 1.0, Load: work, Bottleneck: work}
        return sum(abs(a) * (times[x.node] if isinstance(x, Finish) else sizes.get(type(x), 0.0)) for x, a in decisions)

    total = 0.0
    for side in (side for constraint in problem.hard_rows for side in sides(constraint)):
        late = [a for a in side.times.values() if a < 0]
        total += sum((abs(side.high) + most(side.rest)) / -a for a in late)
    return total


BELOW = 1 - 1e-9
"""Heads and tails are sums of floats: taken off, so that no window is too narrow."""

ABOVE = 1 + 1e-6
"""Schedules that are longer than the one known by no more than this share stay in: a solver's tolerance is less."""


@dataclass(frozen=True, eq=False)
class LinkTimes:
    """Times of the nodes and edges of a problem on links, in the unit of a model.

    Attributes:
        most: no schedule of interest is longer.
        time: [n, k] of every node on every device; ``inf`` where it is not in such a schedule.
        carry: [m, k, k] of every edge's transfer between every two devices; 0 within one, ``inf`` where it cannot go.
        head: [n, k] no such schedule starts a node earlier there.
        tail: [n, k] none ends sooner after the node has ended there.
    """

    most: float
    time: Floats
    carry: Floats
    head: Floats
    tail: Floats

    @property
    def may(self) -> Bools:
        """[n, k] where each node may be."""
        may: Bools = np.isfinite(self.time)
        return may

    @property
    def windows(self) -> tuple[Floats, Floats]:
        """[n] the earliest start and the latest end of each node; ``inf`` and ``-inf`` of one that may be nowhere."""
        return self.head.min(axis=1), self.most - self.tail.min(axis=1)

    @property
    def on_the_way(self) -> tuple[Floats, Floats]:
        """[n] when what a node makes can leave at the earliest, and when what it reads has to be there."""
        return (self.head + self.time).min(axis=1), self.most - (self.time + self.tail).min(axis=1)

    def crossing(self, e: int, tail: int, head: int) -> Bools:
        """Return [k, k] between which devices edge *e*, from node *tail* to *head*, may go."""
        may = self.may
        length = self.head[tail][:, None] + self.time[tail][:, None] + self.carry[e]
        fits = length + self.time[head] + self.tail[head] <= self.most
        both: Bools = fits & may[tail][:, None] & may[head]
        return both


def carries(problem: Problem, home: Ints, inputs: int = 1) -> Floats:
    """Return [m, k, k] what edges take; within a class of *home* ([n]) they cannot leave a device.

    All but the latency grows with the *inputs*.
    """
    transfers, graph = problem.transfers, problem.graph
    sent = transfers.size[:, None, None] * transfers.inverse + transfers.table[transfers.row]
    times = transfers.latency + inputs * sent
    times[home[graph.tails] == home[graph.heads]] = np.inf
    times[:, np.arange(problem.k), np.arange(problem.k)] = 0.0
    carry: Floats = times
    return carry


def times_of(problem: Problem, view: Hypergraph, most: float, unit: float) -> LinkTimes:
    """Return the times of *problem*, of schedules no longer than *most*, divided by *unit*.

    ``head(v,d)`` is the longest path into v that ends on d, every node on it where that is best for the path, with the
    transfers between; ``tail(v,d)`` that out of it. A node is not on a device where both are too long together.

    Args:
        problem: on links.
        view: its classes; a node is allowed where its class is.
        most: in the problem's unit.
        unit: of the model.
    """
    graph = problem.graph
    time = np.where(view.allowed[view.of], problem.time, np.inf) / unit
    carry = carries(problem, view.of) / unit
    most = most * ABOVE / unit
    head, tail = heads_of(graph, time, carry), tails_of(graph, time, carry)
    time = np.where(head + time + tail <= most, time, np.inf)
    time[~view.every(np.isfinite(time))[view.of]] = np.inf
    return LinkTimes(
        most, time, carry, np.where(np.isfinite(time), head, np.inf), np.where(np.isfinite(time), tail, np.inf)
    )


def heads_of(graph: Graph, time: Floats, carry: Floats) -> Floats:
    """Return [n, k] how long the longest path into every node on every device is; see :func:`times_of`."""
    head = np.zeros_like(time)
    entering = graph.by_head
    for v in graph.topological_order.tolist():
        for e in entering[graph.offsets_in[v] : graph.offsets_in[v + 1]].tolist():
            u = int(graph.tails[e])
            arrives = ((head[u] + time[u])[:, None] + carry[e]).min(axis=0)
            head[v] = np.maximum(head[v], arrives * BELOW)
    return head


def tails_of(graph: Graph, time: Floats, carry: Floats) -> Floats:
    """Return [n, k] how long the longest path out of every node on every device is; see :func:`times_of`."""
    tail = np.zeros_like(time)
    for u in graph.topological_order[::-1].tolist():
        for e in range(int(graph.offsets[u]), int(graph.offsets[u + 1])):
            v = int(graph.heads[e])
            left = (carry[e] + (time[v] + tail[v])[None, :]).min(axis=1)
            tail[u] = np.maximum(tail[u], left * BELOW)
    return tail


def horizon(problem: Problem, *, free: bool = True) -> float:
    """Return what the least makespan is not above, if there is a schedule at all.

    Without labelled constraints: everything on one device that may have everything; else, and with them where
    :func:`mtpp_dsl.models.facts.times.without_horizon` has no objection, everything one after the other, each node and
    transfer at its longest, and every lag asked for. In the earliest schedule of a choice of devices and orders every
    start is the length of a path through different nodes, transfers and lags, so it is no later. That holds of any
    choice of devices, also of one that rows of somebody's own make, where it is not *free*.
    """
    graph = problem.graph
    with np.errstate(invalid="ignore"):
        longest = np.where(problem.allowed, problem.time, 0.0).max(axis=1, initial=0.0).sum()
    carry = carries(problem, np.arange(graph.n))
    total = float(longest + np.where(np.isfinite(carry), carry, 0.0).max(axis=(1, 2), initial=0.0).sum())
    total += _longest_lags(problem)
    fits = problem.holds_all
    free &= not any(len(set(apart.nodes)) > 1 for apart in problem.of(Separate)) and not any(problem.of(Linear))
    free &= problem.objective.quantity == "makespan"
    if free and fits.any():
        total = min(total, float(problem.time[:, fits].sum(axis=0).min()))
    return total * (1 + 1e-9)
