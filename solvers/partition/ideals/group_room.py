"""Bound what groups of devices can take at most below a target: work, and the tensors that are sure to be cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.partition.ideals.nest import GroupType, Nest, NestChoice

__all__ = ["ROUNDING", "Room"]

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
        held: Bools,
        types: Sequence[GroupType],
        left: Ints,
        target: float,
    ) -> None:
        self._price, weight = prices
        self._total = weight.sum(axis=1)
        self._target, self._pays = target, nest.pays
        self.work: Floats = held @ weight.T
        self._dear = (nest.near + nest.more).astype(np.float64)
        largest = self._price.max(axis=1) * self._dear.sum()
        self._slack = ROUNDING * (self._total + np.where(np.isfinite(largest), largest, 0.0))
        self._pins = nest.pins.astype(np.float32)
        at = np.repeat(np.arange(held.shape[1]), np.diff(nest.start))
        pins = np.zeros((held.shape[1], len(nest.pins)), np.float32)
        pins[at, nest.tensor] = 1.0
        self._held = held.astype(np.float32) @ pins  # [ideals, tensors] pins inside: whole numbers, exact
        self._devices = left @ np.array([kind.holds for kind in types])  # [states, types of devices]
        border = self._cut(np.arange(len(held)), len(held) - 1)
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
