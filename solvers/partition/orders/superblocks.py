"""Sets of devices that stand next to each other, each as one device, and what ideals between them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY, WORK, Measures
from mtpp_dsl.solvers.algorithms.reach.states import ReachTables
from mtpp_dsl.solvers.algorithms.reach.trade_off import TradeOff

Sets: TypeAlias = tuple[tuple[int, ...], ...]
"""Sets of devices in the order in which they stand; all devices are in one of them."""


class SetSuperblock(NamedTuple):
    """A set of devices as one device: the largest of their loads is no less than its load.

    For speeds s of the devices, the largest load is no less than the sum of s(d) load(d), divided by the sum of s(d). A
    node is on one of them, and what one set of them together cuts is cut by some of them.

    Attributes:
        time: [n] of the supernodes; ``inf`` where none of the devices may have one.
        transfer: what a tensor that the set cuts counts, as a share of its cost.
        room: memory in units, of all together.
    """

    time: Floats
    transfer: float
    room: int


class IdealWindows(NamedTuple):
    """Which supernodes are in the ideals between the sets of a sequence, in plans below a target.

    Attributes:
        low, high: [n, sets + 1] whether a supernode must be, and may be, in the first so many sets.
    """

    low: Bools
    high: Bools


@dataclass(frozen=True, eq=False)
class Superblocks:
    """Superblocks of a problem, each made once, and windows of their sequences.

    Attributes:
        reach: of the devices.
    """

    reach: ReachTables
    _made: dict[tuple[int, ...], SetSuperblock] = field(default_factory=dict)

    @property
    def measures(self) -> Measures:
        """The supernodes and their measures."""
        return self.reach.measures

    @cached_property
    def time(self) -> Floats:
        """[n, devices] running time; ``inf`` where a supernode may not be."""
        graph = self.measures.graph
        return np.where(graph.allowed, graph.time, inf)

    @cached_property
    def pays(self) -> Bools:
        """[devices] whether each pays for tensors."""
        problem = self.measures.graph.problem
        shared = isinstance(problem.interconnect, Shared)
        return np.array([shared or device.pays_io for device in problem.devices])

    def of(self, devices: tuple[int, ...]) -> SetSuperblock:
        """Return a set of devices as one."""
        made = self._made.get(devices)
        if made is None:
            made = self._made[devices] = self._superblock(list(devices))
        return made

    def _superblock(self, devices: list[int]) -> SetSuperblock:
        speed = self.measures.speed[devices]
        total = float(speed.sum())
        room = int(self.measures.room[devices].sum())
        if total <= 0:
            return SetSuperblock(np.full(self.measures.n, inf), 0.0, room)
        share = speed / total
        with np.errstate(invalid="ignore"):
            time = np.where(np.isfinite(self.time[:, devices]), self.time[:, devices] * share, inf).min(axis=1)
        return SetSuperblock(time, float((share * self.pays[devices]).min()), room)

    def windows(self, sets: Sequence[tuple[int, ...]], target: float) -> IdealWindows | None:
        """Return the windows of plans whose loads are *target* or less, or None if there are no such plans."""
        measures, n = self.measures, self.measures.n
        share = measures.share(target)
        steps = np.array([(self.of(one).room, int(share[list(one)].sum())) for one in sets], np.int64)
        ahead, behind = self._pairs(self.reach.forward, steps), self._pairs(self.reach.backward, steps[::-1])[::-1]
        total = measures.total
        if (ahead[-1] < total).any() or (behind[0] < total).any():
            return None
        low, high = np.zeros((n, len(sets) + 1), np.bool_), np.zeros((n, len(sets) + 1), np.bool_)
        for key in (MEMORY, WORK):
            low |= measures.others[key][:, None] < total[key] - behind[None, :, key]
        high[:] = True
        for key in (MEMORY, WORK):
            high &= measures.needs[key][:, None] <= ahead[None, :, key]
        low[:, 0], high[:, 0], low[:, -1], high[:, -1] = False, False, True, True
        return None if (low > high).any() else IdealWindows(low, high)

    @staticmethod
    def _pairs(limits: TradeOff, steps: Ints) -> Ints:
        """Return [sets + 1, 2] the memory and the work that no ideal of the first so many sets exceeds."""
        pairs = np.zeros((len(steps) + 1, 2), np.int64)
        for number, step in enumerate(steps):
            pair = np.minimum(pairs[number] + step, limits.total)
            pairs[number + 1] = np.concatenate(limits.narrow(pair[:1], pair[1:]))
        return pairs
