"""The heaviest sets that device types can hold below any target up to one, exactly, by tables of loads."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.frontier.coarse_units import fitting_unit
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import Frontier, frontier, narrowest
from mtpp_dsl.solvers.algorithms.frontier.frontier_sweep import Sweep
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance, WholeLoads

STEPS, FINEST, CELLS = 2**16, 2**18, 2**28
"""Into how many units a target is divided at most: at first, where tables then have more entries than the third number,
and in the end. Rounding down takes up to .02 % from a bound in units of the first."""
AT_ONCE = 2**26
"""Entries of the tables of all states at a time: a checker of the certificate fills no more."""
FEWEST, MOST, MAX_TRANSITIONS = 20, 1_000, 20_000
"""Supernodes, and transitions of the sweep over them, of problems for which tables are filled."""
HEAVIEST = 2**27
"""What weights may add up to."""


class NarrowSets:
    """The sets of each device type below a target, and below any smaller one.

    Loads are in whole units, rounded down. What memory, streaming and the shape of sets forbid is not counted: no set
    that a device can hold is left out. Rounded to the nearest unit, loads are about right, and prove nothing.

    Args:
        instance: what there is to hold.
        states: of a sweep over all supernodes.
        target: above zero.
        steps: into how many units the target is divided at most.
        nearest: whether loads are rounded to the nearest unit.

    Attributes:
        unit: of loads.
        capacity: units of a load below the target, at most.
        sizes: [types] the loads.
    """

    def __init__(
        self, instance: BoundInstance, states: Frontier, target: float, steps: int = STEPS, *, nearest: bool = False
    ) -> None:
        self._instance = instance
        costs = np.array([cost for _, cost in instance.nets])
        self.unit = fitting_unit(instance.time.ravel(), target, steps)
        exact = Fraction(self.unit)
        self.capacity = ceil(Fraction(target) / exact) - 1
        self.target = target
        over = self.capacity + 1

        def units(value: float) -> int:
            return over if not value < target else min(floor(Fraction(value) / exact + nearest * HALF), over)

        nets = np.array([units(cost) for cost in costs.tolist()], np.int64)
        alone = frontier(states.order.tolist(), (), 2 * instance.n)
        assert alone is not None
        self.sizes: list[WholeLoads] = []
        self._sweeps: dict[int, tuple[Frontier, Sweep]] = {}
        for kind, pays in enumerate(instance.types.pays.tolist()):
            work = np.array([units(time) for time in instance.time[:, kind].tolist()], np.int64)
            walk, cut = (states, nets) if pays and len(nets) else (alone, np.zeros_like(nets))
            self.sizes.append(WholeLoads(1 / self.unit, self.capacity, target, work, cut))
            load = work[walk.placed()] * walk.on_one + walk.costs(cut)[0]
            if instance.counts[kind]:
                self._sweeps[kind] = (walk, Sweep(walk, load, self.capacity))

    def heaviest(self, kind: int, weights: Ints) -> tuple[Ints, Bools]:
        """Return [capacity + 1] the largest weight of a set by its load, and the set at the capacity.

        Args:
            kind: of device.
            weights: [supernodes] zero or more, together :data:`HEAVIEST` at most.
        """
        walk, sweep = self._sweeps[kind]
        least = sweep.least(-weights[walk.placed()] * walk.on_one)
        in_set = np.zeros(self._instance.n, np.bool_)
        in_set[walk.order[sweep.split(self.capacity)]] = True
        return -least.astype(np.int64), in_set

    def below(self, load: int) -> float:
        """Return a target below which every load is fewer units than *load*."""
        return self.target if load > self.capacity else self.unit * load * NEARLY


def step_numbers(states: Frontier) -> list[int]:
    """Return into how many units a target is divided, more and more: as many at first as do not take long."""
    entries, at_once = int(states.states.sum()), int(states.states.max())
    numbers = [2**bits for bits in range(STEPS.bit_length() - 1, FINEST.bit_length())]
    checked = [number for number in numbers if number * at_once <= AT_ONCE] or numbers[:1]
    return [number for number in checked if 2 * number * entries > CELLS or number == checked[-1]]


NEARLY = 1 - 1e-12
HALF = Fraction(1, 2)


def narrow_states(instance: BoundInstance) -> Frontier | None:
    """Return the states of a sweep where tables are the best way to the heaviest sets, else None.

    That is where they can be filled and a device pays for tensors; small problems are left to integer programmes.
    """
    return None if instance.n < FEWEST or not instance.nets or not instance.types.pays.any() else states_of(instance)


def states_of(instance: BoundInstance) -> Frontier | None:
    """Return the states of a sweep if sets may have any shape and few tensors are open along some order, or None."""
    if instance.convex.any() or not 0 < instance.n <= MOST:
        return None
    return narrowest(instance.n, tuple(tuple(pins) for pins, _ in instance.nets), MAX_TRANSITIONS)
