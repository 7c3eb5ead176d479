"""State how list schedulers place nodes: an order or a rule for which node is next, and a score for its device."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import downward, in_order, mean_carry, mean_time, optimistic, upward

__all__ = ["cpop", "etf", "greedy", "heft", "met", "peft", "upward_ranks"]


def upward_ranks(instance: ScheduleInstance) -> Floats:
    """Return [n] upward ranks by mean times."""
    return upward(instance.graph, mean_time(instance), mean_carry(instance))


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
