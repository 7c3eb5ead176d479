"""Find a first plan under the limits of a runtime: the best of the simple splits that its target offers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.targets import Split, first_splits, target_called
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

SHARE, MOST_SECONDS = 0.2, 2.0
"""Of the time limit, and the seconds at most, that splits are checked and mended in."""


def wants_start(problem: Problem, method: Method) -> bool:
    """Return whether limits of the target are labelled rows, which few searches know, and *method* is ``auto``.

    Other methods show what they find by themselves.
    """
    target = problem.target
    if target is None or method.name != "auto":
        return False
    return any(isinstance(rule, Linear) for rule in problem.constraints[len(target.stated) :])


def first_plan(problem: Problem, time_limit: float | None, stopped: Callable[[], bool] = lambda: False) -> Plan | None:
    """Return the cheapest of the target's first splits that keeps all constraints; None where none does.

    Where none does, the one that breaks the fewest is mended: as few nodes as possible move.

    Args:
        problem: with a target.
        time_limit: seconds of the whole call.
        stopped: whether somebody has asked the whole call to stop.
    """
    assert problem.target is not None
    seconds = min(MOST_SECONDS, inf if time_limit is None else SHARE * time_limit)
    until = monotonic() + seconds
    checked = _Checked(problem)
    for split in first_splits(target_called(problem.target.name), problem, checked.cost):
        checked.cost(split)
        if monotonic() > until or stopped():
            break
    if checked.best is not None or checked.nearest is None or stopped():
        return checked.best
    mender = registry.built_in("mtpp_dsl.solvers.algorithms.mending:Mender")(problem)
    mended: Plan | None = mender.mended(checked.nearest, seconds)
    return None if mended is None or verify(problem, mended) else mended


class _Checked:
    """Checks splits, and keeps the best plan and the one that comes nearest to be one.

    Attributes:
        best: the cheapest that keeps all constraints.
        nearest: the one that breaks the fewest of them.
    """

    def __init__(self, problem: Problem) -> None:
        self.best: Plan | None = None
        self.nearest: Plan | None = None
        self._problem, self._least, self._fewest = problem, inf, inf
        self._costs = dict[tuple[int, ...], float]()

    def cost(self, split: Split) -> float:
        """Return what a split costs; inf where it breaks a constraint."""
        if split.assignment not in self._costs:
            self._costs[split.assignment] = self._checked(split)
        return self._costs[split.assignment]

    def _checked(self, split: Split) -> float:
        plan = Plan.create(self._problem, np.array(split.assignment, np.int64))
        cost = evaluate(self._problem, plan).cost
        if self._least <= cost < inf:
            return cost  # whether or not it is a plan, it is not the best
        broken = len(verify(self._problem, plan))
        if broken:
            self.nearest, self._fewest = (plan, broken) if broken < self._fewest else (self.nearest, self._fewest)
            return inf
        self.best, self._least = plan, cost
        return cost
