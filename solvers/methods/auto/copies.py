"""One run of method ``auto`` where several routes may share the inputs."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask

__all__ = ["CopiesRun"]


class CopiesRun(AutoSteps):
    """One call under ``constraint copies``: the method of that name, which finds plans and bounds."""

    minor = frozenset({SingleDevice.name})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        for method in self.searches():
            self.run(LaneTask(method))
        return self.answer()

    def searches(self) -> Iterator[Method]:
        """Yield the search for routes."""
        yield load(METHODS, "copies")()
