"""Check what has to hold of stages: of memory by stage, of iterations, and of groups of devices that act as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mtpp_dsl.core.constraints import (
    Acyclic,
    Constraint,
    Copies,
    Linear,
    Memory,
    Repeat,
    Replicate,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.in_order import ordered_devices

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device, Interconnect
    from mtpp_dsl.core.problem.objective import Objective

MOST_MICROBATCHES = 1_000_000


def settled_iteration(objective: Objective, graph: Graph, constraints: Sequence[Constraint]) -> Objective:
    """Return an iteration with what ``constraint memory (schedule = …)`` says of it, and whether parts are separate.

    With ``gpipe``, all forward passes come before all backward passes. Parts are then separate, unless all nodes spend
    the same share of their times on forward passes and no stage recomputes: then the largest loads add up to the same.

    Raises:
        UsageError: no number of microbatches; a schedule that never ends an iteration.
        ConstraintError: the memory is that of another schedule.
    """
    if not objective.is_iteration:
        if objective.schedule is not None:
            raise UsageError(f"'{objective}' has a schedule and no microbatches: give their number (microbatches = …)")
        return objective
    rule = next((c for c in constraints if isinstance(c, StageMemory)), None)
    microbatches = objective.microbatches or (rule.microbatches if rule else None)
    schedule = objective.schedule or (rule.schedule if rule else "gpipe")
    if microbatches is None:
        raise UsageError("an iteration needs the number of its microbatches: minimize iteration (microbatches = 8)")
    if not 1 <= microbatches <= MOST_MICROBATCHES:
        raise UsageError(f"an iteration has 1 to {MOST_MICROBATCHES:,} microbatches; this has {microbatches}")
    if schedule not in ("gpipe", "1f1b"):
        raise UsageError(
            f"with {schedule} an iteration never ends, as the pipeline is not drained: minimize bottleneck"
        )
    if rule is not None and (rule.schedule, rule.microbatches) != (schedule, microbatches):
        raise ConstraintError(
            f"the iteration is of {microbatches} microbatches by {schedule}, the memory of {rule.microbatches} by "
            f"{rule.schedule}; make both the same",
            rule.origin,
        )
    shares = graph.forward_share
    again = any(c.recompute != "never" for c in constraints if isinstance(c, StageMemory))
    apart = schedule == "gpipe" and graph.n > 0 and ((shares != shares[0]).any() or (again and bool(shares.any())))
    parts = "separate" if apart else "together"
    return replace(objective, microbatches=microbatches, schedule=schedule, parts=parts)  # type: ignore[arg-type]


def check_stages(
    objectives: Sequence[Objective],
    graph: Graph,
    devices: Sequence[Device],
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> None:
    """Check memory by stage and iterations: stages must have an order.

    Raises:
        UsageError: an iteration beside another objective, or of plans whose devices are no stages.
        ConstraintError: the same of ``constraint memory (schedule = …)``; two schedules, or two rules for one device.
    """
    rules = [c for c in constraints if isinstance(c, StageMemory)]
    iteration = next((objective for objective in objectives if objective.is_iteration), None)
    if iteration is not None and len(objectives) > 1:
        raise UsageError(f"'{iteration}' goes with no other objective")
    if iteration is None and not rules:
        return
    what = f"'{iteration}'" if iteration is not None else "'constraint memory (schedule = …)'"
    reason = _no_stages(objectives, graph, devices, interconnect, constraints)
    if reason is not None and rules:
        raise ConstraintError(f"{what} is about the stages of a pipeline: {reason}", rules[0].origin)
    if reason is not None:
        raise UsageError(f"{what} is about the stages of a pipeline: {reason}")
    for rule in rules:
        _check_rule(rule, rules[0], graph)
        chosen = devices if rule.devices is None else [devices[d] for d in rule.devices]
        without = [device.name for device in chosen if device.memory is None]
        if len(without) == len(chosen) or (rule.devices is not None and without):
            raise ConstraintError(f"device {without[0]!r} has no memory limit; give it (memory = …)", rule.origin)
    limited: dict[int, Constraint] = {}
    for one in constraints:
        if not rules or not isinstance(one, (StageMemory, Memory)):
            continue
        for d in range(len(devices)) if one.devices is None else one.devices:
            if d in limited:
                raise ConstraintError(
                    f"two constraints say what {devices[d].name} keeps in its memory: {limited[d]} and {one}",
                    one.origin,
                )
            limited[d] = one
    for group in constraints if rules else ():
        if isinstance(group, (Replicate, Shard)):
            _check_alike(group, rules, devices)


def _check_alike(group: Replicate | Shard, rules: Sequence[StageMemory], devices: Sequence[Device]) -> None:
    """Hold that a rule about memory has all devices that may share a stage, or none of them."""
    members = set(range(len(devices)) if group.devices is None else group.devices)
    for rule in rules:
        limited = members if rule.devices is None else members & set(rule.devices)
        if limited and limited < members:
            one, other = devices[min(limited)].name, devices[min(members - limited)].name
            raise ConstraintError(
                f"constraint {rule} is about {one} and not about {other}, which may share a stage by constraint "
                f"{group}; let it be about both",
                rule.origin,
            )


def _no_stages(
    objectives: Sequence[Objective],
    graph: Graph,
    devices: Sequence[Device],
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> str | None:
    """Return why the devices of plans are no stages in an order, or None."""
    if any(objective.timed or objective.batch is not None for objective in objectives):
        return "plans with times have none; minimize bottleneck, iteration or a sum of loads"
    if interconnect.keyword not in ("shared", "host"):
        return f"it needs interconnect shared or host, not {interconnect.keyword}"
    if graph.backward.any():
        return (
            "here nodes of a backward part are separate nodes; give each node the time of both passes, and the share "
            "of it that is the forward pass (forward = 33%)"
        )
    if any(isinstance(c, (Copies, Repeat)) for c in constraints):
        return "plans of several routes, or in which nodes run again, have none"
    order = next((c for c in constraints if isinstance(c, Acyclic)), None)
    if not ordered_devices(constraints, len(devices)):
        return "only 'constraint acyclic' puts them in an order; add it"
    if order is not None and order.groups != "ordered":
        return "with (groups = free) they have no order"
    return None


def _check_rule(rule: StageMemory, first: StageMemory, graph: Graph) -> None:
    if rule.microbatches is not None and not 1 <= rule.microbatches <= MOST_MICROBATCHES:
        raise ConstraintError(
            f"there are 1 to {MOST_MICROBATCHES:,} microbatches; {rule} has {rule.microbatches}", rule.origin
        )
    if rule.microbatches is None and rule.schedule in ("gpipe", "1f1b"):
        raise ConstraintError(
            f"with {rule.schedule} the memory depends on the number of microbatches: (microbatches = …)", rule.origin
        )
    if (rule.schedule, rule.microbatches) != (first.schedule, first.microbatches):
        raise ConstraintError(
            f"one pipeline has one schedule: constraint {first} says {first.schedule} of {first.microbatches} "
            f"microbatches, constraint {rule} {rule.schedule} of {rule.microbatches}",
            rule.origin,
        )
    if graph.memory_unit != graph.size_unit:
        raise ConstraintError(
            f"constraint {rule} adds up tensors and parameters, and here memory and tensors have different units",
            rule.origin,
        )


def check_shards(
    objectives: Sequence[Objective],
    devices: Sequence[Device],
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> None:
    """Check every ``shard``: its sizes, its speed-ups, and that loads of groups are defined.

    Raises:
        ConstraintError: sizes that no group can have; a device in two of them; an objective, an interconnect or a
            labelled constraint that is about single devices.
    """
    rules = [c for c in constraints if isinstance(c, Shard)]
    seen: dict[int, Shard] = {}
    for rule in rules:
        members = range(len(devices)) if rule.devices is None else rule.devices
        if not rule.by or any(t < 1 for t in rule.by) or list(rule.by) != sorted(set(rule.by)):
            raise ConstraintError(
                f"constraint {rule}: the sizes of groups are whole numbers from 1, ascending; not {[*rule.by]}",
                rule.origin,
            )
        if min(rule.by) > len(members):
            raise ConstraintError(f"constraint {rule}: there are {len(members)} devices for its groups", rule.origin)
        if rule.speedup and (len(rule.speedup) != len(rule.by) or not all(0 < s < float("inf") for s in rule.speedup)):
            raise ConstraintError(
                f"constraint {rule}: every size of a group has one speed-up, a number above zero", rule.origin
            )
        if rule.by[0] == 1 and rule.speedup and rule.speedup[0] != 1:
            raise ConstraintError(f"constraint {rule}: the speed-up of one device is 1", rule.origin)
        for d in members:
            if d in seen:
                raise ConstraintError(f"{devices[d].name} is in constraint {seen[d]} already", rule.origin)
            seen[d] = rule
    if rules:
        reason = _no_groups(objectives, interconnect, constraints)
        if reason is not None:
            raise ConstraintError(f"constraint {rules[0]} lets several devices share a node: {reason}", rules[0].origin)


def _no_groups(
    objectives: Sequence[Objective], interconnect: Interconnect, constraints: Sequence[Constraint]
) -> str | None:
    """Return why the load of a group of devices is not defined, or None."""
    for objective in objectives:
        if objective.is_linear or objective.timed or objective.quantity == "sum of bottlenecks" or objective.batch:
            return f"'{objective}' is not defined of that; minimize bottleneck or iteration"
    if interconnect.keyword not in ("shared", "host"):
        return f"that needs interconnect shared or host, not {interconnect.keyword}"
    if getattr(interconnect, "between", None) is not None:
        return "that is not defined where the network between groups of devices is slower"
    if getattr(interconnect, "overflow", False):
        return "that is not defined of parameters that are streamed; say 'constraint memory' in place of overflow"
    if any(isinstance(c, (Copies, Repeat)) for c in constraints):
        return "that does not go with plans of several routes, or in which nodes run again"
    labelled = next((c for c in constraints if isinstance(c, Linear)), None)
    if labelled is not None:
        return f"constraint {labelled} counts nodes and loads on single devices"
    return None
