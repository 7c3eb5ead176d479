"""The independent check of routes: shares in exact fractions, what devices hold, what routes may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from mtpp_dsl.core.constraints import Copies, Memory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

Held = list[set[int]]
"""[devices] the nodes that any route has there; where devices hold ranges, all from the first to the last of them."""


def broken_routes(problem: Problem, plan: Plan, tolerance: float) -> Iterator[tuple[str, str]]:
    """Yield (constraint, message) of what breaks the rules for all routes together; each is checked by itself, too.

    Shares are fractions and add up to 1, no rounding. A device holds every node of its routes once: *tolerance* is
    that of ``constraint memory``.
    """
    rule = next(problem.of(Copies), None)
    if rule is None:
        yield "copies", f"the plan has {len(plan.routes)} routes, and no constraint allows them"
        return
    name = str(rule)
    total = Fraction(0)
    for i, route in enumerate(plan.routes):
        total += route.share
        if route.share <= 0:
            yield name, f"route {i} has the share {route.share}"
    if total != 1:
        yield name, f"the shares of the routes add up to {total}, not to 1"
    assignments = [route.assignment.tolist() for route in plan.routes]
    nodes_on: Held = [set() for _ in range(problem.k)]
    for device in assignments:
        for v, d in enumerate(device):
            nodes_on[d].add(v)
    if rule.share == "ranges":
        nodes_on = [_run(problem, nodes) for nodes in nodes_on]
    for v in range(problem.graph.n):
        count = sum(v in nodes for nodes in nodes_on)
        if count > rule.most:
            yield name, f"{problem.graph.names[v]} is on {count} devices; at most {rule.most} may hold it"
            break
    yield from ((name, message) for message in _shared(problem, rule.share, assignments, nodes_on))
    yield from _memory(problem, nodes_on, tolerance)


def _shared(problem: Problem, share: str, assignments: Sequence[list[int]], nodes_on: Held) -> Iterator[str]:
    """Yield what routes share that they may not."""
    name = [device.name for device in problem.devices]
    if share == "pipelines":
        for d, count in enumerate(sum(d in device for device in assignments) for d in range(problem.k)):
            if count > 1:
                yield f"{name[d]} is on {count} routes, and pipelines share no device"
    if share == "stages":
        first = _stages(assignments[0])
        for i, device in enumerate(assignments):
            if _stages(device) != first:
                yield f"route {i} has other stages than route 0"
        for d, nodes in enumerate(nodes_on):
            if nodes and frozenset(nodes) not in first:
                yield f"{name[d]} runs nodes that are no single stage"


def _run(problem: Problem, nodes: set[int]) -> set[int]:
    """Return the nodes of a chain from the first of some to the last."""
    place = _places(problem)
    where = [place[v] for v in nodes]
    return {v for v in range(problem.graph.n) if where and min(where) <= place[v] <= max(where)}


def _stages(device: list[int]) -> set[frozenset[int]]:
    """Return the sets of nodes that are on one device."""
    return {frozenset(v for v, e in enumerate(device) if e == d) for d in set(device)}


def _places(problem: Problem) -> list[int]:
    """Return [n] the place of every node in a chain."""
    after = dict(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True))
    (v,) = set(range(problem.graph.n)) - set(after.values())
    place = [0] * problem.graph.n
    for i in range(problem.graph.n):
        place[v] = i
        v = after.get(v, v)
    return place


def _memory(problem: Problem, nodes_on: Held, tolerance: float) -> Iterator[tuple[str, str]]:
    for constraint in problem.of(Memory):
        for d in range(problem.k) if constraint.devices is None else constraint.devices:
            spec = problem.devices[d]
            if spec.memory is None:
                continue
            used = sum(Fraction(float(problem.graph.memory[v])) for v in nodes_on[d])
            if used > Fraction(spec.room) * (1 + Fraction(tolerance)):
                yield str(constraint), f"{spec.name} holds {float(used):.6g} of {spec.memory:.6g} for all its routes"


def mixed(plan: Plan, loads: Callable[[list[int]], Sequence[float]]) -> list[float]:
    """Return what every resource is loaded with by all routes: the sum of share times load, in exact fractions."""
    size, total = 0, dict[int, Fraction]()
    for route in plan.routes:
        route_loads = loads(route.assignment.tolist())
        size = len(route_loads)
        for i, load in enumerate(route_loads):
            if load:
                total[i] = total.get(i, Fraction(0)) + route.share * Fraction(load)
    return [float(total.get(i, 0)) for i in range(size)]
