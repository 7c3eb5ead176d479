"""``mtpp run``: a plan executed on this machine's CPU, with its results and times."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.cli.calls import ExecuteCall
from mtpp_dsl.cli.listing import print_table
from mtpp_dsl.cli.parameters import key_values
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.amounts import seconds
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.runtimes.execution.clocks import Clock
from mtpp_dsl.runtimes.execution.machine import ForeignLoad, busy
from mtpp_dsl.runtimes.execution.run_options import RunOptions
from mtpp_dsl.runtimes.execution.run_report import RunReport
from mtpp_dsl.solving.answers.again import read_again
from mtpp_dsl.solving.answers.json import dumps

__all__ = ["execute", "sizes_of"]

BACKENDS = ("torch", "onnx")
PROCESSES = ("1", "stages")
CLOCKS: tuple[Clock, ...] = ("wall", "cpu")
DIFFERENT = 7


def execute(call: ExecuteCall) -> int:
    """Run the plan of an answer, print what was found, and return the exit code."""
    backend = call.backend or ("onnx" if call.model.endswith(".onnx") else "torch")
    one_of("--backend", backend, BACKENDS)
    one_of("--processes", call.processes, PROCESSES)
    one_of("--clock", call.clock, CLOCKS)
    if call.optimise and backend != "onnx":
        raise UsageError("--optimise is for --backend onnx: torch runs each operator as it is")
    if call.clock == "cpu" and call.threads > 1:
        raise UsageError("--clock cpu counts what one thread spends: it is for --threads 1")
    if call.json is not None and call.json != Path("-"):
        check_writable(call.json)
    problem, plan, _ = read_again(call.answer, call.spec, search=call.include)
    options = RunOptions(
        processes="stages" if call.processes == "stages" else "1",
        microbatches=call.microbatches,
        repeats=call.repeats,
        seed=call.seed,
        threads=call.threads,
        clock="cpu" if call.clock == "cpu" else "wall",
        symbols=sizes_of(call.size),
        inputs={} if call.inputs is None else _arrays(call.inputs),
        optimise=call.optimise,
        time_limit=seconds(call.time_limit, "--time-limit"),
    )
    load = ForeignLoad()
    if backend == "torch":
        from mtpp_dsl.runtimes.execution.torch_run import run_torch

        report = run_torch(problem, plan, call.model, options)
    else:
        from mtpp_dsl.runtimes.execution.onnx_plan import run_onnx

        report = run_onnx(problem, plan, Path(call.model), options)
    instead = "--clock cpu" if call.threads == 1 else "--threads 1 --clock cpu"
    warning = busy(1.0, load.others(), call.threads * report.processes, os.cpu_count() or 1, instead)
    if warning is not None and call.clock == "wall":
        say(f"warning: {warning}", stderr=True)
    if call.json is not None:
        text = dumps(report.to_json(), sys.stdout.encoding if call.json == Path("-") else "utf-8")
        if call.json == Path("-"):
            sys.stdout.write(text)
        else:
            write_text(call.json, text)
    if not call.quiet and call.json != Path("-"):
        print_report(report)
    return 0 if report.sound else DIFFERENT


def one_of(flag: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value of an option that is not known."""
    if value not in known:
        raise UsageError(f"{flag} {value}: it is {' or '.join(known)}")


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """Return ``batch=8`` and its like as numbers by their names.

    Raises:
        UsageError: one is not of that form.
    """
    sizes = {}
    for name, text in key_values(texts, "--size").items():
        if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text)):
            raise UsageError(f"--size {name}={text}: a size is a whole number, 1 or more")
        sizes[name] = int(text)
    return sizes


def _arrays(path: Path) -> Mapping[str, Any]:
    """Return the arrays of an .npz file by their names; nothing in it is unpickled."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"cannot read arrays from {path}: {error}") from None


def print_report(report: RunReport) -> None:
    """Print results and times, for people."""
    how = counted(report.processes, "process") if report.processes > 1 else "one process"
    inputs = f"{counted(report.microbatches, 'input')}, {counted(report.repeats, 'time')} after a warm-up"
    sizes = ", ".join(f"{name} = {size}" for name, size in report.symbols.items())
    say(f"{report.model}: {counted(len(report.stages), 'stage')} in {how}; {inputs}{f'; {sizes}' if sizes else ''}")
    say(f"results: {_results(report)}")
    rows = [
        (
            row.device,
            str(row.nodes),
            "-" if row.predicted is None else format_quantity(row.predicted, "s"),
            format_quantity(row.measured.median, "s"),
            f"{format_quantity(row.measured.low, 's')} to {format_quantity(row.measured.high, 's')}",
            "-" if row.ratio is None else f"{row.ratio:.2f}",
        )
        for row in report.stages
    ]
    print_table(("device", "nodes", "predicted", "measured", "half of the runs", "ratio"), rows, quiet=False)
    facts = report.machine
    versions = ", ".join(f"{name} {facts[name]}" for name in ("torch", "onnxruntime") if name in facts)
    what = "processor time" if facts["clock"] == "cpu" else "time"
    say(f"measured: {what} of one input on {facts['processor']}, {counted(facts['threads'], 'thread')}, {versions}")
    for note in report.notes:
        say(f"note: {note}")


def _results(report: RunReport) -> str:
    comparison = report.comparison
    numbers = f"{comparison.values:,} numbers"
    if comparison.equal:
        return f"{numbers}, equal bit for bit to those of the whole model"
    if report.sound:
        within = f"{comparison.relative:.1e} of the largest result"
        return f"{numbers}, within {within} of the whole model ({comparison.largest:.3g})"
    worst = f"one differs by {comparison.largest:.3g}, {comparison.relative:.1e} of the largest"
    return f"NOT those of the whole model: of {numbers} {worst}"
