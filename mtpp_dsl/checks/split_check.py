"""Check in plain Python what constraints on where nodes run ask of a plan with every node on one device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mtpp_dsl.checks.recounts import Replicas, needs, spans
from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    ExclusiveLinks,
    Forbid,
    InOrder,
    Linear,
    Memory,
    Pin,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Subgraphs,
)
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links, Shared
from mtpp_dsl.core.problem.problem import Problem


def _out_of_order(problem: Problem, device: list[int], rule: InOrder) -> Iterator[str]:
    """Yield a path of each part that goes back in the order of *rule*; one, with every node on one device."""
    listed = range(problem.k) if rule.devices is None else rule.devices
    graph = problem.graph
    for backward in (False, True):
        place = {d: -i if backward else i for i, d in enumerate(listed)}
        part = [v for v, back in enumerate(graph.backward.tolist()) if back == backward]
        readers: dict[int, list[int]] = {v: [] for v in part}
        waiting = dict.fromkeys(part, 0)
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            if u in readers and v in readers:
                readers[u].append(v)
                waiting[v] += 1
        furthest: dict[int, int] = {}  # by node, the last listed device, in the order, of what it comes from
        ready = [v for v in part if not waiting[v]]
        while ready:
            v = ready.pop()
            here, before = device[v], furthest.get(v)
            if here in place:
                if before is not None and place[before] > place[here]:
                    name = problem.devices
                    words = " of the backward part" if backward else ""
                    yield f"a path{words} goes from {name[before].name} back to {name[here].name} at {graph.names[v]}"
                    break
                before = here
            for w in readers[v]:
                if before is not None and (w not in furthest or place[furthest[w]] < place[before]):
                    furthest[w] = before
                waiting[w] -= 1
                if not waiting[w]:
                    ready.append(w)


def broken_line(problem: Problem, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield (constraint, what is wrong) where a device has to have a node and has none, or stages have another order.

    A replica of a stage is not empty. The order of a plan counts where memory depends on it.
    """
    busy = {*plan.assignment.tolist(), *(d for members in plan.replicas.values() for d in members)}
    for rule in problem.of(InOrder):
        listed = list(range(problem.k) if rule.devices is None else rule.devices)
        for d in listed if rule.empty == "never" else ():
            if d not in busy:
                yield str(rule), f"{problem.devices[d].name} has no node"
        if any(problem.stage_memory) and plan.order is not None:
            listed_order = [d for d in plan.order if d in busy and d in listed]
            wanted = [d for d in listed if d in busy]
            if listed_order != wanted:
                names = ", ".join(problem.devices[d].name for d in listed_order)
                yield str(rule), f"the order of the plan has its stages as {names}"


TOLERANCE = 1e-6
"""Relative: a constraint may be missed by this share of the numbers in it, as MIP solvers do."""


def by_subgraphs(problem: Problem) -> bool:
    """Whether the objective is a latency by subgraphs (tarnawski2020, section 4)."""
    return problem.timed and not isinstance(problem.interconnect, Links)


def unsupported(problem: Problem, device: list[int]) -> Iterator[str]:
    """Yield the nodes on devices that cannot run them."""
    for v, d in enumerate(device):
        if problem.time[v, d] == float("inf"):
            yield f"{problem.devices[d].name} cannot run {problem.graph.names[v]}"


def _acyclic(problem: Problem, device: list[int], constraint: Acyclic) -> Iterator[str]:
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, set[int]] = defaultdict(set)
        for u, v in _edges(problem, nodes):
            if device[u] != device[v]:
                after[device[u]].add(device[v])
        cycle = _find_cycle(after)
        if cycle:
            names = " -> ".join(problem.devices[d].name for d in cycle)
            yield f"the quotient graph{part} has the cycle {names}"


def cyclic_groups(problem: Problem, replicas: Replicas, device: list[int], constraint: Acyclic) -> Iterator[str]:
    """Yield a cycle of the quotient graph of the groups of devices, of each part."""
    span = spans(problem, replicas)
    number = [span.index(groups) for groups in span]
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, set[int]] = defaultdict(set)
        for u, v in _edges(problem, nodes):
            if number[device[u]] != number[device[v]]:
                after[number[device[u]]].add(number[device[v]])
        cycle = _find_cycle(after)
        if cycle:
            names = " -> ".join("+".join(sorted(str(group) for group in span[d])) for d in cycle)
            yield f"the quotient graph{part} of the groups has the cycle {names}"


def _contiguous(problem: Problem, device: list[int], constraint: Contiguous) -> Iterator[str]:
    graph = problem.graph
    for part, nodes in _parts(problem, constraint.parts):
        after: dict[int, list[int]] = defaultdict(list)
        for u, v in _edges(problem, nodes):
            after[u].append(v)
        for d in _devices(problem, constraint.devices):
            if by_subgraphs(problem) and not (isinstance(problem.interconnect, Shared) or problem.devices[d].pays_io):
                continue  # it runs single nodes, not subgraphs
            left = [v for v in nodes if device[v] == d for v in after[v] if device[v] != d]
            seen = set(left)
            while left:
                v = left.pop()
                if device[v] == d:
                    yield f"a path{part} leaves {problem.devices[d].name} and comes back at {graph.names[v]}"
                    break
                fresh = [w for w in after[v] if w not in seen]
                seen.update(fresh)
                left += fresh


def _memory(problem: Problem, device: list[int], constraint: Memory) -> Iterator[str]:
    for d in _devices(problem, constraint.devices):
        spec = problem.devices[d]
        if spec.memory is None:
            continue
        nodes = [v for v in range(problem.graph.n) if device[v] == d]
        used = sum(float(problem.graph.memory[v]) for v in nodes)
        working = max((float(problem.graph.workspace[v]) for v in nodes), default=0.0)
        if used > (spec.room - working) * (1 + TOLERANCE):
            reserved = f", {problem.size(spec.reserve)} of them reserved" if spec.reserve else ""
            beside = f", {problem.size(working)} of it workspace" if working else ""
            yield f"{needs(problem, d, used + working, spec.memory)}{reserved}{beside}"


def _colocate(problem: Problem, device: list[int], constraint: Colocate) -> Iterator[str]:
    first = constraint.nodes[0]
    for v in constraint.nodes:
        if device[v] != device[first]:
            names = problem.graph.names
            where = problem.devices
            yield f"{names[first]} is on {where[device[first]].name}, {names[v]} on {where[device[v]].name}"


def _separate(problem: Problem, device: list[int], constraint: Separate) -> Iterator[str]:
    seen: dict[int, int] = {}
    for v in constraint.nodes:
        other = seen.setdefault(device[v], v)
        if other != v:
            names = problem.graph.names
            yield f"{names[other]} and {names[v]} are both on {problem.devices[device[v]].name}"


def _pin(problem: Problem, device: list[int], constraint: Pin) -> Iterator[str]:
    for v in constraint.nodes:
        if device[v] not in constraint.devices:
            yield f"{problem.graph.names[v]} is on {problem.devices[device[v]].name}"


def _forbid(problem: Problem, device: list[int], constraint: Forbid) -> Iterator[str]:
    for v in constraint.nodes:
        if device[v] in constraint.devices:
            yield f"{problem.graph.names[v]} is on {problem.devices[device[v]].name}"


CHECKS: dict[type[Constraint], Callable[[Problem, list[int], Any], Iterable[str]]] = {
    Acyclic: _acyclic,
    Contiguous: _contiguous,
    Memory: _memory,
    Colocate: _colocate,
    Separate: _separate,
    Pin: _pin,
    Forbid: _forbid,
    InOrder: _out_of_order,
    Linear: lambda *_: (),  # checked with the schedule
    Robust: lambda *_: (),  # it takes no plan away; loads count it
    Replicate: lambda *_: (),  # it takes no plan away
    Copies: lambda *_: (),  # nor does this; routes are checked together
    Shard: lambda *_: (),  # checked with the groups of devices
    StageMemory: lambda *_: (),  # checked with the stages
    BreakSymmetry: lambda *_: (),  # it leaves of equal plans one, and none of them is wrong
    ExclusiveLinks: lambda *_: (),  # checked with the times
    Subgraphs: lambda *_: (),  # checked with the times
}
"""How a plan is checked against each kind of constraint; those of plug-ins have checks of their own."""


def _devices(problem: Problem, devices: tuple[int, ...] | None) -> Iterable[int]:
    return range(problem.k) if devices is None else devices


def _parts(problem: Problem, parts: str) -> Iterator[tuple[str, list[int]]]:
    """Yield (words for messages, nodes) of the forward part and, where asked and there, the backward part."""
    backward = problem.graph.backward.tolist()
    if not any(backward):
        yield "", list(range(problem.graph.n))
        return
    yield " of the forward part", [v for v, back in enumerate(backward) if not back]
    if parts == "both":
        yield " of the backward part", [v for v, back in enumerate(backward) if back]


def _edges(problem: Problem, nodes: list[int]) -> Iterator[tuple[int, int]]:
    inside = set(nodes)
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        if u in inside and v in inside:
            yield u, v


def _find_cycle(after: dict[int, set[int]]) -> list[int]:
    """Return a cycle as [a, b, ..., a], or []."""
    waiting: dict[int, int] = defaultdict(int)
    for heads in after.values():
        for head in heads:
            waiting[head] += 1
    nodes = set(after) | set(waiting)
    ready = [d for d in nodes if not waiting[d]]
    while ready:
        d = ready.pop()
        nodes.discard(d)
        for head in after.get(d, ()):
            waiting[head] -= 1
            if not waiting[head]:
                ready.append(head)
    if not nodes:
        return []
    walk = [min(nodes)]
    before = {d: next(u for u in sorted(nodes) if d in after.get(u, ())) for d in nodes}
    while walk[-1] not in walk[:-1]:
        walk.append(before[walk[-1]])
    return list(reversed(walk[walk.index(walk[-1]) :]))
