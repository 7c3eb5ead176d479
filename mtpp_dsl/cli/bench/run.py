"""``mtpp bench SWEEP.toml``: the options; what is done with them is in :mod:`.running`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.bench.options import Jobs, Only, Quiet, Scheduler, Size, SweepFile, TimeLimit

__all__ = ["run"]


def run(
    sweep: SweepFile,
    db: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the results here (beside the sweep, .sqlite).", show_default=False),
    ] = None,
    jobs: Jobs = None,
    size: Size = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    only: Only = [],  # noqa: B006  typer copies defaults
    retry: Annotated[
        str | None,
        typer.Option(
            metavar="failed|all|STATUS", help="Do those again that ended so; commas between.", show_default=False
        ),
    ] = None,
    time_limit: TimeLimit = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only the I-th of N parts of the sweep.", show_default=False)
    ] = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show a line for each run.")] = False,
) -> int:
    """Do the runs of a sweep that have no result yet, each in a process of its own, and keep what comes of them.

    A run that fails, is killed or runs out of memory is a result too. After an interrupt, or whatever ended it, the
    same command goes on where it was.

    Exit codes: 0 every run has a result · 2 the sweep or the call is wrong, or the results cannot be written · 4 other
    processes are at the rest · 5 no worker can be started · 7 two answers contradict each other · 130 interrupted,
    143 terminated (results are kept).
    """
    from mtpp_dsl.cli.bench.running import BenchCall, run_and_report

    return run_and_report(
        BenchCall(
            sweep=sweep,
            db=db,
            jobs=jobs,
            size=size,
            dry_run=dry_run,
            only=only,
            retry=retry,
            time_limit=time_limit,
            shard=shard,
            scheduler=scheduler,
            quiet=quiet,
            verbose=verbose,
        )
    )
