"""Slice good topological orders, then move nodes across the borders (archer2024, section 4)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan, device_order
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types, fits
from mtpp_dsl.solvers.algorithms.slicing.linear_split import even_split
from mtpp_dsl.solvers.algorithms.slicing.one_order import assignment_of
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.algorithms.slicing.slicer import Slicer
from mtpp_dsl.solvers.partition.slicing.border_moves import improve
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

NAME = "slicegraph"
TEMPERATURES = (0.3, 0.1, 0.03, 0.01)
SMALL = 40
MAX_MOVES = 4_000_000
WORTHWHILE = 1e-6
"""Orders of large graphs are sliced to the end only if they are better by this share."""


def slicegraph(problem: Problem, limits: Limits, progress: Progress, orders: int, starts: int, moves: int) -> Result:
    """Return the best plan found by slices of good orders, improved by moving nodes; no bound."""
    smaller, lift = _reduced(problem)
    if lift is not identity:
        reduced = Reduced(problem, smaller, lift, progress)
        result = slicegraph(smaller, replace(limits, start=None), reduced.listener(), orders, starts, moves)
        result = replace(result, log=tuple(progress.log))
        if result.plan is None:
            return result
        lifted = lift(result.plan)
        return replace(result, plan=lifted, evaluation=evaluate(problem, lifted))
    search = _Search(problem, limits, progress)
    search.slice_orders(orders)
    search.improve_best(starts, moves)
    plan = search.best
    return progress.result(
        NAME,
        limits,
        search.termination,
        plan=plan,
        evaluation=None if plan is None else evaluate(problem, plan),
        notes=_notes(problem, any_plan=plan is not None),
    )


def _reduced(problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
    """Return the problem with colocated nodes as one, where there are any; slices keep none together by themselves."""
    return reduce(problem) if any(problem.of(Colocate)) else (problem, identity)


def _notes(problem: Problem, *, any_plan: bool) -> tuple[str, ...]:
    notes = []
    if not problem.acyclic:
        notes.append("slicegraph looks only at plans whose quotient graph is acyclic, which the problem does not ask")
    elif problem.graph.backward.any():
        notes.append("slicegraph looks only at plans that are acyclic over forward and backward nodes together")
    if not any_plan:
        notes.append("no slice of the orders tried is a plan; this does not prove that there is none")
    return tuple(notes)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A plan, and the device of each of its blocks in order, unused devices last."""

    cost: float
    plan: Plan
    sequence: tuple[int, ...]


class _Search:
    """One run: what is known so far, and whether to stop."""

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._devices = device_types(problem)
        self._slicer = Slicer(problem.graph, self._devices, progress.say)
        self._candidates: list[_Candidate] = []
        self.termination: Termination = "complete"

    @property
    def best(self) -> Plan | None:
        return self._candidates[0].plan if self._candidates else None

    def slice_orders(self, count: int) -> None:
        """Take the plan to start from, if it has an order, and slice that order and *count* others, each once."""
        start = self._limits.start
        if start is not None:
            sequence = device_order(self._problem, start.assignment)
            if sequence is not None and fits(self._problem, start.assignment):
                self._add(start.assignment, sequence)
                self._slice(_induced(self._problem.graph, _ranks(sequence)[start.assignment]))
        if not (self._slicer.dense or self._candidates):
            plan = even_split(self._problem)  # slicing an order of a large graph takes a while
            if plan is not None:
                self._progress.report_plan(plan, evaluate(self._problem, plan).cost)
        seen: set[bytes] = set()
        for order in islice(orders(self._problem.graph, self._devices.tensor, self._limits.seed), count):
            if self._stopped():
                return
            if order.tobytes() not in seen:
                seen.add(order.tobytes())
                self._slice(order)

    def improve_best(self, starts: int, moves: int) -> None:
        """Anneal from the best plans so far, ever cooler, and slice the orders that come out."""
        graph = self._problem.graph
        random = np.random.default_rng(self._limits.seed)
        for temperature, place in product(TEMPERATURES, range(starts)):
            if self._stopped() or place >= len(self._candidates):
                continue
            start = self._candidates[place]
            blocks = improve(
                graph,
                self._devices,
                _ranks(start.sequence)[start.plan.assignment],
                self._devices.of[list(start.sequence)],
                moves=min(moves * graph.n * min(graph.n, SMALL) // SMALL, MAX_MOVES),
                temperature=temperature,
                random=random,
                stopped=self._stopped,
                say=self._progress.say,
            )
            self._add(np.array(start.sequence)[blocks], start.sequence)
            self._slice(_induced(graph, blocks))

    def _stopped(self) -> bool:
        if self._progress.stopped:
            self.termination = "interrupted"
        elif self._limits.remaining <= 0:
            self.termination = "time_limit"
        return self.termination != "complete"

    def _slice(self, order: Ints) -> None:
        if self._stopped():
            return
        below = np.inf if self._slicer.dense or not self._candidates else self._candidates[0].cost * (1 - WORTHWHILE)
        sliced = self._slicer.slice(order, below, self._stopped)
        if sliced is not None:
            self._add(*assignment_of(sliced.blocks, order, self._devices))

    def _add(self, assignment: Ints, sequence: tuple[int, ...]) -> None:
        if any(np.array_equal(assignment, known.plan.assignment) for known in self._candidates):
            return
        plan = Plan.create(self._problem, assignment, sequence)
        cost = evaluate(self._problem, plan).cost
        insort(self._candidates, _Candidate(cost, plan, sequence), key=lambda candidate: candidate.cost)
        self._progress.report_plan(plan, cost)


def _ranks(sequence: tuple[int, ...]) -> Ints:
    return np.argsort(np.array(sequence))


def _induced(graph: Graph, blocks: Ints) -> Ints:
    """Return a topological order in which the blocks follow one another."""
    order = graph.topological_order
    return order[np.argsort(blocks[order], kind="stable")]
