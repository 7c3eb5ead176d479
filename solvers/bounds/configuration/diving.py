"""Make splits of the sets that the configuration bound covers with: fix one after another, and cover what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier
from mtpp_dsl.solvers.bounds.configuration.covering import Columns
from mtpp_dsl.solvers.bounds.configuration.narrow_attempt import NarrowAttempt
from mtpp_dsl.solvers.bounds.configuration.narrow_sets import STEPS
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance

__all__ = ["Diving"]

CELLS = 2**27
"""A target is divided into as many units as for a bound at first, or half of them if tables then have more entries: in
a quarter of them loads are rounded so much that hardly a split is found."""
PATIENCE = 15
"""So often the weights of one covering are changed in vain."""
SLIGHT = 1e-6
"""The least weight, of the mean, that a supernode begins with."""


class Diving:
    """A search for a split below a target, device by device.

    What is left is covered by shares of sets; the set with the largest share goes to a device, and so on. Where weights
    prove that the devices left cannot hold the rest, the next set has its turn. Sets that exceed a memory, of which
    tables know nothing, go to no device.

    Args:
        instance: what is placed; sets may have any shape.
        states: of a sweep over it.
        columns: sets known; those found are added.
        target: what all loads are to be below.
        turns: how many coverings are made, at most.
        branches: sets of one solution that are fixed, one after another, while no split is found.
        stopped: asked often.
    """

    def __init__(
        self,
        instance: BoundInstance,
        states: Frontier,
        columns: Columns,
        target: float,
        turns: int,
        branches: int,
        stopped: Callable[[], bool],
    ) -> None:
        self._states, self._columns, self._target = states, columns, target
        self._instance, self._turns, self._branches, self._stopped = instance, turns, branches, stopped
        self._device: Ints = np.zeros(instance.n, np.int64)
        self._steps = STEPS if STEPS * int(states.states.sum()) <= CELLS else STEPS // 2

    def split(self, centre: Floats, seconds: float) -> Ints | None:
        """Return [supernodes] the device of each, or None if no split was found.

        Args:
            centre: [supernodes] weights to begin with.
            seconds: for one covering, at most.
        """
        return self._device if self._fill(self._instance, centre, seconds) else None

    def _fill(self, left: BoundInstance, centre: Floats, seconds: float) -> bool:
        """Give what is left to the devices that are left, and return whether that was possible."""
        here = np.isfinite(left.time).any(axis=1)
        if not here.any():
            return True
        if self._turns <= 0 or self._stopped() or not left.counts.any():
            return False
        self._turns -= 1
        weights = np.where(here, centre + SLIGHT * (float(centre.mean()) or 1.0), 0.0)
        weights /= float(weights.sum())
        given = left, self._states, self._columns, self._target, weights, self._stopped
        attempt = NarrowAttempt(*given, proved=None, steps=self._steps, patience=PATIENCE)
        if attempt.run(seconds) == "proved":
            return False
        fitting = [one for one in attempt.likely() if left.memory[one[1]].sum() <= left.types.memory[one[0]]]
        for kind, in_set in fitting[: self._branches]:
            self._device[in_set] = left.types.members[kind][-1]
            if self._fill(_without(left, kind, in_set), attempt.centre, seconds):
                return True
        return False


def _without(instance: BoundInstance, kind: int, in_set: Bools) -> BoundInstance:
    """Return the instance without a set, which the last device of a kind holds."""
    members = list(instance.types.members)
    members[kind] = members[kind][:-1]
    time = np.where(in_set[:, None], np.inf, instance.time)
    return replace(instance, time=time, types=replace(instance.types, members=tuple(members)))
