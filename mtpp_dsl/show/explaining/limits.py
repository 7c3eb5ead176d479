"""Simple reasons why no plan can cost less: a single node, all work over all devices, the longest path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.called import called, called_all

__all__ = ["Limit", "limits_of"]

STEPS = 200
"""Of the search for the weights of devices by which all work is a lower bound."""


@dataclass(frozen=True, repr=False)
class Limit(Short):
    """One reason why the cost of every plan is at least *cost*.

    Attributes:
        kind: one node by itself; all work, spread as evenly as the devices' times allow; the longest path, each of
            whose nodes is on its fastest device.
        cost: no plan costs less.
        nodes: the node, or those of the path.
        device: where the node takes so long, and nowhere less; "" for the others.
    """

    kind: Literal["node", "work", "path"]
    cost: float
    nodes: tuple[str, ...] = ()
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"kind": self.kind, "cost": self.cost, "nodes": list(self.nodes), "device": self.device or None}

    def words(self) -> str:
        """Return what takes so long in words."""
        if self.kind == "node":
            where = f"on {called(self.device)}, and no device that may run it is faster"
            return f"{called(self.nodes[0])} alone takes so long {where}"
        if self.kind == "work":
            return "all work spread evenly over all devices, with nothing to send"
        return f"the longest path, with each node on its fastest device: {called_all(self.nodes)}"


def limits_of(problem: Problem) -> list[Limit]:
    """Return the limits that hold for the first objective of a problem, the highest first.

    They count running times alone, where each node may run, and hold whatever is paid for soft rows. Nodes that may be
    split over several devices have none, nor have sums, linear objectives and batches.
    """
    quantity = problem.objective.quantity
    if any(problem.shard) or problem.objective.batch is not None or not problem.graph.n:
        return []
    time = np.where(problem.allowed, problem.time, np.inf)
    least = time.min(axis=1)
    if not np.isfinite(least).all():
        return []
    shared_inputs = any(problem.replicate) or any(c.enlarges for c in problem.constraints)
    found: list[Limit] = []
    if quantity in ("bottleneck", "sum of bottlenecks", "makespan", "iteration", "separate iteration"):
        many = problem.objective.microbatches or 1 if problem.objective.is_iteration else 1
        if not shared_inputs:
            v = int(least.argmax())
            where = problem.devices[int(time[v].argmin())].name
            found.append(Limit("node", many * float(least[v]), (problem.graph.names[v],), where))
        if quantity != "makespan" or problem.interconnect.keyword == "links":
            found.append(Limit("work", many * _spread(time)))
    if quantity == "makespan":
        found.append(_path(problem, least))
    return sorted(found, key=lambda limit: -limit.cost)


def _spread(time: Floats) -> float:
    """Return a value that the largest work of a device is not below, however nodes are split over devices.

    For weights y of the devices that add up to 1, it is at least ``sum over v of min over d of y_d time[v, d]``. The
    weights are searched for by multiplicative updates; any of them give a bound.
    """
    k = time.shape[1]
    weights = np.full(k, 1.0 / k)
    best = 0.0
    for step in range(STEPS):
        with np.errstate(invalid="ignore"):
            weighted = np.where(np.isfinite(time), time * weights, np.inf)
        chosen = weighted.argmin(axis=1)
        value = float(weighted[np.arange(len(time)), chosen].sum())
        best = max(best, value)
        load = np.bincount(chosen, weights=time[np.arange(len(time)), chosen], minlength=k)
        if load.max() <= 0 or np.ptp(load) == 0:
            break
        weights = np.maximum(
            weights * np.exp((load / load.max() - load.mean() / load.max()) / (1 + step) ** 0.5), 1e-12
        )
        weights /= weights.sum()
    return best * (1 - 1e-12)


def _path(problem: Problem, least: Floats) -> Limit:
    """Return the longest path, with every node as fast as anywhere."""
    graph = problem.graph
    ends, before = np.array(least), np.full(graph.n, -1, np.int64)
    order = graph.topological_order.tolist()
    for u in order:
        for v in graph.heads[graph.offsets[u] : graph.offsets[u + 1]].tolist():
            if ends[u] + least[v] > ends[v]:
                ends[v], before[v] = ends[u] + least[v], u
    path = [int(ends.argmax())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return Limit("path", float(ends.max()), tuple(graph.names[v] for v in reversed(path)))
