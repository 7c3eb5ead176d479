"""One run of method ``auto`` for a makespan on links."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from time import monotonic

from mtpp_dsl.core.constraints import Colocate, ExclusiveLinks, Separate
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result, relative_gap
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.solvers.algorithms.cut_nodes import modules
from mtpp_dsl.solvers.algorithms.module_rows import split
from mtpp_dsl.solvers.backends.cpsat.effort import availability
from mtpp_dsl.solvers.methods.auto.penalties import FEW_SHARE
from mtpp_dsl.solvers.methods.auto.policy import (
    APART,
    INTERVAL,
    INTERVAL_FAR,
    LEARNED,
    LIFTED_NODES,
    ONE_CORE,
    PARTS,
    PIECES,
    SHORT,
)
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps, even_turns
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.decomposition.chain_run import chain_parts
from mtpp_dsl.solvers.schedule.lifted.run import suits
from mtpp_dsl.solvers.schedule.splitting.pieces import parted

QUICK = ("simple", "critical-path", "greedy", "heft", "peft", "cpop", "etf")
QUICK_SHARE, QUICK_SECONDS = 0.05, 5.0
"""How long each of these may take."""
LARGE, LARGE_SHARE, LARGE_SECONDS = "m-sct", 0.15, 20.0
"""A further one for graphs that no model is made of, where the search keeps much of the schedule it begins with."""
LISTS = {"greedy": 1.0, "cpop": 1.2, "peft": 2.0, "etf": 3.0}
"""What further list schedulers take, as multiples of ``heft`` (layered and ``gpt``, 100,000 nodes on 16 devices)."""
SERIES_SHARE = 0.35
"""Of the time left, for the bound by modules in a row, and then for a plan of them."""
SERIES_RACE = 0.7
"""The same where they go on side by side in large graphs, in which moves of single nodes change little."""
STACK_SHARE, STACK_NODES = 0.9, 20_000
"""Of the time left, for stacks of layers, which are bounded and scheduled by their modules at once, and their nodes."""
SERIES_NODES = 5_000
"""Graphs of no more are left to ``decomposition`` where cut nodes leave modules that it can solve."""
LIST_SHARE = 0.25
"""Of the time left, what a list scheduler that is to be run to its end may be expected to take."""
WHOLE_NODES, WHOLE_SHARE, WHOLE_SECONDS = 60, 0.2, 10.0
"""Graphs of so few nodes are given to one model as a whole first, for so long."""
ROWS_SHARE = 0.6
"""The same under labelled rows, which no other proof takes into account."""
TINY_NODES = 16
"""One model closes graphs of so few nodes in less time than it takes to load the compiled code of ``interval``."""
MODULE_NODES, MODULE_PART = 120, 0.4
"""Modules of more nodes, or of more of the graph, are not solved as they are: it has no cut nodes that help."""
CHANNELS, CHANNEL_NODES, CHANNEL_MODULES = 4, 40, 3
"""Where so few channels leave no larger modules, and so many of them, these are solved one after another."""
SPLIT_NODES = 10_000
"""Of larger graphs no such modules are looked for, which takes a time that grows with the square of the nodes."""
SPLIT_SHARE, SPLIT_BOUND_SHARE = 0.6, 0.4
"""Of the time left, what they may take, and their bound, before further searches and other bounds."""
CHAIN_SHARE = 0.65
"""Of the time left, what the chain relaxation and the lifted programmes may take before one model of everything."""
MODEL_NODES = 400
"""Larger graphs are no work for one model."""
MODULE_TABLE = 15_000_000
"""Edges times pairs of devices, above which CP-SAT is not asked: some eight numbers would be stored for each."""
PART_NODES = 3_000
"""Parts of a chain of anchors with more nodes are not given to CP-SAT."""
CUTS_SHARE = 0.7
"""Of the time left, what cuts along a chain and plans that move whole modules may take, on exclusive links."""
ANNEALING_SHARE = 0.4
REPEATS_SHARE = 0.7
"""Of the time left after annealing, what orders of modules that repeat may take before ``lns``."""
FIRST_SHARE, FIRST_SECONDS = 0.2, 2.0
"""For a first annealing where modules by themselves are not expected to do better: in 5 s plans cost 7 %, 3 % and 9 %
less (wired-slow-exclusive-n32-m3, -m10, moirai-inceptionv4-exclusive), in 20 s up to 1 % less."""
ROUNDING = 1e-4
"""A gap that whole numbers may leave."""


class ScheduleRun(AutoSteps):
    """One call for a makespan on links.

    1. bounds that cost next to nothing, and list schedules; of large graphs a list schedule first, run to its end, and
       stacks of layers by their modules;
    2. a small graph as one model; one with cut nodes by modules, with all cores;
    3. searches and proofs at the same time, for the time that is left: where no cut nodes help by modules that few
       channels join, along a chain of nodes, and by one model of everything where that is not too large;
    4. where none of these has found a plan, the models of everything that had no turn.

    What does not accept the problem is left out: of constraints that no search honours, all time is the model's.
    """

    on_links = True
    minor = frozenset({"single-device", *QUICK, LARGE}) - {"heft"}

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        short = self.limits.remaining < SHORT
        self.first(load(METHODS, "single-device")())
        if self.problem.soft_rows:
            self.rows_aside(FEW_SHARE)
        n, models = self.problem.graph.n, self.whole if self.by_modules else []
        share, seconds = (ROWS_SHARE, float("inf")) if self.under_rows else (WHOLE_SHARE, WHOLE_SECONDS)
        whole = [LaneTask(method, share, seconds) for method in models if n <= WHOLE_NODES]
        bounds_last = sorted(QUICK, key=lambda name: name != "heft")  # where no device holds everything, a plan first
        quick = [self.quick(name) for name in (bounds_last if short or self.progress.plan is None else QUICK)]
        if n > MODEL_NODES:
            self.plans_first()
            quick = [] if self.in_series else [self.quick("critical-path")]
        large = self.stacked or (n > SERIES_NODES and self.in_series)  # whose modules interval sees no better
        intervals = [] if large else [self.intervals()]
        for task in quick:
            self.run(task)
        parts_first = self.decomposed and self.largest <= PARTS.nodes < n
        if WHOLE_NODES < n <= MODEL_NODES and not (self.decomposed and (parts_first or self.sparse)):
            self.run(LaneTask(load(METHODS, "annealing")(), FIRST_SHARE, FIRST_SECONDS))
        if parts_first:
            if not short:
                self.run(self.quick("interval"))
            self.parts(PARTS.short if short else PARTS.share)
        parts_at_once = short and self.decomposed and self.sparse and not parts_first  # they need all there is
        before = [] if parts_at_once else intervals
        for task in [*whole, *before] if n <= TINY_NODES else [*before, *whole]:
            self.run(task)
        if not self.problem.soft_rows:  # one model of everything knows the rows over used that must hold
            self.rows_aside(FEW_SHARE)
        if self.decomposed and not parts_first:
            self.parts(PARTS.share if self.sparse else PARTS.dense)
        for task in intervals if parts_at_once else ():
            self.run(task)
        if self.formless:
            in_row = parted(self.problem)
            self.run(LaneTask(load(METHODS, "piecewise" if in_row else "placeto")(), *(PIECES if in_row else LEARNED)))
        self.race()
        self.insist()
        return self.answer()

    def parts(self, share: float) -> None:
        """Solve the modules between cut nodes for a share of the time, and what rounding has left open by itself."""
        self.run(LaneTask(load(METHODS, "decomposition")(), share))
        if self.nearly:
            self.run(LaneTask(load(METHODS, "milp-split")(), SPLIT_SHARE))

    def plans_first(self) -> None:
        """Run one list scheduler to its end, whatever it takes, the cheapest bound, and further ones as time allows.

        The bound is first where it takes next to no time, unless that is short.
        """
        if self.problem.graph.n <= SERIES_NODES and self.limits.remaining >= SHORT:
            self.run(self.quick("simple"))
        began = monotonic()
        self.run(LaneTask(load(METHODS, "heft")()))
        spent = monotonic() - began
        if self.progress.bound is None:
            self.run(LaneTask(load(METHODS, "simple")()))
        if self.cut_along and self.apart(APART):
            by_cuts = built_in("mtpp_dsl.solvers.methods.modules:ChainRelaxation")(cuts_alone=True)
            self.run(LaneTask(by_cuts, CUTS_SHARE))
        for method in self.in_series:
            self.run(LaneTask(method, STACK_SHARE if self.stacked else SERIES_SHARE))
        for name, multiple in LISTS.items():
            if multiple * spent <= LIST_SHARE * self.limits.remaining:
                self.run(LaneTask(load(METHODS, name)()))
        if 2 * LISTS["etf"] * spent <= LARGE_SHARE * self.limits.remaining:  # its programme may take as long again
            self.run(LaneTask(load(METHODS, LARGE)(), LARGE_SHARE, LARGE_SECONDS))

    def intervals(self) -> LaneTask:
        """Return the bound by intervals, which has more time where a model could use it, or where no bound is near."""
        if self.problem.graph.n <= MODEL_NODES:
            return LaneTask(load(METHODS, "interval")(), *INTERVAL)
        return LaneTask(load(METHODS, "interval")(), *INTERVAL_FAR) if self.apart(APART) else self.quick("interval")

    def quick(self, name: str) -> LaneTask:
        """Return a method that is given little time."""
        return LaneTask(load(METHODS, name)(), QUICK_SHARE, QUICK_SECONDS)

    @cached_property
    def by_modules(self) -> bool:
        """Whether CP-SAT is there, and no other solver is asked for."""
        if self.limits.solver not in ("highs", "cp-sat"):
            return False
        if not availability().ok:
            self.notes.append(f"CP-SAT solves schedules much better than what is installed: {availability().install}")
            return False
        return True

    @property
    def under_rows(self) -> bool:
        """Whether labelled rows must hold: modules are solved without them, which then proves nothing of a plan."""
        return bool(self.problem.hard_rows)

    @property
    def nearly(self) -> bool:
        """Whether no more than rounding seems to be between plan and bound; modules by themselves are rounded less."""
        cost, bound = self.progress.cost, self.progress.bound
        return cost is not None and bound is not None and relative_gap(cost, bound.cost) <= ROUNDING

    def searches(self) -> Iterator[Method]:
        """Yield the search for schedules."""
        yield load(METHODS, "annealing")()

    def models(self) -> Iterator[Method]:
        """Yield the model of CP-SAT, where it is there, and the mixed-integer programme."""
        if self.by_modules:
            yield built_in("mtpp_dsl.solvers.methods.cp_sat:Scheduling")("moirai")
        if self.limits.solver != "cp-sat":
            formulation = load(FORMULATIONS, "moirai")()
            yield built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(formulation, self.limits.solver)

    @cached_property
    def whole(self) -> list[Method]:
        """The first model of everything, if any accepts the problem."""
        return self.model()

    @cached_property
    def largest(self) -> int:
        """How many nodes the largest module between cut nodes has."""
        classes = [c.nodes for c in self.problem.constraints if isinstance(c, (Colocate, Separate))]
        return max((len(module.nodes) for module in modules(self.problem.graph, bound=classes)), default=0)

    @property
    def sparse(self) -> bool:
        """Whether modules of any size are expected to be solved: few edges, and links that serve several at once."""
        few = self.problem.graph.m <= PARTS.density * self.problem.graph.n
        return few and not any(self.problem.of(ExclusiveLinks))

    @property
    def cut(self) -> bool:
        """Whether cut nodes leave modules that are small enough."""
        return self.largest <= max(min(MODULE_NODES, MODULE_PART * self.problem.graph.n), CHANNEL_NODES)

    @cached_property
    def in_series(self) -> list[Method]:
        """The bound by modules in a row, and the search for plans of them, where a large graph has such modules."""
        n = self.problem.graph.n
        if self.stacked:
            return [load(METHODS, "lifted")()]
        if n <= MODEL_NODES or self.largest > PART_NODES or (self.cut_along and n <= SERIES_NODES):
            return []
        names = ("series-bound", "series") if n > SERIES_NODES or not self.decomposed else ("series-bound",)
        return [load(METHODS, name)() for name in names]

    @cached_property
    def stacked(self) -> bool:
        """Whether a graph that is not given to CP-SAT by modules is a stack of layers, that is, suits ``lifted``."""
        if not MODEL_NODES < self.problem.graph.n <= STACK_NODES or self.decomposed:
            return False
        method = load(METHODS, "lifted")()
        return method.accepts(self.problem) is None and suits(self.problem)

    @property
    def formless(self) -> bool:
        """Whether a graph is large, no part of it is solved by itself, and plan and bound are far apart."""
        parts = self.in_series or self.stacked or self.decomposed
        return self.problem.graph.n > LIFTED_NODES and not parts and self.apart(APART)

    @property
    def decomposed(self) -> bool:
        """Whether modules between cut nodes are given to CP-SAT."""
        return self.by_modules and self.tabled and self.cut and not self.under_rows

    @property
    def tabled(self) -> bool:
        """Whether the times of all edges between all devices, which CP-SAT is told, take little memory."""
        return self.problem.graph.m * self.problem.k**2 <= MODULE_TABLE

    @cached_property
    def chained(self) -> bool:
        """Whether no cut nodes help, and a chain of anchors leaves parts that can be solved."""
        if self.cut or not self.tabled:
            return False
        if self.problem.graph.n <= PART_NODES or self.as_it_is:
            return True
        parts = chain_parts(self.problem, None).modules
        return max(len(part.nodes) for part in parts) <= PART_NODES

    @cached_property
    def cut_along(self) -> bool:
        """Whether cuts along a chain of anchors are expected to help: on exclusive links, without useful cut nodes."""
        exclusive = any(self.problem.of(ExclusiveLinks)) and not self.under_rows and not self.stacked
        return exclusive and self.by_modules and self.chained

    @cached_property
    def split(self) -> bool:
        """Whether few channels leave modules that are small enough, and no cut nodes do."""
        if self.cut or self.as_it_is or self.problem.graph.n > SPLIT_NODES:
            return False
        pieces = split(self.problem.graph)
        fits = max(pieces.sizes) <= CHANNEL_NODES and len(pieces.sizes) >= CHANNEL_MODULES
        return fits and pieces.channels <= CHANNELS

    def race(self) -> None:
        """Search, and solve everything as one model, until plan and bound meet."""
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits)))

    def lanes(self, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: searches and modules, then proofs, then further searches."""
        search = load(METHODS, "annealing")()
        improve = [load(METHODS, "lns")()] if self.by_modules and self.tabled else []
        repeats = [load(METHODS, "transplant")()] if self.cut_along else []
        chain = [load(METHODS, "chain-relaxation")()]
        chain = chain if self.by_modules and not self.under_rows and self.chained else []
        parts, below = (load(METHODS, name)() for name in ("milp-split", "split-bound"))
        model = self.whole if self.problem.graph.n <= MODEL_NODES or not self.searched else []
        proofs = [LaneTask(method, CHAIN_SHARE if model else 1.0) for method in chain] + [
            LaneTask(method) for method in model
        ]
        lifted = [] if self.stacked or self.problem.graph.n > LIFTED_NODES else [load(METHODS, "lifted")()]
        split = self.by_modules and self.split and not self.under_rows
        if count == 1:
            first, *others = [*improve, search] if self.problem.graph.n <= LIFTED_NODES else [search, *improve]
            longest = [LaneTask(first, ONE_CORE.lns), *(LaneTask(method, ONE_CORE.lifted) for method in lifted)]
            return [[*longest, *even_turns([*others, *repeats, *([below, parts] if split else []), *chain, *model])]]
        first = [LaneTask(search, ANNEALING_SHARE if improve else 1.0), *map(LaneTask, improve)]
        first[1:1] = [LaneTask(method, REPEATS_SHARE) for method in repeats]
        if self.problem.graph.n > SERIES_NODES and self.in_series and not self.stacked:  # what was cut off by its share
            proofs = [*self.open([LaneTask(self.in_series[0], SERIES_RACE)]), *proofs]
            first = [*self.open([LaneTask(self.in_series[1], SERIES_RACE)]), *first]
        proofs = [*(LaneTask(method, CHAIN_SHARE) for method in lifted), *proofs]
        if split:
            after = first.index(next(task for task in first if task.method is search)) + 1
            first = [*first[:after], LaneTask(parts, SPLIT_SHARE), *first[after:]]
            proofs = [LaneTask(below, SPLIT_BOUND_SHARE), *proofs]
        more = [[LaneTask(method, seed=seed)] for seed in range(1, count) for method in (*improve, search)]
        return [lane for lane in (first, proofs, *more) if lane][:count]
