"""Random small splits whose times may be off."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Colocate, Constraint, Linear, Load, Memory, Robust, Used
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["of_reference", "random_robust"]


def random_robust(seed: int) -> Problem:
    """Return a problem of a few nodes on two or three devices, equal or not, whose nodes may take longer."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, 6)), int(random.integers(2, 4))
    times = random.integers(0, 9, (k, n)).astype(float)
    equal = random.random() < 0.4
    given = random.random(n)
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.5],
        work=times[0],
        output=random.integers(0, 4, n).astype(float),
        params=random.integers(0, 4, n).astype(float),
        device_times={} if equal else {f"d{d}": times[d] for d in range(k)},
        deviation=np.where(given < 0.4, random.integers(0, 7, n), np.nan),
        deviation_share=np.where(given > 0.8, random.integers(0, 3, n) / 2, np.nan),
    )
    host = random.random() < 0.3
    devices = [Device(f"d{d}", memory=9.0, **({"pays_io": d > 0} if host else {})) for d in range(k)]
    constraints: list[Constraint] = [Robust(most=int(random.integers(1, 4)), share=0.5)]
    constraints += [Acyclic()] * int(random.random() < 0.6)
    constraints += [Memory()] * int(random.random() < 0.3)
    if n > 2 and random.random() < 0.3:
        constraints.append(Colocate(nodes=(0, 1)))
    if random.random() < 0.3:
        constraints.append(Linear(label="cap", terms=((Load(0), 1.0),), sense="<=", rhs=float(random.integers(2, 20))))
    objective = Objective("bottleneck")
    if random.random() < 0.3:
        constraints.append(Linear(label="due", terms=((Bottleneck(), 1.0),), sense="<=", rhs=float(times.sum() / k)))
        objective = Objective.linear([(Used(d), float(random.integers(1, 6))) for d in range(k)], label="price")
    return Problem.create(graph, devices, Host(1.0) if host else Shared(1.0), objective, constraints)


def of_reference(data: dict[str, Any]) -> Problem:
    """Return the problem of an instance of the note on old plans and uncertainty."""
    k, n = data["k"], data["n"]
    times, late = np.array(data["time"], float), np.array(data["dev"], float)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        [tuple(edge) for edge in data["edges"]],
        output=np.array(data["out"], float),
        device_times={f"d{d}": times[:, d] for d in range(k)},
        deviation=late[:, 0],
    )
    rules: list[Constraint] = [Acyclic()]
    if data["gamma"]:
        rules.append(Robust(most=data["gamma"]))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=rules)
