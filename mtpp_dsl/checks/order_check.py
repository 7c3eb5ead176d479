"""Stages in the order of devices, counted again for the independent check: in plain Python, node by node."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["broken_line", "out_of_order"]


def out_of_order(problem: Problem, device: list[int], rule: InOrder) -> Iterator[str]:
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
            found = [d for d in plan.order if d in busy and d in listed]
            wanted = [d for d in listed if d in busy]
            if found != wanted:
                names = ", ".join(problem.devices[d].name for d in found)
                yield str(rule), f"the order of the plan has its stages as {names}"
