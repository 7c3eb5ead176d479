"""The commands ``run`` and ``profile``: what a split, or an operator, takes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["profile", "run"]

Include = Annotated[
    list[Path],
    typer.Option("-I", metavar="DIR", help="Also look here for included files; may be repeated.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
Sizes = Annotated[
    list[str],
    typer.Option(
        "--size", metavar="NAME=N", help="A size of the model, as batch=8; may be repeated.", show_default=False
    ),
]
Threads = Annotated[int, typer.Option(min=1, metavar="N", help="Threads of each process.")]
ClockOption = Annotated[
    str, typer.Option(metavar="wall|cpu", help="cpu: what the processor spends on one thread, whatever else it does.")
]


def run(
    answer: Annotated[Path, typer.Argument(metavar="ANSWER.json", help="An answer of mtpp solve --json.")],
    model: Annotated[
        str, typer.Option(metavar="SOURCE", help="package.module:callable, whose code is run, or model.onnx.")
    ],
    backend: Annotated[
        str | None, typer.Option(metavar="torch|onnx", help="What runs it (by the model).", show_default=False)
    ] = None,
    processes: Annotated[
        str, typer.Option(metavar="1|stages", help="stages: each stage in a process of its own, as a pipeline.")
    ] = "1",
    microbatches: Annotated[int, typer.Option(min=1, metavar="N", help="So many inputs go through.")] = 2,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="So often, after a warm-up.")] = 5,
    size: Sizes = [],  # noqa: B006
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Inputs in place of random ones.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of weights and inputs.")] = 0,
    threads: Threads = 1,
    clock: ClockOption = "wall",
    optimise: Annotated[bool, typer.Option("--optimise", help="onnx: fuse operators; last digits may change.")] = False,
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="End all processes of stages after this time, or none.")
    ] = "10min",
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="Where the spec is now.", show_default=False)
    ] = None,
    include: Include = [],  # noqa: B006
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write the report as JSON; - is stdout.", show_default=False)
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Run a plan on this machine's CPU: are the results those of the whole model, and how long do stages take?

    Weights and inputs are random unless the model's own code loads some.

    Exit codes: 0 the results are the same, bit for bit or within 1e-5 of the largest · 2 the call is wrong, or the plan
    cannot be run so · 5 a process failed · 7 the results differ.
    """
    from mtpp_dsl.cli.execute import execute

    return execute(
        answer,
        model,
        backend,
        spec=spec,
        include=include,
        processes=processes,
        microbatches=microbatches,
        repeats=repeats,
        sizes=size,
        inputs=inputs,
        seed=seed,
        threads=threads,
        clock=clock,
        optimise=optimise,
        time_limit=time_limit,
        json=json,
        quiet=quiet,
    )


def profile(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]", help="package.module:callable, whose code is run, or model.onnx.", show_default=False
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The model as mtpp import wrote it.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the times go.")] = Path(
        "profile.json"
    ),
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read a trace of torch's profiler or onnxruntime's.", show_default=False),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read a table: operator,time (ms).", show_default=False)
    ] = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where operators run.")] = "cpu",
    type_name: Annotated[
        str | None,
        typer.Option("--type", metavar="NAME", help="The type of device in specs (cpu).", show_default=False),
    ] = None,
    size: Sizes = [],  # noqa: B006
    threads: Threads = 1,
    clock: ClockOption = "wall",
    effort: Annotated[str, typer.Option(metavar="TIME", help="Measure each operator for about this time.")] = "100ms",
    quiet: Quiet = False,
) -> int:
    """Measure each distinct operator of a model on this machine, warmed up; or read times that somebody measured.

    A spec reads them by: times from "profile.json". The times are kept one by one: if this is ended, the same command
    goes on where it was.

    Exit codes: 0 the times are written · 2 the call or a file is wrong · 5 an operator failed.
    """
    from mtpp_dsl.cli.profile import profile_model

    return profile_model(
        source,
        model=model,
        output=output,
        trace=trace,
        table=csv,
        device=device,
        type_name=type_name,
        sizes=size,
        threads=threads,
        clock=clock,
        effort=effort,
        quiet=quiet,
    )
