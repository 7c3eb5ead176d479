"""Parts of a schedule of batches, to be solved anew."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.solvers.backends.cpsat.batch_problem import WholeBatches
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest, BatchSolution
from mtpp_dsl.solvers.backends.cpsat.request import Reply, Status
from mtpp_dsl.solvers.schedule.lns.batch_timeline import BatchTimeline
from mtpp_dsl.solvers.schedule.lns.batch_window import BatchWindow
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import Neighbourhoods

__all__ = ["BatchParts"]

FIRST_SIZE, MIN_SIZE, MAX_SIZE = 6.0, 2.0, 40.0
"""Nodes that are free in a window: at first, at least, at most."""
GROW, SHRINK = 1.1, 0.95
SCATTERED = 0.5
"""How often free nodes are drawn from a window several times as long, and not all of a shorter one."""
WIDER = 3.0


class BatchParts(Neighbourhoods[BatchWindow, BatchSolution]):
    """Windows of a schedule, which grow while CP-SAT solves them to the end, and shrink where it does not.

    Args:
        whole: the problem in whole numbers.
        random: where random numbers come from.
    """

    ties = False
    options = MappingProxyType({"interleave_search": False})

    def __init__(self, whole: WholeBatches, random: np.random.Generator) -> None:
        self.problem, self.random = whole.instance.problem, random
        self._whole, self._size = whole, FIRST_SIZE

    def go_on_from(self, plan: Plan) -> None:
        """Choose parts of *plan* from now on."""
        self._line = BatchTimeline.of(self._whole, plan)

    def choose(self) -> tuple[BatchWindow, BatchRequest | None]:
        """Return a window around some batch: all nodes of a short one may move, or some of a longer one."""
        line, random = self._line, self.random
        scattered = bool(random.random() < SCATTERED)
        wanted = self._size * (WIDER if scattered else 1.0)
        batches = int(line.rank.max(initial=0)) + 1
        middle, reach = int(random.integers(batches)), round(wanted * batches / len(line.rank) / 2)
        first, last = middle - reach, middle + reach
        here = line.there & (line.rank >= first) & (line.rank <= last)
        free: Bools = np.asarray(here.any(axis=1), np.bool_)
        if scattered:
            free &= random.random(len(free)) < 1 / WIDER
        window = BatchWindow.of(self._whole, line, first, last, free)
        return window, window.request()

    def plans(self, part: BatchWindow, reply: Reply[BatchSolution]) -> list[Plan]:
        """Return the plan with a solution of a part put in, in exact times; none if there is no solution."""
        if reply.solution is None or reply.value is None:
            return []
        return self._whole.plans(part.schedule(reply.solution, reply.value))

    def learn(self, part: BatchWindow, status: Status, *, better: bool) -> None:  # noqa: ARG002 (other parts use it)
        """Make windows larger where they are solved to the end, and smaller where not."""
        solved = status in ("optimal", "infeasible")
        self._size = min(MAX_SIZE, max(MIN_SIZE, self._size * (GROW if solved else SHRINK)))

    def proves(self, part: BatchWindow, reply: Reply[BatchSolution] | None) -> bool:
        """Return whether the part is all of the schedule, and no shorter one exists."""
        return part.everything and reply is not None and reply.status == "infeasible"
