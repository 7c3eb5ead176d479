"""Which constraints of an infeasible problem clash: a deletion filter over the problem's own constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import BatchSizes, Constraint, Linear, Repeat, Shard
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Formulation
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.mip.one_model import solve_one

ALL = 30.0
EACH = 5.0
"""Seconds for the whole filter, and for each of its questions."""


def explain(
    problem: Problem,
    formulation: Formulation,
    backend: Backend,
    limits: Limits,
    progress: Progress,
    beside: str = "",
) -> Infeasibility:
    """Return constraints of *problem*, known to be infeasible, that cannot hold together.

    Each is dropped in turn, and stays dropped if the rest is still infeasible. ``minimal`` is True if every
    question was answered in time: then the rest minus any one of them has a plan. Batch sizes stay: without them there
    are other batches; and so does what only allows more plans: that there is none without it proves nothing of the
    others. Of a formulation with rows of its own, *beside* says which plans it speaks of.

    Raises:
        SolverError: the backend calls even the problem without constraints infeasible, wrongly.
    """
    budget = limits.within(ALL, gap=1.0, start=None, write_model=None)
    sizes: list[Constraint] = list(problem.of(BatchSizes)) if problem.objective.batch is not None else []
    sizes += [constraint for constraint in problem.constraints if _allows(constraint)]
    kept = items([constraint for constraint in problem.constraints if constraint not in sizes])
    minimal = True
    for item in list(kept):
        rest = [other for other in kept if other is not item]
        constraints = [constraint for group in rest for constraint in group]
        if progress.stopped or budget.remaining <= 0:
            minimal = False
            break
        answer = _feasible(problem.with_constraints([*sizes, *constraints]), formulation, backend, budget, progress)
        if answer is False:
            kept = rest
        minimal &= answer is not None
    if not kept and beside and _possible(problem):
        return Infeasibility(f"there are none {beside}, whatever the constraints of the problem")
    if not kept and _possible(problem):
        raise SolverError(
            f"{backend.name} calls the model infeasible, and without its constraints there is a plan: a numerical "
            "failure; try another --solver"
        )
    if not kept and _unlinked(problem):
        return Infeasibility("no plan exists, whatever the constraints: nothing joins devices that have to be joined")
    if not kept and problem.objective.batch is not None:
        return Infeasibility("no batches that devices support make up all inputs of some node", tuple(map(str, sizes)))
    if not kept:
        return Infeasibility("no plan exists, whatever the constraints: some node has no device that can run it")
    number = "this constraint cannot" if len(kept) == 1 else f"these {len(kept)} constraints cannot all"
    return Infeasibility(
        f"{number} hold{beside and f' in any {beside}'}", tuple(_shown(group) for group in kept), minimal
    )


def items(constraints: Sequence[Constraint]) -> list[tuple[Constraint, ...]]:
    """Return *constraints* in the groups in which they were written: a statement and all that it expands to."""
    groups: dict[Any, list[Constraint]] = {}
    for number, constraint in enumerate(constraints):
        label = constraint.label.split("[")[0] if isinstance(constraint, Linear) else ""
        written = (label, constraint.origin) if label or constraint.origin else number
        groups.setdefault((type(constraint), written), []).append(constraint)
    return [tuple(group) for group in groups.values()]


def _allows(constraint: Constraint) -> bool:
    """Return whether *constraint* only allows more plans: every plan without it is one with it."""
    return isinstance(constraint, Repeat) or (isinstance(constraint, Shard) and 1 in constraint.by)


def _possible(problem: Problem) -> bool:
    """Return whether *problem* has a plan for certain, but for its constraints."""
    if problem.objective.batch is not None:
        return bool(np.isfinite(problem.batching.time[:, :, problem.batching.count]).all(axis=0).any())
    return bool(np.isfinite(problem.time).any(axis=1).all()) and not _unlinked(problem)


def _unlinked(problem: Problem) -> bool:
    """Return whether some devices have no way between them, for some edge."""
    if not isinstance(problem.interconnect, Links):
        return False
    return not (np.isfinite(problem.transfers.table).all() and np.isfinite(problem.transfers.latency).all())


def _shown(group: Sequence[Constraint]) -> str:
    first = group[0]
    if len(group) == 1 or not isinstance(first, Linear):
        return str(first)
    where = f" ({first.origin})" if first.origin else ""
    return f"{first.label.split('[')[0]}{where}"


def _feasible(
    problem: Problem, formulation: Formulation, backend: Backend, budget: Limits, progress: Progress
) -> bool | None:
    """Return whether *problem* has a plan, or None if that took too long to tell or cannot be formulated."""
    if quick(problem) is not None:
        return False
    if formulation.accepts(problem) is not None:
        return None
    solved = solve_one(formulation, backend, problem, budget.within(EACH), progress, lambda *_: None)
    if solved.outcome.termination == "infeasible":
        return False
    return True if solved.outcome.objective is not None else None
