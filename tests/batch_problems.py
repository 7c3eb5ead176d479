"""Random small throughputs of batches, and optima of the barrier that ghannane2023 prints, by trying everything."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from mtpp_dsl.checks.batch_check import duration
from mtpp_dsl.checks.schedule_check import travel
from mtpp_dsl.core.constraints import BatchSizes, Colocate, Constraint, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["barrier_optimum", "random_batches"]


def random_batches(
    seed: int, *, nodes: int = 3, devices: int = 3, chunks: int = 3, unit: float = 1.0, kinds: int | None = None
) -> Problem:
    """Return a problem with arbitrary times by size, missing links, idle devices, zeros, ties and constraints.

    Args:
        seed: of everything.
        nodes: at most.
        devices: at most; with *kinds* exactly.
        chunks: at most.
        unit: of all times.
        kinds: of devices, all in groups of one of each, so that there are groups alike; None: each for itself.
    """
    random = np.random.default_rng(seed)
    n, k, count = (int(random.integers(1, most + 1)) for most in (nodes, devices, chunks))
    k = devices if kinds is not None else k
    chunk = int(random.choice([1, 1, 2, 3]))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.6]
    menus = [sorted(random.choice(count, int(random.integers(1, count + 1)), replace=False) + 1) for _ in range(k)]
    menus = [menu if random.random() < 0.9 else [] for menu in menus] if kinds is None else [menus[0]] * k
    menus[0] = sorted({*menus[0], count} if random.random() < 0.8 else menus[0])
    menus = [menus[0]] * k if kinds is not None else menus
    times = {}
    for d in range(k if kinds is None else kinds):
        single = random.choice([0.0, 1.0, 2.0, 3.5, 7.0], n)
        law = single[:, None] * (random.random() + np.arange(1, count + 1) * random.random())
        wild = random.choice([0.0, 0.5, 1.0, 2.0, 3.0, 7.25, inf], (n, count), p=[0.1, 0.1, 0.2, 0.2, 0.2, 0.15, 0.05])
        table = (wild if random.random() < 0.6 else law) * unit
        times[f"t{d}"] = {p * chunk: table[:, p - 1] for p in range(1, count + 1)}
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        pairs,
        output=random.choice([0.0, 1.0, 2.0, 5.0], n),
        params=random.choice([0.0, 1.0, 4.0], n),
        batch_times=times,
    )
    constraints: list[Constraint] = [
        BatchSizes(sizes=tuple(int(p) * chunk for p in menu), devices=(d,)) for d, menu in enumerate(menus)
    ]
    for chosen in random.choice(["memory", "together", "apart", "pin", "forbid", "chunks"], 6)[: random.integers(0, 4)]:
        some = tuple(sorted(random.choice(n, min(n, 2), replace=False).tolist()))
        where = (int(random.integers(0, k)),)
        constraints.append(
            {
                "memory": Memory(),
                "together": Colocate(nodes=some),
                "apart": Separate(nodes=some),
                "pin": Pin(nodes=some[:1], devices=tuple(sorted({*where, k - 1}))),
                "forbid": Forbid(nodes=some[:1], devices=where),
                "chunks": PinChunks(nodes=some[:1], places=tuple(random.integers(0, k, count).tolist())),
            }[str(chosen)]
        )
    total = float((graph.params + graph.output * count * chunk).sum())
    room = [float(total * random.choice([0.4, 0.6, 1.0])) for _ in range(k)]
    names = [(f"d{d}", f"t{d if kinds is None else d % kinds}") for d in range(k)]
    group = [None if kinds is None else f"g{d // kinds}" for d in range(k)]
    joined = random.choice([0.0, 1.0, 2.0], (k, k), p=[0.15, 0.5, 0.35]) / unit
    late = random.choice([0.0, 0.5, 2.0], (k, k)) * unit
    if kinds is not None:
        inside = np.equal.outer(np.array(group), np.array(group))
        joined, late = np.where(inside, 2.0, 1.0) / unit, np.where(inside, 0.0, 0.5) * unit
        room = [room[0]] * k
    routing = "direct" if random.random() < 0.5 else "widest"
    transfer = "per_input" if random.random() < 0.4 else "per_batch"
    for _ in range(2):
        try:
            return Problem.create(
                graph,
                [Device(name, kind, memory=room[d], group=group[d]) for d, (name, kind) in enumerate(names)],
                Links(joined, late, routing=routing),
                Objective("throughput", batch=count * chunk, chunk=chunk, transfer=transfer),
                constraints,
            )
        except UsageError:  # sizes that do not add up, or memory below the parameters
            constraints = [c for c in constraints if not isinstance(c, BatchSizes)]
    raise AssertionError("without sizes all add up")


def barrier_optimum(problem: Problem) -> float | None:
    """Return the least makespan where batches wait for all batches of what their nodes read; None without a plan."""
    from mtpp_dsl.checks.brute_force import plans

    graph, batching = problem.graph, problem.batching
    least = inf
    seen = set()
    for plan in plans(problem):
        assert plan.batches is not None
        where = tuple(map(tuple, plan.batches.device[:, :: batching.chunk].tolist()))
        if where in seen:
            continue
        seen.add(where)
        items = [(v, d) for v, row in enumerate(where) for d in sorted(set(row))]
        takes = {(v, d): duration(problem, v, d, where[v].count(d) * batching.chunk) for v, d in items}
        needs: dict[tuple[int, int], dict[tuple[int, int], float]] = {item: {} for item in items}
        for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
            shared = set(zip(where[u], where[v], strict=True))
            for d, f in product(set(where[u]), set(where[v])):
                needs[v, f][u, d] = travel(problem, e, d, f) if d != f and (d, f) in shared else 0.0
        least = min(least, _shortest(items, takes, needs))
    return None if least == inf else least


def _shortest(
    items: list[tuple[int, int]],
    takes: dict[tuple[int, int], float],
    needs: dict[tuple[int, int], dict[tuple[int, int], float]],
) -> float:
    """Return the least makespan over all orders in which items can start one after the other."""
    best = inf

    def extend(ends: dict[tuple[int, int], float], free: dict[int, float]) -> None:
        nonlocal best
        if max(ends.values(), default=0.0) >= best:
            return
        if len(ends) == len(items):
            best = max(ends.values(), default=0.0)
            return
        for item in items:
            if item not in ends and needs[item].keys() <= ends.keys():
                ready = max([0.0, *(ends[other] + carried for other, carried in needs[item].items())])
                if takes[item] == 0:
                    extend({**ends, item: ready}, free)
                    return
                end = max(ready, free.get(item[1], 0.0)) + takes[item]
                extend({**ends, item: end}, {**free, item[1]: end})

    extend({}, {})
    return best
