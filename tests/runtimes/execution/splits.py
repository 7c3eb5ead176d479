"""Problems and plans of small models, whose stages are cut where a test wants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.graphs import graph_of
from mtpp_dsl.exchange.model.model import Model


def problem_of(model: Model, k: int, by: str = "layer") -> Problem:
    """Return the problem of a model on *k* equal devices, each node taking a second."""
    graph = graph_of(model, group_by=by, ties="copy").graph
    graph = replace(graph, costs=None, work=np.ones(graph.n), work_unit="s")
    devices = [Device(f"d{i}", type="gpu") for i in range(k)]
    return Problem.create(graph, devices, Shared(bandwidth=1e9))


def cut(problem: Problem) -> Plan:
    """Return the plan that gives each device as many nodes as the others, in their order."""
    return placed(problem, lambda i: i * problem.k // problem.graph.n)


def placed(problem: Problem, where: Callable[[int], int]) -> Plan:
    """Return the plan that has the node at place *i* of the order on device ``where(i)``."""
    assignment = np.zeros(problem.graph.n, np.int64)
    for i, v in enumerate(problem.graph.topological_order.tolist()):
        assignment[v] = where(i)
    return Plan.create(problem, assignment)
