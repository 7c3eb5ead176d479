"""Take each group of devices for one device: a bound of a hierarchy, and the way to a plan from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Colocate, Constraint, Forbid, Memory, Pin
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["groups_as_devices", "within_groups"]

KEPT = (Acyclic, BreakSymmetry, Colocate, Forbid, Memory, Pin)
"""What the constraints of a hierarchy may be here: none gives a plan that there is not without it."""


def groups_as_devices(problem: Problem) -> Problem | None:
    """Return a problem on one device for each group, whose optimum is no more than that of *problem*; or None.

    With weights c(d) that add up to 1 over a group, its largest load is at least the weighted mean of its loads. There
    a node counts at least min c(d) time(v, d), and a tensor that crosses the border of the group is paid by some device
    of it, at the price between groups. The group has the memory of all its devices; tensors within it, streams and
    exchanges of weights are left out. The weights are proportional to how fast the devices run the whole graph.

    None where a device pays for no tensor, where blocks may run on several groups, and where data may enter a group
    more than once.
    """
    between = problem.channel.between
    if between is None or problem.groups_free or problem.objective.quantity != "bottleneck":
        return None
    if any(not isinstance(constraint, KEPT) for constraint in problem.constraints):
        return None
    if not all(device.pays_io for device in problem.devices):
        return None
    groups = group_members(problem)
    weights = [_weights(problem, members) for members in groups]
    devices = [
        Device(f"group {problem.devices[int(members[0])].group}", memory=_room(problem, members)) for members in groups
    ]
    allowed = np.where(problem.allowed, problem.time, np.inf)
    time = np.stack(
        [(allowed[:, members] * own).min(axis=1) for members, own in zip(groups, weights, strict=True)], axis=1
    )
    least = min(float(own.min()) for own in weights)
    rules: list[Constraint] = [rule for rule in problem.constraints if isinstance(rule, (Acyclic, Colocate))]
    if problem.of(Memory):
        rules.append(Memory())
    link = replace(problem.channel, bandwidth=between / least, between=None, overflow=False, prefetch=False)
    return replace(
        problem, devices=tuple(devices), interconnect=link, constraints=tuple(rules), time=frozen(time, np.float64)
    )


def within_groups(problem: Problem, plan: Plan) -> Problem:
    """Return the problem on one level in which each node stays in the group where *plan* has it.

    *plan* is one of :func:`groups_as_devices`. What tensors cost on top for crossing to another group is part of the
    time of their producer, and of the first node of each group that reads them: loads are those of *problem*, but that
    a second device of a group which reads such a tensor pays less there.
    """
    link, graph = problem.channel, problem.graph
    assert link.between is not None
    group_of_node = plan.assignment
    device_group = np.empty(problem.k, np.int64)
    for g, members in enumerate(group_members(problem)):
        device_group[members] = g
    more = np.zeros(graph.n)
    place = np.empty(graph.n, np.int64)
    place[list(graph.topological_order)] = np.arange(graph.n)
    for u in np.flatnonzero(graph.output > 0).tolist():
        readers = graph.successors(u)
        abroad = readers[group_of_node[readers] != group_of_node[u]]
        extra = graph.output[u] * (1 / link.between - 1 / link.bandwidth)
        if len(abroad):
            more[u] += extra
        for g in np.unique(group_of_node[abroad]).tolist():
            own = abroad[group_of_node[abroad] == g]
            more[own[place[own].argmin()]] += extra
    time = np.where(group_of_node[:, None] == device_group, problem.time + more[:, None], np.inf)
    flat = replace(link, between=None)
    devices = tuple(replace(device, group=None) for device in problem.devices)
    return replace(problem, devices=devices, interconnect=flat, time=frozen(time, np.float64))


def group_members(problem: Problem) -> list[Ints]:
    """Return the devices of each group, in the order of their first devices."""
    return [np.flatnonzero(problem.group == g) for g in np.unique(problem.group)]


def _weights(problem: Problem, members: Ints) -> Floats:
    """Return [devices of a group] weights that add up to 1, proportional to the speed at which they run the graph."""
    time = problem.time[:, members]
    everywhere = time[np.isfinite(time).all(axis=1)].sum(axis=0)
    speed = 1 / everywhere if everywhere.size and (everywhere > 0).all() else np.ones(len(members))
    return np.asarray(speed / speed.sum(), np.float64)


def _room(problem: Problem, members: Ints) -> float | None:
    """Return what the devices of a group hold together, with room for what the check of a plan lets each have."""
    total = float(problem.room_limit[members].sum()) * (1 + 2 * TOLERANCE)
    return total if np.isfinite(total) else None
