"""``--solver cp-sat``: models of its own for some formulations."""

from __future__ import annotations

from typing import ClassVar

from mtpp_dsl.core.contracts.protocols import Availability, Feature, Method
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.solvers.backends.cpsat.installed import availability
from mtpp_dsl.solvers.methods.cp_sat import BatchScheduling, Scheduling, Splitting

__all__ = ["CpSat"]


class CpSat:
    """OR-tools' CP-SAT: constraint programming, in a process of its own."""

    name = "cp-sat"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {"time_limit", "gap", "threads", "seed", "log", "warm_start", "bound_at_limit", "incumbents"}
    )
    formulations: ClassVar[tuple[str, ...]] = ("exact", "moirai", "batched", "batched-printed")

    def available(self) -> Availability:
        """Return whether ortools is installed, without importing it."""
        return availability()

    def method(self, formulation: str) -> Method:
        """Return what solves the problems of a formulation by a model of constraint programming.

        Raises:
            Refused: there is none for it; says for which there is.
        """
        if formulation not in self.formulations:
            known = " and ".join(self.formulations)
            raise Refused(
                f"solver {self.name!r} has no model for {formulation!r}, only for {known}; use --solver highs"
            )
        if formulation == "exact":
            return Splitting(formulation)
        if formulation == "moirai":
            return Scheduling(formulation)
        return BatchScheduling(formulation, barrier=formulation == "batched-printed")
