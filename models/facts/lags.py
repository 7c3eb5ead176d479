"""Derive what labelled constraints say of starts: least distances in time, or greatest sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mtpp_dsl.core.constraints import Bottleneck, Decision, Finish, Linear, Load, Makespan, On, Start
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Lag", "RowSide", "lags", "longest_lags", "sides", "without_horizon"]

END = -1
"""Stands for the makespan among the nodes."""


@dataclass(frozen=True)
class RowSide:
    """A labelled constraint as ``sum(times[v] * start(v)) + sum(rest) <= high``; node -1 is the makespan.

    The durations of nodes whose finish it names are among the rest, with :class:`Finish` for their decision.
    """

    times: dict[int, float]
    rest: tuple[tuple[Decision, float], ...]
    high: float


@dataclass(frozen=True)
class Lag:
    """``start(after) >= start(before) + by``; ``before`` None: after the beginning, -1: after the end of all."""

    after: int
    before: int | None
    by: float


def sides(constraint: Linear) -> Iterator[RowSide]:
    """Yield *constraint* as one or two upper bounds."""
    for sign, other in ((1.0, ">="), (-1.0, "<=")):
        if constraint.sense == other:
            continue
        times: dict[int, float] = {}
        rest: list[tuple[Decision, float]] = []
        for decision, a in constraint.terms:
            if isinstance(decision, (Start, Finish, Makespan)):
                v = END if isinstance(decision, Makespan) else decision.node
                times[v] = times.get(v, 0.0) + sign * a
            if not isinstance(decision, (Start, Makespan)):
                rest.append((decision, sign * a))
        yield RowSide({v: a for v, a in times.items() if a}, tuple(rest), sign * constraint.rhs)


def without_horizon(constraint: Linear) -> str | None:
    """Return why *constraint* leaves no bound on how long schedules have to be, or None.

    A side whose times all have coefficients above zero is kept by the earliest schedule, if by any; one that says how
    long after another, or after the beginning, a node starts has a lag that can be added up.
    """
    for side in sides(constraint):
        late = [v for v, a in side.times.items() if a < 0]
        early = {a for a in side.times.values() if a > 0}
        if END in late:
            return "asks for a long makespan, which is minimised"
        if len(late) > 1 or (late and (len(side.times) > 2 or not early <= {-side.times[late[0]]})):
            return (
                "asks for late times of several nodes together; only differences of two, with one coefficient, "
                "leave a bound on how long a schedule has to be"
            )
    return None


def lags(problem: Problem, value: Callable[[Decision], float]) -> list[Lag]:
    """Return the lags that the labelled constraints ask for, given what the decisions other than times are.

    Args:
        problem: of whose constraints :func:`without_horizon` has nothing to say.
        value: of ``on``, ``load`` and ``bottleneck``, and for ``finish(v)`` the duration of v.
    """
    found = []
    for side in (side for constraint in problem.hard_rows for side in sides(constraint)):
        late = next((v for v, a in side.times.items() if a < 0), None)
        if late is not None:
            before = next((v for v, a in side.times.items() if a > 0), None)
            rest = sum(a * value(decision) for decision, a in side.rest)
            found.append(Lag(late, before, (rest - side.high) / -side.times[late]))
    return found


def longest_lags(problem: Problem) -> float:
    """Return what the lags of the labelled constraints add up to at most."""
    times = [float(row[row < float("inf")].max(initial=0.0)) for row in problem.time]
    work = sum(times)

    def most(decisions: Sequence[tuple[Decision, float]]) -> float:
        sizes = {On: 1.0, Load: work, Bottleneck: work}
        return sum(abs(a) * (times[x.node] if isinstance(x, Finish) else sizes.get(type(x), 0.0)) for x, a in decisions)

    total = 0.0
    for side in (side for constraint in problem.hard_rows for side in sides(constraint)):
        late = [a for a in side.times.values() if a < 0]
        total += sum((abs(side.high) + most(side.rest)) / -a for a in late)
    return total
