"""Join the schedules of modules: first one after another, then as early as their order allows."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.schedule.splitting.boundary_states import BoundaryStep
from mtpp_dsl.solvers.schedule.splitting.same_modules import SameModules

__all__ = ["budgets", "joined"]

SPARE = 1e-12
"""Taken off what memory is left, as a share: budgets add up to no more than there is."""


def joined(problem: Problem, classes: SameModules, last: BoundaryStep) -> Plan:
    """Return the plan of a path through all modules: with their devices and order, without waits at boundaries."""
    steps: list[BoundaryStep] = []
    at: BoundaryStep | None = last
    while at is not None and at.table is not None:
        steps.append(at)
        at = at.before
    graph, first = problem.graph, steps[-1].table
    assert first is not None
    device = np.zeros((graph.n, first.device.shape[1]), np.int64)
    start = np.full((graph.n, first.start.shape[1]), np.nan)
    sent = np.full(graph.m, np.nan)
    for member, step in zip(classes.members, reversed(steps), strict=True):
        assert step.table is not None
        assert step.before is not None
        own = slice(classes.firsts[member.of].reads, None)
        device[member.nodes[own]] = step.table.device[own]
        start[member.nodes[own]] = step.table.start[own] + step.before.cost
        sent[member.edges] = step.table.sent + step.before.cost
    if problem.objective.batch is not None:
        return BatchInstance.of(problem).plan(device, np.nan_to_num(start))
    return timed(
        ScheduleInstance.of(problem), device[:, 0], start[:, 0], np.where(np.isnan(sent), start[graph.heads, 0], sent)
    )


def budgets(problem: Problem, modules: tuple[Ints, ...], plan: Plan) -> Floats:
    """Return [modules, devices] the memory that each module may use on every device, so that *plan* stays possible.

    Each gets what it uses in *plan*, and a share of the rest in proportion to the memory of its nodes.
    """
    needs = _needs(problem, plan)
    used = np.array([needs[nodes].sum(axis=0) for nodes in modules])
    spare = np.maximum(problem.memory_limit - used.sum(axis=0), 0.0) * (1 - SPARE)
    weight = np.array([problem.graph.memory[nodes].sum() for nodes in modules])
    share = weight / weight.sum() if weight.sum() > 0 else np.full(len(modules), 1 / len(modules))
    with np.errstate(invalid="ignore"):
        room: Floats = used + np.where(share[:, None] > 0, spare * share[:, None], 0.0)
    return np.where(np.isinf(problem.memory_limit), np.inf, room)


def _needs(problem: Problem, plan: Plan) -> Floats:
    """Return [n, devices] the memory of the nodes."""
    if plan.batches is None:
        taken: Floats = problem.graph.memory[:, None] * (plan.assignment[:, None] == np.arange(problem.k))
        return taken
    batching = problem.batching
    sizes = plan.batches.sizes
    found: Floats = batching.weights[:, None] * (sizes > 0) + batching.share[:, None] / batching.chunk * sizes
    return found
