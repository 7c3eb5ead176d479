"""Drive the annealings of partitions: begin and end a run, go from round to round, cool down from chunk to chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

NONE_FOUND = "no split that was tried is a plan; this does not prove that there is none"


class AnnealingRun:
    """One run of method ``annealing``; a derived class adds :meth:`_prepare`, :meth:`_begin` and :meth:`_anneal`.

    Attributes:
        tells_of_none: whether a note says so where no plan was found.

    Args:
        problem: the problem.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per supernode and device.
        methods: find plans to start from, the first choice first.
    """

    tells_of_none = True

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        patience: int,
        moves: int,
        methods: Sequence[Method] = (),
    ) -> None:
        self._problem, self._limits, self._progress, self._methods = problem, limits, progress, methods
        self._patience, self._moves = patience, moves
        self._incumbent = Incumbent("annealing", problem, limits, progress, known=self._known_bound())
        self._supernode = self._prepare()
        self._first = np.unique(self._supernode, return_index=True)[1]

    def _known_bound(self) -> float | None:
        """Return a bound on the cost that is known at once, or None."""
        return None

    def _prepare(self) -> Ints:
        """Set up what the annealings share, and return [n] the supernode of every node."""
        raise NotImplementedError

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self._incumbent.take_start()
        if self._begin():
            self._anneal()
        if self.tells_of_none and self._incumbent.plan is None:
            self._incumbent.note(NONE_FOUND)
        return self._incumbent.result()

    def _begin(self) -> bool:
        """Find plans to start from; return whether there is anything to anneal."""
        raise NotImplementedError

    def _anneal(self) -> None:
        """Anneal in rounds until no round helps any more."""
        raise NotImplementedError

    def _one_after_another(self, steps: int, anneal: Callable[[int, int], None], *, longer: bool) -> None:
        """Anneal once in each round.

        Args:
            steps: of the first annealing.
            anneal: anneals, given the number of the round and its steps.
            longer: whether each round takes a quarter more steps than the one before.
        """
        idle, turn = 0, 0
        while idle < self._patience and not self._incumbent.done:
            known = self._incumbent.cost
            anneal(turn, steps)
            idle = 0 if self._incumbent.cost < known else idle + 1
            turn += 1
            steps += steps // 4 if longer else 0

    def _plan_of(self, device: Ints) -> Plan:
        """Return the plan of [supernodes] devices."""
        return Plan.create(self._problem, device[self._supernode])


def chunks(steps: int, size: int, stopped: Callable[[], bool], *, once: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where each chunk of the *steps* of an annealing begins and ends, until it is *stopped*.

    With *once* the first chunk does not ask.
    """
    for begin in range(0, steps, size):
        if not (once and begin == 0) and stopped():
            return
        yield begin, min(steps, begin + size)


def falling(first: float, last: float, share: float) -> float:
    """Return what falls geometrically from *first* to *last*, when a *share* of the steps is done."""
    return float(first * (last / first) ** share)
