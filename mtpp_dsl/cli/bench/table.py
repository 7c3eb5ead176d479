"""``mtpp bench table DB``: what runs found, as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.bench.choosing import runs_of
from mtpp_dsl.cli.bench.options import Database, Only, Title

__all__ = ["table"]

_SUFFIXES = {".csv": "csv", ".md": "markdown", ".tex": "latex"}
_SUMMARY = "solved,proved,wins,ratio,gap,seconds"


def table(
    database: Database,
    rows: Annotated[
        str, typer.Option(metavar="FIELD", help="A row for each value: problem, group, label, k, …", show_default=False)
    ] = "",
    columns: Annotated[
        str, typer.Option(metavar="FIELD", help="A column for each value: label, solver, k, …", show_default=False)
    ] = "",
    show: Annotated[
        str,
        typer.Option(
            metavar="FIGURES", help="value, bound, gap, ratio, wins, seconds, … (commas).", show_default=False
        ),
    ] = "",
    best: Annotated[
        str, typer.Option(metavar="LABEL", help="Ratios are to this method's figures; all: to the best of any.")
    ] = "all",
    over: Annotated[
        str,
        typer.Option(metavar="MEAN", help="Over problems: geomean, mean, median, min, max, sum.", show_default=False),
    ] = "",
    seeds: Annotated[str, typer.Option(metavar="MEAN", help="Over seeds: the same, or best, worst.")] = "mean",
    failed: Annotated[
        str, typer.Option(metavar="RULE", help="Failed runs: say how many, none, or par2, par10, …")
    ] = "say",
    spread: Annotated[bool, typer.Option("--spread", help="Add the least and the largest over seeds.")] = False,
    common: Annotated[bool, typer.Option("--common", help="Only problems on which every method has a figure.")] = False,
    digits: Annotated[
        int | None, typer.Option(min=1, max=15, metavar="N", help="Significant digits.", show_default=False)
    ] = None,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="Of values, such as ms.", show_default=False)] = "",
    title: Title = "",
    only: Only = [],  # noqa: B006  typer copies defaults
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORM", help="terminal, markdown, latex or csv.", show_default=False),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it: .md, .tex or .csv.", show_default=False),
    ] = None,
) -> int:
    """Show what runs found: a row a method with its wins and means, or what you ask for.

    Figures of several seeds are joined first, then those of several problems: ratios, values and times by geometric
    means. Runs that failed are never left out silently: (3 of 5) behind a figure says that it is of three runs of five.
    A FIELD is a column of the database, a param such as k, or text such as "{problem}, {k}". docs/tables.md has all.

    Exit codes: 0 shown · 2 the call is wrong, or the database cannot be read.
    """
    from mtpp_dsl.cli.screen import screen_width
    from mtpp_dsl.cli.screen import show as show_lines
    from mtpp_dsl.core.base.writing import check_writable, write_text
    from mtpp_dsl.core.text.visible import visible
    from mtpp_dsl.sweeps.tables.figures import Column, FigureRule
    from mtpp_dsl.sweeps.tables.rendering import FORMATS, table_lines
    from mtpp_dsl.sweeps.tables.tables import MEASURES_HEADS, make_table

    form = _form(form, output)
    if output is not None:
        check_writable(output)
    rows, columns, figures = _asked(rows, columns, show)
    _check(figures, best, unit, title if form == "csv" else "")
    rule, several = FigureRule(over, seeds, failed), len(figures) > 1
    asked = [
        Column(
            "" if not columns else f"{{}} {MEASURES_HEADS.get(figure, figure)}" if several else "{}",
            figure,
            columns,
            best=best,
            rule=rule.fitting(figure) if several else rule,
            spread=spread,
            digits=digits,
            unit=unit if figure in ("value", "bound") else "",
        )
        for figure in figures
    ]
    made = make_table(
        runs_of(database, only, logs="found" in figures, training="train" in figures),
        rows,
        asked,
        title=title,
        common=common,
    )
    if form == "terminal" and output is None:
        show_lines(table_lines(made, screen_width()))
        return 0
    text = FORMATS[form](made) if form in FORMATS else "".join(f"{line.plain}\n" for line in table_lines(made, 80))
    if output is None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    else:
        write_text(output, text)
    return 0


def _check(figures: list[str], best: str, unit: str, csv_title: str) -> None:
    """Refuse options that none of the figures has a use for."""
    from mtpp_dsl.core.errors import UsageError
    from mtpp_dsl.sweeps.tables.measures import RELATIVE

    if best != "all" and not set(figures) & set(RELATIVE):
        raise UsageError(f"--best is for {', '.join(RELATIVE)}, and none of these is shown")
    if unit and not set(figures) & {"value", "bound"}:
        raise UsageError("--unit is for value and bound, and none of these is shown")
    if csv_title:
        raise UsageError("--title: CSV has no place for a title")


def _form(form: str, output: Path | None) -> str:
    """Return the form that was asked for, or that the name of the file says."""
    from mtpp_dsl.core.errors import UsageError
    from mtpp_dsl.sweeps.tables.rendering import FORMATS
    from mtpp_dsl.sweeps.tables.runs import hint

    if not form:
        form = "terminal" if output is None else _SUFFIXES.get(output.suffix.lower(), "")
        if not form:
            raise UsageError(f"cannot tell the form of {output}: it ends in .md, .tex or .csv, or say --format")
    known = ("terminal", *FORMATS)
    if form not in known:
        raise UsageError(f"--format {form}: there is no such form{hint(form, known)}")
    return form


def _asked(rows: str, columns: str, show: str) -> tuple[str, str, list[str]]:
    """Return the fields of rows and columns and the figures: a summary by method where nothing is said."""
    if not (rows or columns or show):
        show = _SUMMARY
    elif rows not in ("", "label", "method") and not columns and not show:
        columns = "label"
    figures = [name.strip() for name in (show or "value").split(",") if name.strip()]
    return rows or ("problem" if columns in ("label", "method") else "label"), columns, figures
