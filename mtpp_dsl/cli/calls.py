"""The arguments and options of commands that have many: each once, as fields whose annotations are typer's.

:func:`~mtpp_dsl.cli.commands.commands_of` makes the options of them. What is here is imported whenever ``mtpp`` starts:
nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from mtpp_dsl.cli.parameters import (
    Define,
    Include,
    Quiet,
    Scenario,
    Seed,
    Spec,
    SpecNow,
    argument,
    complete_format,
    complete_method,
    complete_solver,
    complete_target,
    option,
)

Sizes: TypeAlias = Annotated[
    list[str],
    option("NAME=N", "A size of the model, as batch=8; may be repeated.", "--size"),
]
Threads: TypeAlias = Annotated[int, typer.Option(min=1, metavar="N", help="Threads of each process.")]
ClockOption: TypeAlias = Annotated[
    str, typer.Option(metavar="wall|cpu", help="wall: elapsed time; cpu: time that the processor spends on one thread.")
]
WRITE, SEVERAL, METHODS = "Write and draw", "Several answers", "Solvers and single methods"
"""Groups of options in the help of ``mtpp solve``."""


@dataclass(frozen=True, kw_only=True)
class SolveCall:
    """The arguments of ``mtpp solve``, as given."""

    spec: Spec
    define: Define = field(default_factory=list)
    scenario: Scenario = None
    method: Annotated[
        str,
        typer.Option(help="Method, or several with commas; mtpp methods lists them.", autocompletion=complete_method),
    ] = "auto"
    solver: Annotated[str, typer.Option(help="Solver; mtpp solvers lists them.", autocompletion=complete_solver)] = (
        "highs"
    )
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this time: 60s, 500ms, 2min, 1h, or none.")
    ] = "60s"
    gap: Annotated[str, typer.Option(metavar="SHARE", help="Stop when plan and bound are this close: 1% or 0.01.")] = (
        "0"
    )
    threads: Annotated[
        int | None,
        option("N", "Number of threads of the solver, or of processes of auto.", min=1, rich_help_panel=METHODS),
    ] = None
    scheduler: Annotated[
        str | None,
        option("URL", "Spread over a Dask cluster: tcp://host:8786 or local-cluster:2.", rich_help_panel=METHODS),
    ] = None
    seed: Seed = 0
    start: Annotated[Path | None, option("PLAN.json", "Start from this plan.")] = None
    solver_option: Annotated[
        list[str],
        option("KEY=VALUE", "Option for the solver; may be repeated.", rich_help_panel=METHODS),
    ] = field(default_factory=list)
    coarsen: Annotated[
        str | None, option("RULES", "Fuse operators first: gcof, transformer or a .toml file.", rich_help_panel=METHODS)
    ] = None
    channels: Annotated[
        int | None,
        option(
            "N",
            "milp-split, split-bound: at most N tensors between modules.",
            min=1,
            rich_help_panel=METHODS,
            hidden=True,
        ),
    ] = None
    module_time_limit: Annotated[
        str | None, option("TIME", "milp-split: time limit for one module.", rich_help_panel=METHODS, hidden=True)
    ] = None
    module_method: Annotated[
        str | None, option("NAME", "milp-split: method that solves the modules.", rich_help_panel=METHODS, hidden=True)
    ] = None
    policy: Annotated[
        Path | None,
        option("FILE", "placeto: begin with this policy, by mtpp train.", rich_help_panel=METHODS, hidden=True),
    ] = None
    target: Annotated[
        str | None,
        option(
            "TARGET",
            "Keep to what this runtime can express; mtpp targets lists them.",
            "--for",
            autocompletion=complete_target,
        ),
    ] = None
    json: Annotated[Path | None, option("FILE|-", "Write the answer as JSON; - is stdout.", rich_help_panel=WRITE)] = (
        None
    )
    checkpoint: Annotated[
        Path | None, option("FILE", "Keep the best answer so far in this file.", rich_help_panel=WRITE)
    ] = None
    write_model: Annotated[Path | None, option("FILE", "Write the MIP as .lp or .mps.", rich_help_panel=WRITE)] = None
    trace: Annotated[
        Path | None,
        option("FILE", "Write the schedule, or the pipeline at work, as a trace for Perfetto.", rich_help_panel=WRITE),
    ] = None
    gantt: Annotated[Path | None, option("FILE", "The same as --plot gantt:FILE.", rich_help_panel=WRITE)] = None
    html: Annotated[Path | None, option("FILE", "Write the answer as one page.", rich_help_panel=WRITE)] = None
    what_if: Annotated[
        str | None,
        option(
            "TIME",
            "With --html: for this time, also solve with more devices, bandwidth and memory, and without constraints.",
            rich_help_panel=WRITE,
        ),
    ] = None
    pareto: Annotated[
        str | None, option("A,B", "Find a front of two objectives, by label or name.", rich_help_panel=SEVERAL)
    ] = None
    points: Annotated[
        int | None, option("N", "With --pareto: the number of points (20).", min=2, rich_help_panel=SEVERAL)
    ] = None
    plot: Annotated[
        list[str],
        option(
            "[KIND:]FILE",
            "Draw loads, gantt, graph, gap or memory: .svg, .png or .pdf; may be repeated.",
            rich_help_panel=WRITE,
        ),
    ] = field(default_factory=list)
    microbatches: Annotated[
        int | None,
        option(
            "N",
            "With --trace or --gantt: show a pipeline over N microbatches.",
            min=1,
            rich_help_panel=WRITE,
        ),
    ] = None
    sweep: Annotated[
        list[str],
        option(
            "NAME=VALUES",
            "Solve for each value of a param, as k=2..8 or k=2,4,8, or for each seed; may be repeated.",
            rich_help_panel=SEVERAL,
        ),
    ] = field(default_factory=list)
    largest: Annotated[
        str | None,
        option(
            "NAME=LOW..HIGH",
            "Find the largest whole number of a param that has a plan, as seq=4096..262144.",
            rich_help_panel=SEVERAL,
        ),
    ] = None
    db: Annotated[
        Path | None, option("FILE", "With --sweep: keep the results in this database.", rich_help_panel=SEVERAL)
    ] = None
    include: Include = field(default_factory=list)
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show each step, the solver's log, and whole critical paths.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ConvertCall:
    """The arguments of ``mtpp convert``, as given."""

    source: Annotated[Path, argument("IN", "A graph or a model.")]
    target: Annotated[Path, argument("OUT", "The new file.")]
    read_as: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Format of IN; by default by its name.",
            autocompletion=complete_format,
        ),
    ] = None
    write_as: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", help="Format of OUT; by default by its name.", autocompletion=complete_format
        ),
    ] = None
    group_by: Annotated[str | None, option("GROUPS", "Nodes of a model: layer, part, module or operator.")] = None
    size: Annotated[
        list[str],
        option("NAME=NUMBER", "Value of a symbol of a model, such as batch=8; may be repeated."),
    ] = field(default_factory=list)
    phase: Annotated[str | None, option("NAME", "Take only this phase of a model.")] = None
    weight_type: Annotated[str | None, option("TYPE", "How the weights of a model are stored.")] = None
    ties: Annotated[str | None, option("WORD", "What becomes of tied weights of a model: colocate or copy.")] = None
    experts_read: Annotated[
        str | None, option("WORD", "Experts of a model that are read: expected or all_distinct.")
    ] = None
    sum_costs: Annotated[
        bool, typer.Option("--sum-costs", help="Add up the costs of a node's operators, as CSV and DOT need it.")
    ] = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class ExplainCall:
    """The arguments of ``mtpp explain``, as given."""

    spec: Spec
    answer: Annotated[
        Path | None, argument("[ANSWER.json]", "Its answer, or a plan; by default, the spec is solved first.")
    ] = None
    define: Define = field(default_factory=list)
    scenario: Scenario = None
    node: Annotated[str | None, option("NAME", "Also say why this node is on its device.")] = None
    only: Annotated[str | None, option("PARTS", "Show only these, with commas: bottleneck, critical, next, …")] = None
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this time and show the results so far: 30s, 2min.")
    ] = "30s"
    method: Annotated[str, typer.Option(help="Method that solves; mtpp methods lists them.")] = "auto"
    solver: Annotated[str, typer.Option(help="Solver; mtpp solvers lists them.")] = "highs"
    threads: Annotated[int | None, option("N", "Number of threads of the solver.", min=1)] = None
    seed: Seed = 0
    point: Annotated[
        int | None,
        option("N", "Explain this answer of a front.", min=1),
    ] = None
    json: Annotated[Path | None, option("FILE|-", "Write the explanation as JSON; - is stdout.")] = None
    include: Include = field(default_factory=list)
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False


@dataclass(frozen=True, kw_only=True)
class ReportCall:
    """The arguments of ``mtpp report``, as given."""

    answer: Annotated[Path, argument("ANSWER.json", "An answer of mtpp, or a front.")]
    output: Annotated[
        Path | None,
        option("FILE|-", "Write the page here (by default beside the answer; - is stdout).", "--output", "-o"),
    ] = None
    spec: SpecNow = None
    what_if: Annotated[
        str | None,
        option("TIME", "In this time, also solve it with more devices, bandwidth and memory, and without constraints."),
    ] = None
    point: Annotated[int | None, option("N", "Show this answer of a front.", min=1)] = None
    plot: Annotated[
        list[str],
        option(
            "[KIND:]FILE",
            "Draw loads, gantt, graph, gap or memory: .svg, .png or .pdf; without -o, write no page; may be repeated.",
        ),
    ] = field(default_factory=list)
    include: Include = field(default_factory=list)
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class ExecuteCall:
    """The arguments of ``mtpp run``, as given."""

    answer: Annotated[Path, typer.Argument(metavar="ANSWER.json", help="An answer of mtpp solve --json.")]
    model: Annotated[
        str, typer.Option(metavar="SOURCE", help="package.module:callable, whose code is run, or model.onnx.")
    ]
    backend: Annotated[str | None, option("torch|onnx", "What runs the model; by default by its name.")] = None
    processes: Annotated[
        str, typer.Option(metavar="1|stages", help="With stages: run each stage in its own process, as a pipeline.")
    ] = "1"
    microbatches: Annotated[int, typer.Option(min=1, metavar="N", help="Inputs that go through the pipeline.")] = 2
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Number of measurements, after a warm-up.")] = 5
    size: Sizes = field(default_factory=list)
    inputs: Annotated[Path | None, option("FILE.npz", "Use these inputs in place of random ones.")] = None
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of weights and inputs.")] = 0
    threads: Threads = 1
    clock: ClockOption = "wall"
    optimise: Annotated[bool, typer.Option("--optimise", help="With onnx: fuse operators; last digits may change.")] = (
        False
    )
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="End all processes of stages after this time, or none.")
    ] = "10min"
    spec: SpecNow = None
    include: Include = field(default_factory=list)
    json: Annotated[Path | None, option("FILE|-", "Write the report as JSON; - is stdout.")] = None
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class ProfileCall:
    """The arguments of ``mtpp profile``, as given."""

    source: Annotated[
        str | None, argument("[SOURCE]", "package.module:callable, whose code is run, or model.onnx.")
    ] = None
    model: Annotated[Path | None, option("FILE", "The model as mtpp import wrote it.")] = None
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the times here.")] = Path(
        "profile.json"
    )
    trace: Annotated[Path | None, option("FILE", "Read a trace of torch's profiler or onnxruntime's.")] = None
    csv: Annotated[Path | None, option("FILE", "Read a table: operator,time (ms).")] = None
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where operators run.")] = "cpu"
    type_name: Annotated[str | None, option("NAME", "The type of device in specs (cpu).", "--type")] = None
    size: Sizes = field(default_factory=list)
    threads: Threads = 1
    clock: ClockOption = "wall"
    effort: Annotated[str, typer.Option(metavar="TIME", help="Measure each operator for about this time.")] = "100ms"
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class TrainCall:
    """The arguments of ``mtpp train``, as given."""

    sources: Annotated[list[Path], argument("SPEC|SWEEP.toml...", "Specs or sweeps with the problems to train on.")]
    output: Annotated[Path, typer.Option("--output", "-o", metavar="POLICY.json", help="Write the policy here.")]
    define: Define = field(default_factory=list)
    updates: Annotated[int, typer.Option(min=1, metavar="N", help="At most N updates, of 16 episodes each.")] = 1000
    time_limit: Annotated[str, typer.Option(metavar="TIME", help="Stop after this time: 60s, 10min, or none.")] = (
        "10min"
    )
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the weights and of all draws.")] = 0
    start: Annotated[Path | None, option("POLICY.json", "Begin with this policy.")] = None
    include: Include = field(default_factory=list)
    quiet: Quiet = False
