"""Solve parts of the best schedule anew by CP-SAT, several at once, until that has not helped for long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.request import CpSatRequest, Effort, Reply, Status
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

if TYPE_CHECKING:
    from numpy.random import Generator

WORK = 0.25
"""CP-SAT's own measure of time for one part: the same on every machine, and roughly its seconds on a fast one."""
PATIENCE = 150
"""Parts that have not helped, one after another, after which the search ends."""

P = TypeVar("P")
S = TypeVar("S")


class Neighbourhoods(ABC, Generic[P, S]):
    """Chooses parts of one schedule, all else staying as it is, and puts solutions of them back.

    Attributes:
        problem: the problem.
        random: where random numbers come from.
        ties: whether the search goes on from a plan that costs as much as the one before.
        options: of CP-SAT.
    """

    ties: ClassVar[bool]
    options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    problem: Problem
    random: Generator

    @abstractmethod
    def go_on_from(self, plan: Plan) -> None:
        """Choose parts of *plan* from now on."""

    @abstractmethod
    def choose(self) -> tuple[P, CpSatRequest[S] | None]:
        """Return a part, and what to ask for; None if that cannot be had, as a bound on it shows."""

    @abstractmethod
    def plans(self, part: P, reply: Reply[S]) -> Iterable[Plan]:
        """Return the plan with a solution of a part put in, in exact times; none if there is no solution."""

    @abstractmethod
    def learn(self, part: P, status: Status, *, better: bool) -> None:
        """Take note of how CP-SAT has answered, and whether a better plan came of it."""

    @abstractmethod
    def proves(self, part: P, reply: Reply[S] | None) -> bool:
        """Return whether an answer shows that no plan is better; None stands for what was not asked."""


def improve_parts(
    parts: Neighbourhoods[P, S], plan: Plan, pool: ProcessPool, incumbent: Incumbent, limits: Limits, progress: Progress
) -> None:
    """Solve parts of *plan* anew, and hand what is found to *incumbent*.

    Each round asks for as many parts of one schedule as there are processes, and takes the best of the answers: how
    fast they come makes no difference.

    Args:
        parts: chooses them.
        plan: to start from.
        pool: the processes.
        incumbent: takes the plans.
        limits: when to stop, and options of CP-SAT.
        progress: when to stop.

    Raises:
        Ended: the time is up, or somebody asked to stop.
    """
    cost, failures = evaluate(parts.problem, plan).cost, 0
    parts.go_on_from(plan)
    while failures < PATIENCE and not incumbent.closed():
        incumbent.pause()
        asked = [_ask(parts, pool, limits, progress) for _ in range(pool.size)]
        best: Plan | None = None
        least = cost
        for part, future in asked:
            reply = None if future is None else future.result()
            if parts.proves(part, reply):
                return
            plans = [] if reply is None else [made for made in parts.plans(part, reply) if incumbent.take(made)]
            values = [evaluate(parts.problem, made).cost for made in plans]
            for made, value in zip(plans, values, strict=True):
                if value < least or (parts.ties and value == least):
                    best, least = made, value
            status = "infeasible" if reply is None else reply.status
            parts.learn(part, status, better=min(values, default=cost) < cost)
        failures = 0 if least < cost else failures + len(asked)
        if best is not None:
            parts.go_on_from(best)
            cost = least


def _ask(
    parts: Neighbourhoods[P, S], pool: ProcessPool, limits: Limits, progress: Progress
) -> tuple[P, Future[Reply[S]] | None]:
    """Choose a part, and ask for a solution of it, unless there is none."""
    part, request = parts.choose()
    if request is None:
        return part, None
    options = {"max_deterministic_time": WORK, **parts.options, **limits.solver_options}
    effort = Effort(limits.remaining, 1, int(parts.random.integers(2**31)), 0.0, options)
    return part, pool.submit(request, effort, stopped=lambda: progress.stopped)
