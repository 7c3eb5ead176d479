"""The least cost of any plan, and what an answer is worth, whatever the family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.tools.fuzzer import batches, loads, schedules, subgraphs
from tests.tools.fuzzer.instance import Instance

__all__ = ["judge", "optimum"]


def optimum(inst: Instance, slack: float = 1e-9) -> float | None:
    """Return the least cost, or None where there is no plan; constraints may be missed by a relative *slack*."""
    if inst.objective == "batch":
        return batches.best(inst, slack)
    if inst.objective == "makespan":
        return (schedules if inst.network == "links" else subgraphs).best(inst, slack)
    return loads.best(inst, slack)


def judge(inst: Instance, plan: Mapping[str, Any], slack: float = 1e-6) -> tuple[float, list[str]]:
    """Return what a plan, as the JSON answer has it, costs, and all that it breaks."""
    if inst.objective == "batch":
        return batches.cost(plan), list(batches.broken(inst, plan, slack))
    if inst.objective == "makespan":
        module = schedules if inst.network == "links" else subgraphs
        return module.cost(plan), list(module.broken(inst, plan, slack))
    place = {device.name: d for d, device in enumerate(inst.devices)}
    where = [place[plan["assignment"][node.name]] for node in inst.nodes]
    given = plan["replicas"] or {}
    replicas = {place[lead]: tuple(place[d] for d in members) for lead, members in given.items()}
    return loads.cost(inst, where, replicas), list(loads.broken(inst, where, replicas, slack))
