"""Run two stages of a GPT as a pipeline of torch: processes of one thread each, or one with a GPU and one without."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import mtpp_dsl
from benchmarks.predictions import profiled
from benchmarks.predictions.figures import Absent, RuntimeComparison, SplitFigures
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.execution.machine import processor_name
from mtpp_dsl.runtimes.execution.plan_parts import origin_of, stages_of
from mtpp_dsl.runtimes.execution.torch_pipeline import run_pipeline
from mtpp_dsl.runtimes.execution.torch_signature import index_limits, random_args, signature_of
from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe
from mtpp_dsl.solving.answers.again import under_target

INPUTS = 8
SPEC = """mtpp 1
graph from "model.json" (group_by = layer, batch = 1, seq = {seq})
{devices}
interconnect shared (bandwidth = {bandwidth} GB/s)
{times}
minimize bottleneck
"""
BANDWIDTH = 1.0
"""GB/s between two processes by gloo on one machine, in round figures: of tensors of this size it hardly matters."""
TOGETHER = "operators in a stage, not one by one"
AT_ONCE = "both stages at once"
BETWEEN = "between stages: gloo, the schedule"


def compared(code: str = f"{profiled.MODELS}:staged", seq: int = 128, rounds: int = 3) -> RuntimeComparison:
    """Return the figures of mtpp's stages and of equal layers.

    Raises:
        Absent: torch is not installed.
    """
    if find_spec("torch") is None:
        raise Absent("torch is not installed: pip install 'mtpp-dsl[torch]'")
    import torch

    torch.set_num_threads(1)
    places = ("cuda:0", "cpu") if torch.cuda.is_available() else ("cpu", "cpu")
    with tempfile.TemporaryDirectory() as place:
        folder, sizes = Path(place), {"batch": 1, "seq": seq}
        model = profiled.imported(code, 1, seq, folder)
        types = [name.partition(":")[0] for name in places]
        files = [profiled.profile(code, model, folder, sizes, name) for name in dict.fromkeys(types)]
        problem = profiled.problem_of(_spec(seq, types, files), folder)
        result = mtpp_dsl.solve(under_target(problem, "torch-stages"), time_limit=60)
        assert result.plan is not None
        splits = {"mtpp": result.plan, "equal layers": equal_layers(problem)}
        recipes = [_recipe(code, problem, plan) for plan in splits.values()]
        args = _args(recipes[0], sizes)
        alone = in_turn(recipes, args[0], places)
        runs = pipelines(recipes, args, places, rounds)
    found = [
        _figures(name, problem, plan, times, *run)
        for (name, plan), times, run in zip(splits.items(), alone, runs, strict=True)
    ]
    facts = {
        "machine": processor_name(), "torch": torch.__version__, "stages": " and ".join(places),
        "plan": f"{result.status}, by {result.method}", "model": "8 layers of width 256, 16,000 words, 128 tokens",
    }  # fmt: skip
    return RuntimeComparison(
        "torch-stages", f"{INPUTS} inputs through two stages, until the last is out", facts, tuple(found)
    )


def _spec(seq: int, types: Sequence[str], files: Sequence[str]) -> str:
    devices = "\n".join(f'device stage{i} (type = "{name}")' for i, name in enumerate(types))
    times = "\n".join(f'times from "{name}"' for name in files)
    return SPEC.format(seq=seq, devices=devices, times=times, bandwidth=BANDWIDTH)


def equal_layers(problem: Problem) -> Plan:
    """Return the plan with as many layers on each device, the embedding with the first and the head with the last."""
    stack = layout_of(problem.graph)
    homes = [0] * problem.graph.n
    for v in stack.after:
        homes[v] = problem.k - 1
    for i, nodes in enumerate(stack.layers):
        for v in nodes:
            homes[v] = i * problem.k // len(stack.layers)
    return Plan.create(problem, homes)


def _recipe(code: str, problem: Problem, plan: Plan) -> TorchRecipe:
    model, parts = origin_of(problem).model, stages_of(problem, plan)
    names = [[model.operators[i].name for i in part.operators] for part in parts]
    return TorchRecipe(code, 0, signature_of(model), names, [problem.devices[part.device].name for part in parts])


def _args(recipe: TorchRecipe, sizes: dict[str, int]) -> list[tuple[Any, ...]]:
    limits = index_limits(recipe.build().graph_module)
    return random_args(recipe.signature, sizes, limits, INPUTS, 0)


def in_turn(
    recipes: Sequence[TorchRecipe], args: Sequence[Any], places: Sequence[str], rounds: int = 30
) -> list[list[float]]:
    """Return the median time of each stage of each split: one after the other in this process, the splits in turn."""
    import torch

    splits = [recipe.build() for recipe in recipes]
    for split in splits:
        for stage, place in zip(split.stages, places, strict=False):
            stage.module.to(place)
    times: list[list[list[float]]] = [[[] for _ in split.stages] for split in splits]
    with torch.no_grad():
        for turn, (split, rows) in itertools.product(range(rounds + 2), zip(splits, times, strict=True)):
            values = tuple(args)
            for stage, row, place in zip(split.stages, rows, places, strict=False):
                began = perf_counter()
                values = tuple(sent.cpu() for sent in stage.module(*(value.to(place) for value in values)))
                if turn > 1:  # the first two warm up
                    row.append(perf_counter() - began)
    return [[median(row) for row in rows] for rows in times]


def pipelines(
    recipes: Sequence[TorchRecipe], args: Sequence[Sequence[Any]], places: Sequence[str], rounds: int
) -> list[tuple[list[float], list[float]]]:
    """Return for each split the median time of each stage in the pipeline, and the time of each pass of all inputs.

    The splits run in turn, so that what else the machine does falls on both.
    """
    stages: list[list[list[float]]] = [[[] for _ in recipe.parts] for recipe in recipes]
    passes: list[list[float]] = [[] for _ in recipes]
    for _, (recipe, rows, taken) in itertools.product(range(rounds), zip(recipes, stages, passes, strict=True)):
        ran = run_pipeline(recipe, args, repeats=5, places=places[: len(recipe.parts)], time_limit=400)
        taken += ran.passes
        for row, times in zip(rows, ran.times, strict=True):
            row += times
    return [([median(row) for row in rows], taken) for rows, taken in zip(stages, passes, strict=True)]


def until_last(stages: Sequence[float]) -> float:
    """Return when the last of equal inputs leaves the last stage, if nothing but the stages takes time.

    >>> until_last([2.0, 3.0]) == 2 + 3 + (INPUTS - 1) * 3
    True
    """
    return sum(stages) + (INPUTS - 1) * max(stages)


def _figures(
    name: str, problem: Problem, plan: Plan, alone: list[float], at_once: list[float], passes: list[float]
) -> SplitFigures:
    order = [part.device for part in stages_of(problem, plan)]
    loads = [float(evaluate(problem, plan).load[d]) for d in order]
    predicted = until_last(loads)
    factors = {
        TOGETHER: until_last(alone) / predicted,
        AT_ONCE: until_last(at_once) / until_last(alone),
        BETWEEN: median(passes) / until_last(at_once),
    }
    parts = {f"stage {s}": (loads[s], alone[s]) for s in range(len(order))}
    return SplitFigures(name, _places(problem, plan, order), predicted, tuple(passes), factors, parts)


def _places(problem: Problem, plan: Plan, order: Sequence[int]) -> str:
    """Return how many layers each stage has, and where the head is."""
    stack = layout_of(problem.graph)
    counts = [sum(plan.assignment[nodes[0]] == d for nodes in stack.layers) for d in order]
    return " and ".join(f"{count} layers" for count in counts) + ", then the head"
