"""Join schedules of modules to a plan, and cut a plan into schedules of modules."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule

__all__ = ["cut_apart", "edges_of", "joined"]


def joined(instance: ScheduleInstance, modules: Sequence[CutModule], schedules: Sequence[ModuleSchedule]) -> Plan:
    """Return the plan in which the modules follow one another, everything as early as it can be in that order.

    Tensors that bypass a module are sent in the first gap that both ports have between the end of the tail and the
    start of the head, or if there is none when the tail ends, ahead of what would be sent then.
    """
    graph = instance.graph
    device = np.zeros(graph.n, np.int64)
    start, sending, since = np.zeros(graph.n), np.full(graph.m, np.nan), 0.0
    for module, schedule in zip(modules, schedules, strict=True):
        members = np.array(module.members, np.int64)
        own = slice(int(module.entry != NONE), None)  # the entry is the exit of the one before
        device[members[own]] = schedule.device[own]
        start[members[own]] = since + schedule.start[own]
        sending[edges_of(graph, module)] = since + schedule.sent
        since += schedule.length
    _send_bypassing(instance, device, start, sending)
    return timed(instance, device, start, sending)


def cut_apart(plan: Plan, modules: Sequence[CutModule]) -> Iterator[tuple[int, Ints, Floats]]:
    """Yield each module of a plan: its number, [nodes] the devices of its members, and [nodes] their starts."""
    if plan.schedule is not None:
        for j, module in enumerate(modules):
            members = np.array(module.members, np.int64)
            yield j, plan.assignment[members], plan.schedule.start[members]


def edges_of(graph: Graph, module: CutModule) -> Ints:
    """Return the edges of *module* in the order of those of its kind."""
    place = {v: i for i, v in enumerate(module.members)}
    edges = np.array(module.edges, np.int64)
    tails = np.array([place[v] for v in graph.tails[edges].tolist()], np.int64)
    heads = np.array([place[v] for v in graph.heads[edges].tolist()], np.int64)
    order: Ints = np.lexsort((edges, heads, tails))
    return edges[order]


def _send_bypassing(instance: ScheduleInstance, device: Ints, start: Floats, sending: Floats) -> None:
    """Write when edges in no module are sent: where *sending* is nan."""
    graph = instance.graph
    end = start + instance.time[np.arange(graph.n), device]
    tails, heads = graph.tails, graph.heads
    left = np.flatnonzero(np.isnan(sending))
    sending[left] = end[tails[left]]
    cut = device[tails] != device[heads]
    if not instance.exclusive or not cut[left].any():
        return
    takes = np.where(cut, instance.transfers.along(np.arange(graph.m), device[tails], device[heads]), 0.0)
    ports: list[list[tuple[float, float]]] = [[] for _ in range(2 * instance.k)]
    bypassing = set(left.tolist())
    for e in np.argsort(sending, kind="stable").tolist():
        if takes[e] > 0 and e not in bypassing:
            for port in (device[tails[e]], instance.k + device[heads[e]]):
                ports[port].append((float(sending[e]), float(sending[e] + takes[e])))
    for e in left[cut[left]].tolist():
        both = ports[device[tails[e]]], ports[instance.k + device[heads[e]]]
        since, until, length = float(end[tails[e]]), float(start[heads[e]]), float(takes[e])
        taken = sorted(span for port in both for span in port if span[1] > since and span[0] < until)
        at = since
        for begin, over in taken:
            if begin - at >= length:
                break
            at = max(at, over)
        if at + length <= until:
            sending[e] = at
            for port in both:
                insort(port, (at, at + length))
