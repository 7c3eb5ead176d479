"""Method ``local-search``: the best single move, again and again, from random splits (tarnawski2020, section 6)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.partition.classical.descent import DESCEND, GAIN, Fixed, fixed_of, in_sequence, state_of
from mtpp_dsl.solvers.partition.classical.linear import UNASKED
from mtpp_dsl.solvers.partition.classical.movable import conflicts, is_ordered, movable
from mtpp_dsl.solvers.partition.classical.random_split import random_split
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["local_search"]

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
