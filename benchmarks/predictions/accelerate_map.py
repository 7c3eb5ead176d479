"""Run a GPT that does not fit through accelerate's device maps: on the CPU and the disk, or on a GPU and the CPU.

accelerate computes every module on its main device: the first GPU, or the CPU where there is none. The weights of a
module that the map has elsewhere are copied there for each pass. So the time of such a module is that on the main
device, and the time of the copies.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import mtpp_dsl
from benchmarks.predictions import profiled
from benchmarks.predictions.figures import Absent, RuntimeComparison, SplitFigures
from mtpp_dsl.core.contracts.targets import Stamp
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.importers.torch_model import made_by
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile, Timing, read_profile, text_of
from mtpp_dsl.runtimes.execution.machine import processor_name
from mtpp_dsl.runtimes.targets.device_map import DeviceMap
from mtpp_dsl.solving.answers.again import under_target

Map = dict[str, int | str]
MAIN, AWAY = "main", "cpu"
"""Types of devices in the spec: the second is called as a map calls the host."""
SPEC = """mtpp 1
graph from "model.json" (group_by = layer, batch = 1, seq = {seq})
device main (type = "main", memory = {memory} B, reserve = {reserve} B)
device cpu (type = "cpu")
interconnect shared (bandwidth = 1000000 GB/s)
times from "main.json"
times from "away.json"
minimize latency
"""
LAYER = "Block"
TOGETHER = "operators in the model, not one by one"
COPIES = "copies of weights, and accelerate's hooks"


@dataclass(frozen=True)
class CopyRate:
    """What copying the weights of a module to the main device takes: so long for each tensor, and bytes a second."""

    per_tensor: float
    bandwidth: float

    def seconds(self, tensors: int, size: float) -> float:
        """Return the time of some tensors of *size* bytes in all."""
        return tensors * self.per_tensor + size / self.bandwidth


def compared(code: str = f"{profiled.MODELS}:offloaded", seq: int = 16, rounds: int = 25) -> RuntimeComparison:
    """Return the figures of mtpp's map and of ``infer_auto_device_map``, with room for 60 % of the weights.

    Raises:
        Absent: torch or accelerate is not installed.
    """
    for name in ("torch", "accelerate"):
        if find_spec(name) is None:
            raise Absent(f"{name} is not installed: pip install torch accelerate")
    import accelerate
    import torch

    torch.set_num_threads(1)
    main = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = {"batch": 1, "seq": seq}
    module = made(code)
    blocks = [_bytes(block) for block in module.modules() if type(block).__name__ == LAYER]
    memory, reserve = 6 * _bytes(module) // 10, max(*blocks, _bytes(module.wte))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = profiled.imported(code, 1, seq, folder)
        rate = copy_rate(main, folder)
        _profiles(code, model, folder, sizes, main, rate)
        problem = profiled.problem_of(SPEC.format(seq=seq, memory=memory, reserve=reserve), folder)
        result = mtpp_dsl.solve(under_target(problem, DeviceMap.name), time_limit=60)
        assert result.plan is not None
        maps = {"mtpp": exported(problem, result.plan), "infer_auto_device_map": inferred(module, memory, main)}
        ids = torch.randint(0, module.wte.num_embeddings, (1, seq))
        whole, *times = measured(code, [None, *maps.values()], ids, main, folder, rounds)
    resident = median(whole)
    found = [
        _figures(name, problem, map_, taken, resident) for (name, map_), taken in zip(maps.items(), times, strict=True)
    ]
    facts = {
        "machine": processor_name(), "torch": torch.__version__, "accelerate": accelerate.__version__,
        "main device": "cuda:0, the rest on the CPU" if main == "cuda" else "the CPU, 1 thread, the rest on disk",
        "room": f"{memory / 1e6:.0f} of {_bytes(module) / 1e6:.0f} MB, {reserve / 1e6:.0f} MB of it for what is copied",
        "copies": f"{rate.bandwidth / 1e9:.2f} GB/s and {rate.per_tensor * 1e6:.0f} us a tensor",
        "plan": f"{result.status}, by {result.method}",
    }  # fmt: skip
    return RuntimeComparison("accelerate", f"one pass over {seq} tokens", facts, tuple(found))


def made(code: str) -> Any:
    """Return the module on the CPU, with the same random weights each time."""
    import torch

    torch.manual_seed(0)
    return made_by(code, device="cpu").eval()


def _bytes(module: Any) -> int:
    return sum(weight.numel() * weight.element_size() for weight in module.parameters())


def _profiles(code: str, model: Model, folder: Path, sizes: dict[str, int], main: str, rate: CopyRate) -> None:
    """Write the profile of the main device, and that of modules whose weights are copied to it."""
    here = replace(read_profile(folder / profiled.profile(code, model, folder, sizes, main)), device=MAIN)
    rows: dict[str, Timing] = {}
    for operator in model.operators:
        own, copied = here.times[operator.name], [model.weights[w].bytes for w in operator.weights]
        extra = rate.seconds(len(copied), sum(copied))
        rows[operator.name] = replace(own, median=own.median + extra, low=own.low + extra, high=own.high + extra)
    away = Profile(AWAY, rows, {name: name for name in rows}, here.machine, here.model, here.symbols)
    for name, profile in (("main", here), ("away", away)):
        (folder / f"{name}.json").write_text(text_of(profile), encoding="utf-8")


def exported(problem: Problem, plan: Plan) -> Map:
    """Return the map that ``mtpp export --to device-map`` writes."""
    stamp = Stamp("spec.mtpp", ("main", "cpu"), 0.0, None, "latency", "s")
    found: Map = json.loads(str(DeviceMap().export(problem, plan, stamp)["device_map.json"]))
    return found


def inferred(module: Any, memory: int, main: str) -> Map:
    """Return the map that accelerate makes by itself, in the words of mtpp's: 0 is the main device."""
    from accelerate import infer_auto_device_map

    room: dict[int | str, int] = {0: memory, "cpu": 10**12} if main == "cuda" else {"cpu": memory}
    found = infer_auto_device_map(module, room, no_split_module_classes=[LAYER])
    return {name: 0 if place == next(iter(room)) else "cpu" for name, place in found.items()}


def dispatched(module: Any, map_: Map, main: str, folder: Path) -> Any:
    """Return the module with accelerate's hooks; where there is no GPU, the main device is the CPU, the other disk."""
    from accelerate import dispatch_model

    if main == "cuda":
        return dispatch_model(module, map_)
    places = {name: "cpu" if place == 0 else "disk" for name, place in map_.items()}
    folder.mkdir(exist_ok=True)
    return dispatch_model(module, places, main_device="cpu", offload_dir=str(folder))


def measured(
    code: str, maps: Sequence[Map | None], ids: Any, main: str, folder: Path, rounds: int
) -> list[list[float]]:
    """Return the times of passes with each map, in turn; None stands for the whole model on the main device."""
    import torch

    place = torch.device(main)
    modules = [
        made(code).to(place) if map_ is None else dispatched(made(code), map_, main, folder / f"map{i}")
        for i, map_ in enumerate(maps)
    ]
    given, times = ids.to(place), [list[float]() for _ in maps]
    with torch.no_grad():  # warms up, too
        expected = modules[0](given)
        assert all(torch.allclose(module(given).to(place), expected, atol=1e-4) for module in modules[1:])
    for _ in range(rounds):
        for module, row in zip(modules, times, strict=True):
            row.append(timed(module, given))
    return times


def timed(module: Callable[[Any], Any], given: Any) -> float:
    """Return the time of a pass, until its result is there."""
    import torch

    with torch.no_grad():
        began = perf_counter()
        module(given)
        if given.device.type == "cuda":
            torch.cuda.synchronize()
        return perf_counter() - began


def copy_rate(main: str, folder: Path) -> CopyRate:
    """Measure what accelerate takes to bring weights to the main device: of many small layers, and of a few large."""
    import torch

    def of(width: int, count: int) -> float:
        def layers() -> Any:
            return torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(count)))

        here = layers().to(main)
        away: Map = {str(i): "cpu" if i else 0 for i in range(count)}
        there = dispatched(layers(), away, main, folder / f"copies{width}")
        given = torch.zeros(1, width, device=main)
        rows = [(timed(here, given), timed(there, given)) for _ in range(12)][2:]
        return (median(there for _, there in rows) - median(here for here, _ in rows)) / (count - 1)

    small, large, width = of(4, 32), of(1024, 8), 1024
    return CopyRate(small, 4.0 * width * width / max(large - small, 1e-9))


def _figures(name: str, problem: Problem, map_: Map, taken: list[float], resident: float) -> SplitFigures:
    homes = DeviceMap().read(json.dumps(map_), problem).assignment
    plan = Plan.create(problem, list(homes))
    evaluation = evaluate(problem, plan)
    predicted = float(evaluation.load.sum())
    computed = float(problem.time[:, 0].sum())
    copies = predicted - computed
    factors = {TOGETHER: (resident + copies) / predicted, COPIES: median(taken) / (resident + copies)}
    away = [path for path, place in map_.items() if place != 0]
    size = float(problem.graph.params[plan.assignment == 1].sum())
    places = f"{size / 1e6:.0f} MB away: {', '.join(away)}"
    parts = {"compute": (computed, resident), "copies of weights": (copies, median(taken) - resident)}
    return SplitFigures(name, places, predicted, tuple(taken), factors, parts)
