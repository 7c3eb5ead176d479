"""The unit of a model's costs, and what is known of them before any solver runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
)
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem

TARGET = 100.0
"""What the simple lower bound becomes: a solver's absolute tolerance of 1e-6 is then 1e-8 of the cost."""

FINEST = 1e-6
"""A floor below this share of the largest cost is none to measure by."""

COARSE = 1e-4
"""Then the largest is TARGET / COARSE units, 1e6: with coefficients of 1e8 HiGHS has called optimal what was not."""

FEASIBILITY = 1e-6
"""Solvers' tolerance of a row, and of a whole number."""

HARMLESS = (Acyclic, BreakSymmetry, Contiguous, Colocate, Forbid, Memory, Pin)


@dataclass(frozen=True)
class Scale:
    """How a model measures cost.

    Attributes:
        unit: the model's costs times this are the problem's.
        floor: no plan costs less (archer2024, Lemma 3.3), in the problem's unit.
        ceiling: the best plans cost less than this, in the problem's unit; ``inf`` where unknown. No
            coefficient need be larger: a tensor that costs more is not cut by a best plan, with either cost.
    """

    unit: float
    floor: float
    ceiling: float

    @property
    def most(self) -> float:
        """The ceiling in the model's unit."""
        return self.ceiling / self.unit

    def tensor_costs(self, problem: Problem) -> Floats:
        """Return [n] what one payment of each tensor is in the model."""
        cost: Floats = np.minimum(problem.tensor_time, self.ceiling) / self.unit
        return cost

    @property
    def margin(self) -> float:
        """What to take off a solver's dual bound, in the model's unit.

        That is the tolerance of a row. Where work is so small beside tensors or streaming that it is below the
        resolution, a binary that is off by its tolerance moves a cost by more than the work: then the largest
        such move.
        """
        fine = self.unit <= self.floor / TARGET * (1 + 1e-9)
        return FEASIBILITY if fine else FEASIBILITY * TARGET / COARSE


def scheduled(floor: float, ceiling: float) -> Scale:
    """Return the unit of a model of schedules: none is shorter than *floor*, the best no longer than *ceiling*.

    Binaries that are off by a solver's tolerance loosen rows with an M, which lowers a bound: they take no margin.
    """
    floor *= 1 - 1e-9
    floor = floor if np.isfinite(floor) else 0.0
    unit = (floor if floor >= COARSE * ceiling else ceiling) / TARGET
    return Scale(unit=float(unit) or 1.0, floor=floor, ceiling=ceiling)


def floor_of(least_work: Floats, k: int) -> float:
    """Return what the largest load on *k* devices is not below: the largest share, or an equal one."""
    return float(max(least_work.max(initial=0.0), least_work.sum() / k))


def scale_of(problem: Problem, least_work: Floats, ceiling: float | None = None) -> Scale:
    """Return the scale of the models of *problem*.

    Args:
        problem: what is asked.
        least_work: [nodes] of the model, the time of each where it is fastest.
        ceiling: of the model's own optimum, if known.
    """
    floor = floor_of(least_work, problem.k)
    ceiling = _ceiling(problem) if ceiling is None else ceiling
    streamed = np.maximum(problem.graph.params.sum() - problem.overflow_limit, 0.0).max() / problem.channel.bandwidth
    tensors = np.minimum(problem.tensor_time, ceiling).max(initial=0.0)
    largest = max(streamed, tensors)
    unit = (floor if floor >= FINEST * largest else COARSE * largest) / TARGET
    return Scale(unit=float(unit) or 1.0, floor=float(floor), ceiling=float(ceiling))


def _harmless(constraint: Constraint) -> bool:
    """Return whether everything may be on any one device that has room for it and may have it."""
    if isinstance(constraint, InOrder):
        return constraint.empty == "allowed"
    return isinstance(constraint, HARMLESS)


def _ceiling(problem: Problem) -> float:
    """Return a little more than the cost of everything on one device, if some device may have everything."""
    if not problem.objective.covers_loads or not all(_harmless(constraint) for constraint in problem.constraints):
        return float("inf")
    graph = problem.graph
    over = np.maximum(graph.params.sum() - problem.overflow_limit, 0.0) / problem.channel.bandwidth
    costs = np.where(problem.holds_all, problem.time.sum(axis=0) + over, np.inf)
    least = float(costs.min())
    return 1.1 * least if least else float("inf")  # above the optimum, strictly
