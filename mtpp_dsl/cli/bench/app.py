"""The commands ``mtpp bench …``. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from mtpp_dsl.cli.bench.diff import diff
from mtpp_dsl.cli.bench.export import export
from mtpp_dsl.cli.bench.improve import improve
from mtpp_dsl.cli.bench.merge import merge
from mtpp_dsl.cli.bench.page import page
from mtpp_dsl.cli.bench.plot import plot
from mtpp_dsl.cli.bench.run import run
from mtpp_dsl.cli.bench.slurm import slurm
from mtpp_dsl.cli.bench.table import table
from mtpp_dsl.cli.commands import commands_of

__all__ = ["bench_app"]

_HELP = ("-h", "--help")


class Bench(TyperGroup):
    """The commands of ``mtpp bench``, in which a sweep may stand in place of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments: those that begin with a sweep, or with an option, are of the command ``run``."""
        if args and args[0] == "--improve" and "improve" in self.commands:
            args = ["improve", *args[1:]]
        elif args and args[0] not in _HELP and (args[0].startswith("-") or args[0].endswith(".toml")):
            args = ["run", *args]
        elif args and args[0].endswith(".mtpp"):
            ctx.fail(f"{args[0]} is a spec: mtpp solve takes it; a sweep is a .toml file")
        elif args and args[0].endswith(".sqlite"):
            ctx.fail(f"{args[0]} is a database: say what to do with it, such as mtpp bench table {args[0]}")
        return super().parse_args(ctx, args)


bench_app = typer.Typer(
    cls=Bench,
    name="bench",
    help="Run sweeps: mtpp bench SWEEP.toml, many problems by many methods. The commands compare, show and keep "
    "what came of them.",
    short_help="Run sweeps, and compare, show and keep their results.",
    no_args_is_help=True,
)
command = commands_of(bench_app)

command(run)
command(diff)
command(export)
command(improve)
command(merge)
command(page)
command(plot)
command(slurm)
command(table)
