"""Splits that two devices share better: all that is on two devices is divided anew, in the best way there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.frontier.coarse_units import fitting_unit
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import frontier, narrowest
from mtpp_dsl.solvers.algorithms.frontier.frontier_sweep import NONE, Sweep, Table
from mtpp_dsl.solvers.partition.annealing.split_state import WholeInstance, broken, loads_of, state_of

MAX_SUPERNODES, MAX_TRANSITIONS = 1_000, 8_000
"""Of graphs in which two devices are divided anew: more, or wider ones, take too long."""
STEPS = (2**12, 2**16)
"""A load is counted in at most so many units: first in few, and then, where that helps no more, in many."""
POWER = 256
"""Of the loads in the energy: the largest load nearly alone counts."""
LEAST_GAIN = 1e-4
"""Of the energy, relative: less is no gain."""
LONGEST = 12
"""Supernodes in a row, along the order, that are moved to one device at random."""
BACK = 0.7
"""How often a search goes on from the best split, not from the last one."""


class TwoDevices:
    """Improves splits by dividing what two devices hold anew, exactly but for rounding.

    Args:
        instance: what is split; of few open tensors along some order.
    """

    def __init__(self, instance: WholeInstance) -> None:
        self._instance = instance
        n, self._k = instance.time.shape
        self._nets = tuple(tuple(instance.pin[a:b].tolist()) for a, b in pairwise(instance.pins_at.tolist()))
        fits = 0 < n <= MAX_SUPERNODES and self._k > 1 and not instance.stream.any()
        states = narrowest(n, self._nets, MAX_TRANSITIONS) if fits else None
        self.able = states is not None
        self._order = [] if states is None else states.order.tolist()
        self._left = 0

    def improve(
        self,
        device: Ints,
        cells: int,
        random: np.random.Generator,
        report: Callable[[Ints, int], None],
        pause: Callable[[], bool],
    ) -> None:
        """Look for better splits from one that is a plan: descend, move some stretches at random, descend again.

        Args:
            device: [n] the split to start from.
            cells: of tables that may be filled.
            random: what draws.
            report: told of each plan better than all before, and of its largest load.
            pause: asked between divisions; True ends the search.
        """
        self._left = cells
        best, least, start = device, self._peak(device), device
        while self._left > 0 and not pause():
            state = self._descend(start, random, pause)
            peak = self._peak(state)
            if peak < least:
                best, least = state, peak
                report(best, least)
            start = self._shaken(best if random.random() < BACK else state, random)

    def _peak(self, device: Ints) -> int:
        state = state_of(self._instance, device)
        peak = int(loads_of(self._instance, state).max(initial=0))
        return np.iinfo(np.int64).max if broken(self._instance, state) else peak

    def _shaken(self, device: Ints, random: np.random.Generator) -> Ints:
        """Return a split of which one to three stretches are moved, each to a device drawn."""
        shaken = device.copy()
        for _ in range(int(random.integers(1, 4))):
            first, many = int(random.integers(len(device))), int(random.integers(1, LONGEST))
            stretch = np.array(self._order[first : first + many])
            target = int(random.integers(self._k))
            shaken[stretch[self._instance.allowed[stretch, target]]] = target
        return shaken

    def _descend(self, device: Ints, random: np.random.Generator, pause: Callable[[], bool]) -> Ints:
        """Divide pairs of devices anew, those with the largest load first, until none helps."""
        for steps in STEPS:
            divided: Ints | None = device
            while divided is not None:
                device, divided = divided, self._better(divided, steps, random, pause)
        return device

    def _better(self, device: Ints, steps: int, random: np.random.Generator, pause: Callable[[], bool]) -> Ints | None:
        """Return a better split in which two devices share what they hold anew, or None if there is none."""
        instance = self._instance
        loads = loads_of(instance, state_of(instance, device))
        pairs, unit = list(combinations(range(self._k), 2)), float(loads.max()) or 1.0
        random.shuffle(pairs)
        energy = ((loads / unit) ** POWER).sum() * (1 - LEAST_GAIN)
        for one, other in sorted(pairs, key=lambda pair: -int(loads[list(pair)].max())):
            if self._left <= 0 or pause():
                return None
            divided = self._divided(device, one, other, loads, steps)
            state = state_of(instance, divided)
            if ((loads_of(instance, state) / unit) ** POWER).sum() < energy and not broken(instance, state):
                return divided
        return None

    def _divided(self, device: Ints, one: int, other: int, loads: Ints, steps: int) -> Ints:
        """Return the split in which two devices share what they hold so that their loads are as even as can be."""
        instance = self._instance
        here = [v for v in self._order if device[v] in (one, other)]
        self._left -= steps  # also where nothing can be divided, so that every search ends
        inside = np.isin(device, (one, other))
        outside = {e for e, pins in enumerate(self._nets) if not inside[list(pins)].all()}
        states = frontier(here, self._nets, MAX_TRANSITIONS, outside)
        if states is None or not here:
            return device
        unit = fitting_unit(instance.time[here].max(axis=1).astype(np.float64), float(loads.max()) or 1.0, steps)
        most = int(loads[[one, other]].max() / unit) + 1
        self._left -= len(states.before) * (most + 1)
        pays = states.costs(np.rint(instance.cost / unit).astype(np.int64))
        placed = states.placed()
        added = []
        for d, cut, there in zip((one, other), pays, (states.on_one, ~states.on_one), strict=True):
            time = np.rint(np.where(instance.allowed[:, d], instance.time[:, d] / unit, most + 1)).astype(np.int64)
            added.append(np.minimum(time[placed] * there + cut * bool(instance.pays[d]), most + 1))
        sweep = Sweep(states, added[0], most)
        least = sweep.least(added[1])
        if least[-1] >= NONE // 2:
            return device
        divided = device.copy()
        on_one = sweep.split(_evenest(least))
        divided[states.order] = np.where(on_one, one, other)
        return divided


def _evenest(least: Table) -> int:
    """Return the load of one device at which the larger of two loads is least, and of these the sum."""
    one, other = np.arange(len(least), dtype=np.int64), least.astype(np.int64)
    return int((np.maximum(one, other) * len(least) * 4 + np.minimum(one + other, 4 * len(least) - 1)).argmin())
