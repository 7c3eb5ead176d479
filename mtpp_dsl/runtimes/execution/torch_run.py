"""Run a plan of a torch model on this machine's CPU, and compare it with the whole model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.importers.torch_export import cause
from mtpp_dsl.runtimes.execution.clocks import CLOCKS
from mtpp_dsl.runtimes.execution.machine import machine_facts
from mtpp_dsl.runtimes.execution.plan_parts import origin_of, parts_of, stages_of
from mtpp_dsl.runtimes.execution.run_options import RunOptions, refuse_unknown, sizes_with
from mtpp_dsl.runtimes.execution.run_report import RunReport, compare, notes_of, rows_of
from mtpp_dsl.runtimes.execution.stage_file import flat
from mtpp_dsl.runtimes.execution.torch_pipeline import run_pipeline
from mtpp_dsl.runtimes.execution.torch_signature import index_limits, random_args, signature_of
from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe, TorchSplit, fingerprint


def run_torch(problem: Problem, plan: Plan, model: str, options: RunOptions) -> RunReport:
    """Run a plan of the model that ``module:callable`` makes: **this runs the user's code**.

    Raises:
        UsageError: the plan cannot be run like this, or the model cannot be made or is not the one of the plan.
        SolverError: a process fails, or the time is over.
    """
    torch = need("torch", "torch")
    torch.set_num_threads(options.threads)
    origin = origin_of(problem)
    symbols = sizes_with(origin.symbols, options.symbols)
    parts = stages_of(problem, plan) if options.processes == "stages" else parts_of(problem, plan)
    names = [[origin.model.operators[i].name for i in part.operators] for part in parts]
    devices = [problem.devices[part.device].name for part in parts]
    recipe = TorchRecipe(model, options.seed, signature_of(origin.model), names, devices)
    split = recipe.build()
    inputs = _inputs(recipe, split, symbols, options)
    with torch.no_grad():
        whole = [_whole(model, split, one) for one in inputs]
        if options.processes == "stages":
            results, times = _in_processes(recipe, split, inputs, options)
        else:
            results, times = _in_turn(split, inputs, options)
    comparison = compare(_arrays(results), _arrays(whole))
    return RunReport(
        backend="torch",
        model=model,
        processes=len(parts) if options.processes == "stages" else 1,
        microbatches=options.microbatches,
        repeats=options.repeats,
        comparison=comparison,
        stages=rows_of(problem, parts, times),
        symbols=symbols,
        machine=machine_facts(options.threads, options.clock, ("torch",)),
        notes=notes_of(parts, symbols, origin.symbols, comparison.telling),
    )


def _whole(name: str, split: TorchSplit, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results of the whole model.

    Raises:
        UsageError: its code does not take these inputs.
    """
    try:
        return flat(split.module(*inputs))
    except Exception as error:  # of the user's code
        raise UsageError(f"{name} fails on these inputs: {cause(error)}") from error


def _inputs(
    recipe: TorchRecipe, split: TorchSplit, sizes: Mapping[str, int], options: RunOptions
) -> list[tuple[Any, ...]]:
    """Return the inputs of each microbatch: random ones, and those that were given."""
    import torch

    names = [one_input["name"] for one_input in recipe.signature.inputs]
    refuse_unknown("--inputs", options.inputs, names)
    limits = index_limits(split.graph_module)
    microbatches = random_args(recipe.signature, sizes, limits, options.microbatches, options.seed)
    given = {name: torch.from_numpy(array) for name, array in options.inputs.items()}
    return [tuple(given.get(name, value) for name, value in zip(names, one, strict=True)) for one in microbatches]


def _in_turn(
    split: TorchSplit, inputs: Sequence[Sequence[Any]], options: RunOptions
) -> tuple[list[tuple[Any, ...]], list[list[float]]]:
    """Run all parts one after the other in this process; return results, and times by part."""
    now = CLOCKS[options.clock]
    times: list[list[float]] = [[] for _ in split.stages]
    results: list[tuple[Any, ...]] = []
    for turn in range(options.repeats + 1):  # the first warms up
        results = []
        for one in inputs:
            values = flat(tuple(one))
            for stage, row in zip(split.stages, times, strict=True):
                began = now()
                values = stage.module(*values)
                if turn:
                    row.append(now() - began)
            results.append(values)
    return results, times


def _in_processes(
    recipe: TorchRecipe, split: TorchSplit, inputs: Sequence[Sequence[Any]], options: RunOptions
) -> tuple[list[tuple[Any, ...]], list[list[float]]]:
    """Run each stage in a process of its own; return results, and times by stage."""
    ran = run_pipeline(
        recipe,
        inputs,
        repeats=options.repeats,
        threads=options.threads,
        clock=options.clock,
        time_limit=options.time_limit,
    )
    for stage, expected in zip(split.stages, ran.fingerprints, strict=True):
        if fingerprint(stage.module) != expected:
            raise SolverError(
                f"{recipe.model} makes a model with other weights each time it is called: draw them from torch's "
                "generator alone, which mtpp run seeds, or load them from a file"
            )
    return ran.results, ran.times


def _arrays(results: Sequence[Sequence[Any]]) -> list[Any]:
    """Return tensors as arrays; numpy has no bfloat16, whose numbers are all in float32."""
    import torch

    tensors = [tensor.detach() for one in results for tensor in one]
    return [(tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy() for tensor in tensors]
