"""One run of method ``auto``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mtpp_dsl.contracts import Formulation, Method, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.result import Result, relative_gap
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.auto.lanes import lanes
from mtpp_dsl.solvers.auto.steps import Steps, first_refusal
from mtpp_dsl.solvers.baselines.single import SingleDevice
from mtpp_dsl.solvers.bounds.anchor import Anchor
from mtpp_dsl.solvers.bounds.count import Count
from mtpp_dsl.solvers.bounds.node import Node
from mtpp_dsl.solvers.bounds.simple import Simple
from mtpp_dsl.solvers.branching.method import Branching
from mtpp_dsl.solvers.combinatorial.slicegraph import HONOURS, SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals
from mtpp_dsl.solvers.portfolio.lane import Task, attempt, run_lane
from mtpp_dsl.solvers.portfolio.run import cores, run_together
from mtpp_dsl.solvers.reduced import Reduced, identity
from mtpp_dsl.solvers.reductions.chain import reduce
from mtpp_dsl.symmetry import interchangeable

__all__ = ["Run"]

FIRST: tuple[type[Method], ...] = (Simple,)
QUICK: tuple[type[Method], ...] = (Node, Anchor, Count)
QUICK_SHARE, QUICK_SECONDS = 0.05, 2.0
"""Bounds that cost next to nothing, and how long each may take in large graphs all the same."""
AT_ONCE_SHARE, AT_ONCE_SECONDS, MOST_AT_ONCE = 0.2, 4.0, 5_000
"""How long the ideals are tried before anything else, in graphs of up to so many nodes: most real ones need no more."""
FEW_SHARE = 0.5
"""Where they turn out to be few, the search of them goes on for this share of the time left: it is near its end."""
PLAN_SHARE, PLAN_SECONDS = 0.1, 2.0
"""How long a first plan is looked for: bounds need the cost of a good one to aim at."""
SHORT, SLICED_AT_ONCE = 5.0, 400
"""With less time, what needs compiled code comes later: in graphs of up to so many nodes after slices and bounds, which
need none; in larger ones, where they do, bounds come after plans."""
LEAST_SECONDS = 0.5
"""Both get so long at the least, where the time is short."""
QUICK_PATIENCE = 4
SMALL = 40
"""Fewer nodes than this are no work for several processes: starting them takes longer."""
SMALL_SHARE, LARGE_SHARE = 0.25, 0.7
"""Of the time left, what searches and bounds get before the exact model, in small graphs and in large ones."""
NEAR, LAST_SECONDS = 1e-4, 5.0
"""A relative gap that the exact model may close in as long as everything before took, or in these seconds."""
LAST_SHARE = 0.3
"""Of the time left, what splits of depth-first orders may take where no other search accepts the problem."""
RELAX_SHARE = 0.25
INSTEAD_SHARE = 0.5
LARGE_ROWS = 20_000
"""Above this many rows of the exact model, the relaxation, whose size does not depend on k, goes first."""
MOST_ROWS = 150_000
"""Above this many the exact model is not built: solvers do not get through its presolve."""
LAST_HOPE_ROWS = 1_000_000
"""The same where no search accepts the problem; more take gigabytes before any solver sees them."""


def _formulation(name: str) -> Formulation:
    formulation: Formulation = load(FORMULATIONS, name)()
    return formulation


def _mip(formulation: Formulation) -> Method:
    """Return the method that solves a formulation; Pyomo takes long to import, and most runs end without it."""
    method: Method = built_in("mtpp_dsl.solvers.mip.method:MipMethod")(formulation, apart=True)
    return method


def _together(problem: Problem) -> Problem:
    """Return the problem with both parts of a training graph counted together.

    It has the same plans, and each costs no more: the largest sum of two loads is no more than the sum of the
    largest. So its bounds hold, and its plans are a start.
    """
    if problem.objective.parts == "together":
        return problem
    return replace(problem, objective=replace(problem.objective, parts="together"))


class Run(Steps):
    """One call for a bottleneck."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of_ideals: tuple[str, ...] = ()
        self.ideals_ended = False
        self.tried: set[str] = set()  # searches for plans that were given the first seed

    def searches(self) -> Iterator[Method]:
        """Yield the searches for splits; the last has a turn only where the others refuse, as of some replicas."""
        yield from (Ideals(), Annealing(), SliceGraph())
        yield load(METHODS, "dpl")()

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield _mip(_formulation("exact"))

    @cached_property
    def orderless(self) -> bool:
        """Whether the devices need no order, and no constraint asks for what only a model can honour."""
        ordered = self.problem.acyclic or self.problem.contiguous
        return not ordered and Annealing().accepts(_together(self.problem)) is None

    @cached_property
    def reduced(self) -> Reduced:
        """The problem that the later steps see, and the way back.

        Without an order it stays as it is: all methods for it take colocated nodes as one, and the certificates of
        its bounds then speak of its own nodes.
        """
        small, lift = (self.problem, identity) if self.orderless else reduce(self.problem)
        if lift is not identity:
            self.progress.say(f"reduced {self.problem.graph.n} nodes to {small.graph.n}")
        return Reduced(self.problem, small, lift, self.progress)

    @cached_property
    def together(self) -> Problem:
        """The reduced problem, with both parts of a training graph counted together."""
        return _together(self.reduced.problem)

    @cached_property
    def small(self) -> bool:
        """Whether the exact model closes the problem in no time, as far as its size tells."""
        return self.together.graph.n < SMALL and _formulation("exact").accepts(self.reduced.problem) is None

    @cached_property
    def rows(self) -> int:
        """How many rows the exact model has, about: devices that can be told apart are ordered in pairs."""
        problem = self.reduced.problem
        n, m, k = problem.graph.n, problem.graph.m, problem.k
        pairs = 1 if len(interchangeable(problem)) == 1 else k
        return (n + (2 + pairs) * m) * k

    @property
    def too_large(self) -> bool:
        """Whether the exact model is left out for its size; where no search accepts the problem, it may be larger."""
        return self.rows > (MOST_ROWS if self.searched else LAST_HOPE_ROWS)

    @property
    def nearly(self) -> bool:
        """Whether plan and bound are as close as MIP solvers usually leave them."""
        cost, bound = self.progress.cost, self.progress.bound
        return cost is not None and bound is not None and relative_gap(cost, bound.cost) <= NEAR

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        self.first(SingleDevice())
        self.quick(FIRST)
        short = self.limits.remaining < SHORT
        small = self.problem.graph.n <= SLICED_AT_ONCE
        if short and small:
            self.slice(LEAST_SECONDS, improved=False)
            self.quick(QUICK)
        if self.problem.graph.n <= MOST_AT_ONCE:
            patience = min(AT_ONCE_SECONDS, max(LEAST_SECONDS, AT_ONCE_SHARE * self.limits.remaining))
            self.ideals(Ideals(patience=patience), FEW_SHARE)
        if not short:
            self.quick(QUICK)
        self.plan()
        if short and not small:
            self.quick(QUICK)
        self.race()
        self.relax()
        self.exact()
        self.mend()
        if self.ended is None and not (self.progress.bound is not None and self.closed_by(self.progress.bound)):
            self.notes += self.of_ideals
        ended = self.ended
        if ended is not None and ended.bound is not None and self.reduced.lift is not identity:
            self.ended = replace(ended, bound=replace(ended.bound, certificate=None))  # it speaks of other nodes
        return self.answer()

    def quick(self, bounds: Sequence[type[Method]]) -> None:
        """Take bounds that cost next to nothing."""
        for bound in bounds:
            method = bound()
            if not self.closed and method.accepts(self.problem) is None:
                limits = self.limits.within(min(QUICK_SECONDS, QUICK_SHARE * self.limits.remaining))
                self.take(method.solve(self.problem, limits, self.progress))

    def ideals(self, method: Ideals, share: float) -> None:
        """Search the ideals for a share of the time, unless that was done to its end before.

        It ends early where there are few, and proves what it finds.
        """
        problem = self.together
        if self.closed or self.ideals_ended or self.orderless or method.accepts(problem) is not None:
            return
        self.progress.say(f"searching the ideals of {problem.graph.n} nodes")
        limits = self.limits.within(share * self.limits.remaining, start=self.reduced.best_plan)
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
            self.run(Task(last, LAST_SHARE))
        seconds = max(LEAST_SECONDS, min(PLAN_SECONDS, PLAN_SHARE * self.limits.remaining))
        if self.orderless:
            self.progress.say(f"annealing {self.problem.graph.n} nodes")
            self.tried.add(Annealing.name)
            Annealing(QUICK_PATIENCE).solve(self.together, self.limits.within(seconds), self.counted())
        else:
            self.slice(seconds)

    def slice(self, seconds: float, *, improved: bool = True) -> None:
        """Slice the problem under the constraints that slicing can honour; keep what satisfies the others too.

        Slices of orders need no compiled code; that they are *improved* does.
        """
        if self.closed:
            return
        problem = self.reduced.problem
        relaxed = self.together.with_constraints([c for c in problem.constraints if isinstance(c, HONOURS)])
        if SliceGraph().accepts(relaxed) is not None:
            return
        self.progress.say(f"slicing topological orders of {problem.graph.n} nodes")
        valid_anyway = len(relaxed.constraints) == len(problem.constraints) and self.together is problem
        start = self.limits.start if self.reduced.lift is identity else None
        self.tried.add(SliceGraph.name)
        (SliceGraph() if improved else SliceGraph(starts=0)).solve(
            relaxed,
            self.limits.within(seconds, start=start),
            self.reduced.listener(None if valid_anyway else problem, lambda: self.closed),
        )

    def race(self) -> None:
        """Search and bound at the same time, until plan and bound meet or neither gets better."""
        if self.closed:
            return
        count = 1 if self.small else cores(self.limits)
        ran = lanes(self.together, count, ideals=not self.ideals_ended, searched=self.tried)
        if not ran:
            return
        limits = self.limits.within(self.race_share * self.limits.remaining, start=self.reduced.best_plan)
        listener = self.counted()
        if len(ran) == 1:
            results = run_lane(self.together, ran[0], limits, listener)
        else:
            results, notes = run_together(self.together, ran, limits, listener)
            self.notes += notes
        for result in results:
            self.take(result)

    @property
    def race_share(self) -> float:
        """The share of the time left that the race may take.

        All where something in it searches everything, so that the exact model would be no faster, or where there is no
        such model; in small graphs there is always time for it.
        """
        methods: list[Method] = [Branching(), *([] if self.ideals_ended else [Ideals()])]
        searched = any(method.accepts(self.together) is None for method in methods)
        if searched and not self.orderless:
            return LARGE_SHARE if self.small else 1.0
        if self.too_large or _formulation("exact").accepts(self.reduced.problem) is not None:
            return 1.0
        return SMALL_SHARE if self.small else LARGE_SHARE

    def mend(self) -> None:
        """Search the ideals of a small problem of which the exact model has left a gap, by its tolerances."""
        ended = self.ended
        if not self.small or ended is None or ended.infeasibility is not None:
            return
        self.ended = None
        self.ideals(Ideals(), 1.0)
        self.ended = self.ended or ended

    def counted(self) -> Progress:
        """Return a listener to methods on :attr:`together`, which counts plans as the objective does."""
        problem = self.reduced.problem
        return self.reduced.listener(None if self.together is problem else problem)

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
        problem, relaxation = self.reduced.problem, _formulation(name)
        if relaxation.accepts(problem) is not None:
            return
        self.progress.say(f"bounding with {name}")
        limits = self.limits.within(share * self.limits.remaining, start=None)
        self.take(attempt(_mip(relaxation), problem, limits, self.reduced.listener()))

    def exact(self) -> None:
        if self.closed:
            return
        problem, exact = self.reduced.problem, _formulation("exact")
        if exact.accepts(problem) is not None:
            return
        if self.too_large:
            self.notes.append(
                f"the exact model would have some {self.rows:,} rows and was left out; --method exact insists"
            )
            return
        self.progress.say("solving the exact model")
        listener = self.reduced.listener()
        seconds = max(LAST_SECONDS, self.progress.elapsed) if self.nearly else float("inf")
        limits = self.limits.within(seconds, start=self.reduced.best_plan)
        self.ended = attempt(_mip(exact), problem, limits, listener)
        self.used = True
        self.notes += self.ended.notes
        if self.ended.termination == "time_limit" and self.limits.remaining > 0:
            self.ended = replace(self.ended, termination="complete")
            self.notes.append(f"a gap below {NEAR:.2%} was given no more time; --method exact insists on closing it")
