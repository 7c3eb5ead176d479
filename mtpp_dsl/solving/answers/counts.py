"""Count again, in plain Python, what every device does in a plan: by node, by tensor, by transfer.

Shares nothing with :mod:`mtpp_dsl.core.plans.evaluation`, whose figures the answer holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import isnan

from mtpp_dsl.checks.batch_check import duration
from mtpp_dsl.checks.network_check import counted as on_network
from mtpp_dsl.checks.recounts import exchange, lateness, spans
from mtpp_dsl.checks.schedule_check import travel
from mtpp_dsl.checks.stage_check import held_memory
from mtpp_dsl.checks.subgraph_check import subgraph_traffic
from mtpp_dsl.core.constraints import Memory, StageMemory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links, Shared, Tree
from mtpp_dsl.core.problem.problem import Problem

Counts = dict[str, float]
"""Of one device, by the names of the JSON answer; ``forward`` and ``backward`` of any graph."""

Sent = tuple[str, str, str, str, float, float, int, tuple[int, int]]
"""Of a batch, what an edge carries: its ends, the devices, start, end, inputs."""

FIELDS = ("load", "forward", "backward", "work", "input", "output", "overflow", "sync", "memory")


def counted(problem: Problem, plan: Plan) -> list[Counts]:
    """Return the figures of every device, as the JSON answer has them, of a plan that breaks nothing."""
    if plan.routes:
        return _shared_by_routes(problem, plan)
    if problem.objective.batch is not None:
        return _batched(problem, plan)
    if problem.timed:
        return _scheduled(problem, plan)
    return _loaded(problem, plan)


def _shared_by_routes(problem: Problem, plan: Plan) -> list[Counts]:
    """Return the figures of several routes: times by their shares, memory once for every node that a device holds."""
    total = _nothing(problem)
    nodes_of: list[set[int]] = [set() for _ in problem.devices]
    for route in plan.routes:
        counts = counted(problem, replace(plan, assignment=route.assignment, routes=()))
        for row, part in zip(total, counts, strict=True):
            for what in FIELDS:
                row[what] += float(route.share) * part[what]
        for v, d in enumerate(route.assignment.tolist()):
            nodes_of[d].add(v)
    for row, nodes in zip(total, nodes_of, strict=True):
        row["memory"] = sum(float(problem.graph.memory[v]) for v in sorted(nodes))
    return total


def _nothing(problem: Problem) -> list[Counts]:
    return [dict.fromkeys(FIELDS, 0.0) for _ in problem.devices]


def _nodes(problem: Problem, plan: Plan) -> tuple[list[Counts], list[float]]:
    """Return what the nodes of every device add up to, and their parameters."""
    rows, params = _nothing(problem), [0.0] * problem.k
    graph = problem.graph
    for v, d in enumerate(plan.assignment.tolist()):
        t, time, share = plan.shards.get(d, 1), _takes(problem, plan, v, d), float(graph.forward_share[v])
        ahead, back = share * time if share else 0.0, (1 - share) * time if share < 1 else 0.0
        again = ahead if d in plan.recomputed else 0.0
        rows[d]["work"] += time + again
        rows[d]["forward"] += ahead
        rows[d]["backward"] += back + again
        rows[d]["memory"] += float(graph.memory[v]) / t
        params[d] += float(graph.params[v]) / t
    for d, (memory, _) in held_memory(problem, plan).items() if any(problem.stage_memory) else ():
        rows[d]["memory"] = memory
    if graph.workspace.any():
        for d, row in enumerate(rows):
            needs = [float(graph.workspace[v]) for v, e in enumerate(plan.assignment.tolist()) if e == d]
            row["workspace"] = max(needs, default=0.0)
            row["memory"] += row["workspace"]
    return rows, params


def _takes(problem: Problem, plan: Plan, v: int, d: int) -> float:
    """Return how long a node runs on a device, or on its shards, with their all-reduce."""
    t, rule, time = plan.shards.get(d, 1), problem.shard[d], float(problem.time[v, d])
    if t == 1 or rule is None or isinstance(problem.interconnect, (Links, Tree)):
        return time
    pays = isinstance(problem.interconnect, Shared) or problem.devices[d].pays_io
    reduced = 2 * (t - 1) / t * float(problem.graph.reduce[v]) / problem.channel.bandwidth if pays else 0.0
    return time / rule.faster(t) + reduced


def _loaded(problem: Problem, plan: Plan) -> list[Counts]:
    """Return the figures behind a bottleneck."""
    rows, params = _nodes(problem, plan)
    if problem.networked:
        taken = on_network(problem, plan.assignment.tolist())
        parts = (("input", taken.input), ("output", taken.output), ("load", taken.load))
        for what, figures in parts:
            for row, figure in zip(rows, figures, strict=True):
                row[what] = figure
        return rows
    link = problem.channel
    for u, d, what, far in _tensors(problem, plan):
        rate = link.between if far and link.between is not None else link.bandwidth
        cost = float(problem.graph.output[u]) / rate
        rows[d][what] += cost
        share = float(problem.graph.forward_share[u])
        rows[d]["forward"] += share * cost
        rows[d]["backward"] += (1 - share) * cost
    for lead, members in plan.replicas.items():
        for d in members[1:]:
            rows[d], params[d] = dict(rows[lead]), params[lead]
    for d, device in enumerate(problem.devices):
        rules = (c for c in problem.constraints if isinstance(c, (Memory, StageMemory)))
        hard = any(c.devices is None or d in c.devices for c in rules)
        pays = isinstance(link, Shared) or device.pays_io
        if link.overflow and pays and device.memory is not None and not hard:
            rows[d]["overflow"] = max(0.0, params[d] - device.room) / link.bandwidth
            if link.prefetch:
                rows[d]["overflow"] = _waits(problem, plan, d, rows[d])
            rows[d]["forward"] += rows[d]["overflow"]
    for lead, members in plan.replicas.items():
        copies = len(members) // plan.shards.get(lead, 1)
        groups = {**plan.replicas, lead: members[:copies]}
        sync = exchange(problem, groups, lead, params) if copies > 1 else 0.0
        for d in members:
            for what in ("work", "input", "output", "overflow", "forward", "backward"):
                rows[d][what] /= copies
            rows[d]["sync"] = sync
    for row, late in zip(rows, lateness(problem, plan.assignment.tolist()), strict=True):
        row["load"] = max(row["work"] + row["input"] + row["output"] + row["overflow"], row["sync"]) + late
        if problem.robust is not None:
            row["deviation"] = late
    return rows


def _waits(problem: Problem, plan: Plan, d: int, row: Counts) -> float:
    """Return how long a device waits, after its work, for what it streams; in all phases, by their weights."""
    stream = row["overflow"]
    if not problem.graph.phases:
        return max(0.0, stream - row["work"])
    nodes = [v for v, e in enumerate(plan.assignment.tolist()) if e == d]
    waits = 0.0
    for phase in problem.graph.phases:
        time = problem.phase(phase.name).time
        waits += phase.weight * max(0.0, stream - sum(float(time[v, d]) for v in nodes))
    return waits


def _tensors(problem: Problem, plan: Plan) -> Iterator[tuple[int, int, str, bool]]:
    """Yield (producer, device that pays, "input" or "output", whether it is between groups) of every tensor."""
    device = plan.assignment.tolist()
    span = spans(problem, plan.replicas)
    readers: dict[int, set[int]] = defaultdict(set)
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        if device[u] != device[v]:
            readers[u].add(device[v])
    for u, others in readers.items():
        home = device[u]
        far = {d for d in others if span[d] != span[home]}
        for d, what, outside in [(home, "output", bool(far)), *((d, "input", d in far) for d in sorted(others))]:
            if isinstance(problem.interconnect, Shared) or problem.devices[d].pays_io:
                yield u, d, what, outside


def _scheduled(problem: Problem, plan: Plan) -> list[Counts]:
    """Return the figures beside a makespan: of edges on links, of subgraphs on host and shared."""
    rows, _ = _nodes(problem, plan)
    schedule, device = plan.schedule, plan.assignment.tolist()
    assert schedule is not None
    if not isinstance(problem.interconnect, Links):
        assert schedule.piece is not None
        traffic = subgraph_traffic(problem, device, schedule.piece.tolist())
        for row, (reads, writes) in zip(rows, traffic, strict=True):
            row.update(input=reads, output=writes, load=row["work"] + reads + writes)
        return rows
    times = zip(schedule.sent.tolist(), schedule.arrived.tolist(), strict=True)
    for u, v, (start, end) in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), times, strict=True):
        if not isnan(start):
            rows[device[v]]["input"] += end - start
            rows[device[u]]["output"] += end - start
    for row in rows:
        row["load"] = row["work"]
    return rows


def _batched(problem: Problem, plan: Plan) -> list[Counts]:
    """Return the figures beside the throughput of a batch."""
    rows, graph = _nothing(problem), problem.graph
    assert plan.batches is not None
    slot = plan.batches.slot.tolist()
    for v, row in enumerate(plan.batches.device.tolist()):
        params = float(graph.params[v])
        for (d, _), size in Counter(zip(row, slot[v], strict=True)).items():
            takes = duration(problem, v, d, size)
            rows[d]["work"] += takes
            rows[d]["backward" if graph.backward[v] else "forward"] += takes
        for d, size in Counter(row).items():
            rows[d]["memory"] += params + (float(graph.memory[v]) - params) * size
    for _, _, one, other, start, end, *_ in sent(problem, plan):
        rows[problem.device_index[other]]["input"] += end - start
        rows[problem.device_index[one]]["output"] += end - start
    for row in rows:
        row["load"] = row["work"]
    return rows


def sent(problem: Problem, plan: Plan) -> Iterator[Sent]:
    """Yield what edges carry between the devices of a plan for a batch."""
    batches, graph = plan.batches, problem.graph
    assert batches is not None
    names, slots = [device.name for device in problem.devices], batches.slots
    where = [list(zip(*row, strict=True)) for row in zip(batches.device.tolist(), batches.slot.tolist(), strict=True)]
    growing = problem.objective.transfer == "per_input"
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        for ((d, q), (f, p)), count in sorted(Counter(zip(where[u], where[v], strict=True)).items()):
            if d != f:
                begin = float(batches.end[u, d * slots + q])
                takes = travel(problem, e, d, f, count if growing else 1)
                yield graph.names[u], graph.names[v], names[d], names[f], begin, begin + takes, count, (q, p)
