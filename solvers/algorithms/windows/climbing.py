"""Climb to the least makespan that windows of start times do not refute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.windows.tighten import Refutation, Tightening, TimeUp

__all__ = ["ROUNDING", "Search", "climb", "no_way", "share_of", "shortest"]

Search = Literal["none", "paths", "intervals"]
FIRST_STEP = 0.01
LAST_STEP = 1e-4
"""Relative: of the targets tried above a bound."""
MARGIN = 4e-12
"""Relative: by how much the first target lies below the longest path, so that rounding cannot reach it."""
ROUNDING = 1e-12
"""Relative: what bounds lie below the targets refuted; half as much more for every 500 nodes."""


def climb(
    problem: Problem,
    name: str,
    why: str,
    stages: Sequence[tuple[int, Search]],
    limits: Limits,
    progress: Progress,
    best: Bound | None = None,
) -> Result:
    """Return the highest bound found.

    Args:
        problem: a makespan on links.
        name: of the method.
        why: the argument in words.
        stages: in turn, how many nodes count where edges meet, and whether targets above the longest path are tried.
        limits: when to stop.
        progress: receives bounds.
        best: a bound known before.
    """
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(name, limits, "infeasible", infeasibility=impossible)
    termination: Termination = "complete"

    def stopped() -> bool:
        return progress.stopped or limits.remaining <= 0

    try:
        for most, search in stages:
            tightening = Tightening(problem, most, progress.say, stopped)
            for refutation in _targets(tightening, 0.0 if best is None else best.cost, limits, progress, search):
                if refutation.target == inf:
                    return no_way(problem, name, limits, progress)
                best = bound_of(problem, name, why, refutation)
                progress.report_bound(best)
            if best is not None and _closed(best.cost, limits, progress):
                termination = "gap"
                break
    except TimeUp:
        termination = "interrupted" if progress.stopped else "time_limit"
    return progress.result(
        name, limits, termination, bound=best or Bound(0.0, name, "checked", "mtpp", "no time is negative")
    )


def _closed(bound: float, limits: Limits, progress: Progress) -> bool:
    return progress.incumbent is not None and bound >= progress.incumbent * (1 - limits.gap)


def _targets(
    tightening: Tightening, known: float, limits: Limits, progress: Progress, search: Search
) -> Iterator[Refutation]:
    """Yield the longest path, and refutations of larger targets: doubled steps, then halves of the rest.

    Raises:
        Stopped: when asked to.
    """
    first = tightening.first(MARGIN)
    if first.target > known:
        yield first
    low = max(first.target, known)
    step, high, most = FIRST_STEP, inf, inf
    while search != "none" and 0 < low < inf:
        incumbent = progress.incumbent
        most = inf if incumbent is None else incumbent * (1 - limits.gap / 2)
        target = min(most, low * (1 + step) if high == inf else (low + high) / 2)
        if target <= low or (target < most and target <= low * (1 + LAST_STEP)) or target >= high:
            return
        step *= 2
        refutation = tightening.refuted(target, intervals=search == "intervals")
        if refutation is None:
            high = target
        else:
            low = target
            yield refutation


def bound_of(problem: Problem, name: str, detail: str, refutation: Refutation) -> Bound:
    """Convert a refuted target to a bound, less the possible rounding error of sums."""
    cost = refutation.target * (1 - ROUNDING * (1 + problem.graph.n / 1e3))
    certificate = Certificate("windows", refutation.data(problem))
    return Bound(cost, name, "checked", "mtpp", detail, certificate)


def no_way(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the result that there is no plan, since links do not let every tensor reach its readers."""
    reason = "no choice of devices lets every tensor reach its readers: the links that would be needed are not there"
    clash = tuple(dict.fromkeys(str(c) for c in problem.constraints if isinstance(c, (Pin, Forbid, Colocate, Memory))))
    return progress.result(name, limits, "infeasible", infeasibility=Infeasibility(reason, clash))


# Bound a makespan on links by a longest path and by shares of the work, fast enough for every answer.

TUNINGS = 20


def shortest(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the larger of two bounds, in time linear in edges times pairs of devices.

    The longest path, every node on its best device with the transfers that this takes; and for weights y >= 0 of the
    devices ``sum over v of min over d of y[d] time[v, d] / sum of y``, as no device runs for longer than the makespan
    (archer2024, Lemma 3.3, for loads).
    """
    tightening = Tightening(problem, 0, progress.say)
    refutation = tightening.first(MARGIN)
    if refutation.target == inf:
        return no_way(problem, name, limits, progress)
    why = "the longest path, every node on its best device, with the transfers that this takes"
    share, weights = share_of(tightening.time)
    if share * (1 - MARGIN) > refutation.target:
        target = share * (1 - MARGIN)
        refutation = Refutation(target, 0, refutation.rounds, (0.0, target, weights))
        why = "some device takes its share of the work"
    bound = bound_of(problem, name, why, refutation)
    progress.report_bound(bound)
    return progress.result(name, limits, "complete", bound=bound)


def share_of(time: Floats) -> tuple[float, Floats]:
    """Return the largest share of the work found, and the weights of the devices behind it.

    Weights of devices with more than their share grow. Any weights give a bound.
    """
    k = time.shape[1]
    known = np.where(np.isinf(time), 0.0, time)
    best, chosen = 0.0, np.ones(k)
    y = np.ones(k)
    for trial in range(TUNINGS):
        weighted = np.where(np.isinf(time), inf, known * y)
        on = weighted.argmin(axis=1)
        share = float(weighted[np.arange(len(time)), on].sum() / y.sum())
        if share > best:
            best, chosen = share, y
        load = np.bincount(on, weights=known[np.arange(len(time)), on], minlength=k)
        if load.max() == 0:
            break
        y = y * np.exp((load / load.max() - 1.0) / (1.0 + 0.3 * trial))
        y = y / y.max()
    return best, chosen
