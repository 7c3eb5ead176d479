"""Run a plan of an ONNX model on this machine's CPU, and compare it with the whole model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.importers.onnx.model_file import read_file
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.machine import machine_facts
from mtpp_dsl.runtimes.execution.onnx_files import onnx_files, write_files
from mtpp_dsl.runtimes.execution.onnx_run import OnnxChain, open_session, random_inputs
from mtpp_dsl.runtimes.execution.onnx_weights import read_model
from mtpp_dsl.runtimes.execution.plan_parts import ModelPart, origin_of, parts_of, stages_of
from mtpp_dsl.runtimes.execution.run_options import RunOptions, refuse_unknown, sizes_with
from mtpp_dsl.runtimes.execution.run_report import RunReport, compare, notes_of, rows_of


def nodes_of(model: Model, part: ModelPart) -> dict[int, str]:
    """Return the numbers of the ONNX nodes of a part, with the names of their operators.

    Raises:
        UsageError: the model does not come from an ONNX file.
    """
    if model.source.kind != "onnx":
        raise UsageError(f"the model of this plan comes from {model.source.kind or 'elsewhere'}, not from an ONNX file")
    nodes: dict[int, str] = {}
    for i in part.operators:
        place, inner, _ = model.operators[i].id.partition(".")
        if not (place.isascii() and place.isdigit()):
            raise UsageError(f"operator {model.operators[i].name} does not say which node of the file it is")
        nodes[int(place)] = f"{nodes[int(place)]} {model.operators[i].name}" if inner else model.operators[i].name
    return nodes


def check_same(path: Path, model: Model) -> None:
    """Refuse a file that is not the one which was imported.

    Raises:
        UsageError: it is another one.
    """
    digest = read_file(path).sha256
    if model.source.sha256 and digest != model.source.sha256:
        raise UsageError(f"{path} is not the file that was imported as {model.source.name}: its contents differ")


def run_onnx(problem: Problem, plan: Plan, path: Path, options: RunOptions) -> RunReport:
    """Run a plan of the model in an ONNX file, each part by onnxruntime.

    Raises:
        UsageError: the plan cannot be run like this, or the file is not the one of the plan.
        SolverError: a part fails.
    """
    parts = stages_of(problem, plan) if options.processes == "stages" else parts_of(problem, plan)
    origin = origin_of(problem)
    check_same(path, origin.model)
    names = [nodes_of(origin.model, part) for part in parts]
    symbols = sizes_with(origin.symbols, options.symbols)
    devices = [problem.devices[part.device].name for part in parts]
    whole = open_session(path, options.threads, optimise=options.optimise)
    refuse_unknown("--inputs", options.inputs, [value.name for value in whole.get_inputs()])
    limits = _limits(path)
    feeds = [
        {**feed, **options.inputs} for feed in random_inputs(whole, symbols, options.microbatches, options.seed, limits)
    ]
    wanted = [output.name for output in whole.get_outputs()]
    expected = [array for feed in feeds for array in _whole(whole, wanted, feed, path.name)]
    with tempfile.TemporaryDirectory(prefix="mtpp-run-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        write_files(onnx_files(path, names, devices), folder)
        results, times = _ran(folder, feeds, options)
    comparison = compare([array for one in results for array in one], expected)
    return RunReport(
        backend="onnx",
        model=path.name,
        processes=len(parts) if options.processes == "stages" else 1,
        microbatches=options.microbatches,
        repeats=options.repeats,
        comparison=comparison,
        stages=rows_of(problem, parts, times),
        symbols=symbols,
        machine=machine_facts(options.threads, options.clock, ("onnx", "onnxruntime")),
        notes=notes_of(parts, symbols, origin.symbols, comparison.telling),
    )


def _whole(session: Any, wanted: Sequence[str], feed: Mapping[str, Any], name: str) -> list[Any]:
    """Return the results of the whole model.

    Raises:
        UsageError: onnxruntime does not take these inputs.
    """
    try:
        outputs: list[Any] = session.run(list(wanted), dict(feed))
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise UsageError(f"{name} fails on these inputs: {reason}") from None
    return outputs


def _ran(
    folder: Path, feeds: Sequence[Mapping[str, Any]], options: RunOptions
) -> tuple[list[list[Any]], list[list[float]]]:
    """Return the results for each input, and the times of each part."""
    if options.processes == "stages":
        from mtpp_dsl.runtimes.execution.onnx_pipeline import run_onnx_pipeline

        return run_onnx_pipeline(folder, feeds, options)
    chain = OnnxChain(folder, options.threads, optimise=options.optimise)
    times: list[list[float]] = [[] for _ in chain.rows]
    results: list[list[Any]] = []
    for turn in range(options.repeats + 1):  # the first warms up
        results = []
        for feed in feeds:
            made, took = chain.run(feed, options.clock)
            results.append(made)
            for row, seconds in zip(times if turn else (), took, strict=False):
                row.append(seconds)
    return results, times


def _limits(path: Path) -> dict[str, int]:
    """Return for each input that chooses rows of a table the number of its rows."""
    model = read_model(path)
    sizes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    root = {value.name: value.name for value in model.graph.input}
    limits: dict[str, int] = {}
    for node in model.graph.node:
        if node.op_type in ("Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape") and node.input[0] in root:
            root[node.output[0]] = root[node.input[0]]
        if node.op_type == "Gather" and node.input[0] in sizes and node.input[1] in root:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            name = root[node.input[1]]
            limits[name] = min(limits.get(name, 2**31), sizes[node.input[0]][axis])
    return limits
