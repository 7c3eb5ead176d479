"""Options and arguments that several commands of ``mtpp bench`` have, with the same words in each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["Database", "Jobs", "Only", "Quiet", "Scheduler", "Size", "SweepFile", "TimeLimit", "Title"]

SweepFile: TypeAlias = Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="The sweep.", show_default=False)]
Database: TypeAlias = Annotated[Path, typer.Argument(metavar="DB", help="A database of results.")]
Only: TypeAlias = Annotated[
    list[str],
    typer.Option(metavar="WHICH", help="Only these runs: problem* or method=…; may be repeated.", show_default=False),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Runs at once (as many as cores).", show_default=False),
]
Size: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="One of the sizes of the sweep.", show_default=False)
]
TimeLimit: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TIME", help="Of each run, whatever the sweep says.", show_default=False)
]
Scheduler: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on tcp://…, local-cluster:N or local:N.", show_default=False),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]
Title: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="What stands above it.", show_default=False)]
