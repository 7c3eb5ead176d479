"""Rounds of random searches, several in each round, which last longer from round to round."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple, TypeVar

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits

T = TypeVar("T")


class Turn(NamedTuple):
    """One search of a round.

    Attributes:
        number: of the round, from 0.
        chain: which of the searches of the round it is, from 0.
        steps: how many steps it takes.
        random: where its random numbers come from; they depend on the seed, the round and the chain alone.
    """

    number: int
    chain: int
    steps: int
    random: np.random.Generator


@dataclass(frozen=True)
class MultiStart:
    """Runs rounds of searches until none has helped for long, each twice as long as the one two rounds before.

    Without a limit of time, what the searches do depends on the seed alone: always as many run side by side, on however
    many processors, and a round begins when all searches of the one before have ended.

    Attributes:
        limits: the time, the seed, and how many threads there may be.
        chains: searches in each round; a single one runs in the thread of the caller.
        patience: rounds in a row without a better solution after which it ends.
        first: steps of each search of the first two rounds.
        least: steps of each search at least, however little time is left.
        most: steps of each search at most.
    """

    limits: Limits
    chains: int
    patience: int
    first: int
    least: int
    most: float = float("inf")

    def run(
        self,
        search: Callable[[Turn], T],
        keep: Callable[[list[T]], None],
        cost: Callable[[], float],
        done: Callable[[], bool],
        *,
        prepare: Callable[[int], object] = lambda _: None,
        rate: float = float("inf"),
    ) -> None:
        """Search until the patience is used up, or there is no more to do.

        Args:
            search: searches once; those of a round run at the same time.
            keep: receives what the searches of a round have returned, in the order of their chains.
            cost: returns the cost of the best solution known; a round that does not lower it has not helped.
            done: returns whether there is no more time, or no need for more.
            prepare: called before each round with the steps of each of its searches, to compile what they share.
            rate: how many steps a search takes in a second, where that is known before the first round.
        """
        quiet = number = 0
        with self._threads() as pool:
            while quiet < self.patience and not done():
                began, before = monotonic(), cost()
                steps = self._steps(number, rate)
                prepare(steps)
                turns = [self.turn(number, chain, steps) for chain in range(self.chains)]
                keep(list(map(search, turns)) if pool is None else list(pool.map(search, turns)))
                rate = steps / max(monotonic() - began, 1e-3)
                number += 1
                quiet = 0 if cost() < before else quiet + 1

    def _steps(self, number: int, rate: float) -> int:
        """Return the steps of each search of a round, of which the time left allows *rate* in a second."""
        fit = max(self.least, rate * self.limits.remaining)
        return int(min(self.most, self.first * 2 ** (number // 2), fit))

    def turn(self, number: int, chain: int, steps: int) -> Turn:
        """Return one search of a round, at the beginning of its random numbers."""
        return Turn(number, chain, steps, np.random.default_rng((self.limits.seed, number, chain)))

    @contextmanager
    def _threads(self) -> Iterator[Executor | None]:
        """Yield threads for the searches of a round, or None where there is one search."""
        if self.chains == 1:
            yield None
            return
        with ThreadPoolExecutor(min(self.chains, self.limits.threads or os.cpu_count() or 1)) as pool:
            yield pool
