"""Method ``local-search``: the best single move, again and again, from random splits (tarnawski2020, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.slicing.orders import kahn
from mtpp_dsl.solvers.partition.classical.descent import DESCEND, GAIN, Fixed, fixed_of, in_sequence, state_of
from mtpp_dsl.solvers.partition.classical.linear import UNASKED
from mtpp_dsl.solvers.partition.classical.movable import conflicts, is_ordered, movable
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["local_search", "random_split"]

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
        found = _loose(fixed, apart, random, late) if order is None else _cut(fixed, apart, order, random, late)
        if found is not None:
            return found
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
