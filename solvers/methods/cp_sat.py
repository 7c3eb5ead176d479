"""Splits, schedules of one sample, and of batches, each by one CP-SAT model of the whole problem."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Contiguous,
    Finish,
    Latency,
    Linear,
    Load,
    Makespan,
    On,
    Start,
    Used,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Gives
from mtpp_dsl.core.contracts.scopes import Scoped, outside
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.lanes import lanes_refusal
from mtpp_dsl.solvers.backends.cpsat.installed import availability
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, BY_MOVES, ONE_SAMPLE, REPEATED

__all__ = ["BatchScheduling", "Scheduling", "Splitting"]

MAX_ENTRIES = 2_000_000
"""Supernodes at nets, times devices, of larger splits are no work for one model."""


class _Modelled(Scoped, MethodBase):
    """What both models share; a refusal says whose model it is."""

    uses_solver = True
    engines = ("cp-sat",)
    gives: Gives = "plan and bound"

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        return outside(f"the model of cp-sat for {self.name}", self.scopes, problem)

    def available(self) -> Availability:
        """Return whether ortools is installed."""
        return availability()


class Scheduling(_Modelled):
    """Solve what formulation *name* formulates by optional intervals in place of big-Ms.

    A task is an interval on each device that it can be on, of which one is there, and those on one device do not
    overlap; a transfer is an indicator of two places, which delays its head, and where links are exclusive an interval
    at its sender and its receiver (zhang2023, eq. 4-8, without their M). Where the quotient graph must be acyclic, the
    devices have places in an order, as integers; see :mod:`mtpp_dsl.solvers.backends.cpsat.quotient`.
    """

    summary = "optimal schedule, as optional intervals, by CP-SAT"
    scopes = (
        replace(
            ONE_SAMPLE,
            constraints=(*ONE_SAMPLE.constraints, Acyclic, Contiguous, Linear),
            decisions=(On, Load, Bottleneck, Used, Start, Finish, Makespan),
        ),
    )

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found and the best bound.

        Raises:
            Refused: the model cannot honour the problem, or a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.backends.cpsat.call import CpSatRun
        from mtpp_dsl.solvers.backends.cpsat.first_plans import known
        from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower

        _ready(self.accepts(problem), limits)
        return CpSatRun(self.name, problem, limits, progress, lower, known).solve()


class Splitting(_Modelled):
    """Solve what formulation *name* formulates by literals alone: a supernode on a device, a net that a device cuts."""

    summary = "optimal split, by CP-SAT"
    scopes = (
        replace(
            BY_MOVES,
            constraints=(*BY_MOVES.constraints, Linear),
            decisions=(On, Load, Bottleneck, Used, Latency),
            streams=False,
        ),
    )

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        reason = super().accepts(problem)
        entries = (problem.graph.n + problem.graph.m) * problem.k
        if reason is None and entries > MAX_ENTRIES:
            return f"the model of cp-sat for {self.name} is for up to {MAX_ENTRIES:,} nodes and edges times devices"
        return reason

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found and the best bound.

        Raises:
            Refused: the model cannot honour the problem, or a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.backends.cpsat.call import CpSatRun
        from mtpp_dsl.solvers.backends.cpsat.first_plans import known
        from mtpp_dsl.solvers.backends.cpsat.split_problem import lower_split

        _ready(self.accepts(problem), limits)
        return CpSatRun(self.name, problem, limits, progress, lower_split, known).solve()


class BatchScheduling(_Modelled):
    """Solve what formulation *name* formulates: chunks on devices, and of every node a batch on each that has some.

    A batch is an optional interval for every size that it can have; an indicator for every edge and pair of devices,
    which every chunk that both batches have makes true, delays the later one (ghannane2023, 3.2, without M).

    Args:
        name: of the formulation.
        barrier: whether all batches of a node end before any of a node that reads it starts, as (3.3) is printed. Such
            a plan is a plan, and a bound on such plans is none on others.
    """

    scopes = (REPEATED,)

    def __init__(self, name: str, *, barrier: bool = False) -> None:
        super().__init__(name)
        self._barrier = barrier
        if barrier:
            self.scopes = (BATCH,)
        self.gives: Gives = "plan" if barrier else "plan and bound"
        rule = ", behind barriers as published" if barrier else ""
        self.summary = f"batches as optional intervals{rule}, by CP-SAT"

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        return super().accepts(problem) or lanes_refusal(f"the model of cp-sat for {self.name}", problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found and, without barriers, the best bound.

        Raises:
            Refused: the model cannot honour the problem, or a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
        from mtpp_dsl.solvers.backends.cpsat.call import CpSatRun
        from mtpp_dsl.solvers.backends.cpsat.first_plans import behind, known

        _ready(self.accepts(problem), limits)
        makes = partial(lower_batches, barrier=self._barrier)
        restricted = "where all batches of a node end before any of a node that reads it starts" * self._barrier
        start = behind if self._barrier else known
        return CpSatRun(self.name, problem, limits, progress, makes, start, restricted).solve()


def _ready(reason: str | None, limits: Limits) -> None:
    from mtpp_dsl.solvers.backends.cpsat.unsupported import check

    if reason is not None:
        raise Refused(reason)
    check(limits)
