"""Requests to CP-SAT and its replies, in whole numbers, for a whole problem, a module or a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from mtpp_dsl.core.problem.graph import Ints

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

INF = 1 << 50
"""A duration, or the time of a transfer, that cannot be; every time that counts is far below."""

Status: TypeAlias = Literal["optimal", "feasible", "infeasible", "unknown"]
Term: TypeAlias = tuple[Literal["on", "start", "end", "makespan", "bottleneck", "load", "used"], int, int]
"""A decision: ("on", task, device), ("start", task, 0), ("end", task, 0), ("makespan", 0, 0), ("bottleneck", 0, 0),
("load", 0, device), ("used", 0, device)."""


class Busy(NamedTuple):
    """A reserved interval of a port: with exclusive links, it then carries a transfer that is not in the request.

    Attributes:
        port, device: the sending or the receiving end of a device.
        start, takes: when, and for how long.
        from_end: whether *start* counts back from the makespan, and moves with it.
    """

    port: Literal["out", "in"]
    device: int
    start: int
    takes: int
    from_end: bool


class Convex(NamedTuple):
    """Devices whose tasks no path of some edges may leave and enter again.

    Attributes:
        tails, heads: of the edges.
        devices: the devices.
    """

    tails: Ints
    heads: Ints
    devices: tuple[int, ...]


@dataclass(frozen=True)
class DecisionRow:
    """``lower <= sum(coefficient * decision) <= upper``; None for no limit on that side."""

    terms: tuple[tuple[Term, int], ...]
    lower: int | None
    upper: int | None


@dataclass(frozen=True, eq=False)
class Solution:
    """Where and when every task runs.

    Attributes:
        device, start: [n].
        sent: [m] start of the transfer of every edge; of use only where links are exclusive and the edge leaves its
            device.
    """

    device: Ints
    start: Ints
    sent: Ints


@dataclass(frozen=True, eq=False)
class Request:
    """Tasks to be placed on devices and timed, so that the last ends as early as possible; see :func:`request`.

    Attributes:
        duration: [n, k] of every task on every device; ``INF`` where it may not run.
        tails, heads: [m] of the edges.
        row, table: [m], [rows, k, k]: a transfer of edge e from d to f takes ``table[row[e], d, f]``; ``INF``
        without a
            path, zero within a device.
        exclusive: whether transfers that leave one device, or reach one, must not overlap; those of no time may.
        cutoff: solutions have to end by then; everything is pruned by it.
        at_least: a lower bound on the makespan.
        size, capacity: [n], [k]: memory of tasks and of devices.
        together: [n] colocation class of every task; tasks of a class share a device.
        apart: conflict sets: lists of tasks of which no two may share a device.
        head: [n, k] the earliest start of a task on a device.
        tail: [n, k] the least time from its end to the makespan.
        latest: [n] its latest start.
        sequences: lists of tasks that run one after another, whatever devices they are on.
        rows: labelled constraints.
        orders: for each of these lists of edges (tails, heads), the devices stand in an order in which each of its
            edges stays on its device or leads to a later one.
        convex: devices whose tasks must be convex.
        busy: intervals that are reserved on ports.
        hint: where the search looks first; need not be feasible.
    """

    duration: Ints
    tails: Ints
    heads: Ints
    row: Ints
    table: Ints
    exclusive: bool
    cutoff: int
    at_least: int
    size: Ints
    capacity: Ints
    together: Ints
    apart: tuple[tuple[int, ...], ...]
    head: Ints
    tail: Ints
    latest: Ints
    sequences: tuple[tuple[int, ...], ...]
    rows: tuple[DecisionRow, ...]
    orders: tuple[tuple[Ints, Ints], ...]
    convex: tuple[Convex, ...]
    busy: tuple[Busy, ...]
    hint: Solution | None

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.duration)

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.tails)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.duration.shape[1])


def request(
    duration: Ints,
    tails: Ints,
    heads: Ints,
    row: Ints,
    table: Ints,
    *,
    cutoff: int,
    exclusive: bool = False,
    at_least: int = 0,
    size: Ints | None = None,
    capacity: Ints | None = None,
    together: Ints | None = None,
    apart: tuple[tuple[int, ...], ...] = (),
    head: Ints | None = None,
    tail: Ints | None = None,
    latest: Ints | None = None,
    sequences: tuple[tuple[int, ...], ...] = (),
    rows: tuple[DecisionRow, ...] = (),
    orders: tuple[tuple[Ints, Ints], ...] = (),
    convex: tuple[Convex, ...] = (),
    busy: tuple[Busy, ...] = (),
    hint: Solution | None = None,
) -> Request:
    """Return a request; parts that are not given constrain nothing. See :class:`Request`."""
    n, k = duration.shape
    return Request(
        duration=np.minimum(duration, INF),
        tails=tails,
        heads=heads,
        row=row,
        table=np.minimum(table, INF),
        exclusive=exclusive,
        cutoff=cutoff,
        at_least=at_least,
        size=np.zeros(n, np.int64) if size is None else size,
        capacity=np.full(k, INF) if capacity is None else capacity,
        together=np.arange(n) if together is None else together,
        apart=apart,
        head=np.zeros((n, k), np.int64) if head is None else head,
        tail=np.zeros((n, k), np.int64) if tail is None else tail,
        latest=np.full(n, INF) if latest is None else latest,
        sequences=sequences,
        rows=rows,
        orders=orders,
        convex=convex,
        busy=busy,
        hint=hint,
    )


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes:
        seconds: ``inf`` for no limit.
        threads: of CP-SAT; 0 for one per core.
        seed: of everything random.
        gap: stop when ``(value - bound) / value`` is at most this.
        options: parameters of CP-SAT by name.
    """

    seconds: float = float("inf")
    threads: int = 1
    seed: int = 0
    gap: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)


class CpSatRequest(Protocol[S_co]):
    """What all kinds of requests share; ``S_co`` is the type of their solutions.

    Attributes:
        cutoff: solutions have to end by then.
        at_least: a lower bound on the makespan.
        hint: where the search looks first.
    """

    @property
    def cutoff(self) -> int:
        """Return the whole time by which the answer has to end."""

    @property
    def at_least(self) -> int:
        """Return the whole time before which no answer can end."""

    @property
    def hint(self) -> S_co | None:
        """Return the solution to look at first, or None."""


@dataclass(frozen=True, eq=False)
class Reply(Generic[S]):
    """What CP-SAT returns.

    Attributes:
        status: "optimal" within the gap asked for; "infeasible": no solution ends within the cutoff.
        value: the makespan of the best solution; None without one.
        bound: no solution has a smaller makespan; one more than the cutoff if none ends within it.
        solution: the best; None without one.
        seconds: spent in the process.
    """

    status: Status
    value: int | None
    bound: int
    solution: S | None
    seconds: float = 0.0


Answer: TypeAlias = Reply[Solution]
"""The answer to a :class:`Request`."""
