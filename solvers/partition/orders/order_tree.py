"""Branch on ordered sets of devices, best first: which devices stand before, and which after, one of a set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.backends.mip.bounded import minimise_relaxed, minimise_whole
from mtpp_dsl.solvers.partition.orders.ideal_chain import IdealChain, Tensors
from mtpp_dsl.solvers.partition.orders.superblocks import Sets, Superblocks

SLICE = 4.0
"""Seconds that the programme of an order may take at first; three times as long each time that it comes up again."""
DIVES, MAX_TRIES = 3, 8
"""How often it is tried at once until there is a plan, and how often in all."""
TOLERANCE = 3e-7
"""Relative: what a bound of HiGHS's is lowered by for its tolerances."""


@dataclass(order=True)
class Branch:
    """A sequence of sets that is open.

    Attributes:
        value: no plan of it costs less, unless the target does, either.
        number: of its making.
        sets: in their order.
        tries: how often its programme was solved; 0 where some set has several devices.
    """

    value: float
    number: int
    sets: Sets = field(compare=False)
    tries: int = field(default=0, compare=False)

    @property
    def is_order(self) -> bool:
        """Whether every set is a single device."""
        return all(len(one) == 1 for one in self.sets)


class OrderTree:
    """The search below one target, which falls when a better plan is found.

    Args:
        superblocks: of the problem.
        tensors: of the problem.
        target: what plans must be below.
        near: relative: how close a bound must come to a plan.
        seconds: how many are left.
        stopped: whether there is no time left.
        take: given the device of each supernode, whose plan is new.
        cost: of the best plan, whoever found it; ``inf`` without one.

    Attributes:
        target: the cost of the best plan below the first target, or that.
        trusted: whether bounds rest on the word of HiGHS.
        improved: whether a plan was found below the first target.
    """

    def __init__(
        self,
        superblocks: Superblocks,
        tensors: Tensors,
        target: float,
        near: float,
        seconds: Callable[[], float],
        stopped: Callable[[], bool],
        take: Callable[[Ints], object],
        cost: Callable[[], float],
    ) -> None:
        self._superblocks, self._tensors, self._near = superblocks, tensors, near
        self._seconds, self._stopped, self._take, self._cost = seconds, stopped, take, cost
        self.target, self.trusted, self.improved = target, False, False
        self._left = inf  # the least value of an order that no more time would say more of
        self._made: set[tuple[tuple[int, ...], ...]] = set()
        self._numbers = count()
        every = tuple(np.flatnonzero(superblocks.measures.speed > 0).tolist())
        self._open = [Branch(0.0, next(self._numbers), (every,))]

    def bounds(self) -> Iterator[float]:
        """Search on; yield now and then what no plan is below that costs less than the first target."""
        dive: Branch | None = None
        while self._open and self._open[0].value < self._enough and not self._stopped():
            branch = heappop(self._open) if dive is None else dive
            if dive is not None:
                self._open.remove(dive)
                self._open.sort()
            dive = None
            if branch.is_order:
                again = self._solve(branch)
                if again is not None:
                    heappush(self._open, again)
                    dive = again if not self.improved and again.tries < DIVES else None
            else:
                new = self._branches(branch)
                for one in new:
                    heappush(self._open, one)
                if not self.improved and new:
                    dive = min(new)
                self._look()
            yield self.bound
        yield self.bound

    def _look(self) -> None:
        """Lower the target if there is a better plan."""
        cost = self._cost()
        if cost < self.target:
            self.target, self.improved = cost, True

    @property
    def bound(self) -> float:
        """What no plan is below."""
        return min(self._open[0].value if self._open else inf, self._left, self._enough)

    @property
    def _enough(self) -> float:
        return self.target * (1 - self._near)

    @cached_property
    def _kind(self) -> list[int]:
        """[devices] the same number for devices that are equal in all that counts."""
        measures, blocks = self._superblocks.measures, self._superblocks
        rows = [
            (blocks.time[:, d].tobytes(), bool(blocks.pays[d]), int(measures.room[d]))
            for d in range(len(measures.speed))
        ]
        first = {row: d for d, row in reversed(list(enumerate(rows)))}
        return [first[row] for row in rows]

    def _branches(self, branch: Branch) -> list[Branch]:
        """Return the branches of a sequence: of the largest set, its device of most memory to its speed stands alone.

        The others stand before or after it, in every way. Of two that differ by equal devices one is made.
        """
        room, speed = self._superblocks.measures.room, self._superblocks.measures.speed
        rate = room / np.maximum(speed, 1e-300)
        i = max(
            (i for i, one in enumerate(branch.sets) if len(one) > 1), key=lambda i: rate[list(branch.sets[i])].sum()
        )
        devices = branch.sets[i]
        alone = max(devices, key=lambda d: (rate[d], -d))
        rest = [d for d in devices if d != alone]
        new = []
        for choice in range(1 << len(rest)):
            before = tuple(d for j, d in enumerate(rest) if choice >> j & 1)
            after = tuple(d for j, d in enumerate(rest) if not choice >> j & 1)
            middle = tuple(one for one in (before, (alone,), after) if one)
            sets = (*branch.sets[:i], *middle, *branch.sets[i + 1 :])
            key = tuple(tuple(sorted(self._kind[d] for d in one)) for one in sets)
            if key in self._made or self._stopped():
                continue
            value = max(branch.value, self._relaxed(sets))
            self._made.add(key)
            if value < self._enough:
                new.append(Branch(value, next(self._numbers), sets))
        if self._stopped():
            new.append(branch)
        return new

    def _relaxed(self, sets: Sets) -> float:
        """Return what no plan of a sequence is below, unless the target is."""
        windows = self._superblocks.windows(sets, self.target)
        if windows is None:
            return self.target
        chain = IdealChain(self._superblocks, self._tensors, sets, windows, self.target)
        outcome = minimise_relaxed(chain.programme(whole=False), self._seconds())
        return min(outcome.bound, 1.0) * self.target

    def _solve(self, branch: Branch) -> Branch | None:
        """Solve the programme of an order for a while; return what is left of it, or None if that was enough."""
        target = self._enough * (1 + TOLERANCE)
        windows = self._superblocks.windows(branch.sets, target)
        if windows is None:
            return None
        chain = IdealChain(self._superblocks, self._tensors, branch.sets, windows, target)
        seconds = min(SLICE * 3**branch.tries, self._seconds())
        outcome = minimise_whole(chain.programme(whole=True), seconds, self._stopped, gap=self._near / 4)
        self.trusted = True
        value = max(branch.value, min(outcome.bound, 1.0) * target * (1 - TOLERANCE))
        if outcome.values is not None:
            order = np.array([one[0] for one in branch.sets], np.int64)
            self._take(order[chain.positions(outcome.values)])
        self._look()
        if outcome.complete or branch.tries == MAX_TRIES:
            self._left = min(self._left, value if outcome.bound < 1.0 else inf)
        elif value < self._enough:
            return Branch(value, branch.number, branch.sets, branch.tries + 1)
        return None
