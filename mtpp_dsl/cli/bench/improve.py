"""``mtpp bench --improve LIBRARY``: the options; what is done with them is in :mod:`.improving`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.bench.options import Jobs, Quiet, Scheduler

__all__ = ["improve"]


def improve(
    library: Annotated[
        str, typer.Argument(metavar="LIBRARY", help="Its folder, or its name: mtpplib.", show_default=False)
    ],
    only: Annotated[
        list[str],
        typer.Option(
            metavar="WHICH", help="Only these problems: name* or group=…; may be repeated.", show_default=False
        ),
    ] = [],  # noqa: B006  typer copies defaults
    method: Annotated[
        str | None, typer.Option(metavar="A,B", help="By these methods (auto).", show_default=False)
    ] = None,
    solver: Annotated[
        str | None, typer.Option(metavar="A,B", help="For methods that use one.", show_default=False)
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N|A..B", help="Seeds (0).", show_default=False)] = None,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Of each run (10s).", show_default=False)
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of each run (6 GB).", show_default=False)
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of each run (1).", show_default=False)
    ] = None,
    jobs: Jobs = None,
    every: Annotated[bool, typer.Option("--all", help="Also problems that are proved optimal.")] = False,
    submit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check this answer, or plan, in place of running.", show_default=False),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep runs here (improve.sqlite in the library).", show_default=False),
    ] = None,
    retry: Annotated[
        str | None,
        typer.Option(metavar="failed|all|STATUS", help="Do those again that ended so.", show_default=False),
    ] = None,
    scheduler: Scheduler = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show problems and records, and run nothing.")] = False,
    audit: Annotated[bool, typer.Option("--audit", help="Check all that is stored again, and run nothing.")] = False,
    quiet: Quiet = False,
) -> int:
    """Run methods on the problems of a library, and record every plan and bound that is better than the best known.

    Each answer is checked from scratch: the plan by code that shares nothing with what found it, the bound from its
    certificate if it has one. Records are only ever replaced by better ones. The same command goes on where it was
    ended. Problems that are proved optimal are left out unless --all says so.

    Exit codes: 0 done, whether anything became better or not · 2 the call is wrong, or the library cannot be read or
    written · 4 other processes are at the rest · 7 an answer, or what is stored, is wrong or contradicts what is known
    (the evidence is kept) · 130 interrupted, 143 terminated (all results are kept).
    """
    from mtpp_dsl.cli.bench.improving import ImproveCall, audit_and_report, improve_and_report, submit_and_report

    call = ImproveCall(
        library=library,
        only=only,
        methods=_words(method),
        solvers=_words(solver),
        settings={"seeds": _seeds(seed), "time_limit": time_limit, "memory_limit": memory_limit, "threads": threads},
        closed=every,
        jobs=jobs,
        db=db,
        retry=retry,
        scheduler=scheduler,
        dry_run=dry_run,
        quiet=quiet,
    )
    if submit is not None:
        return submit_and_report(call, submit)
    return audit_and_report(call) if audit else improve_and_report(call)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _seeds(text: str | None) -> object:
    """Return seeds as a sweep file has them: a number, numbers, or a range such as "0..4"."""
    if text is None or ".." in text:
        return text
    words = _words(text)
    return [int(word) if word.isdigit() else word for word in words]
