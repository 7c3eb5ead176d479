"""Raises a target without the lattice of all ideals: plans first, then bound after bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.solvers.algorithms.ideals.device_states import DeviceStates
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import BlockStep
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import WholeCosts
from mtpp_dsl.solvers.partition.ideals.lazy_ahead import needs_of
from mtpp_dsl.solvers.partition.ideals.lazy_search import INF, LazyAnswer, LazySearch

__all__ = ["Climb"]

FIRST_STEP = 0.005
"""The first target is above the bound by this share; the next by twice that, and so on while that is easy."""
EASY = 20_000_000
"""Steps of a search after which the next one dares to go twice as far."""
EXACT = 1e-6
"""A gap of no more than this asks for the optimum, but for what ``ROUNDING`` of the loads may hide."""
ROUNDING = 1e-11
DIVES = ((20, 1_000), (200, 5_000))
"""Ideals of each state to go on from, and how many steps from each, of searches for plans."""
FIRST_DIVE = 0.02
MAX_DIVING = 10_000_000
"""Steps of one search for plans."""
NEAR = 0.002
"""A target that was no further than this from the bound is followed by the last one."""
FAILURES = 3
"""Targets in a row that may take too much memory, each nearer to the bound than the one before."""


@dataclass
class Climb:
    """Lower and upper bounds of the best split of some supernodes, brought together.

    Attributes:
        supernodes: what to place.
        states: of the devices.
        most_bytes: how much memory the ideals may take.
        say, pause: told what is done; called now and then, may raise.
        costs: returns the weights, their unit, and the cost of the best split known (or one above all) in that unit.
        known: returns the best bound and the cost of the best split, ``inf`` without one.
        take: told of a split and its largest load.
        prove: told of a bound.
        effort: how many steps all searches may take.
        gave_up: whether it ended as the ideals took too much memory or effort.
    """

    supernodes: OrderedSupernodes
    states: DeviceStates
    most_bytes: float
    say: Callable[[str], None]
    pause: Callable[[], None]
    costs: Callable[[], tuple[WholeCosts, float, int]]
    known: Callable[[], tuple[float, float]]
    take: Callable[[Sequence[BlockStep], float], None]
    prove: Callable[[float], None]
    effort: int = INF
    gave_up: bool = False

    def dive(self, gap: float, times: int = len(DIVES)) -> None:
        """Look for plans along the most promising ideals, below targets that rise from the bound, more than once."""
        for width, patience in DIVES[:times]:
            share = FIRST_DIVE
            patience = min(patience, MAX_DIVING // (width * len(self.states.used)) + 1)
            while True:
                lower, upper = self.known()
                if upper - lower <= gap * upper:
                    return
                costs, unit, top = self.costs()
                target = min(top, int(min(top, (1 + share) * max(lower / unit, top / 1000))) + 1)
                found = self._search(costs, target, int(lower / unit), width, patience)
                if found.outcome == "found":
                    self.take(found.steps, found.value * unit)
                    break
                if target == top:
                    break
                share *= 2

    def climb(self, gap: float) -> None:
        """Refute targets, from the bound upwards, until the best split is proved to be best within *gap*.

        A target below which there is a split is followed by one half-way to the bound; then one below which there is
        none, by the last one. The first targets are at most half-way.
        """
        share, failures, near = FIRST_STEP, 0, False
        while True:
            lower, upper = self.known()
            if upper - lower <= gap * upper:
                return
            costs, unit, top = self.costs()
            floor = int(lower / unit)
            last = top if np.isinf(upper) else min(top, int(top * (1 - (gap if gap > EXACT else ROUNDING))) + 1)
            if floor >= last:
                return
            step = share * max(floor, top / 1000)
            if not near and np.isfinite(upper):
                step = min(step, (top - floor) / 2)
            target = min(last, int(min(last, floor + step)) + 1)
            answer = self._search(costs, target, floor)
            if answer.outcome == "found":
                self.take(answer.steps, answer.value * unit)
                lower, upper = self.known()
                share, failures, near = (upper - lower) / max(lower, upper / 1000) / 2, 0, True
            elif answer.outcome == "none":
                near = near or (np.isfinite(upper) and target - floor < NEAR * floor)
                self.prove(min(target * unit, upper))
                if target == last:
                    return
                failures = 0
                share = np.inf if near else share * (2 if answer.work <= EASY else 1)
            else:
                failures += 1
                share, near = share / 4, False
                if failures == FAILURES or self.effort <= 0:
                    self.gave_up = True
                    return

    def _search(self, costs: WholeCosts, target: int, floor: int, width: int = INF, patience: int = INF) -> LazyAnswer:
        lazy = LazySearch(self.supernodes, costs, self.states, self.most_bytes, self.say, self.pause)
        needs = needs_of(costs, self.states, target)
        answer = lazy.search(needs, target, floor, width=width, patience=patience, effort=self.effort)
        self.effort -= answer.work
        return answer
