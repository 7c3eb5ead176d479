"""Find the largest value of a param for which there is a plan, by bisection, with the proof of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf
from time import monotonic
from typing import Any

from mtpp_dsl.core.base.amounts import Duration, seconds_of, whole
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.largest import LargestValue
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.growth import why_not_larger
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import DEFAULT_TIME, find_method, solve
from mtpp_dsl.solving.drivers.stage import Stage

SHARE = 0.6
"""Of the time limit, what the bisection takes at first: the rest is for the best plan of the largest value. What that
does not need is for the values that are still open."""
EACH, RETRY = 0.25, 0.75
"""Of what is left of it, what one value takes at most: the first time, and where it is tried again."""
LEAST_SECONDS = 1.0
"""What each value gets at least, as long as the whole time is not over."""
LAST_SECONDS = 0.1
"""With less of the time left, no value that is open is tried."""

Told = Callable[[int, str], object]
"""Is called with each value that was tried, and "fits", "does not fit" or "not decided"."""


def largest(
    problem_at: Callable[[int], Problem],
    param: str,
    low: int,
    high: int,
    *,
    method: str | Method = "auto",
    time_limit: Duration | None = DEFAULT_TIME,
    progress: Progress | None = None,
    told: Told | None = None,
    **options: Any,
) -> Result:
    """Return the best plan for the largest value of a param that has one, with what is proved in ``result.largest``.

    Values are tried by bisection: of each a plan is looked for, or a proof that there is none. Where the time of a
    value ends before either, the search goes on below it and above it. Where the best plan of the largest value is
    proved before the time is over, the values that are still open are tried again.

    Args:
        problem_at: makes the problem of a value, such as ``lambda seq: spec.problem(seq=seq)``.
        param: what it is called.
        low: the least value that is asked about.
        high: the greatest.
        method: that looks for plans.
        time_limit: of all together.
        progress: to watch and to stop the search for the best plan; stopping it ends the bisection, too.
        told: is called after each value.
        options: other arguments of :func:`mtpp_dsl.solve`, such as ``seed``.

    Raises:
        UsageError: there is no value in the range, or the method gives no plans.
        Refused: the method cannot honour the problem.
    """
    low, high, limit = whole("low", low, 0), whole("high", high, 0), seconds_of("time_limit", time_limit)
    if low > high:
        raise UsageError(f"{param} = {low}..{high} has no value in it: write the least first")
    method = find_method(method) if isinstance(method, str) else method
    if method.gives == "bound":
        raise UsageError(f"the largest {param} needs plans, and method {method.name!r} gives bounds alone")
    search = _Bisection(problem_at, param, low, high, method, limit, progress or Progress(), told, options)
    result = search.run()
    largest = LargestValue(
        param, low, high, search.fits, search.refuted, search.reason, search.not_monotone(), len(search.problems)
    )
    return replace(result, largest=largest)


class _Bisection:
    """The values between the largest with a plan and the least that is refuted.

    Attributes:
        fits, refuted: these two; None for none.
        results: of the values that were tried.
        problems: that were read, by value.
        undecided: values of which neither a plan nor a proof was found.
        given: the seconds that each value had when it was last tried.
        until: when no further value is tried, until the best plan is known; None for never.
    """

    def __init__(
        self,
        problem_at: Callable[[int], Problem],
        param: str,
        low: int,
        high: int,
        method: Method,
        limit: float | None,
        progress: Progress,
        told: Told | None,
        options: dict[str, Any],
    ) -> None:
        self.problem_at, self.param, self.low, self.high, self.method = problem_at, param, low, high, method
        self.began, self.limit, self.progress, self.told, self.options = monotonic(), limit, progress, told, options
        self.fits: int | None = None
        self.refuted: int | None = None
        self.results: dict[int, Result] = {}
        self.problems: dict[int, Problem] = {}
        self.undecided: set[int] = set()
        self.given: dict[int, float] = {}
        self.until = None if limit is None else self.began + limit * SHARE

    def run(self) -> Result:
        """Try values until the two are neighbours, or the time is over; return the best plan for the largest."""
        self.bisect()
        known, result = self.fits, self.best()
        if self.limit is not None and self.left > LAST_SECONDS:
            self.until = self.began + self.limit
            self.bisect()
            if self.fits is None or self.fits != known:
                result = self.best(again=True)
        return replace(result, time={**result.time, "total": monotonic() - self.began})

    def bisect(self) -> None:
        """Try values until the two are neighbours, or the round is over."""
        while not self.over and (value := self.next_value()) is not None:
            self.try_value(value)

    @property
    def left(self) -> float:
        """What is left of the time, in seconds."""
        return inf if self.limit is None else self.limit - (monotonic() - self.began)

    @property
    def over(self) -> bool:
        """Whether no further value is to be tried; the least one always is."""
        late = self.until is not None and monotonic() > self.until
        return bool(self.results) and (self.progress.stopped or late)

    def next_value(self) -> int | None:
        """Return the value to try next; None: there is nothing more to try.

        That is the least value, and then the greatest; the middle of the values below the least that was not decided,
        or of those above; or one that was not decided, where there is more time for it than before.
        """
        if self.low not in self.results:
            return self.low
        if self.fits is not None and self.high not in self.results:
            return self.high
        if self.fits is None:
            return self.low if self.low in self.undecided and self.may_try_again(self.low) else None
        top = self.high + 1 if self.refuted is None else self.refuted
        stuck = sorted(value for value in self.undecided if self.fits < value < top)
        gaps = [(self.fits, stuck[0]), (stuck[-1], top)] if stuck else [(self.fits, top)]
        untried = ((below + above) // 2 for below, above in gaps if above - below > 1)
        return next(untried, next((value for value in stuck if self.may_try_again(value)), None))

    def seconds_for(self, value: int) -> float | None:
        """Return what a value may take of the time; None for as long as it likes."""
        if self.until is None:
            return None
        share = (self.until - monotonic()) * (RETRY if value in self.undecided else EACH)
        return min(max(LEAST_SECONDS, share), max(LAST_SECONDS, self.left))

    def may_try_again(self, value: int) -> bool:
        """Return whether there is more time for a value than it had."""
        return (self.seconds_for(value) or 0.0) > self.given[value]

    def try_value(self, value: int) -> None:
        """Look for a plan of a value, or for a proof that there is none."""
        self.problems[value] = self.problem_at(value)
        seconds = self.seconds_for(value)
        self.given[value] = inf if seconds is None else seconds
        result = self.any_plan(value, seconds)
        self.results[value] = result
        self.undecided.discard(value)
        if result.plan is not None:
            self.fits = value if self.fits is None else max(self.fits, value)
        elif result.infeasibility is not None:
            self.refuted = value if self.refuted is None else min(self.refuted, value)
        else:
            self.undecided.add(value)
        if self.told is not None:
            decided = "does not fit" if result.infeasibility is not None else "not decided"
            self.told(value, "fits" if result.plan is not None else decided)

    def any_plan(self, value: int, seconds: float | None) -> Result:
        """Return the answer for a value, with any plan."""
        problem, heading = self.problems[value], f"{self.param} = {value:,}"
        inner = Stage(self.progress, problem.objective, heading, lambda _: inner.stop())
        return solve(replace(problem, target=None), self.method, time_limit=seconds, progress=inner, **self.options)

    def not_monotone(self) -> str:
        """Return why plans of larger values may be none of smaller ones, by the problems that were read."""
        values = sorted(self.problems)
        for one, other in pairwise(values):
            why = why_not_larger(self.problems[one], self.problems[other])
            if why:
                return f"from {one:,} to {other:,} {why}"
        return ""

    @property
    def reason(self) -> str:
        """Why the least value that is refuted has no plan; "" where none is."""
        proof = None if self.refuted is None else self.results[self.refuted].infeasibility
        if proof is None:
            return ""
        return f"{proof.reason}: {', '.join(proof.clash)}" if proof.clash else proof.reason

    def best(self, *, again: bool = False) -> Result:
        """Return the best plan for the largest value that fits, or the answer to the least.

        *again*: other values than this one were reported on before.
        """
        value = self.low if self.fits is None else self.fits
        known, problem = self.results[value], self.problems[value]
        least = 0.0 if again else LEAST_SECONDS
        if known.plan is None or self.progress.stopped or max(self.left, least) <= 0:
            return known.of(problem)
        seconds = None if self.limit is None else max(self.left, least)
        progress = self.progress
        if again:
            progress = Stage(self.progress, problem.objective, f"{self.param} = {value:,}")
        found = solve(problem, self.method, time_limit=seconds, progress=progress, start=known.plan, **self.options)
        return found.of(problem)
