"""Run a model with experts in llama.cpp, with room for half of it on a GPU, or on a server on this machine."""

from __future__ import annotations

import itertools
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import mtpp_dsl
from benchmarks.predictions import experts, profiled
from benchmarks.predictions.figures import RuntimeComparison, SplitFigures
from benchmarks.predictions.llama_bench import TOKENS, Accelerator, accelerator, fitted, program, seconds
from mtpp_dsl.core.contracts.targets import Stamp
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.machine import processor_name
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp
from mtpp_dsl.solving.answers.again import under_target

SIZES = experts.ExpertSizes(layers=8, width=1024, inner=768, experts=16, words=4096)
EMPTY = experts.ExpertSizes(layers=8, width=64, inner=32, experts=2, words=64)
"""A model of as many layers that computes next to nothing: what it takes is that of changing between devices."""
SPEC = """mtpp 1
graph from "model.gguf" (group_by = part, batch = 1, seq = {seq}, phase = decode)
device "{name}" (memory = {room} B, reserve = {reserve} B, bandwidth = {there} B/s, peak = 1000000 TFLOP/s)
device cpu (memory = 1 TB, bandwidth = {here} B/s, peak = 1000000 TFLOP/s)
interconnect links (bandwidth = 1 GB/s, latency = {hop} s)
minimize latency
"""
SENT = 3
"""Edges between a layer's experts and the rest of it, which mtpp counts one by one: two to them, one back."""
RESERVE = 48 * 2**20
"""Bytes for what llama.cpp has on a device beside weights and caches."""
CHANGES = "changes between devices, as an empty model has them"
PRODUCTS = "products: mtpp has one bandwidth for each device"
ALL, NONE, EXPERTS_AWAY = "x -ngl 99", "x -ngl 0", "x -ngl 99 --n-cpu-moe 99"


def compared(sizes: experts.ExpertSizes = SIZES, rounds: int = 3, reserve: int = RESERVE) -> RuntimeComparison:
    """Return the figures of mtpp's plan, of as many whole layers as fit, and of what ``--fit`` chooses.

    Raises:
        Absent: llama.cpp is not built.
    """
    for name in ("llama-bench", "ggml-rpc-server", "llama-fit-params"):
        program(name)
    with tempfile.TemporaryDirectory() as place, accelerator() as there:
        folder = Path(place)
        model, empty = experts.write(folder / "model.gguf", sizes), experts.write(folder / "empty.gguf", EMPTY)
        room = reserve + model.stat().st_size // 2
        hop = _hop(empty, there)
        takes = {line: median(seconds(model, line, there)) for line in (ALL, NONE)}
        figures = {"seq": TOKENS // 2, "name": there.name, "room": room, "reserve": reserve, "hop": hop}
        problem = _problem(folder, figures, takes)
        result = mtpp_dsl.solve(under_target(problem, LlamaCpp.name), time_limit=60)
        assert result.plan is not None
        lines = {
            "mtpp": _line(problem, result.plan), "whole layers": _line(problem, whole_layers(problem)),
            "--fit": fitted(model, room, there),
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in lines}
        for _, (name, line) in itertools.product(range(rounds), lines.items()):
            times[name] += seconds(model, line, there)
        bare = median(seconds(empty, ALL, there))
        changes = {name: median(seconds(empty, line, there)) - bare for name, line in lines.items()}
    facts = {
        "machine": processor_name(), "accelerator": "a GPU" if not there.options else "an RPC server with all cores",
        "host": f"{there.threads} thread{'s' * (there.threads > 1)}",
        "all of the model there": f"{takes[ALL] * 1e3:.3g} ms a token",
        "all on the host": f"{takes[NONE] * 1e3:.3g} ms",
        "a tensor sent": f"{hop * 1e6:.0f} us",
        "room": f"{room / 1e6:.0f} of {sum_of(problem) / 1e6:.0f} MB, {reserve / 1e6:.0f} MB of it for buffers",
        "plan": f"{result.status}, by {result.method}",
    }  # fmt: skip
    found = []
    for name, line in lines.items():
        try:
            found.append(_figures(name, problem, line, times[name], changes[name]))
        except UsageError as error:
            facts[name] = f"{median(times[name]) * 1e3:.4g} ms; mtpp does not read its split: {error}"
    return RuntimeComparison(
        "llama-cpp", f"the time of one of {TOKENS} tokens, one after the other", facts, tuple(found)
    )


def sum_of(problem: Problem) -> float:
    """Return the bytes of the weights."""
    return float(problem.graph.params.sum())


def _hop(empty: Path, there: Accelerator) -> float:
    """Return the seconds of a tensor that changes devices: of an empty model whose experts are all on the host."""
    apart, together = (median(seconds(empty, line, there)) for line in (EXPERTS_AWAY, ALL))
    return max(apart - together, 0.0) / (SENT * EMPTY.layers)


def _problem(folder: Path, figures: Mapping[str, object], takes: Mapping[str, float]) -> Problem:
    """Return the problem in which each device alone takes as long for the whole model as it was measured to."""
    known: dict[str, object] = {"there": 1e9, "here": 1e9}
    trial = profiled.problem_of(SPEC.format(**figures, **known), folder)
    of_device = trial.time.sum(axis=0)
    known = {"there": 1e9 * of_device[0] / takes[ALL], "here": 1e9 * of_device[1] / takes[NONE]}
    return profiled.problem_of(SPEC.format(**figures, **known), folder)


def whole_layers(problem: Problem) -> Plan:
    """Return the plan with the last items on the accelerator, as many as fit: ``-ngl`` as people choose it."""
    target = LlamaCpp("layer")
    items, (accelerator_, host) = target.items(problem), (0, 1)
    best = Plan.create(problem, [host] * problem.graph.n)
    device = problem.devices[accelerator_]
    room = (device.memory or 0.0) - device.reserve
    for count in range(1, len(items) + 1):
        homes = [host] * problem.graph.n
        for nodes in items.nodes[len(items) - count :]:
            for v in nodes:
                homes[v] = accelerator_
        plan = Plan.create(problem, homes)
        if evaluate(problem, plan).memory[accelerator_] > room:
            break
        best = plan
    return best


def _line(problem: Problem, plan: Plan) -> str:
    """Return the launch line that ``mtpp export --to llama-cpp`` writes."""
    stamp = Stamp("spec.mtpp", tuple(device.name for device in problem.devices), 0.0, None, "latency", "s")
    return str(LlamaCpp().export(problem, plan, stamp)["llama-cpp.sh"])


def _figures(name: str, problem: Problem, line: str, times: list[float], changed: float) -> SplitFigures:
    homes = LlamaCpp().read(line.strip().splitlines()[-1], problem).assignment
    evaluation = evaluate(problem, Plan.create(problem, list(homes)))
    work, changes = (float(part) for part in (evaluation.work.sum(), evaluation.carried))
    words = [word for word in shlex.split(line.strip().splitlines()[-1]) if not word.startswith("127.")]
    options = words[words.index("-ngl") :]
    shown = " ".join(f"({word.count('=')} rules)" if "=" in word else word for word in options)
    size = sum(float(problem.graph.params[v]) for v, home in enumerate(homes) if home == 0)
    changed = max(changed, 0.0)
    factors = {CHANGES: (work + changed) / (work + changes), PRODUCTS: median(times) / (work + changed)}
    parts = {"products": (work, median(times) - changed), "changes between devices": (changes, changed)}
    return SplitFigures(name, f"{size / 1e6:.0f} MB there: `{shown}`", work + changes, tuple(times), factors, parts)
