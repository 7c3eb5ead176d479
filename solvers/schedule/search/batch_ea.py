"""The biased (1+1) evolutionary algorithm on batches: method ``ea``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.batch_tasks import BatchInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister, mean_carry, mean_time
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward
from mtpp_dsl.solvers.schedule.search.batch_mutation import EVOLVE, draws_of
from mtpp_dsl.solvers.schedule.search.batch_starts import incumbent_of, result_of, somewhere
from mtpp_dsl.solvers.schedule.search.evolution import MIN_PATIENCE, evolve
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField, field_of, is_plan, order_of, recount, state_of
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of

__all__ = ["evolve_batches"]

PENALTY = 0.2
"""Of a device twice over its limit, as a share of the first makespan, nearly."""


def evolve_batches(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Mutate a schedule of a batch until done or stopped, and return the best plan.

    The parent is at first what ``met`` makes, or any spreads of supported sizes.

    Args:
        problem: a batched throughput.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: children in a row, per supernode and device, without a shorter schedule, after which it ends.
    """
    instance = BatchInstance.of(problem)
    incumbent = incumbent_of("ea", instance, limits, progress)
    field = field_of(instance)
    incumbent.take_start()
    if field is None or instance.n == 0 or incumbent.done:
        return result_of(incumbent)
    order = in_order(instance.graph, upward(instance.graph, mean_time(instance), mean_carry(instance)))
    state = state_of(field, _first(incumbent, instance, field, progress.say), np.zeros((instance.n, instance.k)))
    trial = trial_of(field, state)
    draws = np.empty(max(1 << 16, 4 * draws_of(instance.k, instance.chunks)))
    patience = max(MIN_PATIENCE, patience * len(field.may) * problem.k)
    run = EVOLVE.pick(patience * (instance.n + instance.m), progress.say)
    run(draws, 1, 1.0, field, state, trial, order)
    penalty = PENALTY * float(trial.cost[0]) or 1.0
    state.cost[0] = np.inf  # to be timed anew, with the penalty that follows from the first makespan
    place = np.empty(instance.n)
    place[order] = np.arange(instance.n)
    priority = np.repeat(place[:, None], instance.k, axis=1)

    def children(count: int) -> int:
        tried = run(draws, count, penalty, field, state, trial, order)
        recount(field, state)
        return tried

    def plan() -> Plan | None:
        return instance.plan(state.home[field.group], priority) if is_plan(field, state) else None

    evolve(incumbent, patience, np.random.default_rng(limits.seed), draws, children, state.cost, plan)
    return result_of(incumbent)


def _first(incumbent: Incumbent, instance: BatchInstance, field: BatchField, say: Callable[[str], None]) -> Ints:
    """Return the devices of the plan to start from, if it is feasible, else as ``met`` places nodes, else any."""
    if incumbent.plan is None:
        lister = BatchLister.of(instance, lambda: None, say)
        plan = lister if isinstance(lister, str) else lister.schedule("met")
        if isinstance(plan, str) or not incumbent.take(plan):
            return somewhere(field, instance)
    assert incumbent.plan is not None
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = order_of(instance, incumbent.plan)[0]
    return home
