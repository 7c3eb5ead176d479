"""The throughput of a batch on ``links`` (ghannane2023, 3.2): the check of a schedule, and the shortest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import gcd, inf
from typing import Any

from tests.tools.fuzzer.instance import Instance
from tests.tools.fuzzer.travel import travel

__all__ = ["best", "broken", "chunk_of", "cost", "duration"]

SLACK = 1e-8
Spread = tuple[tuple[int, ...], ...]


def sizes(inst: Instance, d: int) -> set[int] | None:
    """Return the sizes of batches that a device runs; None for all."""
    found: set[int] | None = None
    for rule in inst.of("BatchSizes"):
        if rule.on(d):
            mine = {size for size in rule.sizes if size <= (inst.batch or 0)}
            found = mine if found is None else found & mine
    return found


def chunk_of(inst: Instance) -> int:
    """Return how many inputs stay together."""
    if inst.chunk is not None:
        return inst.chunk
    chunk = inst.batch or 0
    for d in range(inst.k):
        menu = sizes(inst, d)
        chunk = 1 if menu is None else gcd(chunk, *menu)
    return chunk


def duration(inst: Instance, v: int, d: int, inputs: int) -> float:
    """Return what a batch of a node takes on a device; ``inf`` where it cannot run."""
    menu = sizes(inst, d)
    if (menu is not None and inputs not in menu) or inst.time(v, d) == inf:
        return inf
    if (v, d, inputs) in inst.batch_times:
        return inst.batch_times[v, d, inputs]
    device, single = inst.devices[d], inst.time(v, d)
    return 0.0 if single == 0 else device.overhead + single * (device.fixed + (1 - device.fixed) * inputs)


def placed(inst: Instance, where: Sequence[Sequence[int]], unit: int, slack: float) -> Iterator[str]:
    """Yield what the places of all chunks, of *unit* inputs each, break: rules that speak of every input."""
    for chunk in zip(*where, strict=True):
        for rule in inst.rules:
            on = [chunk[v] for v in rule.nodes]
            if rule.kind == "Colocate" and len(set(on)) > 1:
                yield "colocate"
            elif rule.kind == "Separate" and len(set(on)) < len(on):
                yield "separate"
            elif rule.kind == "Pin" and not all(rule.on(d) for d in on):
                yield "pin"
            elif rule.kind == "Forbid" and any(rule.on(d) for d in on):
                yield "forbid"
    for rule in inst.of("Memory"):
        for d, device in enumerate(inst.devices):
            used = sum(
                node.params + (node.takes - node.params) * on.count(d) * unit
                for node, on in zip(inst.nodes, map(list, where), strict=True)
                if d in on
            )
            room = device.memory
            if rule.on(d) and room is not None and used > (room - device.reserve) * (1 + slack) + 1e-12 * room:
                yield "memory"


def cost(plan: Mapping[str, Any]) -> float:
    """Return when the last batch of a plan, as JSON, ends."""
    return max(float(row["end"]) for row in plan["schedule"])


def broken(inst: Instance, plan: Mapping[str, Any], slack: float) -> Iterator[str]:
    """Yield what a plan for a batch, as JSON, breaks."""
    assert inst.batch is not None
    index = {node.name: v for v, node in enumerate(inst.nodes)}
    place = {device.name: d for d, device in enumerate(inst.devices)}
    where = [[-1] * inst.batch for _ in inst.nodes]
    at: dict[tuple[int, int], tuple[float, float]] = {}
    late = SLACK * cost(plan)
    for row in plan["schedule"]:
        v, d = index[row["node"]], place[row["device"]]
        if (v, d) in at:
            yield "two batches of one node on one device"
        at[v, d] = row["start"], row["end"]
        for first, behind in row["inputs"]:
            for i in range(first, behind):
                if where[v][i] >= 0:
                    yield "an input twice"
                where[v][i] = d
        count = where[v].count(d)
        takes = duration(inst, v, d, count)
        if row["batch"] != count or abs(row["end"] - row["start"] - takes) > late or row["start"] < -late:
            yield f"the batch of {row['node']} on {row['device']} does not take its time, {takes}"
    if any(-1 in row for row in where):
        yield "an input is missing"
        return
    chunk = chunk_of(inst)
    if any(len(set(row[i : i + chunk])) > 1 for row in where for i in range(0, inst.batch, chunk)):
        yield "a chunk is split"
    yield from placed(inst, where, 1, slack)
    for u, v in inst.edges:
        pairs = list(zip(where[u], where[v], strict=True))
        for d, f in set(pairs):
            takes = travel(inst, (u, v), d, f, pairs.count((d, f)) if inst.per_input else 1)
            if at[v, f][0] < at[u, d][1] + takes - late:
                yield f"{inst.nodes[v].name} starts too early"
    for d in range(inst.k):
        busy = sorted(span for (v, e), span in at.items() if e == d and duration(inst, v, d, where[v].count(d)) > 0)
        if any(b[0] < a[1] - late for a, b in pairwise(busy)):
            yield f"two batches at once on {inst.devices[d].name}"


def best(inst: Instance, slack: float) -> float | None:
    """Return the least makespan of a batch, by trying all places of all chunks and all orders; None if none is."""
    assert inst.batch is not None
    unit = chunk_of(inst)
    count = inst.batch // unit
    least = inf
    spreads: list[list[tuple[int, ...]]] = []
    for v in range(inst.n):
        every = list(product(range(inst.k), repeat=count))
        fit = [s for s in every if all(duration(inst, v, d, s.count(d) * unit) < inf for d in set(s))]
        spreads.append(fit if v else [s for s in fit if list(s) == sorted(s)])
    for where in product(*spreads):
        if not any(True for _ in placed(inst, where, unit, slack)):
            least = _shortest(inst, where, unit, least)
    return None if least == inf else least


def _shortest(inst: Instance, where: Sequence[Sequence[int]], unit: int, least: float) -> float:
    takes = {(v, d): duration(inst, v, d, on.count(d) * unit) for v, on in enumerate(where) for d in set(on)}
    needs: dict[tuple[int, int], list[tuple[tuple[int, int], float]]] = {item: [] for item in takes}
    for u, v in inst.edges:
        pairs = list(zip(where[u], where[v], strict=True))
        for d, f in set(pairs):
            moved = travel(inst, (u, v), d, f, pairs.count((d, f)) * unit if inst.per_input else 1)
            if moved == inf:
                return least
            needs[v, f].append(((u, d), moved))
    work = [sum(time for (_, d), time in takes.items() if d == e) for e in range(inst.k)]
    if max(work) >= least:
        return least
    seen: set[frozenset[tuple[tuple[int, int], float]]] = set()

    def extend(ends: dict[tuple[int, int], float], free: list[float]) -> None:
        nonlocal least
        if max(ends.values(), default=0.0) >= least:
            return
        if len(ends) == len(takes):
            least = max(ends.values())
            return
        key = frozenset(ends.items())
        if key in seen:
            return
        seen.add(key)
        ready = [i for i in takes if i not in ends and all(before in ends for before, _ in needs[i])]
        idle = next((item for item in ready if takes[item] == 0), None)
        for item in ready if idle is None else [idle]:
            first = max([0.0, *(ends[before] + moved for before, moved in needs[item])])
            end = first if takes[item] == 0 else max(first, free[item[1]]) + takes[item]
            now = list(free)
            if takes[item] > 0:
                now[item[1]] = end
            extend({**ends, item: end}, now)

    extend({}, [0.0] * inst.k)
    return least
