"""The biased (1+1) evolutionary algorithm on one sample: method ``ea``."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.list_rules import met, upward_ranks
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order
from mtpp_dsl.solvers.schedule.search.evolution import MIN_PATIENCE, evolve
from mtpp_dsl.solvers.schedule.search.sample_mutation import EVOLVE
from mtpp_dsl.solvers.schedule.search.sample_starts import incumbent_of
from mtpp_dsl.solvers.schedule.search.sample_state import field_of, plan_of

__all__ = ["evolve_sample"]


def evolve_sample(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Mutate a schedule of one sample until done or stopped, and return the best plan.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per supernode and device, without a shorter schedule, after which it ends.
    """
    instance = ScheduleInstance.of(problem)
    incumbent = incumbent_of("ea", instance, limits, progress)
    field = field_of(instance)
    first = _first(incumbent, instance, limits)
    if first is None or not instance.n:
        return incumbent.result()
    order = in_order(instance.graph, upward_ranks(instance))
    home = np.zeros(len(field.need), np.int64)
    home[field.group] = first
    patience = max(MIN_PATIENCE, patience * len(home) * problem.k)
    run = EVOLVE.pick(patience * (instance.n + instance.m), progress.say)
    draws, cost = np.empty(max(1 << 16, 8 * len(home))), np.full(1, np.inf)

    def children(count: int) -> int:
        return run(draws, count, field, order, home, cost)

    def plan() -> Plan:
        return plan_of(instance, order, home[field.group])

    evolve(incumbent, patience, np.random.default_rng(limits.seed), draws, children, cost, plan)
    return incumbent.result()


def _first(incumbent: Incumbent, instance: ScheduleInstance, limits: Limits) -> Ints | None:
    """Return the devices of the plan to start from, if it is feasible, else of what ``met`` makes; None without one."""
    start = limits.start
    if start is not None and incumbent.take(start):
        return np.array(start.assignment)
    lister = Lister.of(instance)
    if lister is None:
        incumbent.note("no way was found to give every node a device within memory, links and the constraints")
        return None
    plan = met(lister)
    return np.array(plan.assignment) if incumbent.take(plan) else None
