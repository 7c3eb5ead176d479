"""Compute what tables and pictures show of a run: one figure each, or why there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.outcome import PROVED
from mtpp_dsl.sweeps.tables.contradictions import beaten
from mtpp_dsl.sweeps.tables.runs import WITHOUT, Runs, hint
from mtpp_dsl.sweeps.tables.statistics import Floats, best_in_groups, ratios, winners

TIE = 1e-9
"""Values this close, relatively, are equal: sums in another order differ so much."""
RELATIVE = ("ratio", "bound/plan", "ratio-to-bound", "time-ratio")
"""Measures that are relative to the best of any run, or to one method."""
_OF_PLANS = ("value", "gap", "ratio", "ratio-to-bound", "found")
_OF_BOUNDS = ("bound", "gap", "bound/plan", "proofs")


@dataclass(frozen=True)
class Measure:
    """One kind of figure.

    Attributes:
        head: what stands above it in a table.
        kind: how it is written: ``value``, ``share``, ``ratio``, ``time``, ``bytes``, ``count`` or ``text``.
        better: ``lower``, ``higher``, ``value`` (by the sense of the objective) or ``no``.
        over: how several problems make one figure, if nothing else is said.
        find: computes it for every run; the second argument is what ratios are relative to.
    """

    head: str
    kind: str
    better: str
    over: str
    find: Callable[[Runs, str], Floats]


@dataclass(frozen=True)
class Measured:
    """A measure of every run.

    Attributes:
        measure: which.
        values: one a run; NaN is none.
        reasons: why a run has none, in a word or two; "" where it has one.
    """

    measure: Measure
    values: Floats
    reasons: Sequence[str]


def measured(runs: Runs, show: str, best: str = "all", among: Sequence[int] | None = None) -> Measured:
    """Compute a measure of all *runs*.

    Args:
        runs: all that is known: the best of a problem is looked for among them.
        show: its name, one of :data:`MEASURES`.
        best: what ratios are relative to: ``all``, the best of any run of the problem, or a label of methods.
        among: places of the runs that compete for wins; all if not given.

    Raises:
        UsageError: there is no such measure, or no run with that label.
    """
    if show not in MEASURES:
        raise UsageError(f"no figure is called {show!r}{hint(show, MEASURES)}")
    measure = MEASURES[show]
    if show == "wins" and among is not None:
        values = np.zeros(len(runs))
        values[np.asarray(among, dtype=np.int64)] = measure.find(runs.take(among), best)
    else:
        values = measure.find(runs, best)
    numbers, problems = runs.problems
    plans, bounds = ~np.isnan(answered(runs, "value")), ~np.isnan(answered(runs, "bound"))
    counts = [np.bincount(numbers[with_figure], minlength=len(problems)) for with_figure in (plans, bounds)]
    reasons = [
        _reason(show, status, (plans[i], bounds[i]), [bool(count[numbers[i]]) for count in counts])
        if np.isnan(values[i])
        else ""
        for i, status in enumerate(runs.field("status"))
    ]
    return Measured(measure, values, reasons)


REASONS = {"unknown": "nothing found", "memory": "out of memory", "killed": "out of time", "missing": "not run"}


def _reason(show: str, status: str, own: Sequence[bool], any_run: Sequence[bool]) -> str:
    """Return why a run of this *status* has no such figure.

    Args:
        show: the figure.
        status: of the run.
        own: whether the run has a plan, and a bound.
        any_run: whether any run of the problem has a plan, and a bound.
    """
    if status in WITHOUT:
        return REASONS.get(status, status)
    if status == "infeasible" and show in (*_OF_PLANS, *_OF_BOUNDS):
        return "infeasible"
    if (show in _OF_PLANS and not own[0]) or (show == "bound/plan" and own[1] and not any_run[0]):
        return "no plan"
    if (show in _OF_BOUNDS and not own[1]) or (show == "ratio-to-bound" and not any_run[1]):
        return "no bound"
    return "no ratio" if show in ("ratio", "bound/plan", "ratio-to-bound") else "not said"


@dataclass(frozen=True)
class Contest:
    """The runs that meet.

    Attributes:
        problem: its number.
        seed: of the methods that have several; that of the first method where none has.
        runs: their places.
        single: whether the problem has no other contest, so that it counts for every seed.
    """

    problem: int
    seed: object
    runs: Sequence[int]
    single: bool


def contests(runs: Runs, places: Sequence[int] | None = None) -> list[Contest]:
    """Return the runs that meet: those of one problem with one seed.

    A method with one seed alone on a problem, as one without random choices has, meets the others at each of theirs.

    Args:
        runs: all that is known.
        places: of those that take part; all if not given.
    """
    numbers, problems = runs.problems
    labels, seeds = runs.field("label"), runs.field("seed")
    of_problem: list[dict[str, dict[object, list[int]]]] = [{} for _ in problems]
    for i in range(len(runs)) if places is None else places:
        of_problem[numbers[i]].setdefault(labels[i], {}).setdefault(seeds[i], []).append(i)
    meetings: list[Contest] = []
    for problem, methods in enumerate(of_problem):
        several = [by_seed for by_seed in methods.values() if len(by_seed) > 1] or list(methods.values())[:1]
        met = list(dict.fromkeys(seed for by_seed in several for seed in by_seed))
        for seed in met:
            meeting = [
                i
                for one in methods.values()
                for i in (next(iter(one.values())) if len(one) == 1 else one.get(seed, []))
            ]
            meetings.append(Contest(problem, seed, meeting, len(met) == 1))
    return meetings


def contradictions(runs: Runs) -> list[str]:
    """Return, as sentences, where runs of one problem cannot all be right.

    That is a bound that a plan of another run beats, or a proof that there is no plan beside a plan.
    """
    numbers, problems = runs.problems
    names, labels, status = runs.field("problem"), runs.field("label"), runs.field("status")
    values, bounds, maximize = answered(runs, "value"), answered(runs, "bound"), runs.maximize
    best = best_in_groups(values, numbers, maximize, len(problems))[numbers] if len(runs) else values
    sign = np.where(maximize, -1.0, 1.0)
    with np.errstate(invalid="ignore"):
        wrong = beaten(bounds, best, sign)
    sentences = [
        f"{names[i]}: {labels[i]} has bound {bounds[i]:.7g}, and a plan has value {best[i]:.7g}: one of both is wrong"
        for i in np.flatnonzero(wrong)
    ]
    sentences += [
        f"{names[i]}: {labels[i]} says that there is no plan, and another run has one of value {best[i]:.7g}"
        for i in range(len(runs))
        if status[i] == "infeasible" and not np.isnan(best[i])
    ]
    return list(dict.fromkeys(sentences))


def answered(runs: Runs, name: str) -> Floats:
    """Return a column of numbers, NaN also where the run failed."""
    failed = np.array([status in WITHOUT for status in runs.field("status")], dtype=bool)
    return np.where(failed, np.nan, runs.numbers(name))


def _column(name: str) -> Callable[[Runs, str], Floats]:
    """Return a function that reads a column of the runs that did not fail."""
    return lambda runs, _: answered(runs, name)


def _size(name: str) -> Callable[[Runs, str], Floats]:
    """Return a function that reads a column that failed runs have too."""
    return lambda runs, _: runs.numbers(name)


def _of_label(runs: Runs, label: str, values: Floats) -> Floats:
    """Return the mean of *values* over the runs of one label on the problem of each run; NaN where there is none."""
    numbers, problems = runs.problems
    labels = runs.field("label")
    if label not in labels:
        raise UsageError(f"no method is called {label!r}{hint(label, sorted(set(labels)))}")
    chosen = np.array([other == label for other in labels], dtype=bool) & ~np.isnan(values)
    totals = np.bincount(numbers[chosen], weights=values[chosen], minlength=len(problems))
    counts = np.bincount(numbers[chosen], minlength=len(problems))
    means: Floats = np.divide(totals, counts, out=np.full(len(problems), np.nan), where=counts > 0)
    return means[numbers]


def _best(runs: Runs, best: str) -> Floats:
    """Return the best value of the problem of each run: of all runs, or the mean of those of one label."""
    values = answered(runs, "value")
    if best != "all":
        return _of_label(runs, best, values)
    numbers, problems = runs.problems
    return best_in_groups(values, numbers, runs.maximize, len(problems))[numbers]


def _ratio(runs: Runs, best: str) -> Floats:
    return ratios(answered(runs, "value"), _best(runs, best), runs.maximize)


def _bound_by_plan(runs: Runs, best: str) -> Floats:
    """Return bound / best plan, or best plan / bound where larger is better: at most 1."""
    return ratios(answered(runs, "bound"), _best(runs, best), runs.maximize)


def _ratio_to_bound(runs: Runs, best: str) -> Floats:
    bounds, maximize = answered(runs, "bound"), runs.maximize
    if best != "all":
        return ratios(answered(runs, "value"), _of_label(runs, best, bounds), maximize)
    numbers, problems = runs.problems
    return ratios(answered(runs, "value"), best_in_groups(bounds, numbers, ~maximize, len(problems))[numbers], maximize)


def found_after(log: Sequence[Sequence[float | None]] | None, seconds: float | None) -> float | None:
    """Return when the last improvement of a plan was found, in seconds; *seconds* where there is no log of it.

    >>> found_after([[0.5, 9.0, None], [1.0, 8.0, 2.0], [3.0, 8.0, 4.0]], 5.0)
    1.0
    """
    last, at = None, None
    for time, incumbent, _ in log or ():
        if incumbent is not None and incumbent != last:
            last, at = incumbent, time
    return seconds if at is None else at


def trained_for(answer: str | None) -> float | None:
    """Return how long a method was trained in a run, in seconds, as its answer says; None if it learns nothing.

    >>> trained_for('{"time": {"total": 4.0, "train": 2.5}}'), trained_for('{"time": {"total": 4.0}}')
    (2.5, None)
    """
    if answer is None or '"train"' not in answer:
        return None
    try:
        seconds = float(json.loads(answer)["time"]["train"])
    except (ValueError, TypeError, LookupError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _trained(runs: Runs, _: str) -> Floats:
    """Return the seconds of training of each run, from the column ``train``: those of rows in files have it."""
    return answered(runs, "train") if "train" in runs.columns else np.full(len(runs), np.nan)


def _found(runs: Runs, _: str) -> Floats:
    """Return when each run had its plan, from the column ``found`` of rows in files or from the logs."""
    if "found" in runs.columns:
        times = runs.numbers("found")
    else:
        pairs = zip(runs.field("log"), runs.field("seconds"), strict=True)
        after = [found_after(log or (), None if seconds == "" else seconds) for log, seconds in pairs]
        times = np.array([np.nan if time is None else time for time in after], dtype=float)
    return np.where(np.isnan(answered(runs, "value")), np.nan, times)


def _time_ratio(runs: Runs, best: str) -> Floats:
    """Return the time of each run over that of the label *best*, or over the shortest that any method took."""
    seconds, smaller = answered(runs, "seconds"), np.zeros(len(runs), dtype=bool)
    if best != "all":
        return ratios(seconds, _of_label(runs, best, seconds), smaller)
    numbers, problems = runs.problems
    return ratios(seconds, best_in_groups(seconds, numbers, smaller, len(problems))[numbers], smaller)


def _wins(runs: Runs, _: str) -> Floats:
    return winners(answered(runs, "value"), [contest.runs for contest in contests(runs)], runs.maximize, TIE)


def _with_plan(runs: Runs, _: str) -> Floats:
    return (~np.isnan(answered(runs, "value"))).astype(float)


def _proved(runs: Runs, _: str) -> Floats:
    return np.array([status in ("optimal", "infeasible") for status in runs.field("status")], dtype=float)


def _proofs(runs: Runs, _: str) -> Floats:
    """Return which runs have a bound that was proved again; NaN where there is none, or the row does not say."""
    proved = [np.nan if proof == "" else float(proof == PROVED) for proof in runs.field("proof")]
    return np.where(np.isnan(answered(runs, "bound")), np.nan, proved)


def _nothing(runs: Runs, _: str) -> Floats:
    return np.full(len(runs), np.nan)


MEASURES: dict[str, Measure] = {
    "value": Measure("value", "value", "value", "geomean", _column("value")),
    "bound": Measure("bound", "value", "bound", "geomean", _column("bound")),
    "gap": Measure("gap", "share", "lower", "mean", _column("gap")),
    "ratio": Measure("value / best", "ratio", "lower", "geomean", _ratio),
    "bound/plan": Measure("bound / best plan", "ratio", "higher", "geomean", _bound_by_plan),
    "ratio-to-bound": Measure("value / bound", "ratio", "lower", "geomean", _ratio_to_bound),
    "wins": Measure("wins", "count", "higher", "sum", _wins),
    "solved": Measure("solved", "count", "higher", "sum", _with_plan),
    "proved": Measure("proved", "count", "higher", "sum", _proved),
    "proofs": Measure("bounds proved again", "count", "higher", "sum", _proofs),
    "seconds": Measure("time", "time", "lower", "geomean", _column("seconds")),
    "found": Measure("found after", "time", "lower", "geomean", _found),
    "train": Measure("training", "time", "lower", "geomean", _trained),
    "time-ratio": Measure("time / least", "ratio", "lower", "geomean", _time_ratio),
    "cpu": Measure("CPU time", "time", "lower", "geomean", _column("cpu")),
    "total": Measure("time of the whole run", "time", "lower", "geomean", _column("total")),
    "memory": Measure("memory", "bytes", "lower", "max", _column("memory")),
    "nodes": Measure("nodes", "number", "no", "mean", _size("nodes")),
    "edges": Measure("edges", "number", "no", "mean", _size("edges")),
    "devices": Measure("devices", "number", "no", "mean", _size("devices")),
    "status": Measure("status", "text", "no", "mean", _nothing),
}
