"""Whether two problems are equal in all that matters: not where they came from, nor in what has no effect in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Memory, Replicate, Separate, Shard
from mtpp_dsl.core.problem.devices import Device, Host, Links, Tree
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["differences"]

COLUMNS = ("tails", "heads", "work", "params", "output", "memory", "sizes", "colors", "backward")
COLUMNS += ("saved", "state", "reduce", "forward_share")


def differences(one: Problem, two: Problem) -> Iterator[str]:
    """Yield what differs between two problems, to the last bit."""
    pairs: dict[str, tuple[Any, Any]] = {
        "devices": ([_device(one, d) for d in one.devices], [_device(two, d) for d in two.devices]),
        "objectives": (one.objectives, two.objectives),
        "constraints": ([*dict.fromkeys(_rules(one))], [*dict.fromkeys(_rules(two))]),
        "unit of time": (one.time_unit, two.time_unit),
        "interconnect": (_joined(one), _joined(two)),
    }
    for what in ("names", "kinds", "labels", "work_unit", "memory_unit"):
        pairs[what] = getattr(one.graph, what), getattr(two.graph, what)
    if one.graph.output.any() or one.graph.sizes.any() or one.graph.params.any():
        pairs["size_unit"] = one.graph.size_unit, two.graph.size_unit
    for what, (left, right) in pairs.items():
        if left != right:
            yield f"{what}: {left!r:.300} against {right!r:.300}"
    arrays: dict[str, tuple[Any, Any]] = {
        column: (getattr(one.graph, column), getattr(two.graph, column)) for column in COLUMNS
    }
    arrays["time"] = one.time, two.time
    if isinstance(one.interconnect, Links) and isinstance(two.interconnect, Links):
        arrays["transfers"] = _carried(one), _carried(two)
    if one.objective.batch is not None and two.objective.batch is not None:
        arrays["times of batches"] = one.batching.time, two.batching.time
    for what, (left, right) in arrays.items():
        if not np.array_equal(left, right):
            yield f"{what}: {left!r:.300} against {right!r:.300}"


def _device(problem: Problem, device: Device) -> Device:
    """Return a device without what means nothing on another interconnect than ``host``."""
    return device if isinstance(problem.interconnect, Host) else replace(device, pays_io=True)


def _rules(problem: Problem) -> Iterator[Constraint]:
    """Yield the constraints that ask something, with all devices by number where they are about all."""
    for rule in problem.constraints:
        if isinstance(rule, (Memory, Replicate, Shard)):
            devices = range(problem.k) if rule.devices is None else rule.devices
            some = tuple(d for d in devices if not isinstance(rule, Memory) or problem.devices[d].memory is not None)
            if some:
                yield replace(rule, devices=some)
        elif isinstance(rule, (Colocate, Separate)):
            if len(rule.nodes) > 1:
                yield replace(rule, nodes=tuple(sorted(rule.nodes)))
        else:
            yield rule


def _joined(problem: Problem) -> object:
    links = problem.interconnect
    if isinstance(links, Links):
        return links.keyword, links.routing, links.split_options
    if isinstance(links, Tree):
        columns = (links.parents, links.uplink, links.latency, links.half)
        return links.switches, links.overlap, links.send, [column.tolist() for column in columns]
    return links


def _carried(problem: Problem) -> Any:
    """Return [m, devices, devices] what every edge takes between every two devices."""
    graph, found = problem.graph, problem.transfers
    return np.stack([found.of(e) for e in range(graph.m)]) if graph.m else np.zeros(0)
