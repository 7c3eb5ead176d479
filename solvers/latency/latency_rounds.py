"""One run of method ``latency-search``: starts, and rounds of annealings side by side."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result, relative_gap
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency.first_arrangements import Orders, arrangement_of, beside, measured, worth
from mtpp_dsl.solvers.latency.latency_moves import ANNEAL, DRAWS
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["LatencyRounds"]

CHAINS = 2
ORDERS = 16
FEWEST = 300
"""Steps of the shortest annealings."""
PER_NODE = 60
MAX_STEPS = 8_000_000
QUIET = 8
BATCH = 4096
"""Steps between two looks at the clock, fewer in large graphs."""
BATCH_WORK = 1e7
ROOMS = (1.0, 1.5, 3.0, float("inf"))
"""Factors that memories are taken larger by, one after the other, until there is an arrangement to start from."""


@dataclass(frozen=True)
class LatencyRecipe:
    """How one annealing goes: temperatures and weights, as shares of the makespan it starts from."""

    origin: str
    hot: float
    cold: float
    busy: float
    excess: float


def recipe(nodes: int, number: int, chain: int, random: np.random.Generator) -> LatencyRecipe:
    """Return a recipe; one annealing of each round goes on from the best arrangement, every other time less hot.

    One node is a larger share of the makespan in a graph of few *nodes*.
    """
    hot = min(0.5, 0.02 + 3.0 / nodes) * float(10 ** random.uniform(-0.7, 0.0))
    origin = str(random.choice(["orders", "beside"])) if chain else "best"
    if not chain and number % 2 == 0:
        hot *= 0.1
    return LatencyRecipe(
        origin=origin,
        hot=hot,
        cold=hot * float(10 ** random.uniform(-2.2, -0.8)),
        busy=float(random.choice([0.0, 0.01, 0.05])),
        excess=float(random.choice([0.5, 1.0, 3.0])),
    )


class LatencyRounds:
    """Solves one problem.

    Args:
        name: of the method.
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends; less for small graphs.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress, patience: int) -> None:
        self._limits, self._progress = limits, progress
        self._patience = min(patience, QUIET + problem.graph.n // 4)
        self._problem = problem
        self._taker = Incumbent(name, problem, limits, progress)
        self._instance = LatencyInstance.of(problem)
        self._orders = Orders(self._instance, np.random.default_rng(limits.seed), progress.say)
        self._pool: list[Ints] = []
        self._best = np.zeros(0, np.int64)
        self._cost = float("inf")

    def result(self) -> Result:
        """Anneal until done or stopped, and return the best plan."""
        self._begin()
        if not self._pool:
            if not self._done():
                self._taker.note("no arrangement to start from was found; the formulation latency tries all of them")
            return self._taker.result()
        first = max(FEWEST, PER_NODE * self._instance.n)
        MultiStart(self._limits, CHAINS, self._patience, first, FEWEST, MAX_STEPS).run(
            self._chain, self._keep_all, cost=lambda: self._cost, done=self._done
        )
        return self._taker.result()

    def _keep_all(self, slots: list[Ints]) -> None:
        for slot in slots:
            self._keep(slot)

    def _begin(self) -> None:
        """Take the plan to start from, everything beside host memory, and parts of orders."""
        given = self._progress.plan or self._limits.start
        slot = None if given is None else arrangement_of(self._instance, given)
        for start in (slot, beside(self._instance)):
            if start is not None:
                self._pool.append(start)
                self._keep(start)
        for room in ROOMS:
            began = monotonic()
            for start in self._orders.arrangements(None, ORDERS, room):
                self._pool.append(start)
                self._keep(start)
                if self._done():
                    return
                if monotonic() - began > self._limits.remaining:  # there is no time for another
                    break
                began = monotonic()
            if self._pool:
                break
        self._pool.sort(key=lambda one: measured(self._instance, one)[0])

    def _chain(self, turn: Turn) -> Ints:
        """Anneal once; what this does depends on the turn and on the best arrangement before the round alone."""
        instance, graph = self._instance, self._instance.graph
        steps, random = turn.steps, turn.random
        how = recipe(instance.n, turn.number, turn.chain, random)
        slot = self._origin(how, random)
        best = slot.copy()
        makespan, busy, excess = measured(instance, slot)
        scale = min(makespan, self._cost)
        if turn.number % 2 and self._cost == float("inf"):  # plans may be far slower than what exceeds memories
            scale = instance.longest
        weight = how.busy * scale / busy if busy > 0 else 0.0
        energy = makespan + weight * busy + (how.excess * scale * excess if excess > 0 else 0.0)
        value = np.array([makespan, energy, np.inf, np.inf])
        if excess == 0:
            value[2:] = makespan, energy
        anneal = ANNEAL.pick(3.0 * steps * (instance.n + graph.m), self._progress.say)
        batch = max(1, min(BATCH, steps, int(BATCH_WORK / (instance.n + graph.m))))
        batches = -(-steps // batch)
        for i in range(batches):
            if self._done():
                break
            hot, cold = (scale * how.hot * (how.cold / how.hot) ** ((i + x) / batches) for x in (0, 1))
            anneal(
                slot,
                best,
                value,
                random.random((batch, DRAWS)),
                np.array([hot, cold, weight, how.excess * scale]),
                instance.pieces,
                instance.home,
                graph.topological_order,
                graph.offsets,
                graph.heads,
                graph.offsets_in,
                graph.producers,
                graph.tails,
                instance.group,
                instance.member_offsets,
                instance.members,
                instance.time,
                instance.tensor,
                instance.memory,
                instance.limit,
            )
        return best

    def _origin(self, how: LatencyRecipe, random: np.random.Generator) -> Ints:
        if how.origin == "best" and np.isfinite(self._cost):
            return self._best.copy()
        if how.origin == "beside":
            return self._pool[int(random.integers(len(self._pool)))].copy()
        return self._pool[int(len(self._pool) * random.random() ** 2)].copy()

    def _keep(self, slot: Ints) -> None:
        """Keep an arrangement if it is better than the best, and a plan."""
        makespan = worth(self._instance, slot)
        if makespan < self._cost and self._taker.take(self._instance.plan(slot)):
            self._best, self._cost = slot.copy(), makespan

    def _done(self) -> bool:
        """Whether to stop: by request, by time, or as the best plan is good enough."""
        bound = self._progress.bound
        if bound is not None and self._taker.plan is not None:
            close = relative_gap(self._taker.cost, bound.cost) <= max(self._limits.gap, 1e-9)
            if close:
                return True
        return self._progress.stopped or self._limits.remaining <= 0
