"""Make what searches for schedules start from: an incumbent, and schedules that are quickly made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.solvers.algorithms.least_load import nowhere
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.algorithms.windows.batch_bounds import batch_bound
from mtpp_dsl.solvers.algorithms.windows.climbing import shortest
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister
from mtpp_dsl.solvers.schedule.list.chunk_splits import alike, alone, parted
from mtpp_dsl.solvers.schedule.list.list_rules import greedy, heft, peft
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.state.batch_state import ROUNDING, BatchField

# One sample.

STARTS_SHARE = 0.2
"""Of the time left, that schedules to start from may take beyond the first that is a plan."""
MEND_SHARE, MEND_SECONDS = 0.05, 2.0
"""Of the time left, and at most, for moving nodes of one schedule until the labelled rows hold."""
EXCEEDS = "a device holds more than its memory, by less than the check of plans lets pass"


def sample_incumbent(method: str, instance: ScheduleInstance, limits: Limits, progress: Progress) -> Incumbent:
    """Return the incumbent of a run, which refuses plans that exceed a memory by however little.

    It knows a bound, without another that by the longest path and by shares of the work, so that the run ends with a
    plan that costs as much.
    """
    problem, proved = instance.problem, progress.bound
    if proved is None:
        proved = (nowhere(problem, Limits(), Progress()) or shortest(problem, "simple", Limits(), Progress())).bound

    def misfit(plan: Plan) -> str | None:
        used = np.bincount(plan.assignment, weights=instance.memory, minlength=instance.k)
        return None if (used <= instance.limit).all() else EXCEEDS

    known = 0.0 if proved is None else proved.cost
    return Incumbent(method, problem, limits, progress, known=known, misfit=misfit)


def take_starts(incumbent: Incumbent, instance: ScheduleInstance, limits: Limits) -> Plan | None:
    """Take the plan to start from, and schedules that are quickly made, as far as they are feasible.

    They may take a share of the time, beyond the first that is a plan. Under labelled rows nodes of schedules that
    break them are moved. Returns the best plan; without any the first schedule that only the rows keep from being one,
    or None.
    """
    incumbent.take_start()
    problem = instance.problem
    broken: list[Plan] = []
    until = (1 - STARTS_SHARE) * limits.remaining
    for plans, one_will_do in ((listed(instance), False), (on_one_device(instance), not problem.soft_rows)):
        while incumbent.plan is None or limits.remaining >= until:
            plan = next(plans, None)
            taken = plan is not None and incumbent.take(plan)
            broken += [] if taken or plan is None else [plan]
            if plan is None or (taken and one_will_do):
                break
    mender = Mender(problem)
    for plan in broken if problem.hard_rows else []:
        mended = mender.mended(plan, min(MEND_SECONDS, MEND_SHARE * limits.remaining))
        if mended is not None:
            incumbent.take(mended)
    if incumbent.plan is not None:
        return incumbent.plan
    incumbent.note("no schedule to start from was found; this does not prove that there is none")
    without = problem.with_constraints([one for one in problem.constraints if not isinstance(one, Linear)])
    return next((plan for plan in broken if problem.hard_rows and not verify(without, plan)), None)


def listed(instance: ScheduleInstance) -> Iterator[Plan]:
    """Yield schedules of list schedulers; they may break a constraint."""
    lister = Lister.of(instance)
    for scheduler in (heft, greedy, peft) if lister is not None else ():
        assert lister is not None
        yield scheduler(lister)


def on_one_device(instance: ScheduleInstance) -> Iterator[Plan]:
    """Yield schedules of single devices, the shortest first; they may break a constraint."""
    for d in np.argsort(instance.time.sum(axis=0), kind="stable").tolist():
        if np.isfinite(instance.time[:, d]).all():
            yield timed(instance, np.full(instance.n, d), np.zeros(instance.n))


# Batches.

BOUND_SHARE = 0.1
"""Of the time for the bound that ends a search."""


def batch_incumbent(method: str, instance: BatchInstance, limits: Limits, progress: Progress) -> Incumbent:
    """Return the incumbent of a run, which refuses plans that exceed a memory by more than rounding.

    It knows the bound by one input and by the work of all, so that the run ends with a plan that costs as much.
    """
    problem = instance.problem
    brief = limits.within(BOUND_SHARE * limits.remaining)
    proved = batch_bound(problem, "simple", "none", brief, Progress()).bound

    def misfit(plan: Plan) -> str | None:
        if plan.batches is None:
            return "it has no batches"
        size = plan.batches.sizes // instance.batching.chunk
        used = instance.batching.weights @ (size > 0) + instance.batching.share @ size
        return None if (used <= instance.limit * (1 + ROUNDING)).all() else EXCEEDS

    known = 0.0 if proved is None else proved.cost
    return Incumbent(method, problem, limits, progress, known=known, misfit=misfit)


def result_of(incumbent: Incumbent) -> Result:
    """Return what a run has found, with a note if it has found nothing."""
    if incumbent.plan is None:
        incumbent.note("no schedule was found; this does not prove that there is none")
    return incumbent.result()


def batch_starts(instance: BatchInstance, limits: Limits, progress: Progress) -> list[Plan]:
    """Return list schedules, and schedules with all nodes on the same devices; they may break a constraint."""

    def pause() -> None:
        if progress.ended(limits) is not None:
            raise SearchEnded

    rows = [np.full(instance.chunks, d) for d in alone(instance)]
    row = parted(instance)
    plans_made = [alike(instance, row) for row in (*rows, *([] if row is None else [row]))]
    with suppress(SearchEnded):
        lister = BatchLister.of(instance, pause, progress.say)
        plans = [] if isinstance(lister, str) else [lister.schedule(name) for name in ("heft", "greedy")]
        plans_made += [plan for plan in plans if not isinstance(plan, str)]
    return plans_made


def somewhere(field: BatchField, instance: BatchInstance) -> Ints:
    """Return [supernodes, chunks] devices that sizes and pins allow, the largest batches on the first devices."""
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    for c in range(len(home)):
        left = instance.chunks
        for d in range(instance.k):
            able = np.flatnonzero(field.may[c, d, : left + 1] & field.reach[field.kind[c], d + 1, left::-1])
            home[c, instance.chunks - left : instance.chunks - left + able[-1]] = d
            left -= int(able[-1])
    pinned = (instance.pins >= 0).all(axis=1)
    home[field.group[pinned]] = instance.pins[pinned]
    return home
