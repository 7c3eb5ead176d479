"""The commands. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mtpp_dsl.cli.calls import ConvertCall, ExecuteCall, ExplainCall, ProfileCall, ReportCall, SolveCall, TrainCall
from mtpp_dsl.cli.commands import Group, commands_of
from mtpp_dsl.cli.importing import import_app
from mtpp_dsl.cli.parameters import (
    Define,
    Include,
    Names,
    Quiet,
    Scenario,
    Seed,
    Spec,
    argument,
    complete_method,
    complete_target,
    option,
)
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.errors import did_you_mean

__all__ = ["app"]

TAKEN_BY = {
    ".mtpp": "mtpp solve {0} solves this spec, and mtpp check {0} describes it",
    ".json": "mtpp report {0} shows an answer, and mtpp verify SPEC {0} checks it; mtpp -h lists all commands",
    ".toml": "mtpp bench {0} runs a sweep",
    ".sqlite": "mtpp bench table {0} shows the results of a sweep",
}
"""What to do with a file that is given in place of a command, by the end of its name."""
PANELS = {
    "Plans": ("check", "solve", "verify", "explain", "diff", "report"),
    "Models and runtimes": ("import", "export", "validate", "targets", "devices", "profile", "run", "convert"),
    "Many problems": ("bench", "train"),
    "Tools": ("fmt", "methods", "solvers", "warm", "editor", "lsp"),
}
"""The commands in groups, in the order in which the help lists them."""


class Commands(Group):
    """The commands of ``mtpp``. If a file stands in place of a command, they say which commands take it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a file that stands first is no command."""
        first = args[0] if args else ""
        if first not in self.commands and not first.startswith("-"):
            takes = next((message for ending, message in TAKEN_BY.items() if first.lower().endswith(ending)), "")
            if takes:
                ctx.fail(f"{first!r} is not a command: {takes.format(first)}")
            near = did_you_mean(first, self.commands)
            if first and near:
                ctx.fail(f"No such command {first!r}{near}")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of the help."""
        return [name for names in PANELS.values() for name in names if name in self.commands]


app = typer.Typer(
    cls=Commands,
    name="mtpp",
    help="Split neural networks over devices: a verified plan, and a proven bound on how good any plan can be.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(import_app, name="import", rich_help_panel="Models and runtimes")
bench_app = late("mtpp_dsl.cli.bench.app:bench_app")  # which imports other parts of this package
app.add_typer(bench_app, name="bench", rich_help_panel="Many problems")
command = commands_of(app, PANELS)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions of mtpp, Python and solvers, and exit.", is_eager=True)
    ] = False,
) -> None:
    """Split neural networks over devices: a verified plan, and a proven bound on how good any plan can be."""
    if version:
        from mtpp_dsl.cli.versions import versions

        for line in versions():
            typer.echo(line)
        raise typer.Exit


@command
def solve(call: SolveCall) -> int:
    """Find a plan and a bound.

    Exit codes: 0 a verified plan (or, from methods that only bound, a bound) · 2 the spec or the call is
    wrong · 3 proven infeasible · 4 nothing found within the limit · 5 a solver is missing or failed ·
    7 verification failed · 130 interrupted, 143 terminated (the best plan and bound so far are still printed and
    written; a second signal ends at once).
    """
    from mtpp_dsl.cli.solve import solve_and_report

    return solve_and_report(call)


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
        bool, typer.Option("--fix", help="Correct unambiguous mistakes in the files, and list the corrections.")
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
    export_proof: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the certificate of the bound as .json, or .vipr for viprchk."),
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Check an answer, or only a plan, against a spec, by code that is independent of the code that found it.

    Every field of an answer is checked, or listed as not checked. The bound is proved again from its certificate, or
    without one if the problem is small; else the output says that it is only claimed. Params have the values recorded
    in the answer.

    Exit codes: 0 all that could be checked is true · 2 the file is neither an answer nor a plan, or the time was too
    short · 7 something in it is wrong.
    """
    from mtpp_dsl.cli.verify import verify_plan
    from mtpp_dsl.core.base.amounts import seconds

    time = seconds(time_limit, "--time-limit")
    return verify_plan(spec, plan, define, include, time, quiet=quiet, scenario=scenario, export_proof=export_proof)


@command
def export(
    answer: Annotated[Path, argument("ANSWER.json", "An answer with a plan.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="TARGET", help="The runtime or form; mtpp targets lists them.", autocompletion=complete_target
        ),
    ],
    output: Annotated[Path | None, option("FILE|DIR", "Write to this file or folder.", "--output", "-o")] = None,
    spec: Annotated[Path | None, option("SPEC", "Where the spec of the answer is now.")] = None,
    model: Annotated[
        str | None, option("MODEL", "The model's file, or module:callable, for targets that write its parts.")
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Write the plan of an answer as the file, or the launch line, of a runtime; without -o, to stdout.

    The spec and the data files that the answer names are read again, and must not have changed.

    Exit codes: 0 written · 2 the answer has no plan or its spec has changed, the runtime cannot run the plan, or the
    call is wrong.
    """
    from mtpp_dsl.cli.splits import export_plan

    return export_plan(answer, to, output, spec, model, quiet=quiet)


@command
def validate(
    file: Annotated[
        str,
        argument("FILE", "A file, a folder, or the text itself; put text that begins with - last, after --."),
    ],
    form: Annotated[str, option("TARGET", "The runtime or form of the split; mtpp targets lists them.", "--format")],
    spec: Annotated[Path, typer.Option(metavar="SPEC", help="The spec of the model and the devices.")],
    define: Define = [],  # noqa: B006
    scenario: Scenario = None,
    include: Include = [],  # noqa: B006
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Search the best plan for this time, or none.")
    ] = "20s",
    method: Annotated[str, typer.Option(help="Method that searches it.", autocompletion=complete_method)] = "auto",
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Check a split that somebody else wrote: every layer once, order, memory, and how far it is from the best.

    The stages of the split are on the devices of the spec, in their order. The best plan is the best one for the same
    runtime.

    Exit codes: 0 the split is sound, however slow · 2 the file is not of that form, or the call is wrong · 7 a layer is
    lost, doubled or swapped, a count is wrong, or a constraint is broken, such as a memory.
    """
    from mtpp_dsl.cli.parameters import read_problem
    from mtpp_dsl.cli.splits import validate_split
    from mtpp_dsl.core.base.amounts import seconds

    problem = read_problem(spec, define, include, scenario=scenario)
    return validate_split(file, form, problem, seconds(time_limit, "--time-limit"), method, seed, quiet=quiet)


@command
def targets(quiet: Names = False) -> int:
    """List the runtimes and forms that --for, --to and --format take, built in and from plug-ins."""
    from mtpp_dsl.cli.listing import list_targets

    return list_targets(quiet=quiet)


@command
def convert(call: ConvertCall) -> int:
    """Convert a graph between formats: model and graph (.json), csv (NAME.nodes.csv and NAME.edges.csv), dot (.dot).

    Files of other formats can be read. A model stays a model if OUT is .json and no option chooses a part of it;
    else it becomes a graph. Times of summed costs may be shorter than the sum of the times of single operators.
    """
    from mtpp_dsl.cli.convert import convert_file

    return convert_file(call)


@command
def fmt(
    specs: Annotated[list[Path], argument("SPEC...", ".mtpp files.")],
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")] = False,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Rewrite specs of earlier versions of the language for this version.")
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
    from mtpp_dsl.cli.editor import serve

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
def warm(
    methods: Annotated[
        list[str],
        argument("METHOD", "Compile for these methods; by default for all.", autocompletion=complete_method),
    ] = [],  # noqa: B006
    jobs: Annotated[int | None, option("N", "Processes at once; by default one a core.", "--jobs", "-j", min=1)] = None,
    quiet: Quiet = False,
) -> int:
    """Compile the innermost loops of methods now, in minutes, so that later calls start faster.

    Calls compile what they need when they need it, and keep it on disk. Where each call begins on a new machine, as in
    containers and on clusters, compile once while the image is made.

    Exit codes: 0 compiled · 2 there is no such method · 5 a method failed, or there is no folder that the code could
    be kept in · 130 interrupted; what is compiled is kept.
    """
    from mtpp_dsl.cli.warm import warm_and_report

    return warm_and_report(methods, jobs, quiet=quiet)


@command
def devices(
    name: Annotated[str | None, argument("NAME", "A type, a link, or a part of such names.")] = None,
    quiet: Names = False,
) -> int:
    """List the devices of the library, or show one, or a link, with the sources of its figures."""
    from mtpp_dsl.cli.listing import list_library

    return list_library(name, quiet=quiet)


def complete_editor(incomplete: str) -> list[str]:
    """Return the editors that begin as what has been typed."""
    from mtpp_dsl.editor.setup.settings import EDITORS

    return [name for name in EDITORS if name.startswith(incomplete)]


@command
def editor(
    name: Annotated[
        str,
        argument("EDITOR", "vscode, textmate, neovim or emacs.", autocompletion=complete_editor),
    ],
    output: Annotated[Path, option("DIR", "The folder to write into.", "--output", "-o")],
    server: Annotated[str | None, option("PATH", "The mtpp that the editor starts; by default this one.")] = None,
) -> int:
    """Write what an editor needs for specs: colours, and settings that start mtpp lsp."""
    from mtpp_dsl.cli.editor import write_editor

    return write_editor(name, output, server)


@command
def explain(call: ExplainCall) -> int:
    """Explain an answer: which device or link holds it back, what each constraint costs, and which plans come next.

    If a spec has no plan, it says which of its lines clash. Without an answer, the spec is solved first, in half of the
    time.

    Exit codes: 0 explained · 2 the spec, the answer or the call is wrong · 4 neither a plan nor a proof that there is
    none was found · 5 a solver is missing or failed · 130 interrupted, 143 terminated (results so far are still
    printed and written).
    """
    from mtpp_dsl.cli.explain import explain_and_report

    return explain_and_report(call)


@command
def diff(
    a: Annotated[Path, argument("A.json", "An answer.")],
    b: Annotated[Path, argument("B.json", "Another one.")],
    spec: Annotated[Path | None, option("SPEC", "Where the spec of both is now.")] = None,
    point: Annotated[str | None, option("N[,M]", "Compare these points of fronts, such as 1,3.")] = None,
    json: Annotated[Path | None, option("FILE|-", "Write the comparison as JSON; - is stdout.")] = None,
    include: Include = [],  # noqa: B006
) -> int:
    """Compare two answers: what moved, loads before and after, objective and bound, and why one is better.

    Plans that only exchange identical devices count as the same. Answers to different specs are compared by the names
    in them. If the spec of an answer has changed, only the JSON of the answer is compared.

    Exit codes: 0 compared, whether they differ or not · 2 a file is not an answer, or the call is wrong.
    """
    from mtpp_dsl.cli.explain import diff_answers

    return diff_answers(a, b, spec, include, point, json)


@command
def report(call: ReportCall) -> int:
    """Make one page of an answer: plan, loads, schedule, spec and certificate, for any browser and without a network.

    The spec and its files are read again, and must not have changed. The page of a front shows all points; with --point
    it shows one of them.

    Exit codes: 0 written · 2 the answer, its spec or the call is wrong · 130 interrupted; the page has the
    results so far.
    """
    from mtpp_dsl.cli.report import report_answer

    return report_answer(call)


@command
def run(call: ExecuteCall) -> int:
    """Run a plan on this machine's CPU, compare its results with those of the whole model, and time its stages.

    Weights and inputs are random unless the model's own code loads some.

    Exit codes: 0 the results are the same, bit for bit or within 1e-5 of the largest · 2 the call is wrong, or the plan
    cannot be run in this way · 5 a process failed · 7 the results differ.
    """
    from mtpp_dsl.cli.execute import execute

    return execute(call)


@command
def profile(call: ProfileCall) -> int:
    """Measure each distinct operator of a model on this machine, warmed up; or read measured times.

    A spec reads them by: times from "profile.json". Each time is kept at once: rerun the command to resume it.

    Exit codes: 0 the times are written · 2 the call or a file is wrong · 5 an operator failed.
    """
    from mtpp_dsl.cli.profile import profile_model

    return profile_model(call)


@command
def train(call: TrainCall) -> int:
    """Train a policy on problems, for solve --method placeto --policy FILE.

    The problems are makespans on links. After Ctrl-C the policy trained so far is written.
    """
    from mtpp_dsl.cli.train import train_and_report

    return train_and_report(call)
