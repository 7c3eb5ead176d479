"""Make the best single move, again and again, from random splits (tarnawski2020, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn
from mtpp_dsl.solvers.partition.classical.linear import UNASKED, conflicts, is_ordered, movable
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["DESCEND", "DescentState", "Fixed", "fixed_of", "loads_of", "local_search", "random_split", "state_of"]

NAME = "local-search"
CHUNK = 50
"""Moves between two looks at the clock."""

PASSES = 100
"""How many passes over all units a descent may take, about; decides only whether compiling pays."""


def local_search(problem: Problem, limits: Limits, progress: Progress, restarts: int) -> Result:
    """Return the best local optimum from so many random splits, if any is found; no bound."""
    incumbent = Incumbent(NAME, problem, limits, progress)
    if is_ordered(problem) and not problem.acyclic:
        incumbent.note(UNASKED.format(NAME))
    search = _Search(incumbent, problem, limits, progress)
    with suppress(SearchEnded):
        search.run(restarts)
    return incumbent.result()


class _Search:
    """One run."""

    def __init__(self, incumbent: Incumbent, problem: Problem, limits: Limits, progress: Progress) -> None:
        self.incumbent, self._problem, self._limits, self._say = incumbent, problem, limits, progress.say
        devices = device_types(problem)
        self._units = movable(problem, devices)
        self._apart = conflicts(problem, self._units)
        self._declared = fixed_of(self._units, devices, self._apart)
        ordered = is_ordered(problem)
        self._order = Graph.create([str(c) for c in range(self._units.n)], self._units.before) if ordered else None

    def run(self, restarts: int) -> None:
        """Descend from the plan to start from, if it is one of units in a sequence, and from random splits."""
        if self._limits.start is not None:
            self._from_plan(self._limits.start)
        random = np.random.default_rng(self._limits.seed)
        stuck = 0
        for _ in range(restarts):
            self.incumbent.pause()
            sequence = np.arange(self._problem.k) if self._order is None else random.permutation(self._problem.k)
            fixed = in_sequence(self._declared, sequence)
            place = random_split(fixed, self._apart, self._order, random)
            if place is None:
                stuck += 1
            else:
                self._descend(fixed, sequence, place)
        if stuck:
            self.incumbent.note(f"no random split that fits was found for {stuck} of {restarts} starts")
        if self.incumbent.plan is None and self.incumbent.broken:
            self.incumbent.note(f"the local optima found are no plans: {self.incumbent.broken}")

    def _from_plan(self, plan: Plan) -> None:
        homes = [set(plan.assignment[list(nodes)].tolist()) for nodes in self._units.members]
        if any(len(home) > 1 for home in homes):
            return
        device = np.array([home.pop() for home in homes], np.int64)
        sequence: tuple[int, ...] | None = tuple(range(self._problem.k))
        if self._order is not None:
            sequence = quotient_order(device, self._order.tails, self._order.heads, self._problem.k)
        if sequence is not None:
            places = np.array(sequence)
            self._descend(in_sequence(self._declared, places), places, np.argsort(places)[device])

    def _descend(self, fixed: Fixed, sequence: Ints, place: Ints) -> None:
        state = state_of(fixed, place)
        run = DESCEND.pick(float(PASSES * self._units.n), self._say)
        if self.incumbent.plan is None:
            self._take(sequence[state.place])
        done = CHUNK
        try:
            while done == CHUNK:
                self.incumbent.pause()
                done = run(CHUNK, GAIN, fixed, state)
        except SearchEnded:
            self._take(sequence[state.place])
            raise
        self._take(sequence[state.place])

    def _take(self, device: Ints) -> None:
        assignment = np.empty(self._problem.graph.n, np.int64)
        for nodes, d in zip(self._units.members, device.tolist(), strict=True):
            assignment[list(nodes)] = d
        self.incumbent.take(Plan.create(self._problem, assignment))


# Random splits that keep the limits of memory, and what may be where.

MAX_TRIES = 20


def random_split(
    fixed: Fixed, apart: Sequence[set[int]], order: Graph | None, random: np.random.Generator
) -> Ints | None:
    """Return [units] random places, or None if none of some tries fits.

    Without an *order* each unit, the units in random order, goes to any place with room for it. With one, a random
    topological order is cut at random. Later tries leave less to chance: large units first, or places filled up.

    Args:
        fixed: units and places.
        apart: the units that must not be where each is.
        order: of the units, as a graph.
        random: where the splits come from.
    """
    for attempt in range(MAX_TRIES):
        late = attempt >= MAX_TRIES // 2
        device = _loose(fixed, apart, random, late) if order is None else _cut(fixed, apart, order, random, late)
        if device is not None:
            return device
    return None


class _Filling:
    """Places while they are filled."""

    def __init__(self, fixed: Fixed, apart: Sequence[set[int]]) -> None:
        self._fixed, self._apart = fixed, apart
        self._held = np.zeros(fixed.time.shape[1])
        self.place: Ints = np.full(len(fixed.size), -1, np.int64)

    def open(self, unit: int) -> Ints:
        """Return the places that can take *unit*."""
        can = np.isfinite(self._fixed.time[unit]) & (self._held + self._fixed.size[unit] <= self._fixed.room)
        taken = self.place[list(self._apart[unit])]
        can[taken[taken >= 0]] = False
        return np.flatnonzero(can)

    def put(self, unit: int, place: int) -> None:
        self.place[unit] = place
        self._held[place] += self._fixed.size[unit]


def _loose(fixed: Fixed, apart: Sequence[set[int]], random: np.random.Generator, large_first: bool) -> Ints | None:
    filling = _Filling(fixed, apart)
    units = random.permutation(len(fixed.size))
    if large_first:
        units = units[np.argsort(-fixed.size[units], kind="stable")]
    for unit in units.tolist():
        places = filling.open(unit)
        if not places.size:
            return None
        filling.put(unit, int(random.choice(places)))
    return filling.place


def _cut(fixed: Fixed, apart: Sequence[set[int]], order: Graph, random: np.random.Generator, full: bool) -> Ints | None:
    filling = _Filling(fixed, apart)
    n, k = len(fixed.size), len(fixed.room)
    cuts = np.sort(random.integers(0, n + 1, k - 1))
    wanted = np.zeros(n, np.int64) if full else np.searchsorted(cuts, np.arange(n), side="right")
    place = 0
    for unit, least in zip(kahn(order, random.random(n)).tolist(), wanted.tolist(), strict=True):
        places = filling.open(unit)
        places = places[places >= max(place, least)]
        if not places.size:
            return None
        place = int(places[0])
        filling.put(unit, place)
    return filling.place


# The best single move, again and again, until none makes the largest load less.

STEPS_A_SECOND = 1e5
GAIN = 1e-9
"""A move must make the largest load less by this share."""


class Fixed(NamedTuple):
    """What does not change: units, devices by place in the sequence of blocks, and rules.

    Attributes:
        time: [units, places]; ``inf`` where a unit may not be.
        start, tensor: the tensors at each unit, in compressed rows.
        cost, pins: of the tensors.
        size, params: [units].
        before_start, before, after_start, after: units that must not be in a later, or earlier, place, in rows.
        apart_start, apart: units that must not be in the same place, in rows.
        pays, room, kept: [places] whether cut tensors are paid for, the memory, the parameters that are not streamed.
        bandwidth: of what is streamed.
    """

    time: Floats
    start: Ints
    tensor: Ints
    cost: Floats
    pins: Ints
    size: Floats
    params: Floats
    before_start: Ints
    before: Ints
    after_start: Ints
    after: Ints
    apart_start: Ints
    apart: Ints
    pays: Bools
    room: Floats
    kept: Floats
    bandwidth: float


class DescentState(NamedTuple):
    """What a move changes.

    Attributes:
        place: [units] in the sequence of blocks.
        inside: [tensors, places] pins.
        base: [places] load without what is streamed.
        memory, params: [places] memory and parameters.
    """

    place: Ints
    inside: Ints
    base: Floats
    memory: Floats
    params: Floats


def fixed_of(units: OrderedSupernodes, devices: DeviceTypes, apart: Sequence[Iterable[int]]) -> Fixed:
    """Return the fixed part for places that are the devices as declared."""
    before: list[list[int]] = [[] for _ in range(units.n)]
    after: list[list[int]] = [[] for _ in range(units.n)]
    for a, b in units.before:
        after[a].append(b)
        before[b].append(a)
    types = devices.of
    return Fixed(
        np.ascontiguousarray(units.time[:, types]),
        *compressed(units.nets_at),
        np.array([cost for _, cost in units.nets], np.float64),
        np.array([len(pins) for pins, _ in units.nets], np.int64),
        units.memory,
        units.params,
        *compressed(before),
        *compressed(after),
        *compressed([sorted(others) for others in apart]),
        devices.pays[types],
        devices.memory[types],
        devices.overflow[types],
        devices.bandwidth,
    )


def in_sequence(fixed: Fixed, sequence: Ints) -> Fixed:
    """Return the fixed part for places that are the devices in another *sequence*."""
    return fixed._replace(
        time=np.ascontiguousarray(fixed.time[:, sequence]),
        pays=fixed.pays[sequence],
        room=fixed.room[sequence],
        kept=fixed.kept[sequence],
    )


def state_of(fixed: Fixed, place: Ints) -> DescentState:
    """Return the state in which each unit is in the given place."""
    k = fixed.time.shape[1]
    inside = np.zeros((len(fixed.pins), k), np.int64)
    np.add.at(inside, (fixed.tensor, np.repeat(place, np.diff(fixed.start))), 1)
    cut = (inside > 0) & (inside < fixed.pins[:, None])
    base = np.bincount(place, weights=fixed.time[np.arange(len(place)), place], minlength=k).astype(np.float64)
    return DescentState(
        place.copy(),
        inside,
        base + np.where(fixed.pays, fixed.cost @ cut, 0.0),
        np.bincount(place, weights=fixed.size, minlength=k).astype(np.float64),
        np.bincount(place, weights=fixed.params, minlength=k).astype(np.float64),
    )


def loads_of(fixed: Fixed, state: DescentState) -> Floats:
    """Return [places] loads."""
    streamed = np.maximum(state.params - fixed.kept, 0.0) / fixed.bandwidth
    return np.asarray(state.base + streamed, np.float64)


def _descend(most: int, gain: float, fixed: Fixed, state: DescentState) -> int:
    """Make at most *most* moves, and return how many; fewer mean a local optimum.

    A move changes the loads of two places alone: where the unit was, and where it goes. Only those that change every
    largest load are looked at; the loads of the two are added up anew after a move, so that no rounding builds up.
    """
    n, k = fixed.time.shape
    load = np.zeros(k)
    for moves in range(most):
        # The loads as they are: a better move makes the largest of them less.
        for d in range(k):
            load[d] = state.base[d] + max(state.params[d] - fixed.kept[d], 0.0) / fixed.bandwidth
        top = 0
        for d in range(1, k):
            if load[d] > load[top]:
                top = d
        best = load[top] * (1.0 - gain)
        unit, goal = -1, -1
        for v in range(n):
            a = state.place[v]
            # Where the unit may go: no farther than its neighbours. One that is not on the place of the largest load
            # can only make that less by going there, as that may end a tensor.
            low, high = 0, k - 1
            for e in range(fixed.before_start[v], fixed.before_start[v + 1]):
                low = max(low, state.place[fixed.before[e]])
            for e in range(fixed.after_start[v], fixed.after_start[v + 1]):
                high = min(high, state.place[fixed.after[e]])
            if a != top:
                if top < low or top > high:
                    continue
                low, high = top, top
            # The load of the place that it leaves; it is the same for all targets.
            left = state.base[a] - fixed.time[v, a]
            if fixed.pays[a]:
                for e in range(fixed.start[v], fixed.start[v + 1]):
                    t = fixed.tensor[e]
                    if state.inside[t, a] == 1:
                        left -= fixed.cost[t]
                    elif state.inside[t, a] == fixed.pins[t]:
                        left += fixed.cost[t]
            left += max(state.params[a] - fixed.params[v] - fixed.kept[a], 0.0) / fixed.bandwidth
            if left >= best:
                continue
            for b in range(low, high + 1):
                if b == a or state.memory[b] + fixed.size[v] > fixed.room[b]:
                    continue
                # The load of the place that it joins; then those of all others count.
                joined = state.base[b] + fixed.time[v, b]
                if fixed.pays[b]:
                    for e in range(fixed.start[v], fixed.start[v + 1]):
                        t = fixed.tensor[e]
                        if state.inside[t, b] == 0:
                            joined += fixed.cost[t]
                        elif state.inside[t, b] + 1 == fixed.pins[t]:
                            joined -= fixed.cost[t]
                joined += max(state.params[b] + fixed.params[v] - fixed.kept[b], 0.0) / fixed.bandwidth
                value = max(left, joined)
                if value >= best:
                    continue
                for d in range(k):
                    if d != a and d != b and load[d] > value:
                        value = load[d]
                if value >= best:
                    continue
                # Units that must be apart may not meet.
                clash = False
                for e in range(fixed.apart_start[v], fixed.apart_start[v + 1]):
                    if state.place[fixed.apart[e]] == b:
                        clash = True
                        break
                if not clash:
                    best, unit, goal = value, v, b
        # No move helps: a local optimum. Else make the best one, and add both places up anew.
        if unit < 0:
            return moves
        old = state.place[unit]
        state.place[unit] = goal
        for e in range(fixed.start[unit], fixed.start[unit + 1]):
            state.inside[fixed.tensor[e], old] -= 1
            state.inside[fixed.tensor[e], goal] += 1
        for d in (old, goal):
            state.base[d] = 0.0
            state.memory[d] = 0.0
            state.params[d] = 0.0
        for v in range(n):
            d = state.place[v]
            if d in (old, goal):
                state.base[d] += fixed.time[v, d]
                state.memory[d] += fixed.size[v]
                state.params[d] += fixed.params[v]
        for d in (old, goal):
            if fixed.pays[d]:
                for t in range(len(fixed.pins)):
                    if 0 < state.inside[t, d] < fixed.pins[t]:
                        state.base[d] += fixed.cost[t]
    return most


DESCEND = Kernel(_descend, STEPS_A_SECOND)
