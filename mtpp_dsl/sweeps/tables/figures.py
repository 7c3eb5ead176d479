"""One figure of several runs: over seeds first, then over problems, with what failed and how far seeds differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.measures import MEASURES, Measure, Measured
from mtpp_dsl.sweeps.tables.runs import Runs, hint
from mtpp_dsl.sweeps.tables.statistics import AGGREGATES, Floats

_WITHIN = (*AGGREGATES, "best", "worst")
_PAR = re.compile(r"par(\d{1,4})$")


@dataclass(frozen=True)
class FigureRule:
    """How runs become one figure.

    Attributes:
        over: how problems are joined, one of :data:`mtpp_dsl.sweeps.tables.statistics.AGGREGATES`; "" for the measure's
            own.
        seeds: how the seeds of a problem are joined before: the same, or ``best`` or ``worst``.
        failed: what runs without a figure count as: ``say`` leaves them out and says how many, ``none`` gives no
            figure, ``parN`` counts them as N times their time limit, or N times the best for ratios.

    Raises:
        UsageError: there is no such rule.
    """

    over: str = ""
    seeds: str = "mean"
    failed: str = "say"

    def __post_init__(self) -> None:
        for word, known in ((self.over, ("", *AGGREGATES)), (self.seeds, _WITHIN)):
            if word not in known:
                raise UsageError(f"there is no mean called {word!r}{hint(word, [name for name in known if name])}")
        if self.failed not in ("say", "none") and not self.penalty:
            raise UsageError(f"failed runs do not count as {self.failed!r}: say, none, par2 or par10 (any number)")

    @property
    def penalty(self) -> int:
        """The N of ``parN``, else 0."""
        match = _PAR.match(self.failed)
        return int(match[1]) if match else 0

    def fitting(self, show: str) -> FigureRule:
        """Return the rule as far as it goes with a measure: one of several, which are asked for together.

        Numbers of problems stay sums, and penalties are for times and for ratios.
        """
        measure = MEASURES.get(show)
        if measure is None:
            return self
        over = "" if measure.kind == "count" else self.over
        return replace(self, over=over, failed=self.failed if not self.penalty or _penal(measure) else "say")


def _penal(measure: Measure) -> bool:
    """Return whether there is a worst figure that runs which failed may count as."""
    return measure.kind == "time" or (measure.kind == "ratio" and measure.better == "lower")


@dataclass(frozen=True)
class Column:
    """What one column shows, or one for each value of a field.

    Attributes:
        name: its head; ``{}`` stands for the value of ``by``. "" for the value, or for what is shown.
        show: one of :data:`mtpp_dsl.sweeps.tables.measures.MEASURES`.
        by: a field: there is a column for each of its values. "" for one column.
        where: fields with the values that runs must have.
        best: what ratios are relative to: ``all`` or a label.
        rule: how runs become one figure.
        spread: whether the least and the largest over the seeds stand behind the figure.
        digits: significant digits; None for as many as suit.
        decimals: digits behind the point, instead.
        unit: of values, such as ``ms``; "" for the one that fits.
    """

    name: str = ""
    show: str = "value"
    by: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    best: str = "all"
    rule: FigureRule = field(default_factory=FigureRule)
    spread: bool = False
    digits: int | None = None
    decimals: int | None = None
    unit: str = ""


@dataclass(frozen=True)
class Figure:
    """What a cell of a table shows.

    Attributes:
        value: the figure; NaN where there is none.
        low: the least over the seeds; NaN with fewer than two seeds.
        high: the largest over the seeds.
        runs: how many runs it is about, without those of problems proved infeasible where no plan is asked of those.
        counted: how many of them have a figure of their own.
        problems: how many problems.
        reasons: why others have none, and how many each.
        unit: of values, in base units; "" where there is none, or several.
    """

    value: float
    low: float
    high: float
    runs: int
    counted: int
    problems: int
    reasons: tuple[tuple[str, int], ...]
    unit: str = ""


def figure_of(runs: Runs, measured: Measured, places: Sequence[int], rule: FigureRule) -> Figure:
    """Make one figure of the runs at *places*.

    The spread is that of the figures which each seed gives by itself. A problem with one seed alone, as of a method
    without random choices, counts for each; a seed that lacks a problem is left out of the spread.

    Raises:
        UsageError: the rule does not go with the measure, or a run has no time limit to count.
    """
    reasons = Counter(measured.reasons[i] for i in places if measured.reasons[i])
    infeasible = reasons["infeasible"]
    if measured.measure.kind == "text":
        states = Counter(runs.field("status")[i] for i in places)
        nan = float("nan")
        return Figure(nan, nan, nan, len(places), len(places), 0, tuple(states.most_common()))
    values = _with_penalties(runs, measured, places, rule)
    numbers, _ = runs.problems
    seeds = runs.field("seed")
    by_problem: dict[int, dict[Any, list[float]]] = {}
    for i in places:
        if measured.reasons[i] != "infeasible":
            by_problem.setdefault(int(numbers[i]), {}).setdefault(seeds[i], []).append(values[i])
    within = _within(rule.seeds, measured, runs, places)
    over = AGGREGATES[rule.over or measured.measure.over]
    counted = len(places) - sum(reasons.values())
    value = float("nan")
    if not (rule.failed == "none" and counted + infeasible < len(places)):
        joined = [
            _known(within, [v for seed_values in one.values() for v in seed_values]) for one in by_problem.values()
        ]
        value = _known(over, joined)
    low, high = _spread(by_problem, within, over) if not np.isnan(value) else (float("nan"), float("nan"))
    units = runs.units(places) if measured.measure.kind == "value" else []
    unit = units[0] if len(units) == 1 else ""
    why = tuple(sorted(reasons.items()))
    return Figure(value, low, high, len(places) - infeasible, counted, len(by_problem), why, unit)


def _with_penalties(runs: Runs, measured: Measured, places: Sequence[int], rule: FigureRule) -> Floats:
    """Return the values of all runs, with what those count as that failed."""
    if not rule.penalty:
        return measured.values
    kind = measured.measure.kind
    if kind == "count":
        return measured.values
    if not _penal(measured.measure):
        raise UsageError(
            f"{rule.failed} is for times and for ratios that are better when lower: {measured.measure.head} has no "
            "worst figure to count. Ask for --failed say or none"
        )
    values = measured.values.copy()
    limits = runs.numbers("time_limit")
    for i in places:
        if measured.reasons[i] and measured.reasons[i] != "infeasible":
            values[i] = rule.penalty * (1.0 if kind == "ratio" else limits[i])
            if np.isnan(values[i]):
                raise UsageError(f"{rule.failed} counts time limits, and a run of {runs.field('problem')[i]} has none")
    return values


def _within(name: str, measured: Measured, runs: Runs, places: Sequence[int]) -> Callable[[Floats], float]:
    """Return how the seeds of one problem are joined."""
    if name in AGGREGATES:
        return AGGREGATES[name]
    better = measured.measure.better
    if better in ("value", "bound"):
        senses = {bool(runs.maximize[i]) for i in places}
        if len(senses) > 1:
            raise UsageError(f"there is no {name} of values where some are better when larger and some when smaller")
        up = (better == "value") == (True in senses)
    else:
        up = better == "higher"
    return AGGREGATES["max" if up == (name == "best") else "min"]


def _known(aggregate: Callable[[Floats], float], values: Sequence[float]) -> float:
    """Join the values that are there."""
    numbers = np.array(values, dtype=float)
    return aggregate(numbers[~np.isnan(numbers)])


def _spread(
    by_problem: dict[int, dict[Any, list[float]]],
    within: Callable[[Floats], float],
    over: Callable[[Floats], float],
) -> tuple[float, float]:
    """Return the least and the largest figure that a seed gives; NaN with fewer than two."""
    of_seeds = []
    for seed in dict.fromkeys(seed for one in by_problem.values() if len(one) > 1 for seed in one):
        chosen = [
            _known(within, next(iter(one.values())) if len(one) == 1 else one.get(seed, []))
            for one in by_problem.values()
        ]
        if not np.isnan(chosen).any():
            of_seeds.append(over(np.array(chosen)))
    return (min(of_seeds), max(of_seeds)) if len(of_seeds) > 1 else (float("nan"), float("nan"))
