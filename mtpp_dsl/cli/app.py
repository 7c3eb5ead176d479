"""The commands. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mtpp_dsl.cli.commands import commands_of
from mtpp_dsl.cli.execution import profile, run
from mtpp_dsl.cli.import_torch import import_app
from mtpp_dsl.cli.questions import diff, explain
from mtpp_dsl.cli.report import report
from mtpp_dsl.cli.training import train
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.errors import did_you_mean

__all__ = ["app"]

TAKEN_BY = {
    ".mtpp": "mtpp solve {0} solves this spec, and mtpp check {0} describes it",
    ".json": "mtpp report {0} shows an answer, and mtpp verify SPEC {0} checks it; mtpp -h lists all commands",
    ".toml": "mtpp bench {0} runs a sweep",
    ".sqlite": "mtpp bench table {0} shows what came of a sweep",
}
"""What is said of a file in place of a command, by the end of its name."""


class Commands(TyperGroup):
    """The commands of ``mtpp``. A file in place of a command is told which commands take it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a file that stands first is no command."""
        first = args[0] if args else ""
        if first not in self.commands and not first.startswith("-"):
            takes = next((said for ending, said in TAKEN_BY.items() if first.lower().endswith(ending)), "")
            if takes:
                ctx.fail(f"{first!r} is no command: {takes.format(first)}")
            near = did_you_mean(first, self.commands)
            if first and near:
                ctx.fail(f"No such command {first!r}{near}")
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Commands,
    name="mtpp",
    help="Split neural networks over devices: a verified plan, and a proven bound on how good any plan can be.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(import_app, name="import")
app.add_typer(late("mtpp_dsl.cli.bench.app:bench_app"), name="bench")  # which imports other parts of this package
command = commands_of(app)

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="A .mtpp file.", show_default=False)]
Define = Annotated[
    list[str], typer.Option("-D", metavar="NAME=VALUE", help="Set a param; may be repeated.", show_default=False)
]
Include = Annotated[
    list[Path],
    typer.Option("-I", metavar="DIR", help="Also look here for included files; may be repeated.", show_default=False),
]
Scenario = Annotated[
    str | None, typer.Option(metavar="NAME", help="The scenario of the spec that counts.", show_default=False)
]
Names = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the names, one a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that begin as what has been typed."""
    from mtpp_dsl.core.registry import FORMULATIONS, METHODS, available

    return [name for group in (METHODS, FORMULATIONS) for name in available(group) if name.startswith(incomplete)]


def complete_solver(incomplete: str) -> list[str]:
    """Return the solvers that begin as what has been typed."""
    from mtpp_dsl.core.registry import BACKENDS, ENGINES, available

    return [name for group in (BACKENDS, ENGINES) for name in available(group) if name.startswith(incomplete)]


def complete_target(incomplete: str) -> list[str]:
    """Return the targets that begin as what has been typed."""
    from mtpp_dsl.core.registry import TARGETS, available

    return [name for name in available(TARGETS) if name.startswith(incomplete)]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Split neural networks over devices: a verified plan, and a proven bound on how good any plan can be."""
    if version:
        from mtpp_dsl import __version__

        typer.echo(f"mtpp {__version__}")
        raise typer.Exit


@command
def solve(
    spec: Spec,
    define: Define = [],  # noqa: B006  typer copies defaults
    scenario: Scenario = None,
    method: Annotated[
        str,
        typer.Option(help="Method, or several with commas; mtpp methods lists them.", autocompletion=complete_method),
    ] = "auto",
    solver: Annotated[
        str, typer.Option(help="Solver; mtpp solvers lists them.", autocompletion=complete_solver)
    ] = "highs",
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this time: 60s, 500ms, 2min, 1h, or none.")
    ] = "60s",
    gap: Annotated[
        str, typer.Option(metavar="SHARE", help="Stop when plan and bound are this close: 1% or 0.01.")
    ] = "0",
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of threads of the solver, or of processes of auto.", show_default=False
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spread over a Dask cluster: tcp://host:8786 or local-cluster:2.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random choices.")] = 0,
    start: Annotated[
        Path | None, typer.Option(metavar="PLAN.json", help="Start from this plan.", show_default=False)
    ] = None,
    solver_option: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Option for the solver; may be repeated.", show_default=False),
    ] = [],  # noqa: B006
    coarsen: Annotated[
        str | None,
        typer.Option(
            metavar="RULES", help="Fuse operators first: gcof, transformer or a .toml file.", show_default=False
        ),
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="milp-split, split-bound: at most N tensors between modules.", show_default=False
        ),
    ] = None,
    module_time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="milp-split: time limit for one module.", show_default=False),
    ] = None,
    module_method: Annotated[
        str | None, typer.Option(metavar="NAME", help="milp-split: method that solves the modules.", show_default=False)
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="placeto: begin with this policy, by mtpp train.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TARGET",
            help="Keep to what this runtime can express; mtpp targets lists them.",
            show_default=False,
            autocompletion=complete_target,
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write the answer as JSON; - is stdout.", show_default=False)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the best answer so far in this file.", show_default=False),
    ] = None,
    write_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the MIP as .lp or .mps.", show_default=False)
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the schedule, or the pipeline at work, as a trace for Perfetto.",
            show_default=False,
        ),
    ] = None,
    gantt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="As --plot gantt:FILE.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answer as one page.", show_default=False)
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="--html: then solve it with more devices, bandwidth and memory, and without constraints.",
            show_default=False,
        ),
    ] = None,
    pareto: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Find a front of two objectives, by label or name.", show_default=False),
    ] = None,
    points: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="--pareto: so many points (20).", show_default=False)
    ] = None,
    plot: Annotated[
        list[str],
        typer.Option(
            metavar="[KIND:]FILE",
            help="Draw loads, gantt, graph, gap or memory: .svg, .png or .pdf; may be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    microbatches: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="--trace, --gantt, --plot gantt: of a pipeline, over so many.", show_default=False
        ),
    ] = None,
    sweep: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUES",
            help="Solve for each value of a param, as k=2..8 or k=2,4,8, or for each seed; may be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    db: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="--sweep: keep the results in this database.", show_default=False),
    ] = None,
    include: Include = [],  # noqa: B006
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show each step, and the solver's log.")] = False,
) -> int:
    """Find a plan and a bound.

    Exit codes: 0 a verified plan (or, from methods that only bound, a bound) · 2 the spec or the call is
    wrong · 3 proven infeasible · 4 nothing found within the limit · 5 a solver is missing or failed ·
    7 verification failed · 130 interrupted, 143 terminated (the best plan and bound so far are still printed and
    written; a second signal ends at once).
    """
    from mtpp_dsl.cli.solve import solve_and_report
    from mtpp_dsl.cli.solve_call import SolveCall

    return solve_and_report(
        SolveCall(
            spec=spec,
            define=define,
            scenario=scenario,
            include=include,
            method=method,
            solver=solver,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            scheduler=scheduler,
            seed=seed,
            start=start,
            solver_option=solver_option,
            coarsen=coarsen,
            channels=channels,
            module_time_limit=module_time_limit,
            module_method=module_method,
            policy=policy,
            target=target,
            json=json,
            checkpoint=checkpoint,
            write_model=write_model,
            trace=trace,
            gantt=gantt,
            html=html,
            what_if=what_if,
            pareto=pareto,
            points=points,
            plot=plot,
            microbatches=microbatches,
            sweep=sweep,
            db=db,
            quiet=quiet,
            verbose=verbose,
        )
    )


@command
def check(
    spec: Spec,
    define: Define = [],  # noqa: B006
    scenario: Scenario = None,
    include: Include = [],  # noqa: B006
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every method that can solve it, and why the others cannot.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print errors and warnings as JSON, with their places and fixes.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Correct what can only be meant in one way, in the files, and say what.")
    ] = False,
) -> int:
    """Check a spec without solving it: what it contains, what looks wrong, and which methods can solve it.

    Exit codes: 0 the spec is sound · 2 the spec or the call is wrong.
    """
    from mtpp_dsl.cli.check import check_spec

    return check_spec(spec, define, include, quiet=quiet, verbose=verbose, json=json, fix=fix, scenario=scenario)


@command
def verify(
    spec: Spec,
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", help="An answer of mtpp, or {node: device}.")],
    define: Define = [],  # noqa: B006
    scenario: Scenario = None,
    include: Include = [],  # noqa: B006
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop checking the bound's certificate after this time, or none.")
    ] = "10min",
    quiet: Quiet = False,
) -> int:
    """Check an answer, or a plan alone, against a spec, with code that shares nothing with what made it.

    Every field of an answer is checked, or listed as not checked. The bound is proved again from its certificate;
    without one, the output says that it is only claimed. Params have the values that the answer names.

    Exit codes: 0 all that could be checked is true · 2 the file is neither an answer nor a plan, or the time was too
    short · 7 something in it is wrong.
    """
    from mtpp_dsl.cli.arguments import seconds
    from mtpp_dsl.cli.verify import verify_plan

    return verify_plan(spec, plan, define, include, seconds(time_limit, "--time-limit"), quiet=quiet, scenario=scenario)


@command
def export(
    answer: Annotated[Path, typer.Argument(metavar="ANSWER.json", help="An answer with a plan.", show_default=False)],
    to: Annotated[
        str,
        typer.Option(
            metavar="TARGET", help="A form or a runtime; mtpp targets lists them.", autocompletion=complete_target
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE|DIR", help="Where to.", show_default=False)
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="Where the spec of the answer is now.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="The model's file, or module:callable, for files with its parts.", show_default=False
        ),
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Write the plan of an answer as the file, or the launch line, of a runtime; without -o, to stdout.

    The spec and the data files that the answer names are read again, and must not have changed.

    Exit codes: 0 written · 2 the answer has no plan or its spec has changed, the runtime cannot run the plan, or the
    call is wrong.
    """
    from mtpp_dsl.cli.export import export_plan

    return export_plan(answer, to, output, spec, model, quiet=quiet)


@command
def validate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file or a folder, or the text itself; text that begins with - comes last, behind --.",
            show_default=False,
        ),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="TARGET", help="Its form, or its runtime; mtpp targets lists them.", show_default=False
        ),
    ],
    spec: Annotated[Path, typer.Option(metavar="SPEC", help="The spec of the model and the devices.")],
    define: Define = [],  # noqa: B006
    scenario: Scenario = None,
    include: Include = [],  # noqa: B006
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Look for the best plan for this time, or none.")
    ] = "20s",
    method: Annotated[str, typer.Option(help="Method that looks for it.", autocompletion=complete_method)] = "auto",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random choices.")] = 0,
    quiet: Quiet = False,
) -> int:
    """Check a split that somebody else wrote: every layer once, order, memory, and how far it is from the best.

    Stages are on the devices of the spec, in their order. The best plan is that for the same runtime.

    Exit codes: 0 the split is sound, however slow · 2 the file is not of that form, or the call is wrong · 7 a layer is
    lost, doubled or swapped, a count is wrong, or a constraint is broken, such as a memory.
    """
    from mtpp_dsl.cli.arguments import read_problem, seconds
    from mtpp_dsl.cli.validate import validate_split

    problem = read_problem(spec, define, include, scenario=scenario)
    return validate_split(file, form, problem, seconds(time_limit, "--time-limit"), method, seed, quiet=quiet)


@command
def targets(quiet: Names = False) -> int:
    """List the runtimes and forms that --for, --to and --format take, built in and from plug-ins."""
    from mtpp_dsl.cli.listing import list_targets

    return list_targets(quiet=quiet)


def complete_format(incomplete: str) -> list[str]:
    """Return the formats of graphs that begin as what has been typed."""
    from mtpp_dsl.core.registry import FORMATS, available

    return [name for name in available(FORMATS) if name.startswith(incomplete)]


@command
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A graph or a model.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The new file.", show_default=False)],
    read_as: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Of IN; otherwise by its name.", autocompletion=complete_format),
    ] = None,
    write_as: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Of OUT; otherwise by its name.", autocompletion=complete_format),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(metavar="GROUPS", help="Of a model: layer, module or operator.", show_default=False)
    ] = None,
    size: Annotated[
        list[str],
        typer.Option(metavar="NAME=NUMBER", help="Of a model: a symbol's value, such as batch=8.", show_default=False),
    ] = [],  # noqa: B006
    phase: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a model: this phase alone.", show_default=False)
    ] = None,
    weight_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Of a model: how weights are stored.", show_default=False)
    ] = None,
    ties: Annotated[
        str | None, typer.Option(metavar="WORD", help="Of a model: colocate or copy.", show_default=False)
    ] = None,
    experts_read: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Of a model: experts expected, or all_distinct.", show_default=False),
    ] = None,
    sum_costs: Annotated[
        bool, typer.Option("--sum-costs", help="Add up the costs of a node's operators, as CSV and DOT need it.")
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Convert a graph between formats: model and graph (.json), csv (NAME.nodes.csv and NAME.edges.csv), dot (.dot).

    Files of other formats can be read. A model stays one where OUT is .json and nothing is chosen of it; else it
    becomes a graph. Costs that are added up may give shorter times than those of single operators.
    """
    from mtpp_dsl.cli.convert import Conversion
    from mtpp_dsl.cli.convert import convert as converted

    options = {
        "group_by": group_by,
        "phase": phase,
        "weight_type": weight_type,
        "ties": ties,
        "experts_read": experts_read,
    }
    return converted(Conversion(source, target, read_as, write_as, options, size, sum_costs, quiet))


@command
def fmt(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help=".mtpp files.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")] = False,
    upgrade: Annotated[
        bool,
        typer.Option("--upgrade", help="Rewrite specs of earlier versions of the language as this wants them."),
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Format specs in place; comments are kept."""
    from mtpp_dsl.cli.fmt import format_files

    return format_files(specs, check, upgrade, quiet=quiet)


@command
def lsp(
    stdio: Annotated[bool, typer.Option("--stdio", help="Use stdin and stdout, as it always does.")] = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log to stderr what is done, and how long it takes.")
    ] = False,
) -> int:
    """Serve an editor: the language server, on stdin and stdout."""
    from mtpp_dsl.cli.lsp import serve

    return serve(stdio=stdio, verbose=verbose)


@command
def methods(quiet: Names = False) -> int:
    """List the methods, built in and from plug-ins."""
    from mtpp_dsl.cli.listing import list_methods

    return list_methods(quiet=quiet)


@command
def solvers(quiet: Names = False) -> int:
    """List the solvers: which are installed, and how to install the others."""
    from mtpp_dsl.cli.listing import list_solvers

    return list_solvers(quiet=quiet)


@command
def devices(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A type, a link, or a part of such names.", show_default=False),
    ] = None,
    quiet: Names = False,
) -> int:
    """List the devices of the library, or show one, or a link, with the sources of its figures."""
    from mtpp_dsl.cli.library import list_library

    return list_library(name, quiet=quiet)


def complete_editor(incomplete: str) -> list[str]:
    """Return the editors that begin as what has been typed."""
    from mtpp_dsl.editor.setup.settings import EDITORS

    return [name for name in EDITORS if name.startswith(incomplete)]


@command
def editor(
    name: Annotated[
        str,
        typer.Argument(
            metavar="EDITOR",
            help="vscode, textmate, neovim or emacs.",
            autocompletion=complete_editor,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write into.", show_default=False)
    ],
    server: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The mtpp that the editor starts; left out, this one.", show_default=False),
    ] = None,
) -> int:
    """Write what an editor needs for specs: colours, and settings that start mtpp lsp."""
    from mtpp_dsl.cli.editor import write_editor

    return write_editor(name, output, server)


command(explain)
command(diff)
command(report)
command(run)
command(profile)
command(train)
