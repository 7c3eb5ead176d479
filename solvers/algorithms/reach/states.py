"""Say how far chains of ideals get on sets of devices below a target: pairs of memory and work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY, WORK, Measures
from mtpp_dsl.solvers.algorithms.reach.trade_off import CELLS, TradeOff


class ReachLevel(NamedTuple):
    """Pairs that are reached with so many devices; no ideal so reached exceeds all pairs of its code.

    Attributes:
        code: how many devices of each kind are used, as one number, in ascending order.
        memory, work: in units; of one code, memory falls and work rises.
    """

    code: Ints
    memory: Ints
    work: Ints


@dataclass(frozen=True, eq=False)
class ReachTables:
    """How far the devices of a problem get.

    Devices of one memory and one speed are of one kind. If the order of all devices is given, it is kept.

    Attributes:
        measures: of the ideals.
        cells: how many values of a measure are told apart.
        stopped: whether there is no time left; then :exc:`.trade_off.Unfinished` is raised.
    """

    measures: Measures
    cells: int = CELLS
    stopped: Callable[[], bool] = lambda: False

    @cached_property
    def forward(self) -> TradeOff:
        """How much work an ideal can have by its memory, and the other way round."""
        return TradeOff(self.measures.part, self.cells, self.stopped)

    @cached_property
    def backward(self) -> TradeOff:
        """The same of what is outside of an ideal."""
        return TradeOff(self.measures.mirrored, self.cells, self.stopped)

    @cached_property
    def kind(self) -> Ints:
        """[devices] the kind of each."""
        rows = np.stack([self.measures.room.astype(np.float64), self.measures.speed], axis=1)
        kind: Ints = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return kind

    @cached_property
    def count(self) -> Ints:
        """[kinds] how many devices there are of each."""
        return np.bincount(self.kind).astype(np.int64)

    @cached_property
    def place(self) -> Ints:
        """[kinds] what one device of each kind adds to a code."""
        return np.concatenate(([1], np.cumprod(self.count + 1)[:-1])).astype(np.int64)

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return int(np.prod((self.count + 1).astype(np.float64)))

    def refutes(self, target: float) -> bool:
        """Return whether no chain of ideals has all loads at *target* or below, whatever the order of the devices."""
        if not self.measures.n:
            return False
        levels = self.levels(target)
        total = self.measures.total
        return not bool(((levels[-1].memory >= total[MEMORY]) & (levels[-1].work >= total[WORK])).any())

    def levels(self, target: float, *, backwards: bool = False) -> list[ReachLevel]:
        """Return the pairs reached with 0, 1, ... all devices.

        Args:
            target: what no load is to be above.
            backwards: whether to reach from the end of the graph.
        """
        limits = self.backward if backwards else self.forward
        share, room = self.measures.share(target), self.measures.room
        first = np.array([int(np.flatnonzero(self.kind == q)[0]) for q in range(len(self.count))])
        zero = np.zeros(1, np.int64)
        levels = [ReachLevel(zero, zero, zero)]
        line = self.measures.graph.problem.line
        order = None if line is None else (line.devices[::-1] if backwards else line.devices)
        for number in range(len(self.kind)):
            at = levels[-1]
            codes, memories, works = [], [], []
            for q in range(len(self.count)) if order is None else [int(self.kind[order[number]])]:
                fits = at.code // self.place[q] % (self.count[q] + 1) < self.count[q]
                codes.append(at.code[fits] + self.place[q])
                memories.append(at.memory[fits] + room[first[q]])
                works.append(at.work[fits] + share[first[q]])
            levels.append(self._best(limits, np.concatenate(codes), np.concatenate(memories), np.concatenate(works)))
        return levels

    @staticmethod
    def _best(limits: TradeOff, code: Ints, memory: Ints, work: Ints) -> ReachLevel:
        """Return the pairs as far as ideals go, without those that another one of the same code exceeds."""
        memory, work = np.minimum(memory, limits.total[MEMORY]), np.minimum(work, limits.total[WORK])
        memory, work = limits.narrow(memory, work)
        order = np.lexsort((-work, -memory, code))
        code, memory, work = code[order], memory[order], work[order]
        group = np.cumsum(np.diff(code, prepend=code[:1]) != 0)
        rank = group * (int(limits.total[WORK]) + 2) + work + 1
        kept = rank > np.concatenate(([0], np.maximum.accumulate(rank)[:-1]))
        return ReachLevel(code[kept], memory[kept], work[kept])
