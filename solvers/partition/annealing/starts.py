"""Make what annealing of partitions starts from: plans of other methods, and slices and random states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Constraint, Linear
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.labelled_rows import rows_of
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.algorithms.mending import Mender
from mtpp_dsl.solvers.partition.annealing.annealing_run import AnnealingRun
from mtpp_dsl.solvers.partition.annealing.device_order import QuotientArcs, order_of
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import WholeInstance, instance_of, loads_of, state_of
from mtpp_dsl.solvers.runtime.reduced import Aside

MIN_MOVES, MAX_FIRST_MOVES = 1_000, 500_000
"""Moves that an annealing tries: at least, and at most in the first round."""
NO_LOAD = np.iinfo(np.int64).max
TIME_SHARE = 0.2
"""Of the time left, for each of the methods that annealing starts from."""
MAX_ASKED = 8
"""Constraints of one kind of which each is asked for by itself, where a method does not support them all."""
MAX_SECONDS, MAX_SECONDS_IN_ORDER = 15.0, 5.0
"""For each of these methods: without an order of the devices, and with one."""


def first_moves(moves: int, supernodes: int, devices: int) -> int:
    """Return how many moves an annealing of the first round tries, of *moves* for each supernode and device."""
    return min(MAX_FIRST_MOVES, max(MIN_MOVES, moves * supernodes * devices))


def sliced_plan(problem: Problem, methods: Sequence[Method], limits: Limits, progress: Progress) -> Plan | None:
    """Return the plan of the first of *methods* that finds one whose quotient graph is acyclic (of the forward part).

    It may break constraints that the method does not support.
    """
    seconds = min(MAX_SECONDS, TIME_SHARE * limits.remaining)
    plans = (_relaxed(problem, method, seconds, limits, progress, Acyclic(parts="forward")) for method in methods)
    return next((plan for plan in plans if plan is not None), None)


def ordered_start(
    problem: Problem,
    instance: WholeInstance,
    arcs: QuotientArcs,
    methods: Sequence[Method],
    limits: Limits,
    progress: Progress,
) -> tuple[Ints | None, Plan | None]:
    """Return [n] devices of supernodes that have an order, and the plan they are of; None for each that is not found.

    They are those of a plan that one of *methods* finds without the constraints that it does not support, which it may
    break; else all supernodes are on one device.
    """
    first = np.unique(together(problem), return_index=True)[1]
    n, k = instance.time.shape
    for method in methods:
        seconds = min(MAX_SECONDS_IN_ORDER, TIME_SHARE * limits.remaining)
        plan = _relaxed(problem, method, seconds, limits, progress)
        if plan is not None:
            device = plan.assignment[first]
            if instance.allowed[np.arange(n), device].all() and order_of(arcs, device, k) is not None:
                return device, plan
    able = np.flatnonzero(instance.allowed.all(axis=0)).tolist()
    return (np.full(n, able[0], np.int64) if able else None), None


def _relaxed(
    problem: Problem, method: Method, seconds: float, limits: Limits, progress: Progress, *more: Acyclic
) -> Plan | None:
    """Return the plan that a method finds under *more* constraints and those of the problem that it supports."""
    by_kind = defaultdict(list)
    for constraint in problem.constraints:
        if not isinstance(constraint, Linear):
            by_kind[type(constraint)].append(constraint)
    kept = [c for own in by_kind.values() for c in _supported(problem, method, own)]
    relaxed = problem.with_constraints([*kept, *more])
    if method.accepts(relaxed) is not None:
        return None
    return method.solve(relaxed, limits.within(seconds, start=None), Aside(progress)).plan


def _supported(problem: Problem, method: Method, constraints: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return which constraints of one kind a method supports: all, of a few some, of many none.

    To tell whether colocated nodes can be made one takes a reduction of the whole graph, .2 s for 2,000 nodes.
    """
    if method.accepts(problem.with_constraints(constraints)) is None:
        return constraints
    if len(constraints) > MAX_ASKED:
        return ()
    return [c for c in constraints if method.accepts(problem.with_constraints([c])) is None]


def along_order(problem: Problem, supernode: Ints) -> Ints:
    """Return [supernodes] the supernodes by the mean place of their nodes in a topological order."""
    place = np.empty(problem.graph.n)
    place[problem.graph.topological_order] = np.arange(problem.graph.n)
    return np.argsort(np.bincount(supernode, weights=place) / np.bincount(supernode), kind="stable")


def sliced(instance: WholeInstance, order: Ints, random: np.random.Generator) -> Ints:
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


def scattered(instance: WholeInstance, random: np.random.Generator) -> Ints:
    """Return [n] a random device for every supernode, one that it may be on."""
    key = np.where(instance.allowed, random.random(instance.allowed.shape), -1.0)
    return np.asarray(key.argmax(axis=1), np.int64)


# What runs in whole numbers have in common, with an order of the devices and without.

MEND_SHARE, MEND_SECONDS = 0.2, 5.0
"""Of the time left, and at most, for a first plan under labelled rows."""


class WholeRun(AnnealingRun):
    """Anneals partitions in whole numbers: what runs with an order of the devices and without have in common."""

    def _known_bound(self) -> float:
        """Return the bound by the least load of some device; 0 without one."""
        proved = least_load(self._problem, Limits(), Progress()).bound
        return 0.0 if proved is None else proved.cost

    def _mend(self, near: Plan) -> None:
        """Take what comes of a plan when nodes move until the labelled rows hold."""
        mended = Mender(self._problem).mended(near, min(MEND_SECONDS, MEND_SHARE * self._limits.remaining))
        if mended is not None:
            self._incumbent.take(mended)

    def _set_up(self) -> None:
        """Set up instance and rows in a unit that suits the best plan, and hold its split as the best."""
        plan = self._incumbent.plan
        self._instance = instance_of(self._problem, self._incumbent.cost or 1.0)
        self._rows = rows_of(self._problem, self._supernode, self._instance.unit)
        self._best = BestSplit(np.zeros(len(self._first), np.int64), np.array([NO_LOAD]))
        if plan is not None:
            self._best.device[:] = plan.assignment[self._first]
            self._best.load[0] = loads_of(self._instance, state_of(self._instance, self._best.device)).max(initial=0)

    def _keeps_rows(self, plan: Plan) -> bool:
        """Return whether a plan keeps the rows exactly; the moves sum them up with rounding."""
        return self._rows is None or not verify(self._problem, plan)
