"""Run the programme over ideals on two levels: groups of devices, and devices in a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import mixed_radix
from mtpp_dsl.solvers.partition.ideals.inside_group import INSIDE
from mtpp_dsl.solvers.partition.ideals.nest import GroupType, Nest, NestChoice

__all__ = ["ROUNDING", "GroupStep", "TooLongError", "nested"]

UNLIMITED_IDEALS = 1_000
"""With no more than this the compiled loop takes little time, and may take all of its steps."""
EFFORT = 50_000_000
"""With more, this many steps for the difference of two ideals: it cannot be stopped before."""

FEW = 4
"""Of no more ideals than this the exact cost is found at once."""
ABOVE = 1e-6
"""The blocks of a group are looked for below its cost and so much more, as a share."""
AT_ONCE = 4
"""Exact costs are found for so many ideals before the time is looked at."""


class TooLongError(Exception):
    """Says that splitting a group takes more steps than the loop may take."""


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
    choices: Sequence[NestChoice],
    prices: tuple[Floats, Floats],
    target: float,
    say: Callable[[str], None],
    pause: Callable[[], None],
) -> tuple[float, list[GroupStep]] | None:
    """Return the least largest load of any split on two levels below *target*, and a split that has it.

    None proves that there is none. What a group has is the difference of two ideals, and a block on a device that of
    two ideals between them; all pairs are tried but for those that are too much for a group at the target, by work
    and by the tensors they are sure to cut, or that are too dear if no tensor is read in a later group. Raises
    :class:`TooLongError` where there are many ideals and the target is high.

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
    members = _members(lattice)
    value = np.full((lattice.size, len(used)), target)
    value[0] = 0.0
    origin = np.full((*value.shape, 3), -1, np.int64)
    room = Room(nest, prices, members, types, total - used, target)
    fits = np.array([room.ahead(s) for s in range(len(used))])
    inner = _Inner(lattice, nest, room, target, say, pause)
    for i in range(lattice.size - 1):
        for y, choice in enumerate(choices):
            states = np.flatnonzero((value[i] < target) & (total - used >= choice.take).all(axis=1))
            if not states.size:
                continue
            pause()
            then = states + int(choice.take @ stride)
            useful = _useful(value, fits, value[i, states], then, np.zeros(lattice.size))
            wanted = room.within(i, choice, useful)
            if choice.groups == 1 and np.count_nonzero(wanted) > FEW:
                wanted &= _useful(value, fits, value[i, states], then, inner.at_least(choice, i, then))
            cost = inner.costs(choice, i, wanted)
            for s, new in zip(states.tolist(), then.tolist(), strict=True):
                worst = np.maximum(value[i, s], cost)
                better = (worst < value[:, new]) & fits[new]
                value[better, new] = worst[better]
                origin[better, new] = (i, s, y)
    best = int(value[-1].argmin())
    if not value[-1, best] < target:
        return None
    least = float(value[-1, best])
    return least, _trace(inner, choices, members, origin, best, least)


def _members(lattice: Lattice) -> Bools:
    """Return [ideals, n] whether each supernode is in each ideal."""
    return np.asarray((lattice.bits[:, lattice.word] & lattice.bit) != 0, np.bool_)


def _useful(value: Floats, fits: Bools, before: Floats, then: Ints, cost: Floats) -> Bools:
    """Return [ideals] whether a group of at least this *cost* improves any state *then*, *before* what it costs."""
    worst = np.maximum(before[:, None], cost)
    return np.asarray(((worst < value[:, then].T) & fits[then]).any(axis=0), np.bool_)


class _Inner:
    """The programme inside of groups; see ``INSIDE``.

    Args:
        lattice: ideals.
        nest: weights.
        room: what devices can take.
        target: as in :func:`nested`.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """

    def __init__(
        self,
        lattice: Lattice,
        nest: Nest,
        room: Room,
        target: float,
        say: Callable[[str], None],
        pause: Callable[[], None],
    ) -> None:
        self._lattice, self._nest, self._room, self._target = lattice, nest, room, target
        self._say, self._pause = say, pause
        self.size = lattice.size

    def costs(self, choice: NestChoice, i: int, wanted: Bools) -> Floats:
        """Return [ideals] the least largest load of groups that have what an ideal has beyond ideal *i*.

        ``inf`` where it is not below the target, or not *wanted*.
        """
        cost = np.full(self.size, np.inf)
        most = self._room.inside(choice, self._target)
        trace = self._arrays(choice)
        for some in np.array_split(np.flatnonzero(wanted), -(-np.count_nonzero(wanted) // AT_ONCE) or 1):
            self._run(choice, i, some, self._target, most, trace, cost)
            self._pause()
        return cost

    def at_least(self, choice: NestChoice, i: int, then: Ints) -> Floats:
        """Return [ideals] what :meth:`costs` cannot be below: no tensor is dearer for being read in a later group.

        For one group: several exchange their weights, and those of all that is left may take too long. *then* are the
        states of the groups afterwards: what is left for these has to fit.
        """
        value, origin = self._arrays(choice)
        most = self._room.inside(choice, self._target) + self._room.later(then)
        self._run(choice, i, np.array([self.size - 1]), self._target, most, (value, origin), np.full(self.size, np.inf))
        return np.asarray(value.min(axis=1), np.float64)

    def trace(self, choice: NestChoice, i: int, ideal: int, value: float) -> tuple[Floats, Ints]:
        """Return the labels of the programme inside that lead to the cost of one ideal, of *value* or less."""
        trace = self._arrays(choice)
        target = value * (1 + ABOVE) or ABOVE
        most = self._room.inside(choice, target)
        self._run(choice, i, np.array([ideal]), target, most, trace, np.full(self.size, np.inf))
        return trace

    def _arrays(self, choice: NestChoice) -> tuple[Floats, Ints]:
        shape = (self.size, len(choice.used))
        return np.full(shape, np.inf), np.full(shape, -1, np.int64)

    def _run(
        self,
        choice: NestChoice,
        i: int,
        ideals: Ints,
        target: float,
        most: Floats,
        trace: tuple[Floats, Ints],
        cost: Floats,
    ) -> None:
        wanted = np.zeros(self.size, np.bool_)
        wanted[ideals] = True
        run = INSIDE.pick(0.05 * self.size**3, self._say)
        effort = EFFORT if self.size > UNLIMITED_IDEALS else np.iinfo(np.int64).max
        done = run(
            i, wanted, choice.groups, target, self._lattice, self._nest, choice.offers, choice.copies, choice.used,
            choice.stride, self._room.work, most, *trace, cost, effort,
        )  # fmt: skip
        if not done:
            raise TooLongError


def _trace(
    inner: _Inner, choices: Sequence[NestChoice], members: Bools, origin: Ints, state: int, value: float
) -> list[GroupStep]:
    steps: list[GroupStep] = []
    ideal = inner.size - 1
    while ideal > 0:
        before, earlier, y = origin[ideal, state].tolist()
        choice = choices[y]
        trace = inner.trace(choice, before, ideal, value)
        steps.append(GroupStep(choice.take, _blocks(members, choice, trace, before, ideal)))
        ideal, state = before, earlier
    return steps[::-1]


def _blocks(
    members: Bools, choice: NestChoice, trace: tuple[Floats, Ints], first: int, last: int
) -> list[tuple[Ints, int, int]]:
    value, origin = trace
    blocks = []
    at, state = last, int(value[last].argmin())
    while at != first:
        before, earlier = divmod(int(origin[at, state]), len(choice.used))
        taken = choice.used[state] - choice.used[earlier]
        q = int(taken.argmax())
        blocks.append((np.flatnonzero(members[at] & ~members[before]), q, int(taken[q])))
        at, state = before, earlier
    return blocks[::-1]


# Bound what groups of devices can take at most below a target: work, and the tensors that are sure to be cut.

ROUNDING = 1e-9


class Room:
    """What a group, and the groups left, can take at most at a target.

    The prices are those of :class:`mtpp_dsl.solvers.algorithms.ideals.outside.Prices`. Of a tensor with pins in what a
    group has, and others elsewhere, some block of the group pays the price between groups.

    Args:
        nest: weights.
        prices: [rows, types] prices of device types, and [rows, n] the least price times time of every supernode.
        held: [ideals, n] whether each supernode is in each ideal.
        types: of groups.
        left: [states, types of groups] how many are left.
        target: every load is to be below; may be ``inf``.

    Attributes:
        work: [ideals, rows] the weight of each ideal.
    """

    def __init__(
        self,
        nest: Nest,
        prices: tuple[Floats, Floats],
        members: Bools,
        types: Sequence[GroupType],
        left: Ints,
        target: float,
    ) -> None:
        self._price, weight = prices
        self._total = weight.sum(axis=1)
        self._target, self._pays = target, nest.pays
        self.work: Floats = members @ weight.T
        self._dear = (nest.near + nest.more).astype(np.float64)
        largest = self._price.max(axis=1) * self._dear.sum()
        self._slack = ROUNDING * (self._total + np.where(np.isfinite(largest), largest, 0.0))
        self._pins = nest.pins.astype(np.float32)
        at = np.repeat(np.arange(members.shape[1]), np.diff(nest.start))
        pins = np.zeros((members.shape[1], len(nest.pins)), np.float32)
        pins[at, nest.tensor] = 1.0
        self._held = members.astype(np.float32) @ pins  # [ideals, tensors] pins inside: whole numbers, exact
        self._devices = left @ np.array([kind.holds for kind in types])  # [states, types of devices]
        border = self._cut(np.arange(len(members)), len(members) - 1)
        self._outside = [self._total - self.work + np.outer(border, self._cheapest(row)) for row in self._kinds()]

    def _kinds(self) -> list[Bools]:
        """Return which device types are left, for every case that there is; ``_case`` tells that of each state."""
        cases, case = np.unique(self._devices > 0, axis=0, return_inverse=True)
        self._case = case.reshape(-1)
        return list(cases)

    def _cheapest(self, offered: Bools) -> Floats:
        """Return [rows] the least price of the types that are *offered* if all of them pay for tensors, else 0."""
        if not offered.any() or not self._pays[offered].all():
            return np.zeros(len(self._price))
        return np.asarray(self._price[:, offered].min(axis=1), np.float64)

    def _cut(self, ideals: Ints, other: int) -> Floats:
        """Return [ideals] the price of the tensors with pins both in and outside of the difference to *other*."""
        some = np.abs(self._held[ideals] - self._held[other])
        return np.asarray(((some > 0) & (some < self._pins)) @ self._dear, np.float64)

    def within(self, i: int, choice: NestChoice, wanted: Bools) -> Bools:
        """Return [ideals] which of those *wanted* have beyond ideal *i* what may fit on a choice of groups."""
        if np.isinf(self._target):
            return wanted
        most: Floats = self._target * choice.groups * (self._price @ choice.offers) + self._slack
        extra = self.work - self.work[i]
        fits = wanted & (extra <= most).all(axis=1)
        cheapest = self._cheapest(choice.offers > 0)
        if cheapest.any():
            left = np.flatnonzero(fits)
            cut = np.outer(self._cut(left, i), cheapest)
            fits[left] = (extra[left] + cut <= most).all(axis=1)
        return np.asarray(fits, np.bool_)

    def ahead(self, state: int) -> Bools:
        """Return [ideals] whether what is outside may fit on the groups left in *state*."""
        if np.isinf(self._target):
            return np.ones(len(self.work), np.bool_)
        most = self._target * (self._devices[state] @ self._price.T) + self._slack
        return np.asarray((self._outside[self._case[state]] <= most).all(axis=1), np.bool_)

    def later(self, states: Ints) -> Floats:
        """Return [rows] what the groups left in the one of *states* that has most can take."""
        if np.isinf(self._target):
            return np.full(len(self._price), np.inf)
        return np.asarray(self._target * (self._devices[states] @ self._price.T).max(axis=0), np.float64)

    def inside(self, choice: NestChoice, target: float) -> Floats:
        """Return [states, rows] what the devices left inside the groups of a choice can take at a target."""
        if np.isinf(target):
            return np.full((len(choice.used), len(self._price)), np.inf)
        left = (choice.offers - choice.used) @ self._price.T
        return np.asarray(target * choice.groups * left + self._slack, np.float64)
