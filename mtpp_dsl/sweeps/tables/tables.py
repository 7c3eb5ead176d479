"""Tables of runs: a row and a column for each value of some fields, a figure in each cell, and what must be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import counted, display_unit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.figures import Column, Figure, figure_of
from mtpp_dsl.sweeps.tables.measures import MEASURES, Measured, contradictions, measured
from mtpp_dsl.sweeps.tables.notes import failures, rules, sets
from mtpp_dsl.sweeps.tables.numerals import Numeral, written
from mtpp_dsl.sweeps.tables.runs import Runs, plain, sorted_values

__all__ = ["MEASURES_HEADS", "Column", "Table", "TableCell", "expanded", "make_table", "places_in_common"]


@dataclass(frozen=True)
class TableCell:
    """One cell: its text, and its figure where it has one.

    Attributes:
        text: what is shown.
        figure: the numbers behind it; None for names and for what has no runs.
        best: whether it is the best of those that it is compared with.
    """

    text: str
    figure: Figure | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table, ready to be written in any form.

    Attributes:
        head: the names of the columns; the first is that of the rows.
        rows: as many cells each; the first is the name of the row.
        notes: whole sentences: what the figures are, what failed, what is not comparable.
        title: may be "".
        columns: what each column but the first shows.
        numerals: how its figures are written.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...]
    title: str = ""
    columns: tuple[Column, ...] = ()
    numerals: tuple[Numeral, ...] = ()


def make_table(
    runs: Runs,
    rows: str,
    columns: Sequence[Column],
    *,
    where: Mapping[str, Any] | None = None,
    row_names: Mapping[str, str] | None = None,
    title: str = "",
    common: bool = False,
    mark: bool = True,
) -> Table:
    """Make a table of *runs*.

    Args:
        runs: all that is known; ratios look for the best of a problem among all of them.
        rows: the field whose values are the rows.
        columns: what is shown; several with ``by`` stand one after another.
        where: fields with the values that the runs shown have.
        row_names: what is shown for a value of *rows*; these rows come first, in this order.
        title: of the table.
        common: whether only those problems count on which every method has a figure.
        mark: whether the best figures are marked.

    Raises:
        UsageError: a field, a figure or a rule does not exist, or no run is left.
    """
    # The figures: every measure that a column shows, of each run.
    shown = runs.places(where or {})
    if not shown:
        raise UsageError("no run is left to show" if len(runs) else "there are no runs")
    notes: list[str] = []
    shown_columns = [one for column in columns for one in expanded(runs, column, shown)]
    figures = {(c.show, c.best): measured(runs, c.show, c.best, shown) for c in shown_columns}
    if common:
        shown, note = places_in_common(runs, list(figures.values()), shown)
        notes += note
    # The rows: named ones first, the others by their values; and the runs that belong to each.
    values = runs.field(rows)
    names = dict(row_names or {})
    there = sorted_values(values[i] for i in shown)
    order = [v for name in names for v in there if plain(v) == name]
    order += [v for v in there if plain(v) not in names]
    at: dict[Any, list[int]] = {value: [] for value in order}
    for i in shown:
        at[values[i]].append(i)
    # The cells: one figure of all runs of a row that a column is about.
    allowed = [column_of(runs, c) for c in shown_columns]
    grid = [
        [
            _figure(runs, figures[c.show, c.best], wanted, at[row], c)
            for c, wanted in zip(shown_columns, allowed, strict=True)
        ]
        for row in order
    ]
    # The texts: digits and units of each column, and marks for the best cells.
    numerals = _numerals(runs, shown_columns, grid, shown)
    best = _best_cells(runs, rows, shown_columns, grid, shown) if mark else set()
    lines = tuple(
        (
            TableCell(names.get(plain(value), plain(value))),
            *(
                TableCell("" if figure is None else written(figure, numeral, column.spread), figure, (r, c) in best)
                for c, (figure, numeral, column) in enumerate(zip(grid[r], numerals, shown_columns, strict=True))
            ),
        )
        for r, value in enumerate(order)
    )
    # The notes: whatever a reader must know so that no figure misleads.
    joined = any(figure.problems > 1 for row in grid for figure in row if figure)
    notes = [
        *rules(shown_columns, numerals, grid),
        *notes,
        *failures(grid, shown_columns),
        *sets(runs, shown, joined),
        *contradictions(runs),
    ]
    return Table(
        (_row_head(rows), *(column.name for column in shown_columns)),
        lines,
        tuple(notes),
        title,
        tuple(shown_columns),
        tuple(numerals),
    )


def places_in_common(runs: Runs, figures: Sequence[Measured], shown: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return the runs of those problems on which every method has a figure, and what must be said of the others."""
    numbers, labels = runs.problems[0], runs.field("label")
    have: dict[str, set[int]] = {labels[i]: set() for i in shown}
    for i in shown:
        if not any(one.reasons[i] for one in figures):
            have[labels[i]].add(int(numbers[i]))
    all_of = {int(numbers[i]) for i in shown}
    kept = set.intersection(*have.values())
    if not kept:
        raise UsageError("there is no problem on which every method has a figure: leave --common out")
    if kept == all_of:
        return list(shown), []
    note = f"Only {len(kept)} of {counted(len(all_of), 'problem')} count: those on which every method has a figure."
    return [i for i in shown if int(numbers[i]) in kept], [note]


def column_of(runs: Runs, column: Column) -> set[int] | None:
    """Return the places of the runs that a column is about; None for all."""
    return set(runs.places(column.where)) if column.where else None


def expanded(runs: Runs, column: Column, shown: Sequence[int]) -> list[Column]:
    """Return a column for each value of ``by``, or the column itself, named."""
    if not column.by:
        return [replace(column, name=column.name or MEASURES_HEADS.get(column.show, column.show))]
    allowed = column_of(runs, column)
    values = runs.field(column.by)
    different = sorted_values(values[i] for i in shown if allowed is None or i in allowed)
    return [
        replace(
            column,
            name=(column.name or "{}").replace("{}", plain(value)),
            where={**column.where, column.by: value},
            by="",
        )
        for value in different
    ]


MEASURES_HEADS = {name: measure.head for name, measure in MEASURES.items()}
_ROW_HEADS = {"label": "method", "grp": "group"}


def _row_head(rows: str) -> str:
    return "" if "{" in rows else _ROW_HEADS.get(rows, rows.rpartition(".")[2])


def _figure(
    runs: Runs, measured: Measured, allowed: set[int] | None, places: Sequence[int], column: Column
) -> Figure | None:
    chosen = [i for i in places if allowed is None or i in allowed]
    return figure_of(runs, measured, chosen, column.rule) if chosen else None


def _numerals(
    runs: Runs, columns: Sequence[Column], grid: Sequence[Sequence[Figure | None]], shown: Sequence[int]
) -> list[Numeral]:
    """Return how the figures of each column are written: columns that show the same share a unit."""
    units = runs.units(shown)
    numerals = []
    for column in columns:
        measure = MEASURES[column.show]
        base = {"value": units[0] if len(units) == 1 else "", "time": "s", "bytes": "B"}.get(measure.kind, "")
        alike = [c for c, other in enumerate(columns) if MEASURES[other.show].kind == measure.kind]
        figures = [row[c] for row in grid for c in alike]
        values = [figure.value for figure in figures if figure is not None and np.isfinite(figure.value)]
        if column.unit:
            unit, per = _said_unit(column.unit, units if measure.kind == "value" else [base])
        elif measure.kind == "time":
            unit, per = "s", 1.0
        else:
            unit, per = display_unit(values, base)
        over = column.rule.over or measure.over
        mixed = measure.kind == "value" and len(units) > 1 and not column.unit
        numerals.append(
            Numeral(
                measure.kind, unit, per, over == "sum", column.digits, column.decimals, column.rule.penalty > 0, mixed
            )
        )
    return numerals


def _said_unit(unit: str, bases: Sequence[str]) -> tuple[str, float]:
    """Return a unit that was asked for, and how many base units it is; *bases* are the units of the figures."""
    from mtpp_dsl.core.base.units import UNITS

    if not bases or [unit] == list(bases):
        return unit, 1.0
    if len(bases) > 1 or unit not in UNITS or UNITS[unit][1].unit != bases[0]:
        raise UsageError(f"figures in {' and in '.join(base or 'no unit' for base in bases)} are not shown in {unit!r}")
    return unit, float(UNITS[unit][0])


def _best_cells(
    runs: Runs, rows: str, columns: Sequence[Column], grid: Sequence[Sequence[Figure | None]], shown: Sequence[int]
) -> set[tuple[int, int]]:
    """Return the cells to mark: the best method's, where all of its runs have a figure and another has one too."""
    down = "label" in rows or "method" in rows
    senses = {bool(runs.maximize[i]) for i in shown}
    kinds = list(dict.fromkeys(column.show for column in columns))
    groups: list[list[tuple[int, int]]] = []
    for show in kinds:
        alike = [c for c, column in enumerate(columns) if column.show == show]
        if down:
            groups += [[(r, c) for r in range(len(grid))] for c in alike]
        else:
            groups += [[(r, c) for c in alike] for r in range(len(grid))]
    marked: set[tuple[int, int]] = set()
    for cells in groups:
        better = MEASURES[columns[cells[0][1]].show].better if cells else "no"
        if better == "no" or (better in ("value", "bound") and len(senses) > 1):
            continue
        up = better == "higher" or (better in ("value", "bound") and (better == "value") == (True in senses))
        whole = [(cell, f.value) for cell in cells if (f := grid[cell[0]][cell[1]]) and f.counted == f.runs and f.runs]
        whole = [(cell, value) for cell, value in whole if not np.isnan(value)]
        if len(whole) > 1:
            best = (max if up else min)(value for _, value in whole)
            equal = [cell for cell, value in whole if abs(value - best) <= 1e-9 * abs(best)]
            marked.update(equal if len(equal) < len(whole) else [])
    return marked
