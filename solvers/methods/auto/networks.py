"""One run of method ``auto`` for bottlenecks on links and trees."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.sizes import LAST_HOPE_ROWS, MAX_ROWS, formulation, mip
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.bounds import Anchor, Simple
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask

__all__ = ["NetworkSteps"]

IDEALS_SHARE, ANCHOR_SHARE, ANNEALING_SHARE = 0.6, 0.2, 0.5
"""Of the time left, what ideals get, which end early where they prove the optimum; then cuts; and then moves."""


class NetworkSteps(AutoSteps):
    """One call.

    1. everything on one device, and the bound that costs next to nothing;
    2. ``ideals``, which proves what it finds where the devices are in an order, chains at once;
    3. ``anchor``, for a bound where that has not proved enough;
    4. ``annealing``, from the best plan;
    5. the exact model from there, where it accepts the problem and is not too large.
    """

    minor = frozenset({SingleDevice.name, Simple.name, Anchor.name})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        self.run(LaneTask(Simple()))
        self.run(LaneTask(Ideals(), IDEALS_SHARE))
        self.run(LaneTask(Anchor(), ANCHOR_SHARE))
        self.run(LaneTask(Annealing(), ANNEALING_SHARE))
        if self.rows <= (MAX_ROWS if self.searched else LAST_HOPE_ROWS):
            for method in self.model():
                self.run(LaneTask(method))
        self.insist()
        return self.answer()

    @property
    def rows(self) -> int:
        """About how many rows the exact model has."""
        graph, k = self.problem.graph, self.problem.k
        return (graph.n + (2 + k) * graph.m) * k

    def searches(self) -> Iterator[Method]:
        """Yield the searches for splits."""
        yield from (Ideals(), Annealing())

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield mip(formulation("exact"))
