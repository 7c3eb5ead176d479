"""Bound the makespan of a module by its longest path."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance

__all__ = ["floor"]


def floor(problem: Problem) -> float:
    """Return the longest path, with every node on the device that makes it shortest.

    Of batches, each node has its fastest size, and transfers take no time.
    """
    if problem.objective.batch is not None:
        instance = BatchInstance.of(problem)
        least = instance.time[:, :, 1:].min(axis=(1, 2), initial=np.inf)
        return _longest(problem, np.repeat(least[:, None], problem.k, axis=1), moves=False)
    return _longest(problem, np.where(problem.allowed, problem.time, np.inf), moves=True)


def _longest(problem: Problem, time: Floats, *, moves: bool) -> float:
    graph = problem.graph
    ready = np.zeros((graph.n, problem.k))
    last = 0.0
    for v in graph.topological_order.tolist():
        end = ready[v] + time[v]
        last = max(last, float(end.min()))
        for e in range(int(graph.offsets[v]), int(graph.offsets[v + 1])):
            ways = end[:, None] + problem.transfers.of(e) if moves else end[:, None]
            if moves:
                np.fill_diagonal(ways, end)
            w = int(graph.heads[e])
            ready[w] = np.maximum(ready[w], ways.min(axis=0))
    return last
