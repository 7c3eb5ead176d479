"""``mtpp bench plot DB``: what runs found, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.bench.choosing import runs_of
from mtpp_dsl.cli.bench.options import Database, Only, Title

__all__ = ["plot"]


def plot(
    database: Database,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The picture: .png, .svg or .pdf.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="profile, gap, size, line or bars.")] = "profile",
    show: Annotated[
        str,
        typer.Option(metavar="FIGURE", help="value, seconds, ratio, gap, … as for tables.", show_default=False),
    ] = "",
    x: Annotated[
        str, typer.Option("--x", metavar="FIELD", help="Along the axis: nodes, k, problem, …", show_default=False)
    ] = "",
    panels: Annotated[
        str, typer.Option(metavar="FIELD", help="A panel for each value of it.", show_default=False)
    ] = "",
    to: Annotated[str, typer.Option(metavar="WHAT", help="gap: to the run's bound, or to the best plan.")] = "bound",
    solved: Annotated[str, typer.Option(metavar="WHEN", help="profile of times: with a plan, or proved.")] = "plan",
    best: Annotated[
        str, typer.Option(metavar="LABEL", help="Ratios are to this method's figures; all: to the best of any.")
    ] = "all",
    over: Annotated[
        str, typer.Option(metavar="MEAN", help="line, bars: over problems, as for tables.", show_default=False)
    ] = "",
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
    from mtpp_dsl.sweeps.tables.panels import KINDS
    from mtpp_dsl.sweeps.tables.pictures import PanelRequest, draw_runs

    joined = ("line", "bars")
    for option, given, default, kinds in (
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
            raise UsageError(f"{option} is for --kind {' or '.join(kinds)}, not for {kind}")
    check_picture(output)
    check_writable(output)
    asked = PanelRequest(kind, show, x, panels, to, solved, best, FigureRule(over, seeds, failed), title)
    runs = runs_of(database, only, logs=kind == "gap" or show == "found", training=show == "train")
    for note in draw_runs(runs, asked, output):
        say(note)
    return 0
