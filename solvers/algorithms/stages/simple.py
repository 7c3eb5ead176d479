"""Bounds on stages that need no search: the least times of the nodes, each on its best shape."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.build import load_rows, stage_table
from mtpp_dsl.solvers.algorithms.stages.outside import first_bounds

__all__ = ["iteration_of", "simple_stages", "staged_bounds"]

DETAIL = "the least times of all nodes, each on its best shape, over all devices; and the costliest node"
FIRST = "; for every microbatch but one, and the sum of the least times for that"


def staged_bounds(problem: Problem) -> tuple[float, float]:
    """Return numbers that no plan's largest load, and no plan's sum of loads, is below.

    Both are ``inf`` where some node fits on no device whatever the number of stages.
    """
    nodes = hypergraph(problem)
    none = np.zeros(nodes.n)
    supernodes = OrderedSupernodes(nodes.members, np.zeros((nodes.n, 1)), nodes.memory, none, ())
    types = device_types(problem)
    table = stage_table(problem, types, supernodes, load_rows(problem, types), problem.k, TOLERANCE)
    room = table.room * (1 + TOLERANCE * (1 + TOLERANCE))
    return first_bounds(table.with_room(room))


def iteration_of(problem: Problem, largest: float, total: float) -> float:
    """Return what an iteration costs at least, from bounds on the largest load and the sum of loads."""
    return ((problem.objective.microbatches or 1) - 1) * largest + total


def simple_stages(problem: Problem, name: str, limits: Limits, progress: Progress) -> Result:
    """Return the bound of method *name*; none where some node fits nowhere, which a search has to show."""
    largest, total = staged_bounds(problem)
    if np.isinf(largest):
        return progress.result(name, limits, "complete")
    iteration = problem.objective.is_iteration
    cost = iteration_of(problem, largest, total) if iteration else largest
    bound = Bound(cost, method=name, proof="checked", by="mtpp", detail=DETAIL + (FIRST if iteration else ""))
    progress.report_bound(bound)
    return progress.result(name, limits, "complete", bound=bound)
