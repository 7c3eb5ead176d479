"""Say whether each plan of one problem is a plan of a smaller one, too, by sizes, times and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    Blocks,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Decision,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Separate,
    StageMemory,
    Used,
)
from mtpp_dsl.core.problem.problem import Problem

_OF_PLACES = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, InOrder, Pin, Separate)
"""Constraints that ask nothing of sizes or times."""
_OF_SIZES = (Memory, StageMemory)
"""Constraints that a plan keeps where sizes are smaller."""
_AMOUNTS = ("params", "output", "memory", "workspace", "sizes", "saved", "state")


def why_not_larger(one: Problem, other: Problem) -> str:
    """Return why a plan of *other* may be none of *one*; "" where each plan of *other* is a plan of *one*.

    That is so where the two have the same nodes, edges, devices and constraints, nothing takes more memory or time in
    *one*, no device has less room there, and no constraint asks for much rather than for little. It says nothing of
    which plan is better.
    """
    if one.objective.timed or other.objective.timed:
        return "plans have schedules"
    same = ("names", "kinds", "colors", "backward", "tails", "heads")
    if not all(_alike(getattr(one.graph, name), getattr(other.graph, name)) for name in same):
        return "the graph has other nodes or edges"
    if [device.name for device in one.devices] != [device.name for device in other.devices]:
        return "there are other devices"
    for device, larger in zip(one.devices, other.devices, strict=True):
        if device.room < larger.room:
            return f"the room on {device.name} grows, too"
        if replace(device, memory=None, reserve=0.0) != replace(larger, memory=None, reserve=0.0):
            return f"device {device.name} differs in more than its room"
    if not _alike(one.interconnect, other.interconnect):
        return "the interconnect differs"
    return next(_of_constraints(one, other), "") or next(_of_amounts(one, other), "")


def _of_constraints(one: Problem, other: Problem) -> Iterator[str]:
    """Yield which constraints differ, or may be kept by a larger problem alone."""
    if _without_blocks(one) != _without_blocks(other):
        yield "the constraints differ"
        return
    for rule in one.constraints:
        if isinstance(rule, Linear):
            if rule.penalty is None and not _asks_for_little(rule):
                yield f"constraint {rule.label} does not only limit loads from above"
        elif not isinstance(rule, (*_OF_PLACES, *_OF_SIZES)):
            yield f"constraint {rule.keyword} may be kept where sizes are larger, and broken where they are smaller"


def _without_blocks(problem: Problem) -> list[Constraint]:
    """Return the constraints without what caches are for: how many tokens a cache holds keeps no plan away."""
    return [replace(rule, pool=Blocks()) if isinstance(rule, Memory) and rule.pool else rule
            for rule in problem.constraints]  # fmt: skip


def _asks_for_little(rule: Linear) -> bool:
    """Return whether a row is kept where loads are smaller, and nodes are where they were."""
    sign = -1.0 if rule.sense == ">=" else 1.0
    moving = [(decision, factor) for decision, factor in rule.terms if not isinstance(decision, (On, Used))]
    return not moving or (rule.sense != "==" and all(_rises(one, sign * factor) for one, factor in moving))


def _rises(decision: Decision, factor: float) -> bool:
    """Return whether *factor* times a decision falls, or stays, where all loads do."""
    if isinstance(decision, (Bottleneck, Latency, Load)):
        return factor >= 0
    if isinstance(decision, Largest):
        inner = (term for terms, _ in decision.sums for term in terms)
        return factor >= 0 and all(isinstance(d, (On, Used)) or _rises(d, f) for d, f in inner)
    return False


def _of_amounts(one: Problem, other: Problem) -> Iterator[str]:
    """Yield what is larger in *one*: an amount of a node, or its time on a device."""
    pairs: Iterable[tuple[Problem, Problem]] = [(one, other)]
    if one.phased:
        if one.phases != other.phases:
            yield "the phases differ"
            return
        pairs = [(one.each_phase[name], other.each_phase[name]) for name in one.phases]
    for small, large in pairs:
        for name in _AMOUNTS:
            falls = np.flatnonzero(getattr(small.graph, name) > getattr(large.graph, name))
            if falls.size:
                where = small.graph.tails[falls[0]] if name == "sizes" else falls[0]
                yield f"{'size of an edge' if name == 'sizes' else name} falls at {small.graph.names[where]}"
        slower = np.argwhere(small.time > large.time)
        if slower.size:
            v, d = slower[0].tolist()
            yield f"the time of {small.graph.names[v]} on {small.devices[d].name} falls"


def _alike(one: Any, other: Any) -> bool:
    """Return whether two values are equal, arrays and dataclasses with arrays in them too."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if type(one) is not type(other):
        return False
    if is_dataclass(one) and not isinstance(one, type):
        return all(_alike(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
