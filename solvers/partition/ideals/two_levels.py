"""The dynamic programme over ideals on two levels: groups of devices, and the devices inside (PipeDream)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.device_states import mixed_radix
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.partition.ideals.inside_group import INSIDE
from mtpp_dsl.solvers.partition.ideals.nest import Choice, GroupType, Nest

__all__ = ["GroupStep", "nested"]

ROUNDING = 1e-9


class GroupStep(NamedTuple):
    """The supernodes on one group of devices, or on several equal ones.

    Attributes:
        take: how many groups of each type.
        blocks: supernodes, device type, and how many of these in each group.
    """

    take: Ints
    blocks: list[tuple[Ints, int, int]]


def nested(
    lattice: Lattice,
    nest: Nest,
    types: Sequence[GroupType],
    choices: Sequence[Choice],
    prices: tuple[Floats, Floats],
    target: float,
    say: Callable[[str], None],
    pause: Callable[[], None],
) -> tuple[float, list[GroupStep]] | None:
    """Return the least largest load of any split on two levels below *target*, and a split that has it.

    None proves that there is none. What a group has is the difference of two ideals, and a block on a device that of
    two ideals between them; all pairs are tried but for those whose work is too much for a group at the target.

    Args:
        lattice: ideals.
        nest: weights.
        types: of groups.
        choices: of groups for one step.
        prices: [rows, types] prices of device types, and [rows, n] the least price times time of every supernode.
        target: as above; may be ``inf``.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """
    total = np.array([len(kind.groups) for kind in types])
    used, stride = mixed_radix(total)
    held = _members(lattice)
    value = np.full((lattice.size, len(used)), target)
    value[0] = 0.0
    origin = np.full((*value.shape, 3), -1, np.int64)
    room = _Room(prices, held, types, total - used, target)
    for i in range(lattice.size - 1):
        for y, choice in enumerate(choices):
            states = np.flatnonzero((value[i] < target) & (total - used >= choice.take).all(axis=1))
            if not states.size:
                continue
            pause()
            cost = _costs(lattice, nest, choice, i, room.within(i, choice), target, say)
            for s in states.tolist():
                new = s + int(choice.take @ stride)
                worst = np.maximum(value[i, s], cost)
                better = (worst < value[:, new]) & room.ahead(new)
                value[better, new] = worst[better]
                origin[better, new] = (i, s, y)
    best = int(value[-1].argmin())
    if not value[-1, best] < target:
        return None
    return float(value[-1, best]), _trace(lattice, nest, choices, held, origin, best, say)


def _members(lattice: Lattice) -> Bools:
    """Return [ideals, n] whether each supernode is in each ideal."""
    return np.asarray((lattice.bits[:, lattice.word] & lattice.bit) != 0, np.bool_)


class _Room:
    """What a group, and the groups left, can take at most at the target, by work alone; see ``Prices``."""

    def __init__(
        self, prices: tuple[Floats, Floats], held: Bools, types: Sequence[GroupType], left: Ints, target: float
    ) -> None:
        price, weight = prices
        self._inside = held @ weight.T  # [ideals, rows]
        self._slack = ROUNDING * weight.sum(axis=1)
        self._total = weight.sum(axis=1)
        self._price = price
        self._left = left @ np.array([price @ kind.holds for kind in types])  # [states, rows]
        self._target = target

    def within(self, i: int, choice: Choice) -> Bools:
        """Return [ideals] whether what an ideal has beyond ideal *i* may fit on a choice of groups."""
        if np.isinf(self._target):
            return np.ones(len(self._inside), np.bool_)
        most = self._target * choice.groups * (self._price @ choice.offers) + self._slack
        return np.asarray((self._inside - self._inside[i] <= most).all(axis=1), np.bool_)

    def ahead(self, state: int) -> Bools:
        """Return [ideals] whether what is outside may fit on the groups left in *state*."""
        if np.isinf(self._target):
            return np.ones(len(self._inside), np.bool_)
        most = self._target * self._left[state] + self._slack
        return np.asarray((self._total - self._inside <= most).all(axis=1), np.bool_)


def _costs(
    lattice: Lattice,
    nest: Nest,
    choice: Choice,
    i: int,
    wanted: Bools,
    target: float,
    say: Callable[[str], None],
    trace: tuple[Floats, Ints] | None = None,
) -> Floats:
    """Return [ideals] the least largest load of the groups of a choice that have what an ideal has beyond ideal *i*.

    ``inf`` where it is not below *target*, or not *wanted*. With *trace* it keeps what is needed to find the blocks.
    """
    shape = (lattice.size, len(choice.used))
    value, origin = trace or (np.empty(shape), np.empty(shape, np.int64))
    cost = np.full(lattice.size, np.inf)
    run = INSIDE.pick(0.05 * lattice.size**3, say)
    run(
        i, wanted, choice.groups, target, lattice, nest, choice.offers, choice.copies, choice.used, choice.stride,
        value, origin, cost,
    )  # fmt: skip
    return cost


def _trace(
    lattice: Lattice,
    nest: Nest,
    choices: Sequence[Choice],
    held: Bools,
    origin: Ints,
    state: int,
    say: Callable[[str], None],
) -> list[GroupStep]:
    steps: list[GroupStep] = []
    ideal = lattice.size - 1
    while ideal > 0:
        before, earlier, y = origin[ideal, state].tolist()
        choice = choices[y]
        shape = (lattice.size, len(choice.used))
        trace = np.empty(shape), np.empty(shape, np.int64)
        wanted = np.zeros(lattice.size, np.bool_)
        wanted[ideal] = True
        _costs(lattice, nest, choice, before, wanted, np.inf, say, trace)
        steps.append(GroupStep(choice.take, _blocks(held, choice, trace, before, ideal)))
        ideal, state = before, earlier
    return steps[::-1]


def _blocks(
    held: Bools, choice: Choice, trace: tuple[Floats, Ints], first: int, last: int
) -> list[tuple[Ints, int, int]]:
    value, origin = trace
    blocks = []
    at, state = last, int(value[last].argmin())
    while at != first:
        before, earlier = divmod(int(origin[at, state]), len(choice.used))
        taken = choice.used[state] - choice.used[earlier]
        q = int(taken.argmax())
        blocks.append((np.flatnonzero(held[at] & ~held[before]), q, int(taken[q])))
        at, state = before, earlier
    return blocks[::-1]
