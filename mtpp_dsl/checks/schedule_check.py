"""The independent check of schedules: plain Python, edge by edge, from the definitions alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, isnan

from mtpp_dsl.core.constraints import ExclusiveLinks
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem

SLACK = 1e-9
"""What the times of a schedule may be off by, as a share of its makespan: they are sums of many numbers."""


def broken_times(problem: Problem, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield (what, message) for everything that the schedule of *plan* on links breaks.

    Every node runs for its time without a break, one at a time on every device; what it reads has arrived; a
    transfer starts after its producer and takes its time; exclusive transfers do not overlap at a sender or receiver.
    A node or a transfer that takes no time overlaps with nothing.
    """
    schedule = plan.schedule
    if schedule is None:
        yield "schedule", "the plan says where nodes run, not when"
        return
    graph, device = problem.graph, [int(d) for d in plan.assignment]
    names = graph.names
    start, end = schedule.start.tolist(), schedule.end.tolist()
    sent, arrived = schedule.sent.tolist(), schedule.arrived.tolist()
    slack = SLACK * max([0.0, *end])
    for v, d in enumerate(device):
        takes = float(problem.time[v, d])
        if start[v] < -slack or not abs(end[v] - start[v] - takes) <= slack:
            yield "schedule", f"{names[v]} takes {takes:.6g}, and is given {start[v]:.6g} to {end[v]:.6g}"
    runs = [(d, start[v], end[v], names[v]) for v, d in enumerate(device) if problem.time[v, d] > 0]
    yield from overlaps(runs, problem, "at once on", slack)
    moves: list[tuple[int, int, float, float, str]] = []
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        edge = f"{names[u]} -> {names[v]}"
        if device[u] == device[v]:
            if not isnan(sent[e]):
                yield "schedule", f"{edge} stays on {problem.devices[device[u]].name}, and is transferred"
            if start[v] < end[u] - slack:
                yield "precedence", f"{names[v]} starts at {start[v]:.6g}, {names[u]} ends at {end[u]:.6g}"
            continue
        takes = travel(problem, e, device[u], device[v])
        if takes == inf:
            one, other = (problem.devices[d].name for d in (device[u], device[v]))
            yield "links", f"{edge} goes from {one} to {other}, which nothing joins"
        elif isnan(sent[e]) or isnan(arrived[e]):
            yield "schedule", f"{edge} leaves its device, and has no transfer"
        elif sent[e] < end[u] - slack or start[v] < arrived[e] - slack or abs(arrived[e] - sent[e] - takes) > slack:
            given = f"it is sent from {sent[e]:.6g} to {arrived[e]:.6g}"
            yield "precedence", f"{edge} takes {takes:.6g} after {end[u]:.6g} and before {start[v]:.6g}; {given}"
        elif takes > 0:
            moves.append((device[u], device[v], sent[e], arrived[e], edge))
    for constraint in problem.of(ExclusiveLinks):
        leaving = ((d, a, b, edge) for d, _, a, b, edge in moves)
        for _, message in overlaps(leaving, problem, "leave at once", slack):
            yield str(constraint), message
        reaching = ((f, a, b, edge) for _, f, a, b, edge in moves)
        for _, message in overlaps(reaching, problem, "reach at once", slack):
            yield str(constraint), message


def overlaps(
    intervals: Iterable[tuple[int, float, float, str]], problem: Problem, what: str, slack: float
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of which one begins before the other has ended, on one device each."""
    on: dict[int, list[tuple[float, float, str]]] = {}
    for d, a, b, name in intervals:
        on.setdefault(d, []).append((a, b, name))
    for d, busy in on.items():
        busy.sort()
        first, last, holder = -inf, -inf, ""
        for a, b, name in busy:
            if a < last - slack and b > first + slack:
                yield "schedule", f"{holder} and {name} {what} {problem.devices[d].name}"
            if b > last:
                first, last, holder = a, b, name


def travel(problem: Problem, e: int, d: int, f: int, inputs: int = 1) -> float:
    """Return what edge *e* takes from device *d* to *f* for so many inputs; ``inf`` if nothing joins them.

    The least latency over links of the largest least bandwidth, found by widening one link at a time.
    """
    link = problem.interconnect
    assert isinstance(link, Links)
    if link.transfers is not None:
        return inputs * float(link.transfers[e, d, f])
    size = inputs * float(problem.graph.sizes[e])
    if link.bandwidth[d, f] > 0:
        return float(link.latency[d, f]) + size / float(link.bandwidth[d, f])
    if link.routing == "direct":
        return inf
    for width in sorted({float(w) for w in link.bandwidth.flat if w > 0}, reverse=True):
        late = {d: 0.0}
        for _ in range(problem.k):
            for a in list(late):
                for b in range(problem.k):
                    if a != b and link.bandwidth[a, b] >= width:
                        late[b] = min(late.get(b, inf), late[a] + float(link.latency[a, b]))
        if f in late:
            return late[f] + size / width
    return inf
