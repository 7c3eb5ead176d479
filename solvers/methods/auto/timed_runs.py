"""Run method ``auto`` for the latency of one sample, the throughput of batches, and linear objectives of schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mtpp_dsl.core.constraints import Constraint, Forbid, Linear
from mtpp_dsl.core.contracts.protocols import Method, refusal
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.algorithms.device_sets import cheapest_sets
from mtpp_dsl.solvers.backends.cpsat.effort import availability
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.penalties import FEW_SHARE, KNOWN_SHARE
from mtpp_dsl.solvers.methods.auto.policy import (
    ALIKE_SHORT,
    ALONE,
    BOUNDS_SHORT,
    EVOLVED,
    LISTS_SHARE,
    MANY_NODES,
    MOVES_ALIKE,
    MOVES_SHORT,
    ONE_CORE,
    ORDER,
    ORDER_SECONDS,
    PIECES,
    SHORT,
    WHOLE_BATCH,
)
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps, even_turns
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, attempt
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity
from mtpp_dsl.solvers.schedule.search.replica_starts import kinds_of
from mtpp_dsl.solvers.schedule.splitting.pieces import parted

ALONE_SHARE, ALONE_SECONDS = 0.3, 10.0
"""What the search has to itself before the programme, which needs a good plan, is beside it."""
BESIDE_SHARE, BESIDE_SECONDS = 0.5, 60.0
"""What the bound with chains beside its path has, for which the plan of the search is the limit."""
MODEL_SIZE = 20_000
"""The programme has rows for edges times subgraphs; beyond so many it does not get through its root."""


class LatencyRun(AutoSteps):
    """One call for a makespan on ``host`` or ``shared``: a bound along a path, then a search beside the programme."""

    minor = frozenset({"published-greedy", "single-device", "simple"})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(load(METHODS, "published-greedy")())
        self.run(LaneTask(load(METHODS, "single-device")()))
        self.rows_aside(FEW_SHARE)
        self.run(LaneTask(load(METHODS, "simple")(), ALONE_SHARE, ALONE_SECONDS))
        bound = load(METHODS, "path-hull")
        self.run(LaneTask(bound(sides=False), ALONE_SHARE, ALONE_SECONDS))
        search = load(METHODS, "latency-search")()
        self.run(LaneTask(search, ALONE_SHARE, ALONE_SECONDS))
        self.run(LaneTask(bound(), BESIDE_SHARE, BESIDE_SECONDS))
        if not self.closed:
            self.at_once(self.lanes(search, cores(self.limits)))
        self.insist()
        return self.answer()

    def lanes(self, search: Method, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: the search, the programme, and the search with other seeds."""
        programme = self.programme()
        if not self.searched:
            return [[LaneTask(method) for method in programme]]
        if count == 1:
            return [[LaneTask(search, 0.5 if programme else 1.0, seed=1), *map(LaneTask, programme)]]
        lanes = [[LaneTask(search, seed=1)], [*map(LaneTask, programme)]]
        lanes += [[LaneTask(search, seed=seed)] for seed in range(2, count + 1)]
        return [lane for lane in lanes if lane][:count]

    def searches(self) -> Iterator[Method]:
        """Yield the search for subgraphs."""
        yield load(METHODS, "latency-search")()

    def models(self) -> Iterator[Method]:
        """Yield the integer programme with its solver."""
        if self.limits.solver != "cp-sat":
            formulation = load(FORMULATIONS, "latency")()
            yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, self.limits.solver)

    def programme(self) -> list[Method]:
        """Return the integer programme, where it is not too large, or no search accepts the problem."""
        small = self.problem.graph.m * self.problem.k <= MODEL_SIZE
        return self.model() if small or not self.searched else []


BOUNDS = ("simple", "critical-path")
QUICK = ("met", "greedy", "heft")
QUICK_SHORT = ("heft", "simple", "critical-path", "greedy", "met")
"""The same where time is short: a good plan first."""
LISTS = ("greedy", "heft")
QUICK_SHARE, QUICK_SECONDS = 0.05, 5.0
"""How long each of these may take, in large graphs."""
SMALL = 120
"""Problems of so few chunks of nodes are given to one model as a whole first."""
MODEL = 4_000
"""Larger problems, in chunks of nodes times devices, are no work for one model."""
SPLIT_SHARE = 0.7
"""Of the time left, what the modules may take before one model of everything gets it."""
SEARCH_SHARE = 0.4
"""Of the time left, what annealing may take before windows of its plan are made anew."""


class BatchRun(AutoSteps):
    """One call for a batch.

    1. bounds that cost next to nothing, list schedules of batches, and an evolution of these; a linear programme of
       the order of chunks;
    2. a small problem as one model;
    3. a search, and module by module with its lower bound, at the same time; then one model of everything, where that
       is not too large;
    4. where none of these has found a plan, the models of everything that had no turn.
    """

    on_links = True
    minor = frozenset({"single-device", *BOUNDS, *QUICK}) - {"heft"}

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        short = self.limits.remaining < SHORT
        self.first(load(METHODS, "single-device")())
        if self.alike and self.problem.graph.n > ONE_CORE.lns_nodes:
            self.move_first(short=short)
        else:
            self.list_first(short=short)
            if self.problem.graph.n > MANY_NODES and parted(self.problem):
                self.run(LaneTask(load(METHODS, "piecewise")(), *PIECES))
            else:
                self.evolve()
            for task in self.ordered:
                self.run(task)
        if self.small and not short:
            for method in self.whole:
                self.run(LaneTask(method, *WHOLE_BATCH))
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits), self.size * self.problem.k))
        self.insist()
        return self.answer()

    def list_first(self, *, short: bool) -> None:
        """Bound the batch by what costs next to nothing and make list schedules, a good one first if time is short."""
        for name in QUICK_SHORT if short else (*BOUNDS, *QUICK):
            self.run(LaneTask(load(METHODS, name)(), LISTS_SHARE if name in LISTS else QUICK_SHARE, QUICK_SECONDS))
            if short and name == QUICK_SHORT[0] and self.problem.graph.n > ONE_CORE.lns_nodes:
                self.run(LaneTask(load(METHODS, "annealing")(), MOVES_SHORT))

    def move_first(self, *, short: bool) -> None:
        """Bound the batch by what costs next to nothing; anneal schedules, and bound them by the order of chunks.

        If time is short, schedules come before bounds.
        """
        if short:
            self.run(LaneTask(load(METHODS, "annealing")(), ALIKE_SHORT))
        for name in BOUNDS:
            self.run(LaneTask(load(METHODS, name)(), BOUNDS_SHORT if short else QUICK_SHARE, QUICK_SECONDS))
        if short:
            return
        first = [LaneTask(load(METHODS, "annealing")(), MOVES_ALIKE)]
        if cores(self.limits) > 1:
            self.at_once([lane for lane in (first, self.ordered) if lane])
        else:
            for task in [*first, *self.ordered]:
                self.run(task)

    @property
    def ordered(self) -> list[LaneTask]:
        """The bound by the order of chunks, where it is expected to have enough time."""
        enough = min(ORDER[1], ORDER[0] * self.limits.remaining) >= ORDER_SECONDS * self.size
        return [LaneTask(load(METHODS, "chunk-order")(), *ORDER)] if enough else []

    @cached_property
    def alike(self) -> bool:
        """Whether chunks may run alike on groups of equal devices."""
        return any(len(kind) > 1 for kind in kinds_of(BatchInstance.of(self.problem)))

    @property
    def size(self) -> int:
        """How many chunks of nodes there are."""
        return self.problem.graph.n * self.problem.batching.count

    @property
    def small(self) -> bool:
        """Whether one model of everything may have a turn before searches."""
        return self.size <= SMALL

    def evolve(self) -> None:
        """Evolve the best list schedule, and where that takes a moment the one that ``ea`` begins with by itself, too.

        Small steps from a good schedule often lead nowhere, and from a poor one further.
        """
        method = load(METHODS, "ea")()
        if self.small and self.open([LaneTask(method)]) and not (self.closed or self.tells(method.name)):
            limits = self.limits.within(min(ALONE[1], ALONE[0] * self.limits.remaining), start=None)
            self.begin(LaneTask(method), limits.remaining)
            self.take(attempt(method, self.problem, replace(limits, seed=limits.seed + 1), self.progress))
        self.run(LaneTask(method, *EVOLVED))

    def searches(self) -> Iterator[Method]:
        """Yield the search for batches."""
        yield load(METHODS, "annealing")()

    def models(self) -> Iterator[Method]:
        """Yield the model of CP-SAT, where it is there, and the mixed-integer programme."""
        solver = self.limits.solver
        if solver in ("highs", "cp-sat"):
            if availability().ok:
                yield built_in("mtpp_dsl.solvers.methods.cp_sat:BatchScheduling")("batched")
            else:
                better = f"CP-SAT solves schedules much better than what is installed: {availability().install}"
                self.notes.append(better)
        if solver != "cp-sat":
            formulation = load(FORMULATIONS, "batched")()
            yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, solver)

    @cached_property
    def whole(self) -> list[Method]:
        """The first model of everything, if any accepts the problem."""
        return self.model()

    @cached_property
    def relaxed(self) -> list[Method]:
        """The mixed-integer programme, if it can be used beside the model of CP-SAT: its relaxation bounds better."""
        found = [method for method in list(self.models())[1:] if refusal(method, self.problem) is None]
        self._given += found
        return found

    def lanes(self, count: int, size: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: searches; modules, their bound and one model; further searches."""
        search, split, bound = (load(METHODS, name)() for name in ("annealing", "milp-split", "split-bound"))
        improve = [load(METHODS, "lns")()] if availability().ok else []
        model = self.whole if size <= MODEL or not self.searched else []
        if count == 1:
            few = self.problem.graph.n <= ONE_CORE.lns_nodes
            first, *others = [*improve, search] if few else [search, *improve]
            last = self.relaxed if self.small and self.relaxed else model
            share = ONE_CORE.batches if few else ONE_CORE.moves
            return [[LaneTask(first, share), *even_turns([split, bound, *others, *last])]]
        parts = [
            LaneTask(split, SPLIT_SHARE),
            LaneTask(bound, 1.0 if not model else SPLIT_SHARE),
            *map(LaneTask, model),
        ]
        first = [LaneTask(search, SEARCH_SHARE if improve else 1.0), *map(LaneTask, improve)]
        more = [[LaneTask(method, seed=seed)] for seed in range(1, count) for method in (search, *improve)]
        return [lane for lane in (first, parts, *more) if lane][:count]


SETS_SHARE, SET_SECONDS, FIRST_SECONDS = 0.3, 1.0, 3.0
"""For short schedules over sets of devices, for one of them, and for the first, over all."""
SMALL_SHARE, SMALL_SECONDS, SMALL_NODES = 0.4, 15.0, 12
"""What the model has to itself in graphs of so few nodes, which it closes in a moment as a rule."""


class TimedWeightedRun(AutoSteps):
    """One call for a linear objective over ``start``, ``finish``, ``makespan`` or on ``links``.

    Short schedules come first: over all devices, and over the sets of them that are cheapest to use. Then a search over
    placements is beside the mixed-integer programme.
    """

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        if self.problem.graph.n <= SMALL_NODES:
            for method in self.model():
                self.run(LaneTask(method, SMALL_SHARE, SMALL_SECONDS))
        self.rows_aside(KNOWN_SHARE)
        self.short()
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits)))
        self.insist()
        return self.answer()

    def short(self) -> None:
        """Look for short schedules, without the labelled rows; keep those that satisfy these."""
        if self.closed or self.tells("heft"):
            return
        self._shorten(range(self.problem.k), FIRST_SECONDS)
        until = (1 - SETS_SHARE) * self.limits.remaining
        for devices, price in cheapest_sets(self.problem):
            cost = self.progress.cost
            if self.closed or self.limits.remaining < until or (cost is not None and price >= cost):
                break
            self._shorten(devices, SET_SECONDS)

    def _shorten(self, devices: Sequence[int], seconds: float) -> None:
        """Look for short schedules on some devices."""
        problem = self.problem
        kept: list[Constraint] = [c for c in problem.constraints if not isinstance(c, Linear)]
        others = tuple(sorted(set(range(problem.k)) - set(devices)))
        if others:
            kept.append(Forbid(nodes=tuple(range(problem.graph.n)), devices=others))
        relaxed = problem.asking(replace(Objective("makespan"), penalised=False), kept)
        if not relaxed.allowed.any(axis=1).all():
            return
        self.progress.say(f"shortening schedules on {len(devices)} devices")
        listener = Reduced(problem, relaxed, identity, self.progress).listener(problem)
        limits = self.limits.within(min(seconds, 0.1 * self.limits.remaining), start=None)
        for method in (load(METHODS, "heft")(), Annealing(2)):
            if method.accepts(relaxed) is None and limits.remaining > 0:
                method.solve(relaxed, limits, listener)

    def lanes(self, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: the search, the model, and the search with other seeds."""
        model = [LaneTask(method) for method in self.model()]
        if count == 1:
            return [[LaneTask(Annealing(), 0.5 if model else 1.0), *model]]
        lanes = [[LaneTask(Annealing())], model, *([LaneTask(Annealing(), seed=seed)] for seed in range(1, count - 1))]
        return [lane for lane in lanes if lane][:count]

    def searches(self) -> Iterator[Method]:
        """Yield the search for placements."""
        yield Annealing()

    def models(self) -> Iterator[Method]:
        """Yield the mixed-integer programme with its solver."""
        formulation = load(FORMULATIONS, "moirai")()
        yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, self.limits.solver, apart=True)
