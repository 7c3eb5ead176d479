"""The commands ``mtpp bench …``. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from typing import Any

import typer

from mtpp_dsl.cli.bench.calls import BenchCall, ImproveCall
from mtpp_dsl.cli.bench.databases import export, merge
from mtpp_dsl.cli.bench.diff import diff
from mtpp_dsl.cli.bench.page import page
from mtpp_dsl.cli.bench.prove import prove
from mtpp_dsl.cli.bench.slurm import slurm
from mtpp_dsl.cli.bench.tables import plot, table
from mtpp_dsl.cli.commands import Group, commands_of

__all__ = ["bench_app"]

_HELP = ("-h", "--help")


class Bench(Group):
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
    "the results.",
    short_help="Run sweeps, and compare, show and keep their results.",
    no_args_is_help=True,
)
command = commands_of(bench_app)


@command
def run(call: BenchCall) -> int:
    """Do the runs of a sweep that have no result yet, each in its own process, and keep their results.

    A run that fails, is killed or runs out of memory is a result too. Rerun the command to resume an interrupted
    sweep.

    Exit codes: 0 every run has a result · 2 the sweep or the call is wrong, or the results cannot be written · 4 other
    processes do the rest · 5 no worker can be started · 7 two answers contradict each other · 130 interrupted,
    143 terminated (results are kept).
    """
    from mtpp_dsl.cli.bench.sweeping import run_and_report

    return run_and_report(call)


command(diff)
command(export)


@command
def improve(call: ImproveCall) -> int:
    """Run methods on the problems of a library, and record every plan and bound that is better than the best known.

    Each answer is checked from scratch: the plan by code that shares nothing with what found it, the bound from its
    certificate if it has one. Records are only replaced by better ones. Rerun the command to
    resume it. Problems that are proved optimal are left out unless --all says so.

    Exit codes: 0 done, whether anything became better or not · 2 the call is wrong, or the library cannot be read or
    written · 4 other processes are at the rest · 7 an answer, or what is stored, is wrong or contradicts what is known
    (the evidence is kept) · 130 interrupted, 143 terminated (all results are kept).
    """
    from mtpp_dsl.cli.bench.improving import improve_or_check

    return improve_or_check(call)


command(merge)
command(page)
command(plot)
command(prove)
command(slurm)
command(table)
