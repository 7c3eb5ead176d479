"""State what a problem in whole numbers offers to a run of CP-SAT, and what makes one of a problem."""

from __future__ import annotations

from typing import Protocol, TypeVar

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.request import CpSatRequest
from mtpp_dsl.solvers.backends.cpsat.whole_times import WholeScale

__all__ = ["Lower", "Whole"]

S = TypeVar("S")


class Whole(Protocol[S]):
    """The protocol of a problem in whole numbers, such as a ``WholeSample`` (:mod:`.sample_problem`)."""

    @property
    def scale(self) -> WholeScale:
        """Return how times become whole numbers."""

    @property
    def request(self) -> CpSatRequest[S]:
        """Return what CP-SAT is asked."""

    @property
    def complete(self) -> bool:
        """Return whether a problem that has any plan has one by the cutoff of the request."""

    def plans(self, solution: S) -> list[Plan]:
        """Return the plans that a solution stands for."""

    def over(self, plan: Plan) -> bool:
        """Return whether a plan needs the tolerance of a memory limit."""


class Lower(Protocol[S]):
    """The protocol of what turns a problem into whole numbers: see :func:`.sample_problem.lower`."""

    def __call__(
        self, problem: Problem, plan: Plan | None = None, *, strict: bool = False, at_least: float = 0.0
    ) -> Whole[S]: ...
