"""Method ``diving``: the sets that the configuration bound covers with, fixed one after another."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.constraints import BreakSymmetry, Colocate, Forbid, Linear, Memory, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import PLACED, SLICES

__all__ = ["Diving"]


class Diving(Scoped, MethodBase):
    """Method ``diving``: splits in which few tensors are open along some order, device by device.

    A linear programme covers what is left by shares of sets that the devices left can hold below a target, which tables
    find exactly, as for ``configuration``; the set with the largest share goes to a device, unless it exceeds the
    memory. Rows are left out, and every plan is checked against them. See
    :mod:`mtpp_dsl.solvers.bounds.configuration.diving`.
    """

    name = "diving"
    gives: Gives = "plan"
    seeded = False
    summary = "sets of the configuration bound go to the devices one after another (price and dive)"
    scopes = (
        replace(
            SLICES,
            constraints=(BreakSymmetry, Colocate, Forbid, Memory, Pin),
            checked=(Linear, Separate),
            decisions=PLACED,
            streams=False,
        ),
    )

    def beyond(self, problem: Problem) -> str | None:
        """Return why sets cannot be found by tables, or None."""
        from mtpp_dsl.solvers.bounds.configuration.narrow_sets import states_of
        from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance

        if states_of(bound_instance(problem)) is None:
            return f"{self.name} fills tables, for graphs of up to 1,000 nodes with few tensors open along some order"
        return None

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, or none, with a note that says so."""
        from mtpp_dsl.solvers.bounds.configuration.diving_run import dive
        from mtpp_dsl.solvers.bounds.configuration.narrow_sets import states_of
        from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance

        states = states_of(bound_instance(problem))
        if states is None:
            raise Refused(self.refused_by_scopes(problem) or f"{self.name} fills no tables for this problem")
        return dive(self.name, problem, states, limits, progress)
