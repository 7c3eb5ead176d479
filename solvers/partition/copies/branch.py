"""Branch and bound over what devices hold, by types of devices, which branches divide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import Route
from mtpp_dsl.solvers.partition.copies.pricing import CountedPricer
from mtpp_dsl.solvers.partition.copies.shares import Mix, priced

__all__ = ["CopiesBranch", "CopiesSearch", "holdings", "used"]

MAX_COLUMNS = 100
DIVE_EVERY = 40
"""So often a branch is followed down to a plan, and not the one of least bound taken."""


@dataclass(frozen=True, eq=False)
class CopiesBranch:
    """A part of all plans.

    Attributes:
        instance: with the types as they are divided here.
        choice: what devices of each type may hold: of a search of its own form.
        mix: the best shares, if each route alone keeps to it.
    """

    instance: Any
    choice: Any
    mix: Mix


@dataclass(eq=False)
class CopiesSearch:
    """What both searches are given.

    Attributes:
        instance: the whole one.
        pricer: returns what prices routes of an instance.
        root: the best shares without any branch.
        most: devices that may hold one node.
        gap: of period and bound that is small enough.
        upper: returns the period of the best plan so far.
        take: told of an instance and shares that keep everything.
        prove: told of periods that nothing is below.
        pause: raises where the time is up.
        ranges: returns the places from which, and before which, each device that the best plan uses has nodes.
    """

    instance: Any
    pricer: Callable[[Any], CountedPricer]
    root: Mix
    most: int
    gap: float
    upper: Callable[[], float]
    take: Callable[[Any, Mix], None]
    prove: Callable[[float], None]
    pause: Callable[[], None]
    ranges: Callable[[], dict[int, tuple[int, int]]]

    def __post_init__(self) -> None:
        self.pool: list[Route] = list(self.root.columns)  # by the types of the whole instance
        self.polish: Callable[[], None] = lambda: None  # called after a plan was found on the way down
        self._type = {d: kind for kind, group in enumerate(self.instance.members) for d in group}

    def cutoff(self) -> float:
        """Return the period from which on a branch is of no use."""
        return self.upper() * (1 - self.gap)

    def types_of(self, instance: Any) -> list[int]:
        """Return of which type of the whole instance each type of a branch is."""
        return [self._type[group[0]] for group in instance.members]

    def bounded(self, instance: Any, end: Any) -> Mix:
        """Return the best shares where stages may end there; remember their routes."""
        kinds = self.types_of(instance)
        known = [fitted for route in self.pool if (fitted := _fitted(instance, kinds, end, route)) is not None]
        mix = priced(self.pricer(instance), end, known, cutoff=self.cutoff(), pause=self.pause)
        fresh = (tuple((low, high, kinds[kind]) for low, high, kind in route) for route in mix.columns[-5:])
        self.pool = list(dict.fromkeys((*self.pool, *fresh)))[-MAX_COLUMNS:]
        return mix

    def run(
        self,
        first: CopiesBranch,
        split: Callable[[CopiesBranch], Iterator[tuple[Any, Any]]],
        ends: Callable[[Any, Any], Any],
    ) -> None:
        """Split the open branch of least bound again and again, until none is below the cutoff.

        At first, and now and then, the better part is split at once, down to a plan.

        Args:
            first: the branch of everything.
            split: yields the parts of a branch, instance and choice; none where its shares keep everything.
            ends: where stages may end in a part.
        """
        order = count()
        heap = [(first.mix.lower, next(order), first)]
        lowest = inf  # of branches that are left alone
        dive, seen = True, 0
        while heap:
            self.pause()
            lower, _, branch = heappop(heap)
            self.prove(min(lower, lowest, self.upper()))
            if lower >= self.cutoff():
                lowest = min(lowest, lower)
                break
            while True:
                self.pause()
                seen += 1
                fresh, parts = [], 0
                for instance, choice in split(branch):
                    parts += 1
                    mix = self.bounded(instance, ends(instance, choice))
                    if mix.lower < self.cutoff():
                        fresh.append((mix.lower, next(order), CopiesBranch(instance, choice, mix)))
                    else:
                        lowest = min(lowest, mix.lower)
                if not parts:
                    lowest, dive = min(lowest, branch.mix.lower), False
                    self.polish()
                    break
                dive = (dive or seen % DIVE_EVERY == 0) and bool(fresh)
                if dive:
                    fresh.sort(key=lambda entry: entry[:2])
                    branch = fresh.pop(0)[2]
                for entry in fresh:
                    heappush(heap, entry)
                if not dive:
                    break
        self.prove(min(lowest, self.upper()))


def _fitted(instance: Any, kinds: Sequence[int], end: Any, route: Route) -> Route | None:
    """Return a route by types of the whole instance as one by the types of a branch, or None where it does not fit.

    Args:
        instance: of the branch.
        kinds: of which type of the whole instance each type of the branch is.
        end: where stages may end there.
        route: of the whole instance.
    """
    left = instance.count.tolist()
    stages = []
    for low, high, kind in route:
        free = [q for q, own in enumerate(kinds) if own == kind and left[q] > 0 and instance.may(end, low, high, q)]
        if not free:
            return None
        best = max(free, key=lambda q: left[q])
        left[best] -= instance.ordered
        stages.append((low, high, best))
    return tuple(stages)


def used(instance: Any, mix: Mix) -> Floats:
    """Return [n, types] the share of the inputs that each type runs each node for."""
    use = np.zeros((instance.n, instance.types))
    for route, share in zip(mix.routes, mix.shares.tolist(), strict=True):
        use += share * instance.used(route)
    return use


def holdings(search: CopiesSearch) -> None:
    """Search plans with any nodes on any devices: branch on how many devices of a type hold a node.

    A choice is [n, types]: 0 the devices never hold a node, 1 they surely do, -1 it is open.
    """

    def ends(instance: Any, choice: Ints) -> Any:
        return instance.holding(choice).end

    def split(branch: CopiesBranch) -> Iterator[tuple[Any, Ints]]:
        instance, choice = branch.instance, branch.choice
        share = used(instance, branch.mix)
        needed: Bools = (share > 0) | (choice == 1)
        over = instance.memory @ needed > instance.room
        many = needed @ instance.count > search.most
        if not over.any() and not many.any():
            search.take(instance, branch.mix)
            return
        least = np.minimum(share, np.maximum(1 - share, 0.0)) + 1e-6
        least = np.where((choice == -1) & (share > 0) & (over | many[:, None]), least, -1.0)
        if least.max() < 0:
            return
        v, kind = divmod(int(least.argmax()), instance.types)
        if over.any():
            fullest = int(np.argmax(np.where(over, instance.memory @ needed / np.maximum(instance.room, 1e-300), -1.0)))
            column = np.where(instance.memory > 0, least[:, fullest], -1.0)
            if column.max() >= 0:
                v, kind = int(column.argmax()), fullest
        yield from _decided(instance, choice, v, kind, search.most)

    first = np.full((search.instance.n, search.instance.types), -1, np.int8)
    search.run(CopiesBranch(search.instance, first, search.root), split, ends)


def _decided(instance: Any, choice: Ints, v: int, kind: int, most: int) -> Iterator[tuple[Any, Ints]]:
    """Yield the parts in which 0, 1, ... devices of a type surely hold node *v*, and its others never do."""
    total = int(instance.count[kind])
    for holders in range(total + 1):
        if 0 < holders < total:
            divided = instance.divided(kind, holders)
            part = np.insert(choice, kind, choice[:, kind], axis=1)
            part[v, kind : kind + 2] = 1, 0
        else:
            divided, part = instance, choice.copy()
            part[v, kind] = int(holders > 0)
        if divided.count[part[v] == 1].sum() >= most:
            part[v, part[v] == -1] = 0
        if divided.count[part[v] == 1].sum() <= most:
            yield divided, part
