"""Random stacks of layers on devices, and random splits of them that a target can run."""

from __future__ import annotations

from random import Random

from mtpp_dsl.core.contracts.targets import Stamp, Target
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import TARGETS, available, load
from mtpp_dsl.runtimes.targets.stages import Stages

STAMP = Stamp("a.mtpp", ("gpu[0]",), 1.5, 1.25, "bottleneck", "s", model_name="a.json")


def forms() -> list[str]:
    """Return the names of all targets that are files of text, one of each class."""
    names = {available(TARGETS)[name].value: name for name in reversed(available(TARGETS))}
    return sorted(name for name in names.values() if name not in ("torch-stages", "onnx-split"))


def target_of(name: str) -> Target:
    target: Target = load(TARGETS, name)()
    return target


def stack(random: Random, devices: int | None = None, *, cpu: bool = False) -> Problem:
    """Return a problem of 2 to 9 layers, each of one or two nodes, on some devices."""
    layers, parts = random.randint(2, 9), random.choice([("",), (".attn", ".mlp")])
    names = ["embed", *(f"layer[{i}]{part}" for i in range(layers) for part in parts), "norm", "head"]
    edges = [(v, v + 1) for v in range(len(names) - 1)]
    if random.random() < 0.5:  # a table that every layer reads
        names.append("rotary")
        edges += [(len(names) - 1, 1 + len(parts) * i) for i in range(layers)]
    work = [random.randint(1, 9) for _ in names]
    graph = Graph.create(names, edges, work=work, params=work, output=[1.0] * len(names))
    count = devices or random.randint(1, min(4, layers))
    found = [Device(f"gpu[{d}]", speed=random.choice([1.0, 2.0]), memory=1000.0) for d in range(count)]
    return Problem.create(graph, [*found, *([Device("cpu", "cpu")] if cpu else [])], Shared(4.0))


def split(target: Target, problem: Problem, random: Random) -> Plan:
    """Return a random plan that *target* can run."""
    if not isinstance(target, Stages):
        homes: dict[str, int] = {}
        names = [name.partition(".")[0] for name in problem.graph.names]
        return Plan.create(problem, [homes.setdefault(name, random.randrange(problem.k)) for name in names])
    items, devices = target.items(problem), target.devices(problem)
    spare = len(items) - (0 if target.empty else len(devices))
    cuts = sorted(random.randint(0, spare) for _ in devices[1:])
    counts = [high - low for low, high in zip([0, *cuts], [*cuts, spare], strict=True)]
    counts = [count + (not target.empty) for count in counts]
    if target.ends and len(devices) > 1:
        for end in (0, -1):
            if not counts[end]:
                richest = counts.index(max(counts))
                counts[richest] -= 1
                counts[end] += 1
    return Plan.create(problem, items.assigned(counts, devices).assignment)
