"""The list schedulers: an order or a rule for who is next, and a score for where."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Floats, Ints
from mtpp_dsl.solvers.runtime.results import Ended, Taker
from mtpp_dsl.solvers.schedule.list.batch_run import RULES, list_batches
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import downward, in_order, mean_carry, mean_time, optimistic, upward
from mtpp_dsl.views.batch_tasks import why_not as why_no_batches
from mtpp_dsl.views.tasks import Instance, why_not

__all__ = ["Cpop", "Etf", "Greedy", "Heft", "ListScheduler", "Met", "Peft"]


class ListScheduler:
    """What all list schedulers share; each says how it places nodes.

    Some have a rule for batches too: :data:`mtpp_dsl.solvers.schedule.list.batch_run.RULES`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    gives: Gives = "plan"
    baseline: ClassVar[bool] = False

    def accepts(self, problem: Problem) -> str | None:
        """Return why the problem is not one that this schedules, or None."""
        if problem.objective.batch is not None and self.name in RULES:
            return why_no_batches(problem, self.name)
        return why_not(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the schedule, or none, with a note that says why."""
        if problem.objective.batch is not None:
            return list_batches(self.name, problem, limits, progress)
        taker = Taker(self.name, problem, limits, progress)
        try:
            taker.pause()
            lister = Lister.of(Instance.of(problem), taker.pause)
            if lister is None:
                taker.note("no way was found to give every node a device within memory, links and the constraints")
                return taker.result()
            lister = replace(lister, limits=limits, say=progress.say, note=taker.note)
            if not taker.take(self.schedule(lister)):
                taker.note(f"the schedule found is none: {taker.broken}")
        except Ended:
            taker.note("the time was up, or somebody stopped, before every node was placed")
        return taker.result()

    def schedule(self, lister: Lister) -> Plan:
        """Return the plan that *lister* comes to by the rules of this scheduler."""
        raise NotImplementedError


def upward_ranks(instance: Instance) -> Floats:
    """Return [n] upward ranks by mean times."""
    return upward(instance.graph, mean_time(instance), mean_carry(instance))


class Met(ListScheduler):
    """Method ``met``: every node on its fastest device, in the order of upward ranks."""

    name = "met"
    summary = "list scheduler: by upward rank, each node on its fastest device"
    baseline = True

    def schedule(self, lister: Lister) -> Plan:
        """Place nodes by their running time alone."""
        instance = lister.instance
        return lister.in_turn(in_order(instance.graph, upward_ranks(instance)), tier=instance.time)


class Greedy(ListScheduler):
    """Method ``greedy``: in topological order, every node where it ends first, after all else there."""

    name = "greedy"
    summary = "list scheduler: in topological order, each node where it ends first, after everything else there"
    baseline = True

    def schedule(self, lister: Lister) -> Plan:
        """Place nodes in the graph's order, without insertion."""
        return lister.in_turn(lister.instance.graph.topological_order.copy(), insert=False)


class Heft(ListScheduler):
    """Method ``heft``: in the order of upward ranks, every node where it ends first, also between others.

    Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing (2002).
    """

    name = "heft"
    summary = "list scheduler: by upward rank, each node where it ends first, also in gaps"

    def schedule(self, lister: Lister) -> Plan:
        """Place nodes by upward rank and end."""
        return lister.in_turn(in_order(lister.instance.graph, upward_ranks(lister.instance)))


class Cpop(ListScheduler):
    """Method ``cpop``: the longest path on the one device that is fastest for it, all else where it ends first.

    Topcuoglu, Hariri, Wu (2002), section 4.2.
    """

    name = "cpop"
    summary = "list scheduler: the longest path on one device, every other node where it ends first"

    def schedule(self, lister: Lister) -> Plan:
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


def critical_path(instance: Instance, rank: Floats) -> Ints:
    """Return the nodes of a path of the largest *rank* (upward plus downward), from a source on."""
    graph = instance.graph
    v = max(np.flatnonzero(np.diff(graph.offsets_in) == 0).tolist(), key=lambda u: float(rank[u]))
    path = [v]
    while len(graph.successors(v)):
        v = max(graph.successors(v).tolist(), key=lambda u: float(rank[u]))
        path.append(v)
    return np.array(path, np.int64)


class Peft(ListScheduler):
    """Method ``peft``: every node where its end and the optimistic cost of what follows are least.

    Arabnejad, Barbosa: List scheduling algorithm for heterogeneous systems by an optimistic cost table (2014).
    """

    name = "peft"
    summary = "list scheduler: each node where its end plus an optimistic cost of what follows is least"

    def schedule(self, lister: Lister) -> Plan:
        """Place ready nodes by their mean optimistic cost."""
        instance = lister.instance
        cost = optimistic(instance, mean_carry(instance))
        may = np.isfinite(instance.time)
        mean = np.where(may, cost, 0.0).sum(axis=1) / np.maximum(may.sum(axis=1), 1)
        return lister.in_turn(in_order(instance.graph, mean), bias=cost)


class Etf(ListScheduler):
    """Method ``etf``: always the node and the device with the earliest start.

    Hwang, Chow, Anger, Lee: Scheduling precedence graphs in systems with interprocessor communication times (1989).
    """

    name = "etf"
    summary = "list scheduler: always the node and device with the earliest start"
    baseline = True

    def schedule(self, lister: Lister) -> Plan:
        """Break ties by upward ranks."""
        return lister.earliest(upward_ranks(lister.instance))
