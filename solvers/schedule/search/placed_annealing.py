"""Annealing of where nodes run, for linear objectives of plans with a schedule; when they run a list scheduler says."""

from __future__ import annotations

from math import exp, inf

import numpy as np

from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.decisions import Values
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.list_run import scheduled

HOT, COLD = 0.1, 1e-3
"""First and last temperature of a round, as a share of the cost."""
FIXED = 0.05
"""What any violation counts as, beside its size."""
MOVES_A_NODE, MAX_MOVES = 30, 4_000
"""Moves of a round."""
WHOLE = 0.03
"""Share of moves that take all that is on a device elsewhere."""


def anneal_placed(problem: Problem, limits: Limits, progress: Progress, patience: int) -> Result:
    """Anneal the devices of the nodes; a list scheduler says when each runs. Return the best plan, if any.

    Args:
        problem: with a linear objective of plans with a schedule, on ``links``.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
    """
    return _Run(problem, limits, progress).result(patience)


class _Run:
    """Solves one problem."""

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._progress = problem, progress
        self._incumbent = Incumbent("annealing", problem, limits, progress)
        self._instance = ScheduleInstance.of(problem)
        self._class = colocated(problem)
        self._members = [np.flatnonzero(self._class == c) for c in range(int(self._class.max(initial=-1)) + 1)]
        self._allowed = np.array([problem.allowed[nodes].all(axis=0) for nodes in self._members])
        self._random = np.random.default_rng(limits.seed)

    def result(self, patience: int) -> Result:
        """Anneal round by round until none has helped for long."""
        incumbent = self._incumbent
        incumbent.take_start()
        quiet = 0
        while self._members and self._allowed.any(axis=1).all() and quiet < patience and not incumbent.done:
            before = incumbent.cost
            self._round()
            quiet = 0 if incumbent.cost < before else quiet + 1
        if incumbent.plan is None:
            incumbent.note("no plan was found; this does not prove that there is none")
        return incumbent.result()

    def _round(self) -> None:
        """Anneal once, from the best plan or from a random one."""
        random, plan = self._random, self._incumbent.plan
        if plan is not None:
            place = plan.assignment[[nodes[0] for nodes in self._members]].copy()
        else:
            key = np.where(self._allowed, random.random(self._allowed.shape), -1.0)
            devices = random.permutation(self._problem.k)[: int(random.integers(1, self._problem.k + 1))]
            key[:, devices] += np.where(self._allowed[:, devices], 1.0, 0.0)
            place = key.argmax(axis=1)
        energy, unit = self._energy(place), abs(self._incumbent.cost) if plan is not None else 0.0
        moves = min(MAX_MOVES, MOVES_A_NODE * len(place))
        for step in range(moves):
            if self._incumbent.done:
                return
            after = self._moved(place)
            if after is None:
                continue
            new = self._energy(after)
            unit = unit or abs(new if new < inf else 0.0)
            heat = HOT * (COLD / HOT) ** (step / moves) * (unit or 1.0)
            if new <= energy or (new < inf and random.random() < exp(-(new - energy) / heat)):
                place, energy = after, new

    def _moved(self, place: Ints) -> Ints | None:
        """Return the places after a random move, or None where it is none."""
        random, after = self._random, place.copy()
        c, target = int(random.integers(len(place))), int(random.integers(self._problem.k))
        if place[c] == target:
            return None
        if random.random() < WHOLE:
            after[place == place[c]] = target
        else:
            after[c] = target
            others = np.flatnonzero(place == target)
            if len(others) and random.random() < 0.3:
                after[int(random.choice(others))] = place[c]
        return after if self._allowed[np.arange(len(after)), after].all() else None

    def _energy(self, place: Ints) -> float:
        """Return the cost of a placement with its schedule, more where something is broken; take it if nothing is."""
        try:
            plan = scheduled(self._instance, place[self._class])
        except UsageError:
            return inf
        evaluation = evaluate(self._problem, plan)
        broken = self._broken(plan, evaluation)
        if not broken:
            self._incumbent.take(plan)
            return evaluation.cost
        return evaluation.cost + broken * (abs(evaluation.cost) or 1.0) * 3.0

    def _broken(self, plan: Plan, evaluation: Evaluation) -> float:
        """Return by how much a plan breaks rows, memories and nodes to be separate; 0.0 where it breaks nothing."""
        problem, broken = self._problem, 0.0
        values = Values(
            assignment=plan.assignment,
            load=evaluation.load,
            used=evaluation.used,
            bottleneck=evaluation.bottleneck,
            latency=evaluation.latency,
            makespan=evaluation.makespan,
            schedule=plan.schedule,
            penalties=sum(evaluation.penalties.values()),
        )
        for row in problem.hard_rows:
            over = row.violation(values.sum(row.terms))
            size = max([abs(row.rhs), *(abs(a * values.of(x)) for x, a in row.terms)]) or 1.0
            if over > 1e-9 * size:
                broken += FIXED + over / size
        over_memory = np.maximum(evaluation.memory - evaluation.workspace - problem.memory_room, 0.0)
        if over_memory.any():
            broken += FIXED + float((over_memory / (problem.memory_room + 1.0)).sum())
        for rule in problem.of(Separate):
            where = plan.assignment[list(rule.nodes)]
            broken += FIXED * (len(where) - len(np.unique(where)))
        return broken
