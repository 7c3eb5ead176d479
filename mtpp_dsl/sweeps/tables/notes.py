"""Write what must be said below a table: what its figures are, what failed, and what is not comparable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.sweeps.tables.figures import Column, Figure
from mtpp_dsl.sweeps.tables.measures import MEASURES, REASONS, RELATIVE
from mtpp_dsl.sweeps.tables.numerals import Numeral
from mtpp_dsl.sweeps.tables.runs import WITHOUT, Runs

MAX_NAMES = 4
"""So many problems are named in a note, the others counted."""


def rules(columns: Sequence[Column], numerals: Sequence[Numeral], grid: Sequence[Sequence[Figure | None]]) -> list[str]:
    """Return what the figures are, a sentence for each kind."""
    heads_of: dict[str, dict[str, None]] = {}
    means = {"geomean": "geometric mean", "mean": "mean", "median": "median", "min": "least", "max": "largest"}
    for column, numeral in zip(columns, numerals, strict=True):
        measure = MEASURES[column.show]
        if measure.kind == "text":
            continue
        alike = [figure for row in grid for d, figure in enumerate(row) if figure and columns[d].show == column.show]
        over = column.rule.over or measure.over
        unit = f" ({numeral.unit})" if numeral.unit else ""
        parts = []
        if over == "sum":
            parts.append("the number of problems" if measure.kind == "count" else "sum over problems")
        elif any(figure.problems > 1 for figure in alike):
            parts.append(f"{means[over]} over problems")
        if any(figure.runs > figure.problems for figure in alike):
            parts.append(f"{means.get(column.rule.seeds, column.rule.seeds)} over seeds")
        text = ", ".join(parts)
        if column.best != "all" and column.show in RELATIVE:
            text += f"{', ' if text else ''}relative to {column.best}"
        if column.spread:
            text += f"{'; ' if text else ''}[least, largest] over seeds"
        if column.rule.penalty:
            what = "the best" if measure.kind == "ratio" else "its time limit"
            if measure.kind in ("ratio", "time"):
                text += f"{'; ' if text else ''}a run that failed counts as {column.rule.penalty} times {what}"
        if unit or text:
            heads_of.setdefault(text, {})[f"{measure.head}{unit}"] = None
    return [f"{', '.join(heads)}{': ' if text else ''}{text}." for text, heads in heads_of.items()]


def failures(grid: Sequence[Sequence[Figure | None]], columns: Sequence[Column]) -> list[str]:
    """Return what stands behind figures of which some runs have none."""
    for row in grid:
        for figure, column in zip(row, columns, strict=True):
            if (
                figure is not None
                and 0 < figure.counted < figure.runs
                and not column.rule.penalty
                and MEASURES[column.show].kind not in ("count", "text")
            ):
                example = f"({figure.counted} of {figure.runs})"
                return [f"{example}: so many of the runs have a figure, and it is of these alone."]
    return []


def lost(runs: Runs) -> list[str]:
    """Return which methods have runs that failed or were refused, and how many."""
    sentences = []
    for label in dict.fromkeys(runs.field("label")):
        states = Counter(
            state for other, state in zip(runs.field("label"), runs.field("status"), strict=True) if other == label
        )
        failed = [f"{count} {REASONS.get(state, state)}" for state, count in states.items() if state in WITHOUT]
        if failed:
            sentences.append(f"{label}: of {counted(states.total(), 'run')}, {', '.join(failed)}.")
    return sentences


def sets(runs: Runs, shown: Sequence[int], joined: bool = True) -> list[str]:
    """Return which methods have no runs of some problems, and which names stand for several problems.

    Args:
        runs: all that is known.
        shown: the places of those that are shown.
        joined: whether a figure is of several problems; else every missing run is an empty cell.
    """
    numbers, _ = runs.problems
    labels, names = runs.field("label"), runs.field("problem")
    tried: dict[str, set[int]] = {}
    name_of: dict[int, str] = {}
    for i in shown:
        tried.setdefault(labels[i], set()).add(int(numbers[i]))
        name_of[int(numbers[i])] = names[i]
    sentences = []
    every = set(name_of)
    for label, have in tried.items():
        if joined and have != every:
            missing = [name_of[number] for number in sorted(every - have)]
            named = ", ".join(missing[:MAX_NAMES]) + (
                f" and {len(missing) - MAX_NAMES} more" if missing[MAX_NAMES:] else ""
            )
            sentences.append(f"{label} has no runs of {len(missing)} of {counted(len(every), 'problem')}: {named}.")
    twice = sorted(name for name in set(name_of.values()) if list(name_of.values()).count(name) > 1)
    if twice:
        sentences.append(
            f"Several problems are called {', '.join(twice[:MAX_NAMES])}: their texts or parameters differ."
        )
    return sentences
