"""One list schedule, by the name of its scheduler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.list.getf import getf
from mtpp_dsl.solvers.schedule.list.list_rules import cpop, etf, greedy, heft, met, peft
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.m_sct import m_sct

__all__ = ["SCHEDULERS", "list_schedule"]

SCHEDULERS: dict[str, Callable[[Lister], Plan]] = {
    "met": met,
    "greedy": greedy,
    "heft": heft,
    "cpop": cpop,
    "peft": peft,
    "etf": etf,
    "m-sct": m_sct,
    "getf": getf,
}


def list_schedule(name: str, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the schedule of the list scheduler *name*, or none, with a note that says why."""
    incumbent = Incumbent(name, problem, limits, progress)
    try:
        incumbent.pause()
        lister = Lister.of(ScheduleInstance.of(problem), incumbent.pause)
        if lister is None:
            incumbent.note("no way was found to give every node a device within memory, links and the constraints")
            return incumbent.result()
        lister = replace(lister, limits=limits, say=progress.say, note=incumbent.note)
        if not incumbent.take(SCHEDULERS[name](lister)):
            incumbent.note(f"the schedule found is none: {incumbent.broken}")
    except SearchEnded:
        incumbent.note("the time was up, or somebody stopped, before every node was placed")
    return incumbent.result()
