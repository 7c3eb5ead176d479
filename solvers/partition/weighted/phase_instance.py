"""A problem with phases as compiled annealing reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Decision,
    Largest,
    Latency,
    Linear,
    Load,
    Penalties,
    Used,
    decisions_in,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.colocation import ordered_edges
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.weighted.phase_moves import PhaseCosts, PhaseState

Terms = Iterable[tuple[Decision, float]]


class _Columns:
    """The columns of what is asked of phases, in the order of :class:`PhaseCosts`."""

    def __init__(self, problem: Problem) -> None:
        linear = problem.objective.is_linear or bool(problem.soft_rows)
        self.goal, self.constant = problem.objective.cost_terms if linear else (((Bottleneck(), 1.0),), 0.0)
        self.rows = [*problem.soft_rows, *problem.hard_rows]
        spoken = [x for terms in (self.goal, *(row.terms for row in self.rows)) for x in decisions_in(terms)]
        timed = [x.phase for x in spoken if isinstance(x, (Bottleneck, Latency, Load))]
        self.phases: list[str | None] = list(dict.fromkeys(timed)) or [None]
        self.k = problem.k
        self.maxima: list[Largest] = []
        for one in spoken:
            self._inner_first(one)
        p = len(self.phases)
        self.largest = 2 * p + p * self.k + self.k
        self.count = self.largest + len(self.maxima) + 1

    def _inner_first(self, decision: Decision) -> None:
        if isinstance(decision, Largest) and decision not in self.maxima:
            for terms, _ in decision.sums:
                for inner, _ in terms:
                    self._inner_first(inner)
            self.maxima.append(decision)

    def of(self, terms: Terms) -> Floats:
        """Return [columns] the coefficients of a sum.

        Raises:
            Refused: it speaks of what is no column.
        """
        sums = np.zeros(self.count)
        p = len(self.phases)
        for decision, a in terms:
            match decision:
                case Bottleneck(phase):
                    sums[self.phases.index(phase)] += a
                case Latency(phase):
                    sums[p + self.phases.index(phase)] += a
                case Load(d, phase):
                    sums[2 * p + self.phases.index(phase) * self.k + d] += a
                case Used(d):
                    sums[2 * p + p * self.k + d] += a
                case Largest():
                    sums[self.largest + self.maxima.index(decision)] += a
                case Penalties():
                    sums[-1] += a
                case _:
                    raise Refused(f"annealing over phases has no {type(decision).__name__.lower()}")
        return sums


def phase_costs(problem: Problem, of: Ints) -> PhaseCosts:
    """Return what splits of *problem* cost.

    Of a tensor whose edges carry different sizes the largest counts.

    Args:
        problem: a split with phases.
        of: [n] the supernode of each node.

    Raises:
        Refused: it asks for what is not of loads, devices that are used, or maxima.
    """
    graph, k = problem.graph, problem.k
    columns = _Columns(problem)
    n = int(of.max(initial=-1)) + 1
    problems = [problem if name is None else problem.phase(name) for name in columns.phases]
    allowed = np.ones((n, k), np.bool_)
    np.logical_and.at(allowed, of, problem.allowed)
    finite = [np.where(np.isfinite(one.time), one.time, 0.0) for one in problems]
    large = 1e3 * (sum(float(time.max(axis=1, initial=0.0).sum()) for time in finite) or 1.0)
    time = np.zeros((len(problems), n, k))
    for p, one in enumerate(problems):
        np.add.at(time[p], of, np.where(problem.allowed, one.time, large))
    memory = np.bincount(of, graph.memory, n).astype(np.float64)
    tails, heads = of[graph.tails], of[graph.heads]
    outside = np.flatnonzero(tails != heads)
    source, place = np.unique(graph.tails[outside], return_inverse=True)
    readers: list[set[int]] = [set() for _ in source]
    for t, v in zip(place.tolist(), heads[outside].tolist(), strict=True):
        readers[t].add(v)
    touched: list[list[int]] = [[] for _ in range(n)]
    for t, u in enumerate(of[source].tolist()):
        for v in {u, *readers[t]}:
            touched[v].append(t)
    first, tensor = _compressed(touched)
    arcs: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for some, others in ordered_edges(problem):
        for a, b in sorted(set(zip(of[some].tolist(), of[others].tolist(), strict=True))):
            if a != b:
                arcs[a].append((b, True))
                arcs[b].append((a, False))
    typical = float(time.min(axis=2, initial=large).sum()) / k or 1.0
    flat = [(number, *one) for number, largest in enumerate(columns.maxima) for one in largest.sums]
    rows = columns.rows
    return PhaseCosts(
        time=time,
        allowed=allowed,
        memory=memory,
        room=np.asarray(problem.memory_room, np.float64),
        first=first,
        tensor=tensor,
        producer=of[source].astype(np.int64),
        arcs=_compressed(arcs)[0],
        arc=np.array([end for ends in arcs for end, _ in ends], np.int64),
        outward=np.array([out for ends in arcs for _, out in ends], np.bool_),
        part=np.array([number for number, _, _ in flat], np.int64),
        whole=np.array([columns.of(terms) for _, terms, _ in flat]).reshape(len(flat), columns.count),
        fixed=np.array([constant for _, _, constant in flat], np.float64),
        row=np.array([columns.of(row.terms) for row in rows]).reshape(len(rows), columns.count),
        low=np.array([-np.inf if row.sense == "<=" else row.rhs for row in rows], np.float64),
        high=np.array([np.inf if row.sense == ">=" else row.rhs for row in rows], np.float64),
        price=np.array([row.penalty or 0.0 for row in rows], np.float64),
        unit=np.array([_unit(row, typical) for row in rows], np.float64),
        goal=columns.of(columns.goal),
        constant=float(columns.constant),
        **_network(problem, problems, source, outside, place, large),
    )


def _network(
    problem: Problem, problems: Sequence[Problem], source: Ints, outside: Ints, place: Ints, large: float
) -> dict[str, Any]:
    """Return what tensors take, on whatever joins the devices."""
    k = problem.k
    nothing = np.zeros((k, k))
    if not problem.networked:
        link = problem.channel
        pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices], np.float64)
        return {
            "size": np.array([one.tensor_time[source] for one in problems]),
            "sending": nothing,
            "sent": np.repeat(pays[:, None], k, axis=1),
            "receiving": nothing,
            "received": np.repeat(pays[None], k, axis=0),
            "waiting": nothing,
            "carried": nothing,
            "route": np.zeros(k * k + 1, np.int64),
            "channel": np.zeros(0, np.int64),
            "inverse": np.zeros(0),
            "mode": np.zeros(k, np.int64),
            "serial": 0,
            "summed": 1,
        }
    net = problem.network
    size = np.zeros((len(problems), len(source)))
    for p, one in enumerate(problems):
        np.maximum.at(size[p], place, one.graph.sizes[outside])
    route, channel = _compressed([list(net.route[d][e]) if d != e else [] for d in range(k) for e in range(k)])
    reached = (net.rate > 0) | np.eye(k, dtype=np.bool_)

    def within(values: Floats) -> Floats:
        return np.asarray(np.where(reached & np.isfinite(values), values, 0.0), np.float64)

    with np.errstate(divide="ignore"):
        carried = within(1 / net.rate)
    return {
        "size": size,
        "sending": np.where(reached, within(net.out_delay), large),
        "sent": within(net.out_inverse),
        "receiving": np.where(reached, within(net.in_delay), large),
        "received": within(net.in_inverse),
        "waiting": np.where(reached, within(net.latency), large),
        "carried": carried,
        "route": route,
        "channel": channel,
        "inverse": np.asarray(1 / net.bandwidth, np.float64),
        "mode": np.full(k, int(net.overlap == "full"), np.int64),
        "serial": int(net.send == "each"),
        "summed": 0,
    }


def _unit(row: Linear, load: float) -> float:
    """Return by what a violation of *row* is measured: its largest number, with loads of about *load*."""
    return max([abs(row.rhs), *(abs(a) * (1.0 if isinstance(x, Used) else load) for x, a in row.terms)]) or 1.0


def _compressed(rows: Sequence[Sequence[object]]) -> tuple[Ints, Ints]:
    """Return row pointers, and all rows in one, where they are of numbers."""
    at = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = [x for row in rows for x in row if isinstance(x, int)]
    return at, np.array(flat, np.int64)


def phase_state(costs: PhaseCosts, device: Ints, place: Ints) -> PhaseState:
    """Return a split with its sums."""
    phases, n, k = costs.time.shape
    tensors, channels = len(costs.producer), len(costs.inverse)
    readers = np.zeros((tensors, k), np.int64)
    owner = np.repeat(np.arange(n), np.diff(costs.first))
    reads = costs.producer[costs.tensor] != owner
    np.add.at(readers, (costs.tensor[reads], device[owner[reads]]), 1)
    work, out, into = (np.zeros((phases, k)) for _ in range(3))
    freight, busy = np.zeros(phases), np.zeros((phases, channels))
    for p in range(phases):
        work[p] = np.bincount(device, costs.time[p, np.arange(n), device], k)
    for t in range(tensors):
        d, size = int(device[costs.producer[t]]), costs.size[:, t]
        there = [e for e in np.flatnonzero(readers[t]).tolist() if e != d]
        if not there:
            continue
        sent = costs.sending[d, there][None] + size[:, None] * costs.sent[d, there][None]
        out[:, d] += sent.sum(axis=1) if costs.serial else sent.max(axis=1)
        passed: list[int] = []
        for e in there:
            into[:, e] += costs.receiving[d, e] + size * costs.received[d, e]
            freight += costs.waiting[d, e] + size * costs.carried[d, e]
            passed += costs.channel[costs.route[d * k + e] : costs.route[d * k + e + 1]].tolist()
        for c in passed if costs.serial else set(passed):
            busy[:, c] += size * costs.inverse[c]
    return PhaseState(
        device=np.array(device, np.int64),
        place=np.array(place, np.int64),
        readers=readers,
        work=work,
        out=out,
        into=into,
        freight=freight,
        busy=busy,
        used=np.bincount(device, costs.memory, k).astype(np.float64),
        occupied=np.bincount(device, minlength=k).astype(np.int64),
        seen=np.zeros(max(1, channels), np.int64),
        values=np.zeros(len(costs.goal)),
    )
