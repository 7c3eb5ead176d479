"""Solve phases of splits on networks: chains by walks over devices, others by each phase alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Bottleneck, Contiguous, Decision, InOrder, Largest, Latency
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.chains.least_walk import ChainWalk, least_walk
from mtpp_dsl.solvers.algorithms.homes.of_problem import chain_in_line, path_of
from mtpp_dsl.solvers.partition.ideals.ideals_search import IdealsSearch
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds

__all__ = ["PhasePartsRun", "places_in_chain"]

WIDTHS = (250, 4_000, 40_000)
"""So many beginnings of a chain are kept at each node, at first and then."""
DETAIL = (
    "every split of the chain costs this or more: a dynamic programme over its nodes, with the devices, loads and "
    "memory of the nodes before as labels; sums are rounded down"
)
MANY = "the chain has more than {most:,} undominated beginnings at a node: the plan is the best of those that were kept"


class PhasePartsRun(IdealsSearch):
    """Solves chains by a programme over their nodes, which proves its plans, with or without ``acyclic``.

    Of other graphs it solves each phase alone, and the weighted sum of all: the best of their plans, and the bound of
    all optima. So it does of chains with too many labels.
    """

    def _go(self) -> None:
        if not self._along_chain() and PhaseBounds.fits(self._original):
            bounds = PhaseBounds(self._original)
            self._infeasibility = bounds.take(self._methods, self._patience, self._progress, self._incumbent)

    def _along_chain(self) -> bool:
        """Solve a chain; return whether it is one, and nothing is left to do."""
        at = places_in_chain(self._original)
        walk = None if at is None else walk_of(self._original, at)
        if at is None or walk is None:
            return False
        for width in WIDTHS:
            walks = least_walk(walk, width, upper=self._incumbent.cost, pause=self._pause)
            for devices in walks.devices:
                if self._incumbent.take(Plan.create(self._original, devices[at])):
                    break
            if walks.lower == inf:
                self._no_plan("no split of the chain fits on the devices; all were tried")
                return True
            self._raise(min(walks.lower, self._incumbent.cost), DETAIL)
            if self._closed or walks.complete:
                return self._closed
        self._give_up(MANY.format(most=WIDTHS[-1]))
        return False


# State what is asked of the phases of a chain on links or a tree, as sums and slots of a walk over devices.

MAX_SIZE = 8_000_000
"""Of the tables of what tensors add to sums and slots, in numbers."""
MAX_DEVICES = 40
"""The devices in use are bits of one number."""

Terms = Iterable[tuple[Decision, float]]


def places_in_chain(problem: Problem) -> Ints | None:
    """Return [n] the place of each node in the chain that the graph is, where colocated nodes are one; None if none."""
    if (any(problem.of(InOrder)) and problem.line is None) or problem.k > MAX_DEVICES or problem.graph.backward.any():
        return None
    of = together(problem)
    tails, heads = of[problem.graph.tails], of[problem.graph.heads]
    crossing = tails != heads
    before = set(zip(tails[crossing].tolist(), heads[crossing].tolist(), strict=True))
    order = path_of(before, int(of.max(initial=-1)) + 1)
    return None if order is None else np.argsort(order)[of]


@dataclass(frozen=True)
class _Sum:
    """A sum of one of the sums of a walk, tops, and the largest of others."""

    constant: float
    number: int
    tops: tuple[tuple[float, int], ...]
    largest: tuple[tuple[float, tuple[_Sum, ...]], ...]

    def of(self, sums: Floats, tops: Floats) -> Floats:
        """Return [labels] its value, from [labels, sums] and [labels, tops]."""
        total: Floats = self.constant + sums[:, self.number]
        for a, top in self.tops:
            total = total + a * tops[:, top]
        for a, inner in self.largest:
            total = total + a * np.max([one.of(sums, tops) for one in inner], axis=0)
        return total


class _Asked:
    """The sums of latencies, and the bottlenecks, that an objective and rows are made of."""

    def __init__(self, problem: Problem) -> None:
        self.latencies: dict[tuple[tuple[str | None, float], ...], int] = {}
        self.phases: dict[str | None, int] = {}
        objective = problem.objective
        terms = objective.terms if objective.is_linear else ((Bottleneck(), 1.0),)
        self.objective = self._sum(terms, objective.constant if objective.is_linear else 0.0)
        self.rows = [(self._sum(row.terms, 0.0), row.rhs) for row in problem.hard_rows]

    def _sum(self, terms: Terms, constant: float) -> _Sum:
        weights: dict[str | None, float] = {}
        tops, largest = [], []
        terms = [(decision, a) for decision, a in terms if a > 0]
        for decision, a in terms:
            if isinstance(decision, Latency):
                weights[decision.phase] = weights.get(decision.phase, 0.0) + a
        number = self.latencies.setdefault(tuple(weights.items()), len(self.latencies))
        for decision, a in terms:
            if isinstance(decision, Bottleneck):
                tops.append((a, self.phases.setdefault(decision.phase, len(self.phases))))
            elif isinstance(decision, Largest):
                largest.append((a, tuple(self._sum(inner, more) for inner, more in decision.sums)))
        return _Sum(constant, number, tuple(tops), tuple(largest))

    def keeps(self, sums: Floats, tops: Floats) -> Bools:
        """Return [labels] whether the rows hold as the check of plans has it, with a little room for rounding."""
        fine = np.ones(len(sums), np.bool_)
        for row, most in self.rows:
            left = row.of(sums, tops)
            fine &= left <= most + 2 * TOLERANCE * np.maximum(abs(most), np.abs(left))
        return fine


class _Tensors:
    """What nodes and tensors of one phase, or of all together, take along the chain."""

    def __init__(self, problem: Problem, phase: str | None, at: Ints) -> None:
        alone = problem if phase is None else problem.phase(phase)
        graph, net, n, k = alone.graph, problem.network, int(at.max()) + 1, problem.k
        self.work = np.zeros((n, k))
        np.add.at(self.work, at, np.where(problem.allowed, alone.time, np.inf))
        crossing = np.flatnonzero(at[graph.tails] != at[graph.heads])
        tensor, place = np.unique(graph.tails[crossing], return_inverse=True)
        size = np.zeros(len(tensor))
        np.maximum.at(size, place, graph.sizes[crossing])
        self._at, self._size, self._n, self._k = at[tensor], size, n, k
        with np.errstate(divide="ignore"):
            inverse = np.where(net.rate > 0, 1.0 / net.rate, 0.0)
        self.shipped = self._total(net.latency, inverse)
        self.sent = self._total(net.out_delay, net.out_inverse)
        self.received = self._total(net.in_delay, net.in_inverse)
        self.carried = np.zeros(n - 1)
        np.add.at(self.carried, self._at, size)

    def _total(self, delay: Floats, inverse: Floats) -> Floats:
        """Return [n - 1, devices, devices] what the tensors after each place take, 0 within a device."""
        total = np.zeros((self._n - 1, self._k, self._k))
        np.add.at(total, self._at, delay + self._size[:, None, None] * inverse)
        total[:, range(self._k), range(self._k)] = 0.0
        return total


def walk_of(problem: Problem, at: Ints) -> ChainWalk | None:
    """Return the walk whose splits cost what the plans of *problem* cost; None where its tables would be too large.

    Args:
        problem: of which what is asked grows with latencies and bottlenecks alone.
        at: [n] the place of each node in the chain.
    """
    asked = _Asked(problem)
    tables = len(asked.latencies) + problem.k * (1 + 3 * len(asked.phases))
    if (int(at.max()) + 1) * problem.k**2 * tables > MAX_SIZE:
        return None
    phases = {phase for weights in asked.latencies for phase, _ in weights} | set(asked.phases)
    tensors = {phase: _Tensors(problem, phase, at) for phase in phases or {None}}
    some = next(iter(tensors.values()))
    n, k = some.work.shape
    place, move = np.zeros((len(asked.latencies), n, k)), np.zeros((len(asked.latencies), n - 1, k, k))
    place[0, np.isinf(some.work)] = np.inf
    move[0, np.isinf(some.shipped)] = np.inf
    _bar(problem, place[0], move[0])
    for weights, number in asked.latencies.items():
        for phase, a in weights:
            place[number] += a * np.where(np.isfinite(some.work), tensors[phase].work, 0.0)
            move[number] += a * np.where(np.isfinite(some.shipped), tensors[phase].shipped, 0.0)
    slots = _Slots(n, k)
    memory = np.zeros(n)
    np.add.at(memory, at, problem.graph.memory)
    room = problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6))
    tight = np.flatnonzero(room < memory.sum())
    for d in tight.tolist():
        slots.add(d, -1, float(room[d]), placed=memory)
    for phase, top in asked.phases.items():
        _add_loads(slots, problem, tensors[phase], top)
    once = _once(problem)
    singles = [*place, *(one.work for one in tensors.values()), room[None], once[None]]
    pairs = [*move, *(pair for one in tensors.values() for pair in (one.shipped, one.sent, one.received))]
    return ChainWalk(
        place=place,
        move=move,
        **slots.arrays(),
        tops=len(asked.phases),
        once=once,
        alike=[[d] for d in range(k)] if slots.channels else _alike(singles, pairs, k),
        cost=asked.objective.of,
        keeps=asked.keeps,
    )


def _bar(problem: Problem, place: Floats, move: Floats) -> None:
    """Set to ``inf`` what an order of the devices forbids: where the chain begins and ends, and ways back."""
    line = problem.line
    if line is None:
        return
    n, k, at = len(place), problem.k, np.array(line.devices)
    nothing = np.zeros((n, k, k))
    barred = chain_in_line(NodeChain(place[:, at], np.zeros(n), np.full(k, np.inf), nothing, nothing), line)
    place[:, at] = barred.time
    ways = move[:, at[:, None], at] + barred.sent[:-1]
    ways[:, range(k), range(k)] = 0.0
    move[:, at[:, None], at] = ways


def _once(problem: Problem) -> Bools:
    """Return [devices] which hold one range of the chain, or none: all under ``acyclic``, else those of contiguous."""
    once = np.full(problem.k, problem.acyclic)
    for rule in problem.of(Contiguous):
        once[list(range(problem.k) if rule.devices is None else rule.devices)] = True
    return once


class _Slots:
    """Slots of devices and channels, one after the other."""

    def __init__(self, n: int, k: int) -> None:
        self._n, self._k = n, k
        self._columns: list[tuple[int, int, float]] = []
        self._placed: list[Floats] = []
        self._moved: list[Floats] = []
        self.channels = 0

    def add(
        self, device: int, top: int, room: float = np.inf, placed: Floats | None = None, moved: Floats | None = None
    ) -> None:
        """Add a slot of a device, to which its nodes add *placed*, [n], and tensors *moved*, [n - 1, k, k]."""
        table = np.zeros((self._n, self._k))
        if placed is not None:
            table[:, device] = np.where(np.isfinite(placed), placed, 0.0)
        self._columns.append((device, top, room))
        self._placed.append(table)
        nothing = np.zeros((self._n - 1, self._k, self._k))
        self._moved.append(nothing if moved is None else np.where(np.isfinite(moved), moved, 0.0))
        self.channels += device < 0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a walk."""
        return {
            "placed": np.stack(self._placed, axis=-1) if self._columns else np.zeros((self._n, self._k, 0)),
            "moved": np.stack(self._moved, axis=-1) if self._columns else np.zeros((self._n - 1, self._k, self._k, 0)),
            "room": np.array([room for _, _, room in self._columns]),
            "top": np.array([top for _, top, _ in self._columns], np.int64),
            "owner": np.array([device for device, _, _ in self._columns], np.int64),
        }


def _add_loads(slots: _Slots, problem: Problem, tensors: _Tensors, top: int) -> None:
    """Add the loads of devices and channels, of which the largest counts."""
    net, k = problem.network, problem.k
    for d in range(k):
        out, into = np.zeros_like(tensors.sent), np.zeros_like(tensors.received)
        out[:, d], into[:, :, d] = tensors.sent[:, d], tensors.received[:, :, d]
        if net.overlap == "none":
            slots.add(d, top, placed=tensors.work[:, d], moved=out + into)
        else:
            slots.add(d, top, placed=tensors.work[:, d])
            slots.add(d, top, moved=out)
            slots.add(d, top, moved=into)
    for c, bandwidth in enumerate(net.bandwidth.tolist()):
        used = np.array([[c in net.route[d][e] for e in range(k)] for d in range(k)])
        senders, readers = np.flatnonzero(used.any(axis=1)), np.flatnonzero(used.any(axis=0))
        within_sends = len(senders) == 1 and (net.out_inverse[used] * bandwidth >= 1.0 - 1e-12).all()
        within_reads = len(readers) == 1 and (net.in_inverse[used] * bandwidth >= 1.0 - 1e-12).all()
        if used.any() and not within_sends and not within_reads:
            slots.add(-1, top, moved=tensors.carried[:, None, None] / bandwidth * used)


def _alike(singles: list[Floats], pairs: list[Floats], k: int) -> list[list[int]]:
    """Return groups of devices of which any two may be exchanged, without a change of any [.., k] or [.., k, k]."""

    def equal(d: int, e: int) -> bool:
        swapped = np.arange(k)
        swapped[[d, e]] = e, d
        return all(np.array_equal(one[..., d], one[..., e]) for one in singles) and all(
            np.array_equal(one, one[:, swapped][:, :, swapped]) for one in pairs
        )

    groups: list[list[int]] = []
    for d in range(k):
        group = next((group for group in groups if equal(group[0], d)), None)
        if group is None:
            groups.append([d])
        else:
            group.append(d)
    return groups
