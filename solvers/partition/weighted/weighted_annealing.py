"""One run of method ``annealing`` for a weighted sum of decisions: rounds of annealings side by side."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.solvers.partition.annealing.annealing_run import AnnealingRun, chunks, falling
from mtpp_dsl.solvers.partition.annealing.starts import along_order
from mtpp_dsl.solvers.partition.weighted.instance import WeightedInstance, instance_of, state_of
from mtpp_dsl.solvers.partition.weighted.moves import ANNEAL, DRAWS, BestWeighted, WeightedMoves
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn

__all__ = ["anneal_weighted"]

MIN_MOVES, MAX_FIRST_MOVES, MAX_MOVES = 2_000, 400_000, 16_000_000
"""Moves that an annealing tries: at least, at most in the first round, and at most."""
CHUNKS, SMALLEST_CHUNK, LARGEST_CHUNK, NOISE = 100, 500, 20_000, 1 << 16
"""Steps of the temperature, about, and moves in each; random numbers drawn at once."""
MOVES_A_SPLIT = 50
"""A search tries no more moves than so many for each split that there is."""


def anneal_weighted(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Anneal splits of *problem* until done or stopped, and return the best plan.

    Args:
        problem: of a bottleneck or a linear objective on ``shared`` or ``host``, without times.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of each annealing of the first round, per supernode and device.
    """
    return _Run(problem, limits, progress, patience, moves).result()


class _Run(AnnealingRun):
    """Solves one problem."""

    def _prepare(self) -> Ints:
        view = hypergraph(self._problem)
        self._instance: WeightedInstance = instance_of(self._problem, view)
        self._order = along_order(self._problem, view.of)
        self._best = BestWeighted(np.zeros(len(self._instance.time), np.int64), np.array([np.inf]))
        return view.of

    def _begin(self) -> bool:
        incumbent = self._incumbent
        if incumbent.plan is not None:
            self._best.device[:] = incumbent.plan.assignment[self._first]
            self._best.cost[0] = incumbent.cost
        return bool(self._instance.allowed.any(axis=1).all() and self._instance.time.size)

    def _anneal(self) -> None:
        n, k = self._instance.time.shape
        first = min(MAX_FIRST_MOVES, max(MIN_MOVES, self._moves * n * k))
        most = max(MIN_MOVES, min(MAX_MOVES, MOVES_A_SPLIT * float(k) ** min(n, 64)))
        MultiStart(self._limits, CHAINS, self._patience, first, MIN_MOVES, most).run(
            self._chain,
            self._keep,
            cost=lambda: float(self._best.cost[0]),
            done=lambda: self._incumbent.done,
            prepare=lambda steps: ANNEAL.pick(CHAINS * steps, self._progress.say),
        )

    @property
    def _used(self) -> Bools:
        """[devices] which the best split uses; all where there is none."""
        k = self._problem.k
        if not np.isfinite(self._best.cost[0]):
            return np.ones(k, np.bool_)
        return np.bincount(self._best.device, minlength=k) > 0

    def _keep(self, splits: list[BestWeighted]) -> None:
        """Keep the best split of a round."""
        best = min(splits, key=lambda one: float(one.cost[0]))
        if best.cost[0] < self._best.cost[0] and self._incumbent.take(self._plan_of(best.device)):
            self._best = best

    def _chain(self, turn: Turn) -> BestWeighted:
        """Anneal once; what this does depends on the turn and on the best split before the round alone."""
        chosen = recipe(turn.chain, turn.number, self._used, turn.random)
        best = BestWeighted(self._best.device.copy(), self._best.cost.copy())
        known = float(best.cost[0])
        device = self._start(chosen, turn.random)
        state = state_of(self._instance, device)
        unit = abs(known) if np.isfinite(known) and known else self._unit
        run = ANNEAL.pick(turn.steps, self._progress.say)
        draws = np.empty(max(DRAWS, min(NOISE, 32 * turn.steps)))
        size = max(SMALLEST_CHUNK, min(LARGEST_CHUNK, turn.steps // CHUNKS))
        energy = np.inf
        for begin, end in chunks(turn.steps, size, lambda: self._progress.ended(self._limits) is not None):
            temperature = falling(chosen.hot, chosen.cold, begin / turn.steps)
            heat = temperature, unit, chosen.moves, chosen.offered
            done = begin
            while done < end:
                turn.random.random(out=draws)
                tried, energy = run(draws, end - done, *heat, self._instance, state, energy, best)
                done += tried
            state = state_of(self._instance, state.device)  # sums of floats drift
            if best.cost[0] < known:
                known = float(best.cost[0])
                plan = self._plan_of(best.device)
                if not verify(self._problem, plan):
                    self._progress.report_plan(plan, evaluate(self._problem, plan).cost)
        return best

    @property
    def _unit(self) -> float:
        """What the cost of a plan may be, about, where none is known."""
        instance = self._instance
        time = float(instance.time.max(axis=1, initial=0.0).sum())
        largest = float(np.abs(instance.load).max(initial=0.0)) + abs(instance.peak)
        on = float(np.abs(instance.on).max(axis=1, initial=0.0).sum())
        return largest * time + float(np.abs(instance.use).sum()) + on + abs(instance.constant) or 1.0

    def _start(self, chosen: WeightedRecipe, random: np.random.Generator) -> Ints:
        """Return the state to start from: the best split, else slices of about equal work, or random places."""
        instance = self._instance
        n, k = instance.time.shape
        if chosen.origin == "best" and np.isfinite(self._best.cost[0]):
            device = self._best.device.copy()
            lost = ~chosen.offered[device]
        elif chosen.origin == "random":
            device, lost = np.zeros(n, np.int64), np.ones(n, np.bool_)
        else:
            devices = random.permutation(np.flatnonzero(chosen.offered))
            work = np.where(instance.allowed, instance.time, np.inf).min(axis=1)[self._order]
            before = np.cumsum(work) - work / 2
            share = before / max(float(work.sum()), 1e-300)
            device = np.empty(n, np.int64)
            device[self._order] = devices[np.minimum((len(devices) * share).astype(np.int64), len(devices) - 1)]
            lost = ~instance.allowed[np.arange(n), device]
        key = np.where(instance.allowed, random.random((n, k)) + chosen.offered, -1.0)
        return np.where(lost, key.argmax(axis=1), device).astype(np.int64)


# Draw at random how one annealing goes: from where, over which devices, from which temperature, by which moves.

Origin: TypeAlias = Literal["best", "slices", "random"]

CHAINS = 4
"""Annealings that go on side by side, whatever the number of processors: the seed alone decides what they do."""
ORIGINS: tuple[tuple[Origin, ...], ...] = (("best",), ("best", "slices"), ("best", "slices"), ("slices", "random"))
OVER = ("same", "fewer", "others", "any")
"""Which devices each chain goes over, seen from those of the best split: the price of a device counts once it is used,
so that an annealing seldom empties one by single moves."""


class WeightedRecipe(NamedTuple):
    """One annealing.

    Attributes:
        origin: the state to start from.
        hot, cold: first and last temperature, as a share of the cost of the best plan; it falls geometrically.
        offered: [devices] which may be used.
        moves: what to try.
    """

    origin: Origin
    hot: float
    cold: float
    offered: Bools
    moves: WeightedMoves


def recipe(chain: int, number: int, used: Bools, random: np.random.Generator) -> WeightedRecipe:
    """Return what chain number *chain* of round *number* does.

    Args:
        chain: from 0 to :data:`CHAINS` - 1.
        number: of the round.
        used: [devices] which the best split uses.
        random: what draws.
    """
    origin = ORIGINS[chain][int(random.integers(len(ORIGINS[chain])))]
    near = origin == "best"
    hot = 10.0 ** random.uniform(-3.5, -2.0) if near else 10.0 ** random.uniform(-2.0, -0.5)
    moves = WeightedMoves(
        near=float(random.choice([0.2, 0.5, 0.8])),
        clusters=float(random.choice([0.05, 0.2])),
        exchanges=float(random.choice([0.2, 0.4])),
        whole=float(random.choice([0.001, 0.01])),
        charge=float(random.choice([1.0, 3.0, 10.0])),
    )
    return WeightedRecipe(
        origin, hot, hot / 10.0 ** random.uniform(1.5, 3.0), _offered(OVER[(chain + number) % 4], used, random), moves
    )


def _offered(over: str, used: Bools, random: np.random.Generator) -> Bools:
    """Return which devices an annealing goes over."""
    offered = used.copy()
    inside, outside = np.flatnonzero(used), np.flatnonzero(~used)
    if over == "any" or not len(inside):
        return np.ones_like(used)
    if over in ("fewer", "others") and len(inside) > 1:
        offered[
            random.choice(
                inside, size=1 + int(over == "others" and len(inside) > 2 and random.random() < 0.3), replace=False
            )
        ] = False
    if over == "others" and len(outside):
        offered[random.choice(outside, size=min(len(outside), 1 + int(random.random() < 0.3)), replace=False)] = True
    return offered
