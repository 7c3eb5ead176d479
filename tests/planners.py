"""The instances of planners that people use, written out as specs with tables.

They come from ``data/planners/instances.json`` of the shared folder: models by layers or by operators, devices, and
the bandwidth of every link as it is. One cost model for all: a node takes the longer of its operations at 60 % of a
device's peak and its traffic at 80 % of its memory's bandwidth.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["bottleneck", "instances", "least_of_chain", "peers", "write_spec"]

EFFICIENCY = 0.6, 0.8
"""Shares of a device's peak and of the bandwidth of its memory that nodes get."""

SPEC = """mtpp 1

param layer: table from "nodes.csv"
param tensor: table from "edges.csv"
param card: table from "devices.csv"
param wire: table from "links.csv"
let n = length(layer)
let k = length(card)

graph {{
  node v[i in 0..n - 1] (output = layer[i].output, memory = layer[i].memory)
  edge v[e.tail] -> v[e.head] for e in tensor
}}

device d[j in 0..k - 1] (memory = card[j].memory)

time v[i] on d[j] = max(layer[i].work / (60 % * card[j].peak), layer[i].moved / (80 % * card[j].rate))
    for i in 0..n - 1, j in 0..k - 1

interconnect links{options}
link d[w.tail] -> d[w.head] (bandwidth = w.rate) for w in wire

constraint acyclic
constraint memory

minimize bottleneck
"""


def instances(data: Path) -> dict[str, dict[str, Any]]:
    """Return the instances by their names, such as ``llama3-8b-decode@dc4``.

    Args:
        data: the shared folder of data.
    """
    found = json.loads((data / "planners" / "instances.json").read_text(encoding="utf-8"))
    return {one["id"]: one for one in found["instances"]}


def write_spec(instance: Mapping[str, Any], folder: Path, *, overlap: bool = False) -> Path:
    """Write the tables of an instance and a spec that reads them to *folder*; return the path of the spec."""
    nodes, devices = instance["model"]["nodes"], instance["devices"]
    columns = ("name", "work (FLOP)", "moved (B)", "memory (B)", "output (B)")
    _write(
        folder / "nodes.csv",
        columns,
        ((v["name"], v["flops"], v["moved"], v["weights"] + v["kv"], v["out"]) for v in nodes),
    )
    _write(folder / "edges.csv", ("number", "tail", "head"), ((i, u, v) for i, (u, v) in enumerate(_edges(instance))))
    _write(
        folder / "devices.csv",
        ("name", "peak (TFLOP/s)", "rate (GB/s)", "memory (B)"),
        ((d["name"], d["tflops"], d["gbs"], d["usable"]) for d in devices),
    )
    pairs = ((d, e, rate) for d, row in enumerate(instance["links"]) for e, rate in enumerate(row) if d != e and rate)
    _write(
        folder / "links.csv", ("number", "tail", "head", "rate (GB/s)"), ((i, *pair) for i, pair in enumerate(pairs))
    )
    path = folder / "planner.mtpp"
    path.write_text(SPEC.format(options=" (overlap = full)" if overlap else ""), encoding="utf-8")
    return path


def peers(data: Path, name: str) -> dict[str, list[int]]:
    """Return the plans of one pipeline that planners made of an instance, by the planner: the device of each node."""
    found = {}
    for path in sorted((data / "planners" / "plans").glob("*.json")):
        plan = json.loads(path.read_text(encoding="utf-8"))
        plan = plan.get("plans", plan).get(name) or {}
        assign = plan.get("assign")
        if assign and all(d is not None and d >= 0 for d in assign):  # else it found none
            found[path.stem] = [int(d) for d in assign]
    return found


def bottleneck(instance: Mapping[str, Any], device: Sequence[int], *, overlap: bool = False) -> float:
    """Return the largest load of a plan in seconds, by the definition; ``inf`` if a memory is exceeded.

    A tensor is sent once, at its slowest reader's rate, and received once by each reading device. With *overlap* the
    load is the largest of work, sending and receiving, else their sum.
    """
    time, k = _times(instance), len(instance["devices"])
    nodes, rate = instance["model"]["nodes"], np.array(instance["links"], float) * 1e9
    held, work, out, into = np.zeros((4, k))
    for v, d in enumerate(device):
        held[d] += nodes[v]["weights"] + nodes[v]["kv"]
        work[d] += time[v, d]
    for u, d in enumerate(device):
        there = {device[v] for w, v in _edges(instance) if w == u} - {d}
        out[d] += max((nodes[u]["out"] / rate[d, e] for e in there), default=0.0)
        for e in there:
            into[e] += nodes[u]["out"] / rate[d, e]
    if (held > np.array([one["usable"] for one in instance["devices"]]) * (1 + 1e-9)).any():
        return float("inf")
    loads = np.max([work, out, into], axis=0) if overlap else work + out + into
    return float(loads.max())


def least_of_chain(instance: Mapping[str, Any], *, overlap: bool = False) -> float:
    """Return the least bottleneck of a chain, in seconds: every order of every set of devices, and all cuts of each."""
    time, rate = _times(instance), np.array(instance["links"], float) * 1e9
    out = [v["out"] for v in instance["model"]["nodes"]]
    memory = [v["weights"] + v["kv"] for v in instance["model"]["nodes"]]
    room = [d["usable"] for d in instance["devices"]]
    n, k = time.shape
    best = float("inf")
    for order in (order for m in range(1, k + 1) for order in permutations(range(k), m)):
        ahead = {0: 0.0}  # by the number of nodes that are done, with all devices so far
        for place, d in enumerate(order):
            ends = range(1, n) if place + 1 < len(order) else [n]
            following: dict[int, float] = {}
            for begin, value in ahead.items():
                for end in ends:
                    if end <= begin or value >= best or sum(memory[begin:end]) > room[d]:
                        continue
                    parts = [
                        float(time[begin:end, d].sum()),
                        out[begin - 1] / rate[order[place - 1], d] if place else 0.0,
                        out[end - 1] / rate[d, order[place + 1]] if place + 1 < len(order) else 0.0,
                    ]
                    load = max(value, max(parts) if overlap else sum(parts))
                    following[end] = min(load, following.get(end, float("inf")))
            ahead = following
        best = min(best, ahead.get(n, float("inf")))
    return best


def _times(instance: Mapping[str, Any]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return [n, devices] running times in seconds."""
    nodes, devices = instance["model"]["nodes"], instance["devices"]
    flops = np.array([v["flops"] for v in nodes])[:, None] / np.array([d["tflops"] * 1e12 for d in devices])
    moved = np.array([v["moved"] for v in nodes])[:, None] / np.array([d["gbs"] * 1e9 for d in devices])
    return np.maximum(flops / EFFICIENCY[0], moved / EFFICIENCY[1])


def _edges(instance: Mapping[str, Any]) -> list[tuple[int, int]]:
    return [(int(u), int(v)) for u, v in instance["model"]["edges"]]


def _write(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
