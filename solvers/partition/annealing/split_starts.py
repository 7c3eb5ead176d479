"""States to start from."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.constraints import Acyclic
from mtpp_dsl.contracts import Limits, Method, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.colocation import colocated
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.partition.annealing.whole_nets import Instance
from mtpp_dsl.solvers.runtime.reduced import Aside

__all__ = ["along_order", "ordered", "scattered", "sliced"]

ORDERED_SECONDS = 15.0
ORDERED_SHARE = 0.2
MOST_FOR_IDEALS = 5_000
"""Nodes above which only slices of orders are tried: ideals of so large a graph take too long to set up."""


def ordered(problem: Problem, limits: Limits, progress: Progress, ideals: Method, slices: Method) -> Plan | None:
    """Return the best split with an acyclic quotient graph (of the forward part) found in a share of the time.

    The search is without the constraints that *ideals* or *slices* do not support, so that it may be no plan.
    """
    seconds = min(ORDERED_SECONDS, ORDERED_SHARE * limits.remaining)
    few = problem.graph.n <= MOST_FOR_IDEALS
    methods: tuple[Method, ...] = (ideals, slices) if few else (slices,)
    for method in methods:
        kept = [c for c in problem.constraints if method.accepts(problem.with_constraints([c])) is None]
        asked = problem.with_constraints([*kept, Acyclic(parts="forward")])
        if method.accepts(asked) is None:
            plan = method.solve(asked, limits.within(seconds, start=None), Aside(progress)).plan
            if plan is not None:
                return plan
    return None


def along_order(problem: Problem) -> Ints:
    """Return [classes] the classes of colocated nodes by the mean place of their nodes in a topological order."""
    group = colocated(problem)
    place = np.empty(problem.graph.n)
    place[problem.graph.topological_order] = np.arange(problem.graph.n)
    return np.argsort(np.bincount(group, weights=place) / np.bincount(group), kind="stable")


def sliced(instance: Instance, order: Ints, random: np.random.Generator) -> Ints:
    """Return [n] devices: slices of *order* of about equal work on the devices in a random order."""
    n, k = instance.time.shape
    work = np.where(instance.allowed, instance.time, np.iinfo(np.int64).max).min(axis=1)[order].astype(np.float64)
    before = np.cumsum(work) - work / 2
    total = max(float(work.sum()), 1.0)
    devices = random.permutation(k)[np.minimum((k * before / total).astype(np.int64), k - 1)]
    state = np.empty(n, np.int64)
    state[order] = devices
    elsewhere = scattered(instance, random)
    return np.where(instance.allowed[np.arange(n), state], state, elsewhere)


def scattered(instance: Instance, random: np.random.Generator) -> Ints:
    """Return [n] a random device for every class, one that it may be on."""
    key = np.where(instance.allowed, random.random(instance.allowed.shape), -1.0)
    return np.asarray(key.argmax(axis=1), np.int64)
