"""``mtpp bench table DB`` and ``mtpp bench plot DB``: what runs found, as a table or as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mtpp_dsl.cli.parameters import Database, Only, Title, option

if TYPE_CHECKING:
    from mtpp_dsl.sweeps.tables.runs import Runs

_SUFFIXES = {".csv": "csv", ".md": "markdown", ".tex": "latex"}
_SUMMARY = "solved,proved,wins,ratio,gap,seconds"


def table(
    database: Database,
    rows: Annotated[str, option("FIELD", "A row for each value: problem, group, label, k, …")] = "",
    columns: Annotated[str, option("FIELD", "A column for each value: label, solver, k, …")] = "",
    show: Annotated[str, option("FIGURES", "value, bound, gap, ratio, wins, seconds, … (commas).")] = "",
    best: Annotated[
        str, typer.Option(metavar="LABEL", help="Ratios are to this method's figures; all: to the best of any.")
    ] = "all",
    over: Annotated[str, option("MEAN", "Over problems: geomean, mean, median, min, max, sum.")] = "",
    seeds: Annotated[str, typer.Option(metavar="MEAN", help="Over seeds: the same, or best, worst.")] = "mean",
    failed: Annotated[
        str, typer.Option(metavar="RULE", help="Failed runs: say how many, none, or par2, par10, …")
    ] = "say",
    spread: Annotated[bool, typer.Option("--spread", help="Add the least and the largest over seeds.")] = False,
    common: Annotated[bool, typer.Option("--common", help="Only problems on which every method has a figure.")] = False,
    digits: Annotated[int | None, option("N", "Significant digits.", min=1, max=15)] = None,
    unit: Annotated[str, option("UNIT", "Of values, such as ms.")] = "",
    title: Title = "",
    only: Only = [],  # noqa: B006  typer copies defaults
    form: Annotated[str, option("FORM", "terminal, markdown, latex or csv.", "--format")] = "",
    output: Annotated[Path | None, option("FILE", "Write it: .md, .tex or .csv.", "--output", "-o")] = None,
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

    # Refuse what does not fit together before the database is read.
    form = _form(form, output)
    if output is not None:
        check_writable(output)
    rows, columns, figures = _asked(rows, columns, show)
    _check(figures, best, unit, title if form == "csv" else "")
    # A column for each figure; of several together each takes as much of the rule as it has a use for.
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
    # Make the table, and write it in the form that was asked for.
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


def plot(
    database: Database,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The picture: .png, .svg or .pdf.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="profile, gap, size, line or bars.")] = "profile",
    show: Annotated[str, option("FIGURE", "value, seconds, ratio, gap, … as for tables.")] = "",
    x: Annotated[str, option("FIELD", "Along the axis: nodes, k, problem, …", "--x")] = "",
    panels: Annotated[str, option("FIELD", "A panel for each value of it.")] = "",
    to: Annotated[str, typer.Option(metavar="WHAT", help="gap: to the run's bound, or to the best plan.")] = "bound",
    solved: Annotated[str, typer.Option(metavar="WHEN", help="profile of times: with a plan, or proved.")] = "plan",
    best: Annotated[
        str, typer.Option(metavar="LABEL", help="Ratios are to this method's figures; all: to the best of any.")
    ] = "all",
    over: Annotated[str, option("MEAN", "line, bars: over problems, as for tables.")] = "",
    seeds: Annotated[str, typer.Option(metavar="MEAN", help="line, bars: over seeds.")] = "mean",
    failed: Annotated[
        str, typer.Option(metavar="RULE", help="line, bars: failed runs, say, none, or par2, par10, …")
    ] = "say",
    title: Title = "",
    only: Only = [],  # noqa: B006  typer copies defaults
) -> int:
    """Draw what runs found.

    profile: the share of problems on which a method is within a factor of the best (Dolan and Moré 2002), of values or,
    by --show seconds, of times · gap: the mean gap over time · size: times against sizes · line: a figure along a param
    · bars: a figure by problem or group. Bands and marks across lines reach from the least to the largest over seeds.

    Exit codes: 0 drawn · 2 the call is wrong, the database cannot be read, or matplotlib is missing.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.writing import check_writable
    from mtpp_dsl.core.errors import UsageError
    from mtpp_dsl.show.pictures.plotting import check_picture
    from mtpp_dsl.sweeps.tables.figures import FigureRule
    from mtpp_dsl.sweeps.tables.pictures import KINDS, PanelRequest, draw_runs

    joined = ("line", "bars")
    for flag, given, default, kinds in (
        ("--show", show, "", ("profile", "size", *joined)),
        ("--x", x, "", ("size", *joined)),
        ("--to", to, "bound", ("gap",)),
        ("--solved", solved, "plan", ("profile",)),
        ("--best", best, "all", joined),
        ("--over", over, "", joined),
        ("--seeds", seeds, "mean", joined),
        ("--failed", failed, "say", joined),
    ):
        if given != default and kind in KINDS and kind not in kinds:
            raise UsageError(f"{flag} is for --kind {' or '.join(kinds)}, not for {kind}")
    check_picture(output)
    check_writable(output)
    asked = PanelRequest(kind, show, x, panels, to, solved, best, FigureRule(over, seeds, failed), title)
    runs = runs_of(database, only, logs=kind == "gap" or show == "found", training=show == "train")
    for note in draw_runs(runs, asked, output):
        say(note)
    return 0


def runs_of(database: Path, only: Sequence[str], *, logs: bool = False, training: bool = False) -> Runs:
    """Return the runs of a database that every one of *only* is true of.

    Args:
        database: its path.
        only: as of ``mtpp bench``.
        logs: whether their logs are read too.
        training: whether the seconds of their training are read too, from their answers.
    """
    from mtpp_dsl.sweeps.store.selection import chosen
    from mtpp_dsl.sweeps.store.store import Store
    from mtpp_dsl.sweeps.tables.measures import trained_for
    from mtpp_dsl.sweeps.tables.runs import NEEDED, Runs

    with Store.open(database, readonly=True) as store:
        columns = store.columns([*NEEDED, *(["log"] if logs else [])])
        if training:
            columns["train"] = [trained_for(store.answer(key)) for key in columns["key"]]
        runs = Runs(columns)
        if not only:
            return runs
        kept = {row.key for row in chosen([*store.rows(logs=False)], only)}
    return runs.take(i for i, key in enumerate(runs.field("key")) if key in kept)
