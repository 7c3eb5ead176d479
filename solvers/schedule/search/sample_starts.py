"""Make what searches for schedules of one sample start from: an incumbent, and schedules that are quickly made."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.least_load import nowhere
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.algorithms.windows.shortest import shortest
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.list_rules import greedy, heft, peft
from mtpp_dsl.solvers.schedule.list.list_run import Lister

__all__ = ["incumbent_of", "starts", "take_starts"]

MEND_SHARE, MEND_SECONDS = 0.05, 2.0
"""Of the time left, and at most, for moving nodes of one schedule until the labelled rows hold."""
EXCEEDS = "a device holds more than its memory, by less than the check of plans lets pass"


def incumbent_of(method: str, instance: ScheduleInstance, limits: Limits, progress: Progress) -> Incumbent:
    """Return the incumbent of a run, which refuses plans that exceed a memory by however little.

    It knows the bound by the longest path and by shares of the work, so that the run ends with a plan that costs as
    much.
    """
    problem = instance.problem
    proved = (nowhere(problem, Limits(), Progress()) or shortest(problem, "simple", Limits(), Progress())).bound

    def misfit(plan: Plan) -> str | None:
        used = np.bincount(plan.assignment, weights=instance.memory, minlength=instance.k)
        return None if (used <= instance.limit).all() else EXCEEDS

    known = 0.0 if proved is None else proved.cost
    return Incumbent(method, problem, limits, progress, known=known, misfit=misfit)


def take_starts(incumbent: Incumbent, instance: ScheduleInstance, limits: Limits, progress: Progress) -> Plan | None:
    """Take the plan to start from, and schedules that are quickly made, as far as they are feasible.

    Under labelled rows nodes of schedules that break them are moved. Returns the best plan; without any the first
    schedule that only the rows keep from being one, or None.
    """
    incumbent.take_start()
    found = starts(instance, limits, progress)
    broken = [plan for plan in found if not incumbent.take(plan)]
    problem = instance.problem
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


def starts(instance: ScheduleInstance, limits: Limits, progress: Progress) -> list[Plan]:
    """Return schedules of list schedulers, and of single devices; they may break a constraint."""
    found: list[Plan] = []
    lister = Lister.of(instance)
    for scheduler in (heft, greedy, peft) if lister is not None else ():
        if found and progress.ended(limits) is not None:
            break
        assert lister is not None
        found.append(scheduler(lister))
    able = np.flatnonzero(np.isfinite(instance.time).all(axis=0)).tolist()
    return [*found, *(timed(instance, np.full(instance.n, d), np.zeros(instance.n)) for d in able)]
