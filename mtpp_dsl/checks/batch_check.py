"""The independent check of batched plans: plain Python, input by input, from the definitions alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from math import inf, isnan

from mtpp_dsl.checks.recounts import needs
from mtpp_dsl.checks.schedule_check import SLACK, overlaps, travel
from mtpp_dsl.core.constraints import (
    BatchSizes,
    Colocate,
    Constraint,
    Forbid,
    Memory,
    Pin,
    PinChunks,
    Repeat,
    Separate,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

Place = tuple[int, int]
"""A device, and which of the batches of a node there."""
Row = tuple[Place, ...]
"""Where every input of a node runs."""


def broken_batches(problem: Problem, plan: Plan, tolerance: float) -> Iterator[tuple[str, str]]:
    """Yield (what, message) for everything that a plan for the throughput of a batch breaks.

    Batches of supported sizes and whole chunks, each for its time without a break and one at a time on every device;
    every input of a node starts after the same input of what the node reads has ended and arrived (ghannane2023, 2.3);
    memory as in (3.7), within *tolerance* of the limit; ``pin``, ``forbid``, ``colocate`` and ``separate`` hold for
    every input. A batch that takes no time overlaps with nothing.
    """
    batches = plan.batches
    if batches is None:
        yield "schedule", "the plan does not say which inputs run where and when"
        return
    names, devices = problem.graph.names, [device.name for device in problem.devices]
    where, slots = batches.device.tolist(), batches.slots
    numbers: dict[Row, int] = {}
    number = [
        numbers.setdefault(tuple(zip(row, slot, strict=True)), len(numbers))
        for row, slot in zip(where, batches.slot.tolist(), strict=True)
    ]
    rows = list(numbers)  # those that differ: of many nodes few
    sizes = [sorted(Counter(row).items()) for row in rows]

    @cache
    def shared(a: int, b: int) -> list[tuple[tuple[Place, Place], int]]:
        """Return how many inputs each batch of one row has in common with each of another."""
        return sorted(Counter(zip(rows[a], rows[b], strict=True)).items())

    start, end = (_by_place(times.tolist(), slots) for times in (batches.start, batches.end))
    slack = SLACK * max([0.0, *(x for row in end for x in row.values() if not isnan(x))])
    runs: list[tuple[int, float, float, str]] = []
    for v, r in enumerate(number):
        yield from _too_many(problem, v, [d for (d, _), _ in sizes[r]])
        for (d, q), size in sizes[r]:
            takes = duration(problem, v, d, size)
            if takes == inf:
                yield "batch", f"{devices[d]} does not run batches of {size} of {names[v]}"
                continue
            if start[v][d, q] < -slack or not abs(end[v][d, q] - start[v][d, q] - takes) <= slack:
                given = f"{start[v][d, q]:.6g} to {end[v][d, q]:.6g}"
                yield "schedule", f"the batch of {names[v]} on {devices[d]} takes {takes:.6g}, and is given {given}"
            if takes > 0:
                runs.append((d, start[v][d, q], end[v][d, q], names[v]))
        yield from _split_chunks(problem, v, rows[r])
    yield from overlaps(runs, problem, "at once on", slack)
    per_input = problem.objective.transfer == "per_input"
    for e, (u, v) in enumerate(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True)):
        for (one, other), count in shared(number[u], number[v]):
            (d, _), (f, _) = one, other
            takes = travel(problem, e, d, f, count if per_input else 1) if d != f else 0.0
            if takes == inf:
                yield "links", f"{names[u]} -> {names[v]} goes from {devices[d]} to {devices[f]}, which nothing joins"
            elif start[v][other] < end[u][one] + takes - slack:
                late = f"{end[u][one]:.6g}, and {takes:.6g} later its output arrives"
                when = f"{start[v][other]:.6g} on {devices[f]}"
                yield "precedence", f"{names[v]} starts at {when}, {names[u]} ends at {late}"
    for constraint in problem.constraints:
        for message in _held(problem, where, constraint, tolerance):
            yield str(constraint), message


def _by_place(rows: list[list[float]], slots: int) -> list[dict[tuple[int, int], float]]:
    """Return, for each node, the time of every batch by its device and its slot."""
    return [{divmod(i, slots): time for i, time in enumerate(row)} for row in rows]


def _too_many(problem: Problem, v: int, on: list[int]) -> Iterator[tuple[str, str]]:
    """Yield the devices that run more batches of node *v* than ``constraint repeat`` lets them; without it, than one.

    Of several such constraints on one device the last one counts. *on* has the device of each batch.
    """
    for d, count in sorted(Counter(on).items()):
        most = 1
        for rule in problem.of(Repeat):
            if rule.devices is None or d in rule.devices:
                most = rule.most
        if count > most:
            where = f"{problem.graph.names[v]} on {problem.devices[d].name}"
            yield "batch", f"there are {count} batches of {where}; {most} is the most"


def duration(problem: Problem, v: int, d: int, size: int) -> float:
    """Return what a batch of *size* inputs of node *v* takes on device *d*; ``inf`` if it is not supported."""
    device, graph = problem.devices[d], problem.graph
    for rule in problem.of(BatchSizes):
        if (rule.devices is None or d in rule.devices) and size not in rule.sizes:
            return inf
    if graph.kinds[v] in device.unsupported:
        return inf
    tables = graph.batch_times.get(device.name, graph.batch_times.get(device.type, {}))
    if any(not isnan(float(row[v])) for row in tables.values()):
        measured = float(tables[size][v]) if size in tables else inf
        return inf if isnan(measured) else measured
    single = float(problem.time[v, d])
    if single in (0.0, inf):
        return single
    return device.overhead + single * (device.fixed + (1.0 - device.fixed) * size)


def _split_chunks(problem: Problem, v: int, row: Row) -> Iterator[tuple[str, str]]:
    chunk = problem.batching.chunk
    for first in range(0, len(row), chunk):
        if len(set(row[first : first + chunk])) > 1:
            name = problem.graph.names[v]
            yield "batch", f"inputs {first} to {first + chunk - 1} of {name} are one chunk, and in several batches"
            return


def _held(problem: Problem, where: list[list[int]], constraint: Constraint, tolerance: float) -> Iterator[str]:
    """Yield how *constraint* is broken; sizes are checked with the times."""
    names, devices = problem.graph.names, [device.name for device in problem.devices]
    match constraint:
        case Memory():
            yield from _memory(problem, where, constraint, tolerance)
        case Pin() | Forbid():
            for v in constraint.nodes:
                for d in sorted(set(where[v])):
                    if (d in constraint.devices) == isinstance(constraint, Forbid):
                        yield f"{names[v]} is on {devices[d]}"
        case PinChunks():
            chunk = problem.batching.chunk
            for v in constraint.nodes:
                if where[v] != [d for d in constraint.places for _ in range(chunk)]:
                    yield f"{names[v]} runs an input elsewhere"
        case Colocate():
            first = constraint.nodes[0]
            for v in constraint.nodes[1:]:
                if where[v] != where[first]:
                    yield f"{names[first]} and {names[v]} run an input on two devices"
        case Separate():
            seen: dict[tuple[int, int], int] = {}
            for v in constraint.nodes:
                for i, d in enumerate(where[v]):
                    other = seen.setdefault((i, d), v)
                    if other != v:
                        yield f"{names[other]} and {names[v]} both run input {i} on {devices[d]}"
                        break


def _memory(problem: Problem, where: list[list[int]], constraint: Memory, tolerance: float) -> Iterator[str]:
    graph = problem.graph
    used: dict[int, float] = defaultdict(float)
    for v, row in enumerate(where):
        for d, size in Counter(row).items():
            used[d] += float(graph.params[v]) + (float(graph.memory[v]) - float(graph.params[v])) * size
    for d in range(problem.k) if constraint.devices is None else constraint.devices:
        spec = problem.devices[d]
        if spec.memory is not None and used[d] > spec.room * (1 + tolerance):
            yield needs(problem, d, used[d], spec.memory)
