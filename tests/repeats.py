"""Problems with several batches of a node on a device: the references of the notes, and random ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.constraints import BatchSizes, Colocate, Constraint, Forbid, Memory, Repeat, Separate
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["random_repeats", "reference", "references"]


def references(data: Path, feature: int = 3) -> dict[str, dict[str, Any]]:
    """Return the references of a feature by name; skips, visibly, where there are none beside the workloads."""
    file = data.parent / "prototypes" / "extensions" / "references.json"
    if not file.exists():
        pytest.skip(f"no reference optima at {file}")
    found = json.loads(file.read_text(encoding="utf-8"))
    return {case["name"]: case for case in found if case["feature"] == feature}


def reference(case: dict[str, Any], repeat: int | None = None) -> Problem:
    """Return a reference as a problem; ``repeat`` as many as the inputs unless given."""
    data = case["data"]
    n, inputs, k = len(data["time"]), data["L"], len(data["time"][0])
    tables = {
        f"d{d}": {
            p: np.array([row[d].get(str(p), np.inf) for row in data["time"]], np.float64) for p in range(1, inputs + 1)
        }
        for d in range(k)
    }
    params, share = np.array(data["params"][:n], np.float64), np.array(data["act"][:n], np.float64)
    graph = Graph.create(
        [f"v{v}" for v in range(n)], data["edges"], params=params, memory=params + share, batch_times=tables
    )
    transfers = np.full((graph.m, k, k), float(data["move"]))
    transfers[:, range(k), range(k)] = 0.0
    supported = [
        tuple(p for p in range(1, inputs + 1) if any(str(p) in row[d] for row in data["time"])) for d in range(k)
    ]
    return Problem.create(
        graph,
        [Device(f"d{d}", memory=float(data["memory"][d])) for d in range(k)],
        Links(np.ones((k, k)), np.zeros((k, k)), transfers),
        Objective("throughput", batch=inputs),
        [
            Memory(),
            *(BatchSizes(sizes=sizes, devices=(d,)) for d, sizes in enumerate(supported)),
            Repeat(most=inputs if repeat is None else repeat),
        ],
    )


def random_repeats(seed: int, *, nodes: int = 2, devices: int = 2, inputs: int = 3) -> Problem:
    """Return a small problem with several batches of a node, arbitrary times by size, and constraints now and then."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, nodes + 1)), int(random.integers(1, devices + 1))
    every = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.8]
    tables = {
        f"d{d}": {
            p: random.choice([0.0, 1.0, 2.0, 3.0, 5.0, np.inf], n, p=[0.04, 0.3, 0.2, 0.2, 0.2, 0.06])
            for p in range(1, inputs + 1)
        }
        for d in range(k)
    }
    params, share = random.choice([0.0, 1.0, 3.0], n), random.choice([0.0, 1.0, 2.0], n)
    graph = Graph.create([f"v{v}" for v in range(n)], every, params=params, memory=params + share, batch_times=tables)
    transfers = np.broadcast_to(random.choice([0.0, 1.0, 2.0], (k, k)), (graph.m, k, k)).copy()
    transfers[:, range(k), range(k)] = 0.0
    rules: list[Constraint] = [Repeat(most=int(random.integers(2, inputs + 1)))]
    rules += [Memory()] * bool(random.random() < 0.4)
    if n > 1 and random.random() < 0.3:
        rules.append(Colocate(nodes=(0, n - 1)) if random.random() < 0.6 else Separate(nodes=(0, n - 1)))
    if random.random() < 0.15:
        rules.append(Forbid(nodes=(0,), devices=(k - 1,)))
    if random.random() < 0.3:
        rules.append(Repeat(most=1, devices=(0,)))
    menu = tuple(sorted({int(p) + 1 for p in random.choice(inputs, int(random.integers(1, inputs + 1)))} | {1}))
    rules.append(BatchSizes(sizes=menu))
    return Problem.create(
        graph,
        [Device(f"d{d}", memory=float(random.choice([4.0, 8.0, 20.0]))) for d in range(k)],
        Links(np.ones((k, k)), np.zeros((k, k)), transfers),
        Objective("throughput", batch=inputs, transfer=str(random.choice(["per_batch", "per_input"]))),
        rules,
    )
