"""Tests of targets on graphs that come from models: modules by their paths, ties, and accelerate's own check."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model import model_json
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.targets.graph_modules import modules_of
from mtpp_dsl.runtimes.targets.stages import Stages
from mtpp_dsl.solving.answers.again import under_target
from tests import small_models
from tests.runtimes.targets.splits import STAMP, forms, split, target_of


def problem_of(model: Model, folder: Path, group_by: str, ties: str = "copy") -> Problem:
    """Return the problem of a model on two unequal devices."""
    model_json.write(model, folder / "model.json")
    symbols = "".join(f"{name} = {value}, " for name, value in (("batch", 2), ("seq", 16)) if name in model.symbols)
    path = folder / "spec.mtpp"
    path.write_text(
        f"""graph from "model.json" (group_by = {group_by}, {symbols}ties = {ties})
        device gpu[2] (peak = {{fp32: 10 TFLOP/s, bf16: 10 TFLOP/s}}, bandwidth = 100 GB/s, memory = 1 GB)
        interconnect shared (bandwidth = 16 GB/s)
        minimize bottleneck
        """,
        encoding="utf-8",
    )
    return mtpp_dsl.load(path)


def plan_for(name: str, problem: Problem, random: Random) -> Plan:
    """Return a plan that the target *name* can run: random, but where only its constraints say which there are."""
    target = target_of(name)
    if isinstance(target, Stages):
        return split(target, problem, random)
    cut = len(modules_of(problem.graph)) // 2
    second = {v for module in modules_of(problem.graph)[cut:] for v in module.nodes}
    return Plan.create(problem, [int(v in second) for v in range(problem.graph.n)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("model", [small_models.gpt(), small_models.llama()], ids=["gpt", "llama"])
@pytest.mark.parametrize("group_by", ["layer", "part", "operator"])
def test_plans_of_models_are_read_back(model: Model, group_by: str, tmp_path: Path) -> None:
    problem, random = problem_of(model, tmp_path, group_by), Random(group_by)
    for name in forms():
        target = target_of(name)
        if name == "torchtitan" and "transformer.wpe.weight" in {weight.name for weight in model.weights}:
            with pytest.raises(UsageError, match=r"no module for 'transformer.wpe': beside their layers, its decoders"):
                under_target(problem, name)
            continue
        for _ in range(6):
            plan = plan_for(name, problem, random)
            assert verify(under_target(problem, name), plan) == [], name
            (text, *_) = target.export(problem, plan, STAMP).values()
            assert isinstance(text, str)
            assert target.read(text, problem).assignment == tuple(plan.assignment.tolist()), name


def test_modules_are_called_as_the_framework_calls_them(tmp_path: Path) -> None:
    problem = problem_of(small_models.llama(layers=2), tmp_path, "layer")
    plan = plan_for("torchtitan", problem, Random(1))
    (text,) = target_of("torchtitan").export(problem, plan, STAMP).values()
    assert re.findall(r'"([^"]+)"', str(text).rpartition('"""')[2]) == [
        *("tok_embeddings", "layers.0", "layers.1", "norm", "lm_head")  # as torchtitan calls its own
    ]
    assert target_of("torchtitan").read(str(text).replace("lm_head", "output"), problem).assignment == tuple(
        plan.assignment
    )
    (text, _) = target_of("device-map").export(problem, plan_for("csv", problem, Random(1)), STAMP).values()
    assert set(json.loads(str(text))) == {
        *("model.embed_tokens", "model.rotary_emb", "model.layers.0", "model.layers.1", "model.norm", "lm_head")
    }


def test_shared_weights_are_copied_by_pipelines_and_kept_together_by_device_maps(tmp_path: Path) -> None:
    problem = problem_of(small_models.gpt(), tmp_path, "layer", ties="colocate")
    for name in ("vllm", "llama-cpp", "megatron", "deepspeed"):
        with pytest.raises(UsageError, match=r"tied weights .* write \(…, ties = copy\) where the graph is read"):
            under_target(problem, name)
    limited = under_target(problem, "accelerate")
    apart = Plan.create(problem, [int(name == "lm_head") for name in problem.graph.names])
    assert any("tied weights" in str(broken) for broken in verify(limited, apart))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.layers.1": None}, "'model.layers.1.* is lost"),
        ({"model.layers.1.mlp": 1}, "on several devices"),
        ({"model.layers.7": 0}, "there is no module 'model.layers.7'"),
        ({"model.layers.1": None, "model.layers.1.mlp": 0}, "weight 'model.layers.1.* is lost"),
    ],
)
def test_device_maps_of_models_are_held_against_their_weights(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    problem = problem_of(small_models.llama(layers=2), tmp_path, "layer")
    (text, _) = target_of("device-map").export(problem, Plan.create(problem, [0] * problem.graph.n), STAMP).values()
    changed = {**json.loads(str(text)), **change}
    with pytest.raises(UnsoundSplit, match=message):
        target_of("device-map").read(json.dumps({k: v for k, v in changed.items() if v is not None}), problem)
