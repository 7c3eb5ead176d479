"""The commands. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    name="mtpp",
    help="Split neural networks over devices: a plan, a proven bound on how good it is, verified.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="A .mtpp file.", show_default=False)]
Define = Annotated[
    list[str], typer.Option("-D", metavar="NAME=VALUE", help="Value of a param; may be repeated.", show_default=False)
]
Include = Annotated[
    list[Path],
    typer.Option("-I", metavar="DIR", help="Folder where include looks; may be repeated.", show_default=False),
]
Names = Annotated[bool, typer.Option("--quiet", "-q", help="Print names alone, one a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but what is wrong.")]


def command(function: Callable[..., int]) -> Callable[..., int]:
    """Make *function* a command whose help breaks its lines where the terminal ends, not where they end here."""
    paragraphs = cleandoc(function.__doc__ or "").split("\n\n")
    app.command(help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))(function)
    return function


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that begin as what has been typed."""
    from mtpp_dsl.registry import FORMULATIONS, METHODS, available

    return [name for group in (METHODS, FORMULATIONS) for name in available(group) if name.startswith(incomplete)]


def complete_solver(incomplete: str) -> list[str]:
    """Return the solvers that begin as what has been typed."""
    from mtpp_dsl.registry import BACKENDS, ENGINES, available

    return [name for group in (BACKENDS, ENGINES) for name in available(group) if name.startswith(incomplete)]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Split neural networks over devices: a plan, a proven bound on how good it is, verified."""
    if version:
        from mtpp_dsl import __version__

        typer.echo(f"mtpp {__version__}")
        raise typer.Exit


@command
def solve(
    spec: Spec,
    define: Define = [],  # noqa: B006  typer copies defaults
    method: Annotated[str, typer.Option(help="How: see mtpp methods.", autocompletion=complete_method)] = "auto",
    solver: Annotated[
        str, typer.Option(help="MIP solver: see mtpp solvers.", autocompletion=complete_solver)
    ] = "highs",
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this long: 60s, 500ms, 2min, 1h, or none.")
    ] = "60s",
    gap: Annotated[str, typer.Option(metavar="SHARE", help="Stop within this of the bound: 1% or 0.01.")] = "0",
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Threads of the solver; processes of auto.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of everything random.")] = 0,
    start: Annotated[
        Path | None, typer.Option(metavar="PLAN.json", help="Start from this plan.", show_default=False)
    ] = None,
    solver_option: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Passed to the solver; may be repeated.", show_default=False),
    ] = [],  # noqa: B006
    coarsen: Annotated[
        str | None,
        typer.Option(
            metavar="RULES", help="Fuse operators first: gcof, transformer or a .toml file.", show_default=False
        ),
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="milp-split, split-bound: channels at most.", show_default=False),
    ] = None,
    module_time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="milp-split: for one module between given ends.", show_default=False),
    ] = None,
    module_method: Annotated[
        str | None, typer.Option(metavar="NAME", help="milp-split: what solves the modules.", show_default=False)
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write the answer as JSON; - is stdout.", show_default=False)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the best answer so far here, for --start.", show_default=False),
    ] = None,
    write_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the MIP as .lp or .mps.", show_default=False)
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the schedule as a trace for Perfetto.", show_default=False),
    ] = None,
    gantt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the schedule: .svg, .png or .pdf.", show_default=False)
    ] = None,
    include: Include = [],  # noqa: B006
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say what is being done; show the solver's log.")
    ] = False,
) -> int:
    """Find a plan and a bound.

    Exit codes: 0 a verified plan (or, from methods that only bound, a bound) · 2 the spec or the call is
    wrong · 3 proven infeasible · 4 nothing found within the limit · 5 a solver is missing or failed ·
    7 verification failed · 130 interrupted, 143 terminated (the best plan and bound so far are still printed and
    written; a second signal ends at once).
    """
    from mtpp_dsl.cli.solve import SolveCall, solve_and_report

    return solve_and_report(
        SolveCall(
            spec=spec,
            define=define,
            include=include,
            method=method,
            solver=solver,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            start=start,
            solver_option=solver_option,
            coarsen=coarsen,
            channels=channels,
            module_time_limit=module_time_limit,
            module_method=module_method,
            json=json,
            checkpoint=checkpoint,
            write_model=write_model,
            trace=trace,
            gantt=gantt,
            quiet=quiet,
            verbose=verbose,
        )
    )


@command
def check(
    spec: Spec,
    define: Define = [],  # noqa: B006
    include: Include = [],  # noqa: B006
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name every method, and why others cannot.")] = False,
) -> int:
    """Read and check a spec; solve nothing. Says what it is, what is odd about it, and which methods fit."""
    from mtpp_dsl.cli.check import check_spec

    return check_spec(spec, define, include, quiet=quiet, verbose=verbose)


@command
def verify(
    spec: Spec,
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", help="An answer of mtpp, or {node: device}.")],
    define: Define = [],  # noqa: B006
    include: Include = [],  # noqa: B006
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Give up checking the bound's certificate after this long, or none.")
    ] = "10min",
    quiet: Quiet = False,
) -> int:
    """Check an answer, or a plan alone, against a spec, independently of everything that could have made it.

    Every field of an answer is checked, or named as not checked; a bound is proved again from its certificate, or said
    to be only claimed. The params are those of the answer.

    Exit codes: 0 all that could be checked is so · 2 the file is no answer and no plan, or the time was too short ·
    7 something that it says is not so.
    """
    from mtpp_dsl.cli.arguments import seconds
    from mtpp_dsl.cli.verify import verify_plan

    return verify_plan(spec, plan, define, include, seconds(time_limit), quiet=quiet)


@command
def fmt(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help=".mtpp files.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")] = False,
    quiet: Quiet = False,
) -> int:
    """Format specs in place; no comment is lost."""
    from mtpp_dsl.cli.fmt import format_files

    return format_files(specs, check, quiet=quiet)


@command
def methods(quiet: Names = False) -> int:
    """List the methods, built in and plugged in."""
    from mtpp_dsl.cli.listing import list_methods

    return list_methods(quiet=quiet)


@command
def solvers(quiet: Names = False) -> int:
    """List the MIP solvers: what is installed, and how to install the others."""
    from mtpp_dsl.cli.listing import list_solvers

    return list_solvers(quiet=quiet)
