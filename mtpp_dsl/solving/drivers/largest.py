"""Find the largest value of a param for which there is a plan, by bisection, with the proof of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from time import monotonic
from typing import Any

from mtpp_dsl.core.base.amounts import Duration, seconds_of, whole
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.largest import LargestValue
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.growth import why_not_larger
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import DEFAULT_TIME, find_method, solve
from mtpp_dsl.solving.drivers.stage import Stage

SHARE = 0.6
"""Of the time limit, what the bisection takes at most: the rest is for the best plan of the largest value."""
EACH, RETRY = 0.25, 0.75
"""Of what is left of it, what one value takes at most: the first time, and where it is tried again."""
LEAST_SECONDS = 1.0
"""What each value gets at least."""

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
    value ends before either, the search goes on below it and above it.

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
    search.run()
    largest = LargestValue(
        param, low, high, search.fits, search.refuted, search.reason, search.not_monotone(), len(search.problems)
    )
    return replace(search.best(), largest=largest)


class _Bisection:
    """The values between the largest with a plan and the least that is refuted.

    Attributes:
        fits, refuted: these two; None for none.
        results: of the values that were tried.
        problems: that were read, by value.
        undecided: values of which neither a plan nor a proof was found.
        again: those that were tried again.
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
        self.again: set[int] = set()

    def run(self) -> None:
        """Try values until the two are neighbours, or the time is over."""
        for value in (self.low, self.high):
            self.try_value(value)
            if self.fits is None or self.fits == self.high:
                return
        while not self.over and (middle := self.next_value()) is not None:
            self.try_value(middle)

    @property
    def over(self) -> bool:
        """Whether no further value is to be tried."""
        return self.progress.stopped or (self.limit is not None and monotonic() - self.began > self.limit * SHARE)

    def next_value(self) -> int | None:
        """Return the middle of the values below the least that was not decided, or of those above, or that one again.

        None: there is nothing more to try.
        """
        assert self.fits is not None
        top = self.high + 1 if self.refuted is None else self.refuted
        stuck = sorted(value for value in self.undecided if self.fits < value < top)
        gaps = [(self.fits, stuck[0]), (stuck[-1], top)] if stuck else [(self.fits, top)]
        untried = ((below + above) // 2 for below, above in gaps if above - below > 1)
        return next(untried, next((value for value in stuck if value not in self.again), None))

    def try_value(self, value: int) -> None:
        """Look for a plan of a value, or for a proof that there is none."""
        self.problems[value] = self.problem_at(value)
        seconds = None
        if self.limit is not None:
            left = self.limit * SHARE - (monotonic() - self.began)
            seconds = max(LEAST_SECONDS, left * (RETRY if value in self.undecided else EACH))
        result = self.solved(value, seconds, first=True)
        self.results[value] = result
        if value in self.undecided:
            self.again.add(value)
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

    def solved(self, value: int, seconds: float | None, *, first: bool, start: Plan | None = None) -> Result:
        """Return the answer for a value; *first*: any plan will do."""
        problem, heading = self.problems[value], f"{self.param} = {value:,}"
        if not first:
            return solve(problem, self.method, time_limit=seconds, progress=self.progress, start=start, **self.options)
        inner = Stage(self.progress, problem.objective, heading, lambda _: inner.stop())
        return solve(
            replace(problem, target=None), self.method, time_limit=seconds, progress=inner, start=start, **self.options
        )

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

    def best(self) -> Result:
        """Return the best plan for the largest value that fits, or the answer to the least."""
        value = self.low if self.fits is None else self.fits
        known = self.results[value]
        problem = self.problems[value]
        if known.plan is None or self.progress.stopped:
            return replace(known, time={**known.time, "total": monotonic() - self.began}).of(problem)
        left = None if self.limit is None else max(LEAST_SECONDS, self.limit - (monotonic() - self.began))
        result = self.solved(value, left, first=False, start=known.plan)
        return replace(result, time={**result.time, "total": monotonic() - self.began}).of(problem)
