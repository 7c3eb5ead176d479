"""``mtpp profile``: times of a model's operators, measured here, or read from a trace or a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mtpp_dsl.cli.calls import ProfileCall
from mtpp_dsl.cli.execute import CLOCKS, one_of, sizes_of
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.amounts import seconds
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import read as read_json_model
from mtpp_dsl.exchange.model.profile import Profile, text_of
from mtpp_dsl.runtimes.execution.machine import ForeignLoad, busy, machine_facts
from mtpp_dsl.runtimes.profiling.jobs import Journal, profile_of_jobs
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort
from mtpp_dsl.runtimes.profiling.recorded import profile_of_table, profile_of_trace

MAX_SHOWN = 60


def profile_model(call: ProfileCall) -> int:
    """Write the profile of a model, and return the exit code."""
    code = call.source
    one_of("--clock", call.clock, CLOCKS)
    ways = [
        name for name, given in (("SOURCE", code), ("--trace", call.trace), ("--csv", call.csv)) if given is not None
    ]
    if len(ways) != 1:
        raise UsageError(
            "say where times come from: a SOURCE to run, --trace FILE or --csv FILE, and one of them alone"
        )
    check_writable(call.output)
    model = _model(code, call.model)
    label = call.type_name or call.device
    if call.trace is not None:
        return _written(profile_of_trace(call.trace, model, label), None, call.output, quiet=call.quiet)
    if call.csv is not None:
        return _written(profile_of_table(call.csv, model, label), None, call.output, quiet=call.quiet)
    assert code is not None
    chosen = MeasuringEffort(
        seconds=seconds(call.effort, "--effort") or 0.1, clock="cpu" if call.clock == "cpu" else "wall"
    )
    if chosen.clock == "cpu" and (call.threads > 1 or call.device != "cpu"):
        raise UsageError("--clock cpu counts what one thread spends: it is for --threads 1 --device cpu")
    symbols = _symbols(model, call.size)
    if code.endswith(".onnx"):
        from mtpp_dsl.runtimes.profiling.onnx_profile import onnx_jobs

        if call.device != "cpu":
            raise UsageError("--device cuda is for models of torch; ONNX files are measured on the CPU")
        jobs = onnx_jobs(Path(code), model, symbols, chosen, call.threads)
        facts = machine_facts(call.threads, chosen.clock, ("onnx", "onnxruntime"))
    else:
        from mtpp_dsl.runtimes.profiling.torch_profile import check_device, torch_jobs

        device_name = check_device(call.device)
        jobs = torch_jobs(code, model, symbols, call.device, chosen, call.threads)
        facts = machine_facts(call.threads, chosen.clock, ("torch",), device_name)
    facts["seconds"] = chosen.seconds
    tell = _silent if call.quiet or not sys.stderr.isatty() else _tell
    load = ForeignLoad()
    journal_path = call.output.with_name(f"{call.output.name}.part")
    profile, journal = profile_of_jobs(jobs, model, label, symbols, facts, journal_path, tell)
    written = _written(profile, journal, call.output, quiet=call.quiet)
    if chosen.clock == "wall" and call.device == "cpu":
        instead = "--clock cpu" if call.threads == 1 else "--threads 1 --clock cpu"
        warning = busy(profile.slower, load.others(), call.threads, os.cpu_count() or 1, instead)
        if warning is not None:
            say(f"warning: {warning}", stderr=True)
    return written


def _model(code: str | None, path: Path | None) -> Model:
    """Return the model whose operators are meant: of a file, or for an ONNX file that file itself."""
    if path is not None and path.suffix != ".onnx":
        return read_json_model(path)
    onnx = path or (Path(code) if code is not None and code.endswith(".onnx") else None)
    if onnx is None:
        raise UsageError("say with --model which model it is: mtpp import torch … -o model.json makes one")
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx

    return from_onnx(onnx)


def _symbols(model: Model, sizes: Sequence[str]) -> dict[str, int]:
    given = sizes_of(sizes)
    unknown = [name for name in given if name not in model.symbols]
    if unknown:
        raise UsageError(f"--size {unknown[0]}: the model has the sizes {', '.join(model.symbols) or 'of no name'}")
    sizes_chosen = {name: given.get(name, symbol.default) for name, symbol in model.symbols.items()}
    missing = [name for name, size in sizes_chosen.items() if size is None]
    if missing:
        raise UsageError(f"say what {missing[0]} is: --size {missing[0]}=8")
    return {name: size for name, size in sizes_chosen.items() if size is not None}


def _written(profile: Profile, journal: Journal | None, output: Path, *, quiet: bool) -> int:
    write_text(output, text_of(profile))
    if journal is not None:
        journal.close()
    if not quiet:
        total = sum(timing.median for timing in profile.times.values())
        say(
            f"{output}: {counted(len(profile.operators), 'operator')}, "
            f"{counted(len(profile.signatures), 'signature')}, {format_quantity(total, 's')} in all on {profile.device}"
        )
    return 0


def _silent(done: int, count: int, key: str) -> None:
    """Say nothing."""


def _tell(done: int, count: int, key: str) -> None:
    say(f"{done + 1}/{count} {key[:MAX_SHOWN]}", stderr=True)
