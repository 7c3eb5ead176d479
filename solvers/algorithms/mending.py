"""Move nodes until the labelled rows of a problem hold; search without rows, and mend what is found.

Without labelled rows and sets held apart, a problem has all its plans and maybe more. So a bound on it is one on the
problem, and where it has no plan, the problem has none. A plan of it counts if it keeps these constraints as it is, or
after as few nodes as possible have moved, by a small integer programme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Linear, Load, On, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Bound, Result, relative_gap
from mtpp_dsl.core.problem.colocation import ordered_edges, together
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, hypergraph

MAX_COLUMNS = 100_000
"""Supernodes times devices of larger problems are not mended."""
MAX_TRIES = 25
"""Plans of one problem that are mended."""
FOUND = (0, 1)
"""Status of an answer of scipy that may hold values: solved, or cut short."""


class Mender:
    """Mends plans of one problem.

    The programme keeps places, memories, sets held apart, the order of the devices that a plan has, and rows over
    placements and loads, in which a load is the work of a device alone. What else the problem asks is for the check of
    plans.

    Args:
        problem: on any interconnect; of a batch, or of a latency by subgraphs, nothing is mended.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._tries = 0
        split = problem.is_split or (
            isinstance(problem.interconnect, (Links, Tree)) and problem.objective.batch is None
        )
        apart = any(problem.of(Separate))
        self._able = split and (apart or any(linear_in_places(row) for row in problem.hard_rows))

    def mended(self, plan: Plan, seconds: float) -> Plan | None:
        """Return a plan near *plan* that keeps what the programme knows of; None if none was found in *seconds*."""
        view = self._view if self._able and self._tries < MAX_TRIES and seconds > 0 else None
        if view is None or view.n * self._problem.k > MAX_COLUMNS:
            return None
        self._tries += 1
        device = plan.assignment[view.first]
        homes = self._solved(view, device, seconds)
        if homes is None or (homes == device).all():
            return None
        return self.completed(homes[view.of])

    def completed(self, assignment: Ints) -> Plan | None:
        """Return the plan of an assignment, for a makespan with a schedule; None where there can be none."""
        problem = self._problem
        plan = Plan.create(problem, assignment)
        if not problem.timed or not isinstance(problem.interconnect, Links):
            return plan
        try:
            timed: Plan = registry.built_in("mtpp_dsl.solvers.schedule.list.list_run:complete")(problem, plan)
        except UsageError:
            return None
        return timed

    @cached_property
    def _view(self) -> Hypergraph:
        return hypergraph(self._problem, together(self._problem))

    @cached_property
    def _fixed(self) -> tuple[Any, Floats, Floats]:
        """Return the rows that do not depend on the plan: a sparse matrix, and what each is at least and at most."""
        from scipy.sparse import coo_array

        problem, view = self._problem, self._view
        n, k = view.n, problem.k
        columns = np.arange(n * k).reshape(n, k)
        entries: list[tuple[Ints, Floats]] = []
        low: list[float] = []
        high: list[float] = []

        def add(where: Ints, weights: Floats, least: float, most: float) -> None:
            entries.append((where, weights))
            low.append(least)
            high.append(most)

        for c in range(n):
            add(columns[c], np.ones(k), 1.0, 1.0)
        for d in np.flatnonzero(view.memory.sum() > problem.memory_room).tolist():
            add(columns[:, d], view.memory / max(problem.memory_room[d], 1e-300), -inf, 1.0)
        for members in view.conflict_sets:
            for d in range(k):
                add(columns[list(members), d], np.ones(len(members)), -inf, 1.0)
        for row in filter(linear_in_places, problem.hard_rows):
            table = np.zeros((n, k))
            for decision, a in row.terms:
                if isinstance(decision, On):
                    table[view.of[decision.node], decision.device] += a
                elif isinstance(decision, Load):
                    table[:, decision.device] += a * view.time[:, decision.device]
            where = np.flatnonzero(table)
            scale = max(abs(row.rhs), float(np.abs(table).max(initial=0.0))) or 1.0
            limits = -inf if row.sense == "<=" else row.rhs / scale, inf if row.sense == ">=" else row.rhs / scale
            add(where, table.ravel()[where] / scale, *limits)
        rows = np.repeat(np.arange(len(entries)), [len(where) for where, _ in entries])
        where = np.concatenate([where for where, _ in entries])
        values = np.concatenate([weights for _, weights in entries])
        return coo_array((values, (rows, where)), (len(entries), n * k)).tocsr(), np.array(low), np.array(high)

    def _ordered(self, view: Hypergraph, device: Ints) -> tuple[Any, Floats] | None:
        """Return rows that keep edges along the order of the devices that a plan has, and 0 for each; None: no rows."""
        from scipy.sparse import coo_array

        k = self._problem.k
        rows, where, values, count = [], [], [], 0
        for tails, heads in ordered_edges(self._problem):
            pairs = np.array(view.edges(tails, heads), np.int64).reshape(-1, 2)
            line = quotient_order(np.arange(k), device[pairs[:, 0]], device[pairs[:, 1]], k)
            if line is None:
                continue
            rank = np.empty(k)
            rank[list(line)] = np.arange(k)
            for side, sign in ((0, 1.0), (1, -1.0)):
                rows.append(np.repeat(np.arange(count, count + len(pairs)), k))
                where.append((pairs[:, side, None] * k + np.arange(k)).ravel())
                values.append(np.tile(sign * rank, len(pairs)))
            count += len(pairs)
        if not count:
            return None
        shape = (count, view.n * k)
        return coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(where))), shape
        ).tocsr(), np.zeros(count)

    def _solved(self, view: Hypergraph, device: Ints, seconds: float) -> Ints | None:
        """Return [supernodes] devices that keep all rows, with the least work moved, or None."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        n, k = view.n, self._problem.k
        work = view.time[np.arange(n), device]
        cost = np.zeros((n, k))
        cost[np.arange(n), device] = -(work + 0.1 * max(float(work.mean()), 1e-300)) / max(float(work.max()), 1e-300)
        limits = [LinearConstraint(*self._fixed)]
        order = self._ordered(view, device)
        if order is not None:
            limits.append(LinearConstraint(order[0], -inf, order[1]))
        answer = milp(
            cost.ravel(),
            constraints=limits,
            integrality=np.ones(n * k),
            bounds=Bounds(0.0, view.allowed.astype(np.float64).ravel()),
            options={"time_limit": seconds, "mip_rel_gap": 0.02},
        )
        if answer.status not in FOUND or answer.x is None:
            return None
        homes: Ints = answer.x.reshape(n, k).argmax(axis=1)
        return homes


def linear_in_places(row: Linear) -> bool:
    """Return whether a row speaks of placements and loads alone."""
    return all(isinstance(decision, (On, Load)) for decision, _ in row.terms)


# Run searches that know nothing of labelled constraints, or of sets held apart: their plans are checked against these.


def without_rows(
    search: Callable[[Problem, Limits, Progress], Result],
    problem: Problem,
    left: Problem,
    limits: Limits,
    progress: Progress,
) -> Result:
    """Return what *search* finds of *left* that is true of *problem*, which has more constraints.

    Args:
        search: the ``solve`` of a method.
        problem: what is asked.
        left: the same without the constraints that plans are only checked against.
        limits: when to stop, and where to start.
        progress: told of plans that keep all constraints, and of bounds.
    """
    listener = _Checked(problem, _left_out(problem, left), limits, progress)
    answer = search(left, limits, listener)
    if answer.infeasibility is not None:
        return replace(answer, log=tuple(progress.log))
    if answer.plan is not None:
        listener.check(answer.plan)
    plan, bound = listener.kept, answer.bound
    cost = None if plan is None else evaluate(problem, plan).cost
    closed = cost is not None and bound is not None and relative_gap(cost, bound.cost) <= limits.gap
    return replace(
        answer,
        termination="complete" if answer.termination == "gap" and not closed else answer.termination,
        plan=plan,
        evaluation=None if plan is None else evaluate(problem, plan),
        log=tuple(progress.log),
        notes=(*answer.notes, *listener.notes(answer.method)),
    )


def _left_out(problem: Problem, left: Problem) -> str:
    """Return the constraints of *problem* that *left* does not have, in words."""
    words = {Linear: "the labelled constraints", Separate: "the nodes held apart"}
    return " and ".join(word for kind, word in words.items() if any(problem.of(kind)) and not any(left.of(kind)))


class _Checked(Progress):
    """Hears of plans and bounds of a problem without some constraints, and passes on what is true with them.

    It begins without what is known of the problem: a bound under the constraints is none without them.

    Attributes:
        kept: the best plan that keeps all constraints.
    """

    def __init__(self, problem: Problem, left_out: str, limits: Limits, outer: Progress) -> None:
        super().__init__()
        self.started = outer.started
        self.kept: Plan | None = None
        self._problem, self._left_out, self._limits, self._outer = problem, left_out, limits, outer
        self._mender = Mender(problem)
        self._least = float("inf")
        self._dropped = self._mended = 0

    @property
    def stopped(self) -> bool:
        return self._outer.stopped

    @property
    def wants_solver_log(self) -> bool:
        return self._outer.wants_solver_log

    def solver_says(self, line: str) -> None:
        self._outer.solver_says(line)

    def say(self, message: str) -> None:
        if message:
            self._outer.say(message)

    def report_model(self, path: Any) -> None:
        self._outer.report_model(path)

    def report_plan(self, plan: Plan, cost: float) -> None:
        with self._lock:
            super().report_plan(plan, cost)
            self.check(plan)

    def report_bound(self, bound: Bound) -> None:
        super().report_bound(bound)
        self._outer.report_bound(bound)

    def check(self, plan: Plan) -> None:
        """Keep and report a plan if it, or what mending makes of it, keeps all constraints and is the best."""
        if verify(self._problem, plan):
            mended = self._mender.mended(plan, min(self._limits.remaining, MAX_SECONDS))
            if mended is None or verify(self._problem, mended):
                self._dropped += 1
                return
            self._mended += 1
            plan = mended
        cost = evaluate(self._problem, plan).cost
        if cost < self._least:
            self.kept, self._least = plan, cost
            self._outer.report_plan(plan, cost)

    def notes(self, method: str) -> list[str]:
        """Return what the user should know of the plans that were dropped."""
        if not self._dropped and not self._mended:
            return []
        none = "" if self.kept is not None else "; none of those tried keeps them, which does not prove that none does"
        return [f"{method} searched without {self._left_out}, and its plans were checked against them{none}"]


MAX_SECONDS = 2.0
"""For mending one plan."""
