"""Random graphs of attention and experts, what llama.cpp can make of them, and how a launch line is read by itself."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from random import Random

from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp, placed

TENSORS = {
    "attention": ["attn_q.weight"],
    "experts": [f"ffn_{part}_exps.weight" for part in ("gate", "up", "down")],
    "shared_experts": [f"ffn_{part}_shexp.weight" for part in ("gate", "up", "down")],
    "ffn": [f"ffn_{part}.weight" for part in ("gate", "up", "down")],
}


def graph(random: Random, layers: int, *, dense: int = 0, shared: bool = True) -> Graph:
    """Return layers of attention and experts, some with shared ones, the first *dense* without experts."""
    names, kinds, edges = ["embed"], [""], []
    last = [0]
    for i in range(layers):
        names.append(f"layer[{i}].attn")
        kinds.append("")
        attention = len(names) - 1
        edges += [(u, attention) for u in last]
        wanted = ["ffn"] if i < dense else ["experts", *["shared_experts"] * (shared and random.randint(0, 1))]
        last = []
        for kind in wanted:
            names.append(f"layer[{i}].{kind}")
            kinds.append(kind)
            edges.append((attention, len(names) - 1))
            last.append(len(names) - 1)
    names.append("head")
    kinds.append("")
    edges += [(u, len(names) - 1) for u in last]
    work = [random.choice([0.0, 1.0, 2.0, 3.0, 1e-3, 50.0]) for _ in names]
    params = [random.choice([0.0, 1.0, 2.0, 5.0]) for _ in names]
    output = [random.choice([0.0, 1.0, 1.0, 0.25]) for _ in names]
    return Graph.create(names, edges, work=work, params=params, output=output, kinds=kinds)


def problem(
    random: Random, layers: int, gpus: int, *, cpu: bool = True, dense: int = 0, shared: bool = True
) -> Problem:
    """Return a problem of such layers on RPC servers, which have the names of addresses, and on a CPU."""
    found = [
        Device(f"127.0.0.1:{50700 + d}", speed=random.choice([1.0, 2.0, 8.0]), memory=random.choice([4.0, 12.0, 99.0]))
        for d in range(gpus)
    ]
    if cpu:
        found.insert(random.randint(0, gpus), Device("cpu", "cpu", memory=random.choice([20.0, 999.0])))
    return Problem.create(graph(random, layers, dense=dense, shared=shared), found, Shared(random.choice([1.0, 8.0])))


def every_assignment(target: LlamaCpp, problem: Problem) -> Iterator[list[int]]:
    """Yield the device of every node for each launch line: stretches of layers, and a place for each of their parts."""
    order = [d for d, device in enumerate(problem.devices) if device.name == "cpu"]
    order += [d for d in range(problem.k) if d not in order]
    kinds, names = problem.graph.kinds, problem.graph.names
    apart = [v for v, kind in enumerate(kinds) if kind and target.grain != "layer"]
    layer_of = {v: int(names[v][6 : names[v].index("]")]) for v in range(problem.graph.n) if "[" in names[v]}
    layers = max(layer_of.values()) + 1
    for homes in itertools.combinations_with_replacement(range(len(order)), layers + 1):
        for places in itertools.product(range(problem.k), repeat=len(apart)):
            moved = dict(zip(apart, places, strict=True))
            first = order[0] if "cpu" in {device.name for device in problem.devices} else order[homes[0]]
            yield [
                moved[v] if v in moved else order[homes[layer_of[v]]] if v in layer_of else first if v == 0
                else order[homes[-1]]
                for v in range(problem.graph.n)
            ]  # fmt: skip


def random_assignment(random: Random, problem: Problem) -> list[int]:
    """Return the device of every node for a random launch line: the CPU first, then the GPUs."""
    order = sorted(range(problem.k), key=lambda d: (problem.devices[d].name != "cpu", d))
    names = problem.graph.names
    layers = 1 + max(int(name[6 : name.index("]")]) for name in names if "[" in name)
    homes = sorted(random.randrange(problem.k) for _ in range(layers + 1))
    found = []
    for name, kind in zip(names, problem.graph.kinds, strict=True):
        i = int(name[6 : name.index("]")]) if "[" in name else layers
        apart = kind and random.random() < 0.6
        found.append(random.randrange(problem.k) if apart else order[0] if name == "embed" else order[homes[i]])
    return found


def places(line: str, problem: Problem) -> dict[str, str]:
    """Return where llama.cpp has each tensor and, as "cache N", the cache of each layer, by its rules in Python."""
    words = shlex.split(line.splitlines()[-1])
    given = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("-")}
    layers = 1 + max(int(name[6 : name.index("]")]) for name in problem.graph.names if "[" in name)
    servers = given.get("--rpc", "").split(",")
    devices = given["--device"].split(",") if "--device" in given else []
    buffers = [f"RPC0[{servers[int(name.removeprefix('RPC'))]}]" for name in devices]
    shares = [float(share) for share in given.get("-ts", "1").split(",")]
    where = placed(shares, layers, int(given["-ngl"]))
    homes = ["CPU" if g < 0 else buffers[g] for g in where]
    overrides = [rule.rpartition("=") for rule in given.get("-ot", "").split(",") if rule]
    first = int(given.get("--n-cpu-moe", 0))
    rules = [(rf"blk\.{i}\.ffn_(up|down|gate|gate_up)_(ch|)exps", "CPU") for i in range(first)]
    rules += [(pattern, buffer) for pattern, _, buffer in overrides]
    found = {"token_embd.weight": "CPU", "output.weight": homes[-1]}
    for i in range(layers):
        found[f"cache {i}"] = homes[i]
        for tensors in TENSORS.values():
            for name in tensors:
                whole = f"blk.{i}.{name}"
                found[whole] = next((buffer for rule, buffer in rules if re.search(rule, whole)), homes[i])
    return found


def wanted(problem: Problem, assignment: list[int]) -> dict[str, str]:
    """Return where a plan has the tensors of its nodes, and the cache of each layer."""
    buffers = ["CPU" if device.name == "cpu" else f"RPC0[{device.name}]" for device in problem.devices]
    found = {}
    for v, name in enumerate(problem.graph.names):
        home = buffers[assignment[v]]
        if v == 0 and "CPU" not in buffers:  # llama.cpp has the embedding on the host all the same
            continue
        if "[" not in name:
            found["output.weight" if name == "head" else "token_embd.weight"] = home
            continue
        i, kind = int(name[6 : name.index("]")]), problem.graph.kinds[v] or "attention"
        found |= {f"blk.{i}.{tensor}": home for tensor in TENSORS[kind]}
        if kind == "attention":
            found[f"cache {i}"] = home
    return found
