"""Curves over many runs: performance profiles, gaps over time, times against sizes. Numbers alone, no pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.figures import FigureRule, figure_of
from mtpp_dsl.sweeps.tables.measures import MEASURES, answered, contests, measured
from mtpp_dsl.sweeps.tables.runs import WITHOUT, Runs, sorted_values
from mtpp_dsl.sweeps.tables.statistics import Floats, best_in_groups, profile, ratios, step_values

POINTS = 240
"""At so many times a gap is computed."""
SHORTEST = 1e-3
"""Seconds at which gaps over time begin, at the latest."""


@dataclass(frozen=True)
class Curve:
    """One line of a picture.

    Attributes:
        x: in increasing order.
        y: at each.
        low: the least that a seed gives; NaN where there are fewer than two.
        high: the largest.
    """

    x: Floats
    y: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Points:
    """Runs as points, and the medians of those of equal size.

    Attributes:
        x: of each run that has a figure.
        y: of each.
        failed_x: of each run that failed; a method that refuses a problem did not.
        failed_y: its time limit, or the time that it took.
        medians: of the figures by size, with least and largest.
    """

    x: Floats
    y: Floats
    failed_x: Floats
    failed_y: Floats
    medians: Curve


def profiles(runs: Runs, show: str = "value", solved: str = "plan") -> dict[str, Curve]:
    """Return the performance profile of each method (Dolan and Moré 2002).

    The ratio of a run is its value, or its time, over the best in its contest: the runs of the problem with that seed.
    Every problem weighs the same, however many seeds it has. A run that failed, and a problem that a method has no runs
    of, is never reached.

    Args:
        runs: all that is known.
        show: ``value``, ``seconds`` or ``cpu``.
        solved: for times, what counts as success: ``plan``, or ``proved`` for a proof that it is the best or that there
            is none.

    Raises:
        UsageError: no profile is made of that, or no run has a figure.
    """
    if show not in ("value", "seconds", "cpu"):
        raise UsageError(f"a performance profile is of value, seconds or cpu, not of {show!r}")
    if solved not in ("plan", "proved"):
        raise UsageError(f"a run is solved with a plan, or when it is proved; not {solved!r}")
    values = answered(runs, show)
    if show != "value":
        proofs = [status in ("optimal", "infeasible") for status in runs.field("status")]
        plans = ~np.isnan(answered(runs, "value")) | np.array(proofs, dtype=bool)
        values = np.where(np.array(proofs, dtype=bool) if solved == "proved" else plans, values, np.nan)
    if np.isnan(values).all():
        raise UsageError("no run has a figure to compare")
    labels, problems = runs.field("label"), len(runs.problems[1])
    up = runs.maximize if show == "value" else np.zeros(len(runs), dtype=bool)
    ratios_of: dict[str, list[tuple[int, object, bool, float]]] = {label: [] for label in sorted_values(labels)}
    for contest in contests(runs):
        met = np.array(contest.runs, dtype=np.int64)
        group = np.zeros(len(met), dtype=np.int64)
        best = best_in_groups(values[met], group, up[met], 1)[group]
        for i, ratio in zip(met, ratios(values[met], best, up[met]), strict=True):
            ratios_of[labels[i]].append((contest.problem, contest.seed, contest.single, float(ratio)))
    return {label: _profile(rows, problems) for label, rows in ratios_of.items()}


def _profile(rows: Sequence[tuple[int, object, bool, float]], problems: int) -> Curve:
    """Return the profile of one method, with that of each seed as its spread."""
    counts = np.bincount([problem for problem, *_ in rows], minlength=problems)
    untried = int((counts == 0).sum())

    def of(chosen: Sequence[tuple[int, object, bool, float]]) -> tuple[Floats, Floats]:
        tried = np.bincount([problem for problem, *_ in chosen], minlength=problems)
        weights = [1 / tried[problem] for problem, *_ in chosen] + [1.0] * untried
        return profile(np.array([row[3] for row in chosen] + [np.inf] * untried), np.array(weights))

    x, y = of(rows)
    seeds = list(dict.fromkeys(seed for _, seed, single, _ in rows if not single))
    curves = [step_values(*of([row for row in rows if row[2] or row[1] == seed]), x, 0.0) for seed in seeds]
    low, high = _spread(curves, len(x))
    return Curve(x, y, low, high)


def _spread(curves: Sequence[Floats], length: int) -> tuple[Floats, Floats]:
    if len(curves) < 2:
        return np.full(length, np.nan), np.full(length, np.nan)
    return np.min(curves, axis=0), np.max(curves, axis=0)


def gaps(runs: Runs, to: str = "bound") -> dict[str, Curve]:
    """Return the mean gap of each method over time, in shares, from the logs of incumbents and bounds.

    Before there are both, and for a run that failed, the gap is 1. What is best at the end of a run stays. Problems
    weigh the same; the spread is that of the means which each seed gives.

    Args:
        runs: with their logs.
        to: ``bound``, the run's own, or ``best``, the best plan of any run of the problem.

    Raises:
        UsageError: *to* is something else, or no run has a log.
    """
    if to not in ("bound", "best"):
        raise UsageError(f"a gap is to the bound or to the best plan, not to {to!r}")
    logs = runs.field("log")
    times = [entry[0] for log in logs for entry in log or ()]
    if not times:
        raise UsageError("no run has a log of its incumbents and bounds")
    ends = [end for end in answered(runs, "seconds") if not np.isnan(end)]
    last = max([*times, *ends, SHORTEST])
    first = max(SHORTEST, min([time for time in times if time > 0], default=SHORTEST) / 2)
    grid = np.geomspace(min(first, last / 2), last, POINTS)
    best = best_in_groups(answered(runs, "value"), runs.problems[0], runs.maximize, len(runs.problems[1]))
    labels = runs.field("label")
    curves = {}
    for label in sorted_values(labels):
        places = [i for i, other in enumerate(labels) if other == label]
        known = best[runs.problems[0]]
        steps = {
            i: _gap(
                [*(logs[i] or ()), *_end(runs, i)], bool(runs.maximize[i]), known[i] if to == "best" else None, grid
            )
            for i in places
        }
        curves[label] = _mean_curve(runs, steps, grid)
    return curves


def _end(runs: Runs, i: int) -> list[tuple[float, float | None, float | None]]:
    """Return what a run holds at its end, as a last entry of its log: a bound may be found after the search."""
    ended, value, bound = (float(runs.numbers(name)[i]) for name in ("seconds", "value", "bound"))
    if runs.field("status")[i] in WITHOUT or np.isnan(ended):
        return []
    return [(ended, None if np.isnan(value) else value, None if np.isnan(bound) else bound)]


def _gap(log: Sequence[Sequence[Any]], maximize: bool, best: float | None, grid: Floats) -> Floats:
    """Return the gap of one run at the times of *grid*."""
    times, values = [], []
    incumbent = bound = None
    for time, value, limit in log:
        incumbent = incumbent if value is None else value
        bound = bound if limit is None else limit
        times.append(time)
        values.append(_share(incumbent, bound if best is None else best, maximize))
    return step_values(np.array(times), np.array(values), grid, 1.0)


def _share(value: float | None, limit: float | None, maximize: bool) -> float:
    """Return the share by which *value* is from *limit*: 0 where they are equal, at most 1."""
    if value is None or limit is None or np.isnan(limit):
        return 1.0
    large, small = (limit, value) if maximize else (value, limit)
    if large <= 0:
        return 0.0 if large == small else 1.0
    return float(min(1.0, max(0.0, 1 - small / large)))


def _mean_curve(runs: Runs, steps: Mapping[int, Floats], grid: Floats) -> Curve:
    """Return the mean over problems, within each over seeds, with the spread of the seeds."""
    by_problem: dict[int, dict[object, Floats]] = {}
    for i, gap in steps.items():
        by_problem.setdefault(int(runs.problems[0][i]), {})[runs.field("seed")[i]] = gap
    mean = np.mean([np.mean(list(one.values()), axis=0) for one in by_problem.values()], axis=0)
    seeds = dict.fromkeys(seed for one in by_problem.values() if len(one) > 1 for seed in one)
    of_seeds = [
        np.mean([next(iter(one.values())) if len(one) == 1 else one[seed] for one in by_problem.values()], axis=0)
        for seed in seeds
        if all(len(one) == 1 or seed in one for one in by_problem.values())
    ]
    return Curve(grid, mean, *_spread(of_seeds, len(grid)))


def sizes(runs: Runs, x: str = "nodes", show: str = "seconds") -> dict[str, Points]:
    """Return the runs of each method as points, and their medians by size with the least and the largest.

    Args:
        runs: all that is known.
        x: a field of numbers.
        show: the measure.

    Raises:
        UsageError: there is no such field or measure, or no run has both.
    """
    size, figures = runs.numbers(x), measured(runs, show)
    limits, spent = runs.numbers("time_limit"), runs.numbers("seconds")
    lost = WITHOUT - {"refused"}
    failed = np.array([status in lost for status in runs.field("status")], dtype=bool) & ~np.isnan(size)
    at = np.where(np.isnan(limits), spent, limits)
    with_figure = ~np.isnan(figures.values) & ~np.isnan(size)
    if not (with_figure | failed).any():
        raise UsageError(f"no run has both {x} and {show}")
    curves = {}
    labels = np.array(runs.field("label"), dtype=object)
    for label in sorted_values(runs.field("label")):
        own = labels == label
        there, beyond = own & with_figure, own & failed & ~np.isnan(at)
        steps = np.unique(size[there])
        groups = [figures.values[there & (size == step)] for step in steps]
        medians = Curve(
            steps,
            np.array([np.median(group) for group in groups]),
            np.array([group.min() for group in groups]),
            np.array([group.max() for group in groups]),
        )
        curves[label] = Points(size[there], figures.values[there], size[beyond], at[beyond], medians)
    return curves


def along(runs: Runs, x: str, show: str, rule: FigureRule, best: str = "all") -> dict[str, Curve]:
    """Return a measure of each method along a field of numbers, such as ``params.k``, with the spread over seeds.

    Raises:
        UsageError: there is no such field, measure or rule.
    """
    if show in MEASURES and MEASURES[show].kind == "text":
        raise UsageError(f"{show} is text, and no curve")
    at, measure, labels = runs.numbers(x), measured(runs, show, best), runs.field("label")
    if np.isnan(at).all():
        raise UsageError(f"{x} is no field of numbers")
    curves = {}
    for label in sorted_values(labels):
        places = [i for i, other in enumerate(labels) if other == label and not np.isnan(at[i])]
        steps = sorted({float(at[i]) for i in places})
        figures = [figure_of(runs, measure, [i for i in places if at[i] == step], rule) for step in steps]
        columns = (steps, *([getattr(figure, name) for figure in figures] for name in ("value", "low", "high")))
        curves[label] = Curve(*(np.array(column, dtype=float) for column in columns))
    return curves
