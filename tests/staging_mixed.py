"""Random problems about stages that mix what the others have one by one: types, places, shards, replicas, passes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Memory, Replicate, Shard, StageMemory
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["random_mixed", "random_spread"]


def random_mixed(seed: int) -> Problem:
    """Return a random problem of one to four nodes on one to three devices of at most two types."""
    r = random.Random(seed)
    n, counts = r.randint(1, 4), r.choice([[3], [2, 1], [1, 2], [1, 1], [1]])
    types = [q for q, count in enumerate(counts) for _ in range(count)]
    rooms = [float(r.choice([8, 12, 20, 99])) for _ in counts]

    def numbers(most: int, least: int = 0) -> list[int]:
        return [r.randint(least, most) for _ in range(n)]

    idle = r.randrange(n) if r.random() < 0.4 else None  # a node that takes nothing but its tensor

    def of_nodes(most: int) -> list[int]:
        return [0 if v == idle else x for v, x in enumerate(numbers(most))]

    params = of_nodes(4)
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if r.random() < 0.5],
        work=1.0,
        params=[*params[:-1], params[-1] + (0 if any(params) else 1)],
        state=of_nodes(5),
        saved=of_nodes(4),
        output=numbers(3),
        reduce=of_nodes(3),
        memory=of_nodes(5),
        forward_share=[r.choice([0, 0.25, 0.5, 1]) for _ in range(n)],
        times={f"t{q}": of_nodes(9) for q in range(len(counts))},
    )
    devices = [Device(f"d{i}", type=f"t{q}", memory=rooms[q], pays_io=q == 0) for i, q in enumerate(types)]
    goal = r.choice(["bottleneck", "iteration"])
    schedule: Any = r.choice(["1f1b", "gpipe"] if goal == "iteration" else ["1f1b", "gpipe", "pipedream", "2bw"])
    microbatches = r.choice([1, 2, 3, 8])
    rules = [Acyclic(), _memory(r, types, schedule, microbatches), *_groups(r, types)]
    if n > 1 and r.random() < 0.2:
        rules.append(Colocate(nodes=(0, n - 1)))
    objective = Objective("bottleneck")
    if goal == "iteration":
        objective = Objective("iteration", microbatches=microbatches, schedule=schedule)
    network = r.choice([Shared(2.0), Host(2.0)])
    return Problem.create(graph, devices, network, objective, rules)


def random_spread(seed: int) -> Problem:
    """Return a random problem of :func:`random_mixed` whose devices are in groups, or stream what does not fit."""
    problem, r = random_mixed(seed), random.Random(seed)
    groups, streams = r.random() < 0.7, r.random() < 0.4
    devices = [
        replace(device, group=r.choice("ab") if groups else None, memory=3.0 if streams else device.memory)
        for device in problem.devices
    ]
    rules = [rule for rule in problem.constraints if not isinstance(rule, Shard) or not (streams or groups)]
    if streams:
        rules = [
            replace(rule, devices=(0,)) if isinstance(rule, StageMemory) else rule
            for rule in rules
            if not isinstance(rule, (Memory, Replicate))
        ]
    network = r.choice([Shared, Host])(
        2.0,
        overflow=streams,
        between=r.choice([0.5, 1.0, 2.0]) if groups else None,
        prefetch=streams and not problem.objective.is_iteration and not problem.of(StageMemory),
    )
    return Problem.create(problem.graph, devices, network, problem.objective, rules)


def _memory(r: random.Random, types: list[int], schedule: Any, microbatches: int) -> Constraint:
    if r.random() < 0.25:
        return Memory()
    some = None if r.random() < 0.6 else tuple(d for d, q in enumerate(types) if q == 0)
    again: Any = r.choice(["never", "always", "free"])
    return StageMemory(schedule=schedule, microbatches=microbatches, recompute=again, devices=some)


def _groups(r: random.Random, types: list[int]) -> list[Constraint]:
    rules: list[Constraint] = []
    for q in sorted(set(types)):
        members = tuple(d for d, kind in enumerate(types) if kind == q)
        if r.random() < 0.6:
            by = tuple(t for t in r.choice([(1, 2), (2,), (1, 2, 3)]) if t <= len(members)) or (1,)
            speedup = r.choice([(), tuple(1.0 if t == 1 else t * r.choice([0.9, 1.2]) for t in by)])
            rules.append(Shard(by=by, speedup=speedup, devices=members))
        if r.random() < 0.5 and len(members) > 1:
            sync: Any = r.choice(["weights", "none"])
            rules.append(Replicate(most=r.choice([2, 3]), devices=members, sync=sync))
    return rules
