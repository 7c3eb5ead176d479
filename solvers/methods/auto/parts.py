"""Bound the sum of the bottlenecks of both parts of a training graph by each part alone."""

from __future__ import annotations

from collections.abc import Callable

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Proof, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.training_parts import part_alone
from mtpp_dsl.solvers.runtime.reduced import Aside

SHARE = 0.2
"""Of the time left, what each part gets."""
ROUNDING = 1e-15
"""Relative: what the sum of two bounds may be off by."""


def bound_parts(
    problem: Problem, limits: Limits, progress: Progress, run: Callable[[Problem, Limits, Progress], Result]
) -> None:
    """Report the sum of the bounds that *run* proves of each part.

    A plan has both its largest forward load and its largest backward load at the same cost as in its parts, or at more:
    see :func:`~mtpp_dsl.solvers.reductions.training_parts.part_alone`.
    """
    results: list[Result] = []
    for backward, share in ((False, SHARE), (True, SHARE / (1 - SHARE))):
        progress.say(f"solving the {'backward' if backward else 'forward'} part alone")
        own = limits.within(share * limits.remaining, start=None)
        results.append(run(part_alone(problem, backward=backward), own, Aside(progress)))
    forward, back = results
    if forward.bound is not None and back.bound is not None:
        progress.report_bound(_sum(forward.bound, back.bound))


def _sum(forward: Bound, back: Bound) -> Bound:
    """Return the bound on the sum of what both are bounds on."""
    proof: Proof = "checked" if forward.proof == back.proof == "checked" else "trusted"
    detail = (
        f"the forward part alone costs at least {forward.cost:.9g}, by {forward.method}, and the backward part alone "
        f"at least {back.cost:.9g}, by {back.method}"
    )
    by = forward.by if forward.by == back.by else f"{forward.by}, {back.by}"
    return Bound((forward.cost + back.cost) * (1 - ROUNDING), "parts", proof, by, detail)
