"""Check the constraints that change what a plan is or takes: replicas of stages, several routes, times that deviate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    Forbid,
    Latency,
    Linear,
    Load,
    Memory,
    Pin,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device, Interconnect
    from mtpp_dsl.core.problem.graph import Floats, Graph
    from mtpp_dsl.core.problem.objective import Objective


def check_groups(devices: Sequence[Device], interconnect: Interconnect) -> None:
    """Check the groups of devices against the network between them; on ``links`` they say what is alike, no more.

    Raises:
        UsageError: a group without ``between``, ``between`` and a device without a group, or a network between
            groups that is faster than the one inside.
    """
    if interconnect.keyword == "links":
        return
    between = getattr(interconnect, "between", None)
    if between is None:
        grouped = next((device for device in devices if device.group is not None), None)
        if grouped is not None:
            if interconnect.keyword == "tree":
                message = f"device {grouped.name!r} is in a group, which has no effect on a tree: say its switch"
                raise DeviceError(message, grouped.name)
            raise DeviceError(
                f"device {grouped.name!r} is in a group, which has no effect here: give interconnect shared or host "
                "the bandwidth between groups, (between = …)",
                grouped.name,
            )
        return
    without = next((device for device in devices if device.group is None), None)
    if without is not None:
        raise DeviceError(
            f"there is a bandwidth between groups, and device {without.name!r} is in none: (group = …)", without.name
        )
    bandwidth = getattr(interconnect, "bandwidth", between)
    if not 0 < between <= bandwidth:
        raise UsageError(
            f"the bandwidth between groups is {between:g}; it must be more than zero, and at most {bandwidth:g}, the "
            "bandwidth inside"
        )


def check_replicas(
    constraints: Sequence[Constraint],
    graph: Graph,
    devices: Sequence[Device],
    interconnect: Interconnect,
    time: Floats,
) -> None:
    """Check every ``replicate``: its devices are two or more and equal, and its weights have a size.

    Raises:
        ConstraintError: otherwise; or a device stands in two of them, or there is a labelled constraint as well.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Replicate)]
    seen: dict[int, Replicate] = {}
    for rule in rules:
        members = range(len(devices)) if rule.devices is None else rule.devices
        if len(members) < 2:
            raise ConstraintError("replicas are taken from two devices or more; there is one", rule.origin)
        for d in members:
            if d in seen:
                raise ConstraintError(f"{devices[d].name} is in constraint {seen[d]} already", rule.origin)
            seen[d] = rule
        other = next(_differences(graph, devices, time, members), None)
        if other is not None:
            raise ConstraintError(
                f"replicas run on equal devices, and {other}; for unequal shares of the inputs say 'constraint copies "
                f"up to {rule.most} (share = stages)'",
                rule.origin,
            )
        if getattr(interconnect, "bandwidth", None) is not None and synchronises(rule, graph):
            _check_weights(rule, graph)
    labelled = next((constraint for constraint in constraints if isinstance(constraint, Linear)), None)
    if rules and labelled is not None:
        raise ConstraintError(
            f"constraint {labelled} counts nodes and loads on single devices, and constraint {rules[0]} lets several "
            "share them: the two do not go together",
            labelled.origin,
        )


def synchronises(rule: Replicate, graph: Graph) -> bool:
    """Return whether the replicas under *rule* exchange weights."""
    return bool(graph.backward.any()) if rule.sync is None else rule.sync == "weights"


def _differences(graph: Graph, devices: Sequence[Device], time: Floats, members: Sequence[int]) -> Iterator[str]:
    first, *rest = members
    one = devices[first]
    for d in rest:
        other = devices[d]
        where = f"{one.name} and {other.name} differ in"
        if one.pays_io != other.pays_io:
            yield f"{where} io"
        if (one.memory, one.reserve) != (other.memory, other.reserve):
            yield f"{where} memory"
        for v in np.flatnonzero(time[:, first] != time[:, d])[:1].tolist():
            yield f"{where} the time of node {graph.names[v]!r}"


def _check_weights(rule: Replicate, graph: Graph) -> None:
    remedy = "say how large they are, or (sync = none)"
    if not graph.params.any() and (graph.memory != graph.output).any():
        raise ConstraintError(f"replicas exchange weights, and no node has params; {remedy}", rule.origin)
    if graph.memory_unit != graph.size_unit:
        raise ConstraintError(
            f"replicas exchange weights, and here memory and tensors have different units; {remedy}", rule.origin
        )


BESIDE = (Acyclic, BreakSymmetry, Colocate, Contiguous, Copies, Forbid, Memory, Pin, Separate)
"""Kinds that every route keeps by itself, or that all routes keep together."""


def check_copies(
    constraints: Sequence[Constraint], graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective]
) -> None:
    """Check that ``copies`` is there once, and that everything beside it has a meaning for several routes.

    Raises:
        ConstraintError: otherwise; says which part has none.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Copies)]
    if not rules:
        return
    rule = rules[0]
    if rules[1:]:
        raise ConstraintError(
            f"there is constraint {rule} already; say once how the inputs are shared", rules[1].origin
        )
    objective = objectives[0]
    if objectives[1:] or objective.quantity != "bottleneck" or objective.batch is not None or objective.is_linear:
        stated = " and ".join(f"'{one}'" for one in objectives)
        raise ConstraintError(
            f"copies share the inputs of a pipeline: say 'maximize throughput', not {stated}", rule.origin
        )
    other = next((constraint for constraint in constraints if not isinstance(constraint, BESIDE)), None)
    if other is not None:
        raise ConstraintError(
            f"constraint {other} is about plans with one device for each node, and constraint {rule} allows several: "
            "the two do not go together",
            other.origin,
        )
    if getattr(interconnect, "overflow", False):
        raise ConstraintError(
            "copies keep their parameters in memory; say 'constraint memory' in place of overflow = stream", rule.origin
        )
    if getattr(interconnect, "overlap", "none") != "none" or getattr(interconnect, "send", "once") != "once":
        raise ConstraintError("the loads of several routes are defined for overlap = none and send = once", rule.origin)
    if rule.share == "ranges" and not is_chain(graph):
        raise ConstraintError(
            "share = ranges is for a chain of nodes, which this graph is not: say share = any", rule.origin
        )


def is_chain(graph: Graph) -> bool:
    """Return whether the graph is one path through all nodes."""
    tails, heads = graph.tails.tolist(), graph.heads.tolist()
    return graph.n > 0 and graph.m == graph.n - 1 and len(set(tails)) == len(set(heads)) == graph.m


def check_robust(
    constraints: Sequence[Constraint], graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective]
) -> None:
    """Check ``constraint robust`` against the rest: worst cases are defined of largest loads alone.

    Raises:
        ConstraintError: there are two of them; the problem asks for another quantity than a largest load, or adds up
            loads, whose worst cases are not that of the sum; or devices share nodes.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Robust)]
    if not rules:
        return
    rule = rules[0]
    if len(rules) > 1:
        raise ConstraintError(f"constraint {rule} says already how many nodes may deviate", rules[1].origin)
    reason = next(_unfit(graph, constraints, interconnect, objectives), None)
    if reason is not None:
        raise ConstraintError(f"constraint robust counts the worst case of a largest load: {reason}", rule.origin)
    if not (rule.share or np.nan_to_num(graph.deviation).any() or np.nan_to_num(graph.deviation_share).any()):
        raise ConstraintError(
            "no time deviates: give a share of all times, constraint robust up to 2 (deviation = 10 %), or nodes "
            "(deviation = ...)",
            rule.origin,
        )


def _unfit(
    graph: Graph, constraints: Sequence[Constraint], interconnect: Interconnect, objectives: Sequence[Objective]
) -> Iterator[str]:
    """Yield what of the problem has no such worst case."""
    if graph.phases:
        yield "several phases have one each"
    if interconnect.keyword not in ("shared", "host"):
        yield f"on {interconnect.keyword} times that are off are not supported"
    for objective in objectives:
        usual = objective.quantity == "bottleneck" and objective.batch is None
        if objective.timed or not (usual or objective.is_linear):
            yield f"'{objective}' is none"
        if any(isinstance(decision, (Latency, Load)) for decision, _ in objective.terms):
            yield f"'{objective}' adds up loads"
    for constraint in constraints:
        if isinstance(constraint, (Copies, Replicate, Shard, StageMemory)):
            yield f"constraint {constraint} does not go with it"
        if isinstance(constraint, Linear):
            several = sum(isinstance(decision, Load) for decision, _ in constraint.terms) > 1
            if several or any(isinstance(decision, Latency) for decision, _ in constraint.terms):
                yield f"constraint {constraint} adds up loads"


def deviations(rule: Robust | None, graph: Graph, time: Floats) -> Floats:
    """Return [n, devices] by how much a node may take longer on each device; 0 where it cannot run, or without *rule*.

    Args:
        rule: says by which share nodes deviate that say nothing themselves.
        graph: with what nodes say.
        time: [n, devices] running times; ``inf``: not supported.
    """
    if rule is None:
        return np.zeros(time.shape)
    share = np.where(np.isnan(graph.deviation_share), rule.share, graph.deviation_share)
    known = np.where(np.isfinite(time), time, 0.0)
    given = np.where(np.isnan(graph.deviation)[:, None], share[:, None] * known, graph.deviation[:, None])
    return np.where(np.isfinite(time), given, 0.0)
