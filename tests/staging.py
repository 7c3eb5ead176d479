"""Small problems about stages: memory by stage, iterations, groups of devices; those of the notes, and random ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic, Constraint, Forbid, Memory, Replicate, Shard, StageMemory
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = [
    "REFERENCES",
    "group_problem",
    "random_groups",
    "random_stages",
    "random_streams",
    "references",
    "stage_problem",
]

REFERENCES = Path(__file__).parents[2] / "shared" / "prototypes" / "extensions" / "references.json"


def references(feature: int) -> dict[str, Mapping[str, Any]]:
    """Return the reference instances of a feature by name; skip the test where they are not beside the repository."""
    places = [parent / "shared" / "prototypes" / "extensions" / "references.json" for parent in REFERENCES.parents]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip(f"there is no {REFERENCES.name} beside the repository")
    return {case["name"]: case for case in json.loads(found.read_text()) if case["feature"] == feature}


def stage_problem(x: Mapping[str, Any]) -> Problem:
    """Return a problem about memory by stage, or an iteration, from the data of a reference."""
    forward, backward = np.array(x["fwd"], float), np.array(x["bwd"], float)
    total = forward + backward
    graph = Graph.create(
        [f"v{i}" for i in range(x["n"])],
        [(u, v) for u, v in x["edges"]],
        work=total,
        params=x["params"],
        state=np.array(x["params"], float) * x.get("state", 1),
        output=x["out"],
        saved=x["saved"],
        forward_share=np.where(total > 0, forward / np.where(total > 0, total, 1.0), 1.0),
    )
    devices = [Device(f"d{i}", memory=float(x["memory"])) for i in range(x["k"])]
    memory = StageMemory(
        schedule="pipedream" if x.get("stash") else x["schedule"],
        microbatches=x["microbatches"],
        recompute="free" if x.get("recompute") else "never",
    )
    objective = Objective("bottleneck")
    if x["goal"] == "iteration":
        objective = Objective("iteration", microbatches=x["microbatches"], schedule=x["schedule"])
    return Problem.create(graph, devices, Shared(1.0), objective, [Acyclic(), memory])


def group_problem(x: Mapping[str, Any]) -> Problem:
    """Return a problem about shards and replicas from the data of a reference."""
    types = [q for q, count in enumerate(x["count"]) for _ in range(count)]
    graph = Graph.create(
        [f"v{i}" for i in range(x["n"])],
        [(u, v) for u, v in x["edges"]],
        params=x["params"],
        output=x["out"],
        reduce=x["reduce"],
        memory=x["params"],
        times={f"t{q}": [x["time"][v][q] for v in range(x["n"])] for q in range(len(x["count"]))},
    )
    devices = [Device(f"d{i}", type=f"t{q}", memory=float(x["memory"][q])) for i, q in enumerate(types)]
    speedup = x.get("speedup") or {}
    rules: list[Constraint] = [Acyclic(), Memory()]
    for q in range(len(x["count"])):
        members = tuple(d for d in range(len(types)) if types[d] == q)
        faster = tuple(float(speedup.get(str(t), speedup.get(t, t))) for t in x["tp"])
        rules.append(Shard(by=tuple(x["tp"]), speedup=faster, devices=members))
        if max(x["dp"]) > 1 and len(members) > 1:
            sync: Any = "weights" if x["train"] else "none"
            rules.append(Replicate(most=max(x["dp"]), devices=members, sync=sync))
    return Problem.create(graph, devices, Shared(float(x["B"])), Objective("bottleneck"), rules)


def _edges(r: random.Random, n: int) -> list[tuple[int, int]]:
    return [(u, v) for u in range(n) for v in range(u + 1, n) if r.random() < 0.5]


def random_stages(seed: int, n: int = 5, k: int = 3) -> Problem:
    """Return a random problem about memory by stage, of equal devices, with or without an iteration."""
    r = random.Random(seed)
    memory = r.choice([16, 22, 30, 45])
    data = {
        "n": n,
        "k": k,
        "edges": _edges(r, n),
        "fwd": [r.randint(0, 5) for _ in range(n)],
        "bwd": [r.randint(0, 9) for _ in range(n)],
        "out": [r.randint(0, 3) for _ in range(n)],
        "params": [r.randint(0, 3) for _ in range(n)],
        "saved": [r.randint(0, 4) for _ in range(n)],
        "memory": memory,
        "recompute": r.random() < 0.5,
        "stash": r.random() < 0.2,
        "state": r.choice([1, 4]),
        "schedule": r.choice(["1f1b", "gpipe"]),
        "microbatches": r.choice([1, 2, 8]),
        "goal": r.choice(["bottleneck", "iteration"]),
    }
    if data["stash"]:
        data |= {"goal": "bottleneck", "schedule": "1f1b"}
    return stage_problem(data)


def random_group_rules(seed: int, n: int = 3, k: int = 4) -> Problem:
    """Return a random problem whose rules about shards, replicas and places are about some of equal devices."""
    r = random.Random(seed)
    work, output, reduce = ([r.choice(sizes) for _ in range(n)] for sizes in ([0, 1, 4, 9], [0, 1, 2], [0, 1, 2]))
    graph = Graph.create([f"v{v}" for v in range(n)], _edges(r, n), work=work, output=output, reduce=reduce)
    some, others = (tuple(sorted(r.sample(range(k), r.randint(2, k)))) for _ in range(2))
    by = r.choice([(1, 2), (2,)])
    rules: list[Constraint] = [
        Acyclic(),
        Shard(by=by, speedup=r.choice([(), tuple(1 + 0.8 * (t - 1) for t in by)]), devices=some),
        Replicate(most=r.randint(2, 3), devices=r.choice([some, others, None]), sync="none"),
    ]
    if r.random() < 0.5:
        rules.append(Forbid(nodes=(r.randrange(n),), devices=(r.randrange(k),)))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), Objective("bottleneck"), rules)


def random_groups(seed: int, n: int = 4) -> Problem:
    """Return a random problem about shards and replicas on two types of devices."""
    r = random.Random(seed)
    data = {
        "n": n,
        "edges": _edges(r, n),
        "count": r.choice([[3, 1], [2, 1], [2, 2]]),
        "time": [[r.randint(2, 9), r.randint(1, 6)] for _ in range(n)],
        "out": [r.randint(0, 2) for _ in range(n)],
        "reduce": [r.randint(0, 4) for _ in range(n)],
        "params": [r.randint(0, 6) for _ in range(n)],
        "memory": [r.choice([6, 9, 99]), 12],
        "B": 2,
        "train": r.random() < 0.5,
        "tp": r.choice([[1, 2], [1, 2, 3]]),
        "dp": r.choice([[1], [1, 2, 3]]),
        "speedup": r.choice([{}, {2: 1.8, 3: 2.4}, {2: 2.3, 3: 3.6}]),
    }
    data["tp"] = [t for t in data["tp"] if t <= max(data["count"])]
    return group_problem(data)


def random_streams(seed: int, n: int = 3) -> Problem:
    """Return a random problem about replicas whose parameters beyond the memory are streamed."""
    problem = random_groups(seed, n)
    rules = [rule for rule in problem.constraints if not isinstance(rule, (Memory, Shard))]
    return Problem.create(problem.graph, problem.devices, Shared(2.0, overflow=True), problem.objective, rules)
