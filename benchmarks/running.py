"""Predicted against measured times of stages: a small GPT in torch on this CPU, its operators profiled one by one.

Run ``python benchmarks/running.py`` from the repository; it takes about two minutes. Every operator is measured by
itself, as ``mtpp profile`` does; a spec reads these times; several plans are run stage by stage, in turn, so that other
load on the machine falls on all of them. Times are medians, of the processor (one thread).

``--clock wall`` takes the time on the wall instead. ``--json FILE`` writes the figures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import mtpp_dsl
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import write
from mtpp_dsl.exchange.model.profile import text_of
from mtpp_dsl.runtimes.execution.clocks import CLOCKS, Clock
from mtpp_dsl.runtimes.execution.machine import machine_facts
from mtpp_dsl.runtimes.execution.plan_parts import origin_of, stages_of
from mtpp_dsl.runtimes.execution.stage_file import flat
from mtpp_dsl.runtimes.execution.torch_signature import index_limits, random_args, signature_of
from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe
from mtpp_dsl.runtimes.profiling.jobs import profile_of_jobs
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort
from mtpp_dsl.runtimes.profiling.torch_profile import torch_jobs

LAYERS, WIDTH, HEADS, VOCABULARY, LENGTH = 8, 192, 4, 2000, 64
SIZES = {"batch": 1, "seq": LENGTH}
CODE = f"{Path(__file__)}:small"
SPEC = """mtpp 1
graph from "model.json" (group_by = {by}, batch = 1, seq = {seq}, ties = copy)
device stage[3] (type = "here")
interconnect shared (bandwidth = 100 GB/s)
times from "profile.json"
minimize bottleneck
constraint acyclic
"""


def small() -> Any:
    """Return a GPT with tied weights, whose layers are of two sizes."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, times: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, times * WIDTH), nn.Linear(times * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            parts = [each.view(b, t, HEADS, -1).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, dim=2)]
            found = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.proj(found.transpose(1, 2).reshape(b, t, WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.h = nn.ModuleList(Block(4 if i % 3 else 8) for i in range(LAYERS))
            self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
            self.lm_head.weight = self.wte.weight

        def forward(self, ids: Any) -> Any:
            x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    return Small()


def profiled(model: Model, folder: Path, clock: Clock, seconds: float) -> int:
    """Write model.json and profile.json; return how many operators were measured."""
    jobs = torch_jobs(CODE, model, SIZES, "cpu", MeasuringEffort(seconds=seconds, clock=clock), 1)
    facts = machine_facts(1, clock, ("torch",))
    profile, journal = profile_of_jobs(jobs, model, "here", SIZES, facts, folder / "part", lambda *_: None)
    write(model, folder / "model.json")
    (folder / "profile.json").write_text(text_of(profile), encoding="utf-8")
    journal.close()
    return len(profile.signatures)


def plans_of(problem: Problem, count: int) -> list[Plan]:
    """Return the best plan, the even one, and random ones of three stages in a row."""
    order, n = problem.graph.topological_order, problem.graph.n
    generator = np.random.default_rng(1)
    cuts = [(n // 3, 2 * n // 3)]
    cuts += [tuple(sorted(generator.choice(np.arange(1, n), 2, replace=False).tolist())) for _ in range(count)]
    found = [mtpp_dsl.solve(problem, time_limit=20).plan]
    for first, second in cuts:
        assignment = np.zeros(n, np.int64)
        assignment[order[first:second]] = 1
        assignment[order[second:]] = 2
        found.append(Plan.create(problem, assignment))
    return [plan for plan in found if plan is not None]


def measured(problem: Problem, plans: Sequence[Plan], rounds: int, clock: Clock) -> list[list[float]]:
    """Return the median time of each stage of each plan; the plans are run in turn."""
    import torch

    torch.set_num_threads(1)
    model, now = origin_of(problem).model, CLOCKS[clock]
    splits = []
    for plan in plans:
        parts = stages_of(problem, plan)
        names = [[model.operators[i].name for i in part.operators] for part in parts]
        devices = [problem.devices[part.device].name for part in parts]
        splits.append(TorchRecipe(CODE, 0, signature_of(model), names, devices).build())
    limits = index_limits(splits[0].graph_module)
    (args,) = random_args(signature_of(model), SIZES, limits, 1, 0)
    times: list[list[list[float]]] = [[[] for _ in split.stages] for split in splits]
    with torch.no_grad():
        expected = splits[0].module(*args)
        for turn in range(rounds + 2):  # the first two warm up
            for split, rows in zip(splits, times, strict=True):
                values = flat(args)
                for stage, row in zip(split.stages, rows, strict=True):
                    began = now()
                    values = stage.module(*values)
                    if turn > 1:
                        row.append(now() - began)
                if not turn:
                    assert torch.allclose(values[0], expected)
    return [[median(row) for row in rows] for rows in times]


def main() -> None:
    """Print predicted and measured times of each stage, the median error, and whether the plans keep their order."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clock", choices=list(CLOCKS), default="cpu")
    parser.add_argument("--by", choices=("layer", "module", "operator"), default="module")
    parser.add_argument("--plans", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = import_torch(CODE, [read_input("ids: int64[batch, seq]")], SIZES)
        signatures = profiled(model, folder, asked.clock, asked.seconds)
        (folder / "spec.mtpp").write_text(SPEC.format(by=asked.by, seq=LENGTH), encoding="utf-8")
        problem = mtpp_dsl.load(folder / "spec.mtpp")
        plans = plans_of(problem, asked.plans)
        found = measured(problem, plans, asked.rounds, asked.clock)
    report(problem, plans, found, signatures, model.n, asked)


def report(
    problem: Problem,
    plans: Sequence[Plan],
    found: Sequence[Sequence[float]],
    signatures: int,
    operators: int,
    asked: argparse.Namespace,
) -> None:
    """Print the figures, and write them if asked."""
    facts = machine_facts(1, asked.clock, ("torch",))
    print(f"{operators} operators, {signatures} measured; {facts['processor']}, torch {facts['torch']}, 1 thread")
    print(f"{'plan':10} {'predicted: each stage, ms':30} {'measured: each stage, ms':30} error of each")
    predicted = [
        [float(problem.time[list(part.nodes), part.device].sum()) for part in stages_of(problem, plan)]
        for plan in plans
    ]
    errors = []
    for i, (one, other) in enumerate(zip(predicted, found, strict=True)):
        own = [p / m - 1 for p, m in zip(one, other, strict=True)]
        errors += map(abs, own)
        name = ("best", "even")[i] if i < 2 else f"random {i - 1}"
        print(f"{name:10} {_row(one):30} {_row(other):30} {', '.join(f'{error:+.1%}' for error in own)}")
    pairs = list(combinations(range(len(plans)), 2))
    tops = [(max(one), max(other)) for one, other in zip(predicted, found, strict=True)]
    apart = [(i, j) for i, j in pairs if abs(tops[i][0] / tops[j][0] - 1) > 0.05]
    kept = sum((tops[i][0] < tops[j][0]) == (tops[i][1] < tops[j][1]) for i, j in apart)
    ranks = [np.argsort(np.argsort([top[k] for top in tops])) for k in (0, 1)]
    rank = float(np.corrcoef(*ranks)[0, 1])
    print(f"median error {median(errors):.1%}, largest {max(errors):.1%}")
    print(f"order of bottlenecks kept in {kept} of {len(apart)} pairs more than 5 % apart; rank correlation {rank:.3f}")
    if asked.json is not None:
        figures = {"predicted": predicted, "measured": found, "machine": facts}
        figures |= {"median_error": median(errors), "pairs": len(apart), "kept": kept, "rank": rank}
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _row(times: Sequence[float]) -> str:
    return ", ".join(f"{time * 1e3:.3f}" for time in times)


if __name__ == "__main__":
    main()
