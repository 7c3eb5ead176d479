"""One run of method ``auto``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from mtpp_dsl.core.constraints import Colocate, Linear, Separate
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, built_in, load
from mtpp_dsl.solvers.backends.cpsat.effort import availability
from mtpp_dsl.solvers.bounds.configuration.narrow_sets import narrow_states
from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.lanes import by_orders, lanes
from mtpp_dsl.solvers.methods.auto.parts import bound_parts
from mtpp_dsl.solvers.methods.auto.policy import (
    BOUNDS_SHARE,
    CONVEX,
    EXACT_FAR,
    EXACT_FIRST,
    EXACT_SEPARATE,
    FAR,
    FEW_DEVICES,
    LEAST_SECONDS,
    MANY_DEVICES,
    ORDERS_ASIDE,
    SHORT,
    SOME_NODES,
    ExactFirst,
)
from mtpp_dsl.solvers.methods.auto.sizes import NEAR, Sized, formulation, is_path, mip, together
from mtpp_dsl.solvers.methods.auto.steps import first_refusal
from mtpp_dsl.solvers.methods.auto.streamed_within import bracket
from mtpp_dsl.solvers.methods.auto.stricter import LONG_SHARE, SHARE, search_stricter
from mtpp_dsl.solvers.methods.bounds import Anchor, Configuration, Count, Node, Reach, Simple
from mtpp_dsl.solvers.methods.branching import Branching
from mtpp_dsl.solvers.methods.orders import Orders
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.methods.shared_scopes import SLICES
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from mtpp_dsl.solvers.partition.annealing.heavy_tensors import joined
from mtpp_dsl.solvers.partition.ideals.nest import one_level
from mtpp_dsl.solvers.reductions.training_parts import parts_fit
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, attempt, run_lane
from mtpp_dsl.solvers.runtime.portfolio.race import cores, run_together
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

FIRST: tuple[type[Method], ...] = (Simple,)
QUICK: tuple[type[Method], ...] = (Node, Reach, Anchor, Count)
QUICK_SHARE, QUICK_SECONDS = 0.05, 2.0
"""Bounds that cost next to nothing, and how long each may take in large graphs all the same."""
AT_ONCE_SHARE, AT_ONCE_SECONDS, MAX_AT_ONCE = 0.2, 4.0, 5_000
"""How long the ideals are tried before anything else, in graphs of up to so many nodes: most real ones need no more."""
ALONE_SHARE = 0.4
"""Likewise where nodes stay together: slices are no plans then, as a rule, and ideals alone have a first one."""
FEW_SHARE = 0.65
"""Where they turn out to be few, the search of them goes on for this share of the time left: it is near its end."""
PLAN_SHARE, PLAN_SECONDS = 0.1, 2.0
"""How long a first plan is looked for: bounds need the cost of a good one to aim at."""
FIRST_SHARE, FIRST_ORDERS_SHARE = 0.4, 0.1
"""For slices of one order of a large graph; and where a search of the orders of unequal devices follows."""
SLICED_AT_ONCE = 400
"""Where time is short, what needs compiled code comes later: in graphs of up to so many nodes after slices and bounds,
which need none; in larger ones, where they do, bounds come after plans."""
QUICK_PATIENCE = 4
HEAVY_SHARE = 0.3
"""Of the time left, what annealing has where heavy tensors may be what keeps slices far from the bound."""
SMALL_SHARE, LARGE_SHARE = 0.25, 0.7
"""Of the time left, what searches and bounds get before the exact model, in small graphs and in large ones."""
WHOLE_SHARE, WHOLE_NODES, WHOLE_DEVICES = 0.7, 60, 16
"""Of the time left, what one model of CP-SAT gets under labelled rows, in graphs of so few nodes on so few devices."""
MODEL_SHARE = 0.1
"""The same under a constraint of a plug-in: no search finds plans there, and the bounds do not use it."""
LAST_SECONDS = 5.0
"""What the exact model nearly closes, it is given as long as everything before took for, or these seconds."""
DIGITS_SHARE = 0.5
"""Of the time left, what configurations get for a gap that rounding alone has left."""
LAST_SHARE = 0.3
"""Of the time left, what splits of depth-first orders may take where no other search accepts the problem."""
RELAX_SHARE = 0.25
STREAMED_SHARE = 0.6
"""Of the time left, what goes into problems with room for what is streamed during the work."""
INSTEAD_SHARE = 0.5
LARGE_ROWS = 20_000
"""Above this many rows of the exact model, the relaxation, whose size does not depend on k, goes first."""


class BottleneckRun(Sized):
    """One call for a bottleneck."""

    minor = frozenset({SingleDevice.name, *(bound().name for bound in (*FIRST, *QUICK))})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of_ideals: tuple[str, ...] = ()
        self.ideals_ended = self.exact_tried = False
        self.tried: set[str] = set()  # searches for plans that were given the first seed

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        if self.first_split():
            self.run(LaneTask(SingleDevice()))
        else:
            self.first(SingleDevice())
        self.quick(FIRST)
        short = self.limits.remaining < SHORT
        small = self.problem.graph.n <= SLICED_AT_ONCE
        if self.large:
            self.slice_as_it_is()
        self.under_rows()
        self.apart_first()
        if short and small:
            self.slice(LEAST_SECONDS, improved=False)
            self.quick(QUICK)
        # orders has most of the time then, and plans and bounds of its own
        orders_at_once = self.by_orders and (self.large or (short and not small))
        if not (self.large or orders_at_once):
            most = AT_ONCE_SECONDS if small or not self.by_orders else PLAN_SECONDS
            share = ALONE_SHARE if any(self.problem.of(Colocate)) else AT_ONCE_SHARE
            patience = min(most, max(LEAST_SECONDS, share * self.limits.remaining))
            self.ideals(Ideals(patience=patience), FEW_SHARE)
        elif self.problem.acyclic and is_path(self.problem.graph):
            self.ideals(Ideals(), FEW_SHARE)
        plans_first = self.large or (short and not small)
        if not plans_first:
            self.quick(QUICK)
        if not orders_at_once:
            self.plan()
            if plans_first:
                self.quick(QUICK)
        if self.orders_aside and not (self.large or short):
            self.run(LaneTask(Orders(), *ORDERS_ASIDE))
        self.instead()
        self.each_part()
        self.convex()
        if self.exact_first:
            self.exact(self.exact_turn.share)
        self.race()
        self.relax()
        self.last_digits()
        self.exact()
        self.mend()
        if self.ended is None and not (self.progress.bound is not None and self.closed_by(self.progress.bound)):
            self.notes += self.of_ideals
        ended = self.ended
        if ended is not None and ended.bound is not None and self.reduced.lift is not identity:
            self.ended = replace(ended, bound=replace(ended.bound, certificate=None))  # it speaks of other nodes
        return self.answer()

    @property
    def large(self) -> bool:
        """Whether the graph is so large that a plan has to come before anything that takes time for each node."""
        return self.problem.graph.n > MAX_AT_ONCE

    @cached_property
    def by_orders(self) -> bool:
        """Whether the search of orders of unequal devices is expected to get furthest."""
        return by_orders(self.problem)

    def quick(self, bounds: Sequence[type[Method]]) -> None:
        """Take bounds that cost next to nothing."""
        for bound in bounds:
            method = bound()
            if not self.closed and method.accepts(self.problem) is None and not self.tells(method.name):
                limits = self.limits.within(min(QUICK_SECONDS, QUICK_SHARE * self.limits.remaining))
                self.take(method.solve(self.problem, limits, self.progress))

    @property
    def orders_aside(self) -> bool:
        """Whether the search of orders has a short turn, though devices are equal, or have room: they are few."""
        few = self.problem.k <= FEW_DEVICES and self.problem.graph.n > SOME_NODES and not any(self.problem.of(Linear))
        return few and not self.by_orders and Orders().accepts(self.problem) is None

    def ideals(self, method: Ideals, share: float) -> None:
        """Search the ideals for a share of the time, unless that was done to its end before.

        It ends early where there are few, and proves what it finds.
        """
        problem = self.together
        if self.closed or self.ideals_ended or self.orderless or method.accepts(problem) is not None:
            return
        if self.tells(method.name):
            return
        limits = self.limits.within(share * self.limits.remaining, start=self.reduced.best_plan)
        self.progress.begin(method.name, limits.remaining, f"searching the ideals of {problem.graph.n} nodes")
        self.take(method.solve(problem, limits, self.counted()))

    def take(self, found: Result) -> None:
        """Remember what a method said at its end."""
        if found.method == "ideals":
            self.of_ideals = found.notes
            self.ideals_ended = found.termination in ("gap", "complete", "limit")
        if found.infeasibility is not None or not found.settled or self.together is self.reduced.problem:
            super().take(found)  # else it has settled the problem that counts both parts together, not the one asked

    def plan(self) -> None:
        """Look for a first plan: by annealing where the devices need no order, else by slicing."""
        if self.closed:
            return
        *usual, last = self.searches()
        if first_refusal(usual, self.problem) is not None:
            self.run(LaneTask(last, LAST_SHARE))
        seconds = max(LEAST_SECONDS, min(PLAN_SECONDS, PLAN_SHARE * self.limits.remaining))
        if self.orderless:
            self.anneal(seconds)
            return
        self.slice(seconds)
        if not self.closed and self.apart(FAR) and Annealing().accepts(self.together) is None and joined(self.together):
            self.anneal(max(LEAST_SECONDS, HEAVY_SHARE * self.limits.remaining))

    def anneal(self, seconds: float) -> None:
        """Search for plans of the smaller problem for a while."""
        if not self.tells(Annealing.name):
            self.progress.say(f"annealing {self.problem.graph.n} nodes")
            self.tried.add(Annealing.name)
            start = self.limits.start if self.reduced.lift is identity and not self.large else self.reduced.best_plan
            limits = self.limits.within(seconds, start=start)
            Annealing(QUICK_PATIENCE).solve(self.together, limits, self.counted())

    def slice(self, seconds: float, *, improved: bool = True) -> None:
        """Slice the smaller problem for a while; slices need no compiled code, that they are *improved* does."""
        if not self.closed:
            method = SliceGraph() if improved else SliceGraph(starts=0)
            if self._slice(self.reduced, self.together, method, seconds):
                self.tried.add(SliceGraph.name)

    def slice_as_it_is(self) -> None:
        """Slice one order of the problem itself: a large graph takes longer to reduce than a first plan may."""
        if not self.closed:
            share = FIRST_ORDERS_SHARE if self.by_orders else FIRST_SHARE
            itself = Reduced(self.problem, self.problem, identity, self.progress)
            self._slice(itself, together(self.problem), SliceGraph(orders=1, starts=0), share * self.limits.remaining)

    def _slice(self, reduced: Reduced, counted: Problem, method: SliceGraph, seconds: float) -> bool:
        """Slice *counted* under the constraints that slicing can honour, and keep what satisfies the others too.

        Groups of devices are sliced as one level: neighbours in the order of the devices are in one group, as a rule.

        Returns whether slicing accepts that.
        """
        problem = reduced.problem
        relaxed = counted.with_constraints(
            [c for c in problem.constraints if type(c) in SLICES.constraints and not isinstance(c, Colocate)]
        )
        relaxed = one_level(relaxed) if relaxed.hierarchical else relaxed
        if method.accepts(relaxed) is not None:
            return False
        if any(one.enlarges and type(one) not in SLICES.constraints for one in problem.constraints):
            return False  # what is left out would allow more plans: bounds without it do not hold
        all_kept = len(relaxed.constraints) == len(problem.constraints)
        if self.told is not None and (not all_kept or self.tells(SliceGraph.name)):
            return False
        self.progress.say(f"slicing topological orders of {problem.graph.n} nodes")
        valid_anyway = all_kept and counted is problem and not problem.hierarchical
        start = self.limits.start if reduced.lift is identity else None
        listener = reduced.listener(None if valid_anyway else problem, lambda: self.closed)
        method.solve(relaxed, self.limits.within(seconds, start=start), listener)
        return True

    def instead(self) -> None:
        """Search plans of stricter problems where no search but that of ideals knows the one asked."""
        known = first_refusal([Annealing(), SliceGraph()], self.problem) is None
        if not known and not self.closed and self.told is None:
            alone = self.too_large and Ideals().accepts(self.together) is not None
            share = LONG_SHARE if alone else SHARE
            limits = self.limits.within(share * self.limits.remaining, start=None)
            search_stricter(self.problem, limits, self.progress, lambda *call: BottleneckRun(*call).result())
            if not self.closed and self.problem.prefetches:
                limits = self.limits.within(STREAMED_SHARE * self.limits.remaining, start=None)
                bracket(self.problem, limits, self.progress, lambda *call: BottleneckRun(*call).result())

    def each_part(self) -> None:
        """Bound both parts of a training graph whose bottlenecks are added up, each alone."""
        if not self.closed and self.told is None and parts_fit(self.problem):
            bound_parts(self.problem, self.limits, self.progress, lambda *call: BottleneckRun(*call).result())

    def under_rows(self) -> None:
        """Search and solve a small problem under labelled rows, which slices, ideals and bounds do not know.

        A short annealing keeps the rows, and finds a plan to start from; one model of CP-SAT then gets further than
        anything else.
        """
        few = self.problem.graph.n <= WHOLE_NODES and self.problem.k <= WHOLE_DEVICES
        if self.closed or not self.problem.hard_rows or not few or not self.by_cp_sat:
            return
        if Annealing().accepts(self.together) is None:
            self.anneal(max(LEAST_SECONDS, min(PLAN_SECONDS, PLAN_SHARE * self.limits.remaining)))
        self.whole(WHOLE_SHARE)

    def apart_first(self) -> None:
        """Solve a problem under ``separate`` and ``acyclic`` by the exact model, where that is not too large."""
        turn, problem = EXACT_SEPARATE, self.problem
        asked = problem.acyclic and any(problem.of(Separate)) and not problem.hard_rows
        if asked and problem.k <= turn.devices and self.rows <= turn.rows and not any(problem.of(CustomConstraint)):
            self.exact(turn.share)

    def convex(self) -> None:
        """Solve a problem under ``contiguous`` alone by CP-SAT, if it is not too large: few other proofs know of it."""
        alone = self.problem.contiguous and not self.problem.acyclic and not self.problem.hard_rows
        if alone and not self.closed and self.by_cp_sat and self.problem.graph.n * self.problem.k <= CONVEX.size:
            short = self.limits.remaining < SHORT
            self.whole(CONVEX.short if short else CONVEX.small if self.bounds_first else CONVEX.share)

    @cached_property
    def by_cp_sat(self) -> bool:
        """Whether CP-SAT is there, takes the problem, and is no other solver than the one that is asked for."""
        asked = self.limits.solver not in ("highs", "cp-sat")
        return not asked and availability().ok and self._whole.accepts(self.reduced.problem) is None

    @cached_property
    def _whole(self) -> Method:
        method: Method = built_in("mtpp_dsl.solvers.methods.cp_sat:Splitting")("exact")
        return method

    def whole(self, share: float) -> None:
        """Solve everything as one model of CP-SAT, for a share of the time left."""
        if self.closed or self.tells(self._whole.name):
            return
        limits = self.limits.within(share * self.limits.remaining, start=self.reduced.best_plan)
        self.progress.begin(self._whole.name, limits.remaining, "solving everything as one model of CP-SAT")
        self.take(attempt(self._whole, self.reduced.problem, replace(limits, solver="cp-sat"), self.reduced.listener()))

    @property
    def exact_first(self) -> bool:
        """Whether the exact model is expected to close the problem sooner than what else there is."""
        problem = self.reduced.problem
        few = problem.k <= self.exact_turn.devices and self.rows <= self.exact_turn.rows
        if not few or problem.hard_rows or any(problem.of(CustomConstraint)):
            return False
        return not problem.acyclic or self.apart(FAR)

    @property
    def exact_turn(self) -> ExactFirst:
        """On how many devices, with how many rows and for how long the exact model goes first."""
        return EXACT_FAR if self.problem.acyclic else EXACT_FIRST

    @property
    def bounds_first(self) -> bool:
        """Whether bounds get further than the exact model, and need most of the time for it."""
        return self.small and not self.problem.acyclic and self.problem.k >= MANY_DEVICES

    def race(self) -> None:
        """Search and bound at the same time, until plan and bound meet or neither gets better."""
        if self.closed:
            return
        count = 1 if self.small else cores(self.limits)
        first = self.bounds_first
        more = not self.ideals_ended
        ran = lanes(self.together, count, ideals=more, narrow=self.narrow, searched=self.tried, bounds_first=first)
        if not ran or self.tells(*(task.method.name for lane in ran for task in lane)):
            return
        limits = self.limits.within(self.race_share * self.limits.remaining, start=self.reduced.best_plan)
        listener = self.counted()
        if len(ran) == 1:
            results = run_lane(self.together, ran[0], limits, listener, self.began(ran[0]))
        else:
            results, notes = run_together(self.together, ran, limits, listener, began=self.begin)
            self.notes += notes
        for result in results:
            self.take(result)

    @cached_property
    def narrow(self) -> bool:
        """Whether tables give the heaviest sets of devices: search and bound then leave less than the model could."""
        bounded = self.orderless and not self.problem.hard_rows and Configuration().accepts(self.together) is None
        return bounded and narrow_states(bound_instance(self.together)) is not None

    @property
    def race_share(self) -> float:
        """The share of the time left that the race may take.

        All where something in it searches everything, so that the exact model would be no faster, where it bounds by
        tables, or where there is no such model; in small graphs there is always time for it.
        """
        methods: list[Method] = [Branching(), *([] if self.ideals_ended else [Ideals()])]
        searched = any(method.accepts(self.together) is None for method in methods) and not any(self.problem.of(Linear))
        if searched and not self.orderless:
            return LARGE_SHARE if self.small else 1.0
        if self.narrow:
            return LARGE_SHARE if self.small else 1.0
        if self.exact_tried or self.too_large or formulation("exact").accepts(self.reduced.problem) is not None:
            return 1.0
        if any(self.problem.of(CustomConstraint)):
            return MODEL_SHARE
        if self.bounds_first:
            return BOUNDS_SHARE
        return SMALL_SHARE if self.small else LARGE_SHARE

    def mend(self) -> None:
        """Search the ideals of a small problem of which the exact model has left a gap, by its tolerances."""
        ended = self.ended
        if not self.small or ended is None or ended.infeasibility is not None:
            return
        self.ended = None
        self.ideals(Ideals(), 1.0)
        self.ended = self.ended or ended

    def relax(self) -> None:
        """Bound by relaxations: a share of the time before the exact model, all of it in its place."""
        if self.too_large:
            self.bound_by("superblock", INSTEAD_SHARE)
            self.bound_by("guess", 1.0)
        elif self.rows > LARGE_ROWS:
            self.bound_by("superblock", RELAX_SHARE)

    def bound_by(self, name: str, share: float) -> None:
        """Take the bound of a relaxation, for a share of the time that is left."""
        if self.closed:
            return
        problem, relaxation = self.reduced.problem, formulation(name)
        if relaxation.accepts(problem) is not None or self.tells(name):
            return
        limits = self.limits.within(share * self.limits.remaining, start=None)
        self.progress.begin(name, limits.remaining, f"a bound: the exact model has some {self.rows:,} rows")
        self.take(attempt(mip(relaxation), problem, limits, self.reduced.listener()))

    def last_digits(self) -> None:
        """Let the bound by configurations end what it has all but proved, which a model would begin anew."""
        bound = self.progress.bound
        if self.closed or not self.nearly or bound is None or bound.method != "configuration":
            return
        limits = self.limits.within(DIGITS_SHARE * self.limits.remaining, start=self.reduced.best_plan)
        method = load(METHODS, "configuration")()
        self.progress.begin(method.name, limits.remaining, "what is open are the last digits of its proof")
        self.take(attempt(method, self.reduced.problem, limits, self.reduced.listener()))

    def exact(self, share: float = 1.0) -> None:
        """Run the exact model for a share of the time, unless it is too large, refuses the problem, or has run."""
        if self.closed or self.exact_tried:
            return
        problem, exact = self.reduced.problem, formulation("exact")
        if exact.accepts(problem) is not None:
            return
        if self.too_large:
            self.notes.append(
                f"the exact model would have some {self.rows:,} rows and was left out; --method exact insists"
            )
            return
        if self.tells("exact"):
            return
        listener = self.reduced.listener()
        nearly = self.nearly
        seconds = max(LAST_SECONDS, self.progress.elapsed) if nearly else share * self.limits.remaining
        limits = self.limits.within(seconds, start=self.reduced.best_plan)
        self.progress.begin("exact", limits.remaining, f"it has some {self.rows:,} rows")
        result = attempt(mip(exact), problem, limits, listener)
        self.used = self.exact_tried = True
        if share < 1.0:
            self.take(result)
            return
        self.ended = result
        self.notes += self.ended.notes
        if nearly and self.ended.termination == "time_limit" and self.limits.remaining > 0:
            self.ended = replace(self.ended, termination="complete")
            self.notes.append(f"a gap below {NEAR:.2%} was given no more time; --method exact insists on closing it")
