"""State how list schedulers place nodes, and run one by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.list_run import NO_WAY, Lister, run_scheduler
from mtpp_dsl.solvers.schedule.list.ranks import (
    downward,
    in_order,
    mean_carry,
    mean_time,
    optimistic,
    upward,
    upward_ranks,
)
from mtpp_dsl.solvers.schedule.list.relaxation import getf, m_sct

__all__ = ["greedy", "heft", "list_schedule", "met", "peft"]


def met(lister: Lister) -> Plan:
    """Place nodes by their running time alone."""
    instance = lister.instance
    return lister.in_turn(in_order(instance.graph, upward_ranks(instance)), tier=instance.time)


def greedy(lister: Lister) -> Plan:
    """Place nodes in the graph's order, without insertion."""
    return lister.in_turn(lister.instance.graph.topological_order.copy(), insert=False)


def heft(lister: Lister) -> Plan:
    """Place nodes by upward rank and end."""
    return lister.in_turn(in_order(lister.instance.graph, upward_ranks(lister.instance)))


def cpop(lister: Lister) -> Plan:
    """Place ready nodes by the sum of both ranks."""
    instance = lister.instance
    takes, carry = mean_time(instance), mean_carry(instance)
    rank = upward(instance.graph, takes, carry) + downward(instance.graph, takes, carry)
    tier = np.zeros((instance.n, instance.k))
    path = critical_path(instance, rank)
    works = instance.time[path]
    unable = np.isinf(works).sum(axis=0)
    fastest = np.lexsort((np.where(np.isinf(works), 0.0, works).sum(axis=0), unable))[0]
    tier[np.ix_(path, np.arange(instance.k) != fastest)] = 1.0
    return lister.in_turn(in_order(instance.graph, rank), tier=tier)


def critical_path(instance: ScheduleInstance, rank: Floats) -> Ints:
    """Return the nodes of a path of the largest *rank* (upward plus downward), from a source on."""
    graph = instance.graph
    v = max(np.flatnonzero(np.diff(graph.offsets_in) == 0).tolist(), key=lambda u: float(rank[u]))
    path = [v]
    while len(graph.successors(v)):
        v = max(graph.successors(v).tolist(), key=lambda u: float(rank[u]))
        path.append(v)
    return np.array(path, np.int64)


def peft(lister: Lister) -> Plan:
    """Place ready nodes by their mean optimistic cost."""
    instance = lister.instance
    cost = optimistic(instance, mean_carry(instance))
    may = np.isfinite(instance.time)
    mean = np.where(may, cost, 0.0).sum(axis=1) / np.maximum(may.sum(axis=1), 1)
    return lister.in_turn(in_order(instance.graph, mean), bias=cost)


def etf(lister: Lister) -> Plan:
    """Break ties by upward ranks."""
    return lister.earliest(upward_ranks(lister.instance))


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

    def schedule(incumbent: Incumbent) -> Plan | str:
        lister = Lister.of(ScheduleInstance.of(problem), incumbent.pause)
        if lister is None:
            return NO_WAY
        return SCHEDULERS[name](replace(lister, limits=limits, say=progress.say, note=incumbent.note))

    return run_scheduler(Incumbent(name, problem, limits, progress), schedule)
