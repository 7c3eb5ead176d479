"""One run of method ``annealing`` for what is asked of single phases, whatever joins the devices."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from mtpp_dsl.core.constraints import Linear, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.annealing.annealing_run import AnnealingRun, chunks, falling
from mtpp_dsl.solvers.partition.weighted.phase_instance import phase_costs, phase_state
from mtpp_dsl.solvers.partition.weighted.phase_moves import MOVE

CHUNK, MIN_STEPS, MAX_FIRST = 250, 500, 400_000
SMALL = 100
"""Supernodes times devices up to which rounds are short and stay so, without compiled code."""
HOT, COLD = 0.05, 1e-5
"""First and last temperature, as shares of the cost of the plan to begin with."""
POWERS = (8.0, 16.0, 40.0)


def anneal_phases(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Return the best split found by moving one supernode at a time; rounds get longer until some find nothing.

    Under ``acyclic`` a round keeps one order of the devices: that of the problem, of the best plan, or a random one.

    Args:
        problem: with phases, of a bottleneck or a linear objective.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of the first round, per supernode and device.
    """
    return _Run(problem, limits, progress, patience, moves).result()


def _with_filled(problem: Problem) -> Problem:
    """Return the problem with a row for each device that has to have a node, so that moves are charged for it."""
    line = problem.line
    if line is None or not line.filled:
        return problem
    rows = [Linear(label="filled", terms=((Used(d), 1.0),), sense=">=", rhs=1.0) for d in sorted(line.filled)]
    return problem.with_constraints([*problem.constraints, *rows])


class _Run(AnnealingRun):
    """Solves one problem."""

    def _prepare(self) -> Ints:
        supernode = together(self._problem)
        self._costs = phase_costs(_with_filled(self._problem), supernode)
        self._random = np.random.default_rng(self._limits.seed)
        self._line = self._problem.line
        return supernode

    def _begin(self) -> bool:
        return bool(len(self._costs.allowed) and self._costs.allowed.any(axis=1).all())

    def _anneal(self) -> None:
        size = self._costs.allowed.size
        steps = min(MAX_FIRST, max(MIN_STEPS, self._moves * size // 10))
        self._one_after_another(steps, self._round, longer=size > SMALL)

    def _round(self, turn: int, steps: int) -> None:
        """Anneal once, from the best plan in every second round."""
        incumbent = self._incumbent
        plan = incumbent.plan if turn % 2 == 0 else None
        device, place = self._sliced(turn) if plan is None else self._of_plan(plan)
        run = MOVE.pick(steps, self._progress.say)
        scale = self._scale
        best, least = device.copy(), np.inf
        for begin, _ in chunks(steps, CHUNK, lambda: incumbent.done, once=True):  # however long compiling took
            temperature = falling(HOT, COLD, begin / steps)
            state = phase_state(self._costs, device, place)  # anew, so that rounding does not add up
            draws = self._random.random((CHUNK, 3))
            power = POWERS[turn % len(POWERS)]
            least = run(draws, temperature, power, scale, self._problem.acyclic, self._costs, state, best, least)
            device = state.device
        if least < np.inf:
            incumbent.take(self._plan_of(best))

    @property
    def _scale(self) -> float:
        """What the cost of a plan is, about."""
        known = abs(self._incumbent.cost)
        if 0 < known < np.inf:
            return known
        costs = self._costs
        time = np.where(costs.allowed[None], costs.time, 0.0).max(axis=2, initial=0.0).sum()
        return float(np.abs(costs.goal).max(initial=0.0)) * float(time) + abs(costs.constant) or 1.0

    def _of_plan(self, plan: Plan) -> tuple[Ints, Ints]:
        """Return the devices of a plan's supernodes, and [devices] an order of the devices that its edges keep."""
        device = np.array(plan.assignment[self._first], np.int64)
        costs, k = self._costs, self._problem.k
        if self._line is not None:
            return device, np.argsort(np.array(self._line.devices))
        owner = np.repeat(np.arange(len(device)), np.diff(costs.arcs))[costs.outward]
        pairs = set(zip(device[owner].tolist(), device[costs.arc[costs.outward]].tolist(), strict=True))
        order = self._sorted(k, [(a, b) for a, b in pairs if a != b])
        place = np.empty(k, np.int64)
        place[order] = np.arange(k)
        return device, place

    def _sliced(self, turn: int) -> tuple[Ints, Ints]:
        """Return slices of an order of the supernodes on devices in a random order, or places at random."""
        costs, random = self._costs, self._random
        n, k = costs.allowed.shape
        devices = random.permutation(k) if self._line is None else np.array(self._line.devices, np.int64)
        place = np.empty(k, np.int64)
        place[devices] = np.arange(k)
        if not self._problem.acyclic and turn % 4 == 3:
            return (random.random((n, k)) * costs.allowed).argmax(axis=1).astype(np.int64), place
        owner = np.repeat(np.arange(n), np.diff(costs.arcs))[costs.outward]
        edges = list(zip(owner.tolist(), costs.arc[costs.outward].tolist(), strict=True))
        order = self._sorted(n, edges)
        work = np.where(costs.allowed, costs.time.sum(axis=0), np.inf).min(axis=1)[order]
        share = (np.cumsum(work) - work / 2) / max(float(work.sum()), 1e-300)
        device = np.empty(n, np.int64)
        device[order] = devices[np.minimum((k * share).astype(np.int64), k - 1)]
        if not self._problem.acyclic:
            lost = ~costs.allowed[np.arange(n), device]
            device[lost] = (random.random((n, k)) * costs.allowed).argmax(axis=1)[lost]
        return device, place

    def _sorted(self, n: int, edges: list[tuple[int, int]]) -> list[int]:
        """Return numbers in an order that *edges* keep, ties at random."""
        after: list[list[int]] = [[] for _ in range(n)]
        waits = [0] * n
        for a, b in edges:
            after[a].append(b)
            waits[b] += 1
        key = self._random.random(n).tolist()
        ready = [(key[v], v) for v in range(n) if not waits[v]]
        heapify(ready)
        order = []
        while ready:
            v = heappop(ready)[1]
            order.append(v)
            for b in after[v]:
                waits[b] -= 1
                if not waits[b]:
                    heappush(ready, (key[b], b))
        return order
