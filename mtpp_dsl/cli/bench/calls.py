"""The arguments and options of ``mtpp bench SWEEP.toml`` and ``mtpp bench --improve``, as fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.parameters import Jobs, Only, Scheduler, Size, SweepFile, SweepQuiet, SweepTimeLimit, argument, option


@dataclass(frozen=True, kw_only=True)
class BenchCall:
    """The arguments of ``mtpp bench SWEEP.toml``, as given."""

    sweep: SweepFile
    db: Annotated[Path | None, option("FILE", "Keep the results in this database; by default beside the sweep.")] = None
    jobs: Jobs = None
    size: Size = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs, and run nothing.")] = False
    only: Only = field(default_factory=list)
    retry: Annotated[str | None, option("failed|all|STATUS", "Repeat runs that ended so; several with commas.")] = None
    time_limit: SweepTimeLimit = None
    shard: Annotated[str | None, option("I/N", "Do only the I-th of N parts of the sweep.")] = None
    scheduler: Scheduler = None
    quiet: SweepQuiet = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show a line for each run.")] = False


@dataclass(frozen=True, kw_only=True)
class ImproveCall:
    """The arguments of ``mtpp bench --improve LIBRARY``, as given."""

    library: Annotated[str, argument("LIBRARY", "A library: its folder, or its name, such as mtpplib.")]
    only: Annotated[
        list[str],
        option("WHICH", "Only these problems: name* or group=…; A,B means either, repeated both."),
    ] = field(default_factory=list)
    method: Annotated[str | None, option("A,B", "Run these methods; by default auto.")] = None
    solver: Annotated[str | None, option("A,B", "Solvers for methods that use one.")] = None
    seed: Annotated[str | None, option("N|A..B", "Seeds; by default 0.")] = None
    time_limit: Annotated[str | None, option("TIME", "Time limit of each run; by default 10s.")] = None
    memory_limit: Annotated[str | None, option("SIZE", "Memory limit of each run; by default 6 GB.")] = None
    threads: Annotated[int | None, option("N", "Threads of each run; by default 1.", min=1)] = None
    jobs: Jobs = None
    every: Annotated[bool, typer.Option("--all", help="Include problems that are proved optimal.")] = False
    submit: Annotated[Path | None, option("FILE", "Check this answer, or plan, in place of running.")] = None
    db: Annotated[Path | None, option("FILE", "Keep runs here; by default in improve.sqlite in the library.")] = None
    retry: Annotated[str | None, option("failed|all|STATUS", "Repeat runs that ended like this.")] = None
    scheduler: Scheduler = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show problems and records, and run nothing.")] = False
    audit: Annotated[bool, typer.Option("--audit", help="Check everything stored again, and run nothing.")] = False
    quiet: SweepQuiet = False
