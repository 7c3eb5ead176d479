"""Solve splits, schedules of one sample, and of batches, each by one CP-SAT model: ``--solver cp-sat``."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

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
from mtpp_dsl.core.contracts.protocols import Availability, Feature, Gives, Method
from mtpp_dsl.core.contracts.scopes import Scoped, outside
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.lanes import lanes_refusal
from mtpp_dsl.solvers.backends.cpsat.effort import availability, check
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, BY_MOVES, ONE_SAMPLE, REPEATED

MAX_ENTRIES = 2_000_000
"""Supernodes at nets, times devices, of larger splits are no work for one model."""


class _Modelled(Scoped, MethodBase):
    """What both models share; a refusal says whose model it is."""

    uses_solver = True
    engines = ("cp-sat",)
    gives: Gives = "plan and bound"
    _restricted = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        return outside(f"the model of cp-sat for {self.name}", self.scopes, problem)

    def available(self) -> Availability:
        """Return whether ortools is installed."""
        return availability()

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found and, unless the model leaves out plans, the best bound.

        Raises:
            Refused: the model cannot honour the problem, or a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.backends.cpsat.call import CpSatRun
        from mtpp_dsl.solvers.backends.cpsat.first_plans import behind, known

        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        check(limits)
        start = behind if self._restricted else known
        return CpSatRun(self.name, problem, limits, progress, self._lower(), start, self._restricted).solve()

    @abstractmethod
    def _lower(self) -> Any:
        """Return what makes requests: a :class:`mtpp_dsl.solvers.backends.cpsat.whole_numbers.Lower`."""


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

    def _lower(self) -> Any:
        from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower

        return lower


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
        replace(
            BY_MOVES,
            objectives=("sum of bottlenecks",),
            constraints=(*BY_MOVES.constraints, Linear),
            decisions=(On, Used),
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

    def _lower(self) -> Any:
        from mtpp_dsl.solvers.backends.cpsat.split_problem import lower_split

        return lower_split


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
            self._restricted = "where all batches of a node end before any of a node that reads it starts"
        self.gives: Gives = "plan" if barrier else "plan and bound"
        rule = ", behind barriers as published" if barrier else ""
        self.summary = f"batches as optional intervals{rule}, by CP-SAT"

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be modelled, or None."""
        return super().accepts(problem) or lanes_refusal(f"the model of cp-sat for {self.name}", problem)

    def _lower(self) -> Any:
        from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches

        return partial(lower_batches, barrier=self._barrier)


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
