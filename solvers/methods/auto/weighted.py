"""One run of method ``auto`` for a linear objective over splits, or a bottleneck under rows on more than loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mtpp_dsl.core.constraints import Constraint, Forbid, Linear, Separate
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.device_sets import cheapest_sets
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.penalties import KNOWN_SHARE
from mtpp_dsl.solvers.methods.auto.policy import LEAST_SECONDS, SHORT
from mtpp_dsl.solvers.methods.auto.sizes import LAST_HOPE_ROWS, MAX_ROWS, SMALL, formulation, mip
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.auto.stricter import PlansAlone, stricter
from mtpp_dsl.solvers.methods.bounds import Anchor, Configuration, Count, Node, Simple
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.methods.trivial import SingleDevice
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import cores

SMALL_SHARE, SMALL_SECONDS = 0.65, 20.0
"""What the exact model has to itself where it is small: it closes most such problems in a moment."""
IDEALS_SHARE, IDEALS_SECONDS, IDEALS_BYTES = 0.4, 25.0, 3e8
"""For the programme over ideals, which ends at once where they take more memory."""
BOUND_SHARE, BOUND_SECONDS = 0.25, 15.0
"""For the bound with nodes that may be divided."""
BOUND_LEAST, BOUND_MOST = 1.5, 0.6
"""The seconds that it has at least, as long as they are no larger share: with .6 s it had no bound on 60 nodes."""
EVEN_SHARE, EVEN_SECONDS = 0.1, 4.0
"""For a split of small loads, which keeps deadlines as a rule: it is where the search starts."""
SETS_SHARE, SET_SECONDS = 0.25, 0.7
"""For such splits over sets of devices, and for one of them."""
SEARCH_SHARE, SEARCH_SECONDS = 0.3, 12.0
"""What the search has to itself before the exact model is beside it."""
FEW_ROUNDS = 4
QUICK_SHARE, QUICK_SECONDS = 0.1, 8.0
"""For bounds on each phase that cost next to nothing."""
PARTS_SHARE, PARTS_SECONDS = 0.25, 20.0
"""For the optimum, or the best bound, of each phase alone."""
PHASES_SHARE = 0.6
"""For the programme over ideals, which proves what is asked of single phases of most graphs that are no wide ones."""


class WeightedRun(AutoSteps):
    """One call for a linear objective, such as a price, an energy, or a latency, or for a bottleneck with penalties.

    1. under ``acyclic``, the programme over ideals: single phases, prices, loads and moves, with equal devices counted;
       on links and trees that over chains, too, in any order of the devices;
    2. a small problem by the exact model;
    3. what is asked of single phases: bounds on each phase alone, and on the weighted sum of them;
       of the rest, the bound with nodes that may be divided between devices;
    4. a split of small loads, then annealing from it;
    5. annealing and the exact model at the same time, from the best plan.

    Before all of these, everything on one device, a split by times alone in large graphs, the bound that costs next to
    nothing, and slices where time is short and no device holds everything: they need no compiled code.
    """

    minor = frozenset({SingleDevice.name, Simple.name})

    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""
        given = self.progress.plan is not None
        self.first(SingleDevice())
        self.undivided = None if given else self.progress.plan
        self.first_split()
        self.run(LaneTask(Simple()))
        if self.limits.remaining < SHORT and self.progress.plan is None and self.told is None:
            self._spread(range(self.problem.k), LEAST_SECONDS, quick=True)
            self.undivided = self.progress.plan
        fit = Ideals().accepts(self.problem) is None
        if self.problem.phased and fit:
            self.run(LaneTask(Ideals(), PHASES_SHARE))
        elif self.problem.acyclic or (self.problem.networked and fit):
            self.run(LaneTask(Ideals(IDEALS_BYTES), IDEALS_SHARE, IDEALS_SECONDS))
        if self.problem.soft_rows:
            self.rows_aside(KNOWN_SHARE)
        if self.problem.graph.n < SMALL and not self.closed:
            for method in self.model():
                self.run(LaneTask(method, SMALL_SHARE, SMALL_SECONDS))
        if not self.problem.soft_rows:  # budgets that must hold are closed by ideals or a small model, as a rule
            self.rows_aside(KNOWN_SHARE)
        self.bound_phases()
        self.run(LaneTask(mip(formulation("divided")), self.bound_share, BOUND_SECONDS))
        self.even()
        self.run(LaneTask(Annealing(FEW_ROUNDS), SEARCH_SHARE, SEARCH_SECONDS))
        if not self.closed:
            self.at_once(self.lanes(cores(self.limits)))
        self.insist()
        return self.answer()

    @property
    def bound_share(self) -> float:
        """The share of the bound with nodes that may be divided: where time is short, most of what is left of it."""
        left = self.limits.remaining
        return max(BOUND_SHARE, min(BOUND_LEAST / left, BOUND_MOST)) if left > 0 else BOUND_SHARE

    def bound_phases(self) -> None:
        """Bound each phase alone, and the weighted sum of them; the plans of those count where they keep all rows."""
        if self.closed or self.told is not None or not PhaseBounds.fits(self.problem):
            return  # the outline leaves out what is given a part of the problem, here a phase
        bounds = PhaseBounds(self.problem)
        quick: list[Method] = [Simple(), Node(), Anchor(), Count()]
        strong: list[Method] = [Ideals(), Configuration()]
        if Ideals().accepts(self.problem) is None:  # it has bounded them with all others
            quick, strong = [], [Configuration()]
        turns = [(quick, QUICK_SHARE, QUICK_SECONDS), (strong, PARTS_SHARE, PARTS_SECONDS)]
        for methods, share, seconds in turns:
            limits = self.limits.within(min(seconds, share * self.limits.remaining))
            incumbent = Incumbent("auto", self.problem, self.limits, self.progress)
            infeasibility = bounds.take(methods, limits, self.progress, incumbent)
            if infeasibility is not None:
                self.take(self.progress.result("auto", self.limits, "infeasible", infeasibility=infeasibility))

    def even(self) -> None:
        """Look for splits of small loads, without the labelled rows; keep what satisfies these.

        Where devices stand in an order and cost something once they are used, this is done for sets of them, too: the
        cheapest first that can do the work.
        """
        method, relaxed = self._relaxed(range(self.problem.k))
        slices = isinstance(method, SliceGraph)  # the search is told where it is given the whole problem
        if self.closed or (method.accepts(relaxed) is None and self.tells(*[method.name] * slices)):
            return
        if self.progress.plan is self.undivided:
            self._spread(range(self.problem.k), min(EVEN_SECONDS, EVEN_SHARE * self.limits.remaining))
        if not (self.problem.acyclic or self.problem.contiguous):
            return
        until = (1 - SETS_SHARE) * self.limits.remaining
        for devices, price in cheapest_sets(self.problem):
            cost = self.progress.cost
            if self.closed or self.limits.remaining < until or (cost is not None and price >= cost):
                break
            self._spread(devices, min(SET_SECONDS, EVEN_SHARE * self.limits.remaining))

    def _relaxed(self, devices: Sequence[int]) -> tuple[Method, Problem]:
        """Return the problem of a split of small loads over some devices, without rows, and the search for it."""
        problem = self.problem
        kept: list[Constraint] = [c for c in problem.constraints if not isinstance(c, (Linear, Separate))]
        others = tuple(sorted(set(range(problem.k)) - set(devices)))
        if others:
            kept.append(Forbid(nodes=tuple(range(problem.graph.n)), devices=others))
        relaxed = problem.asking(replace(Objective("bottleneck"), penalised=False), kept)
        return SliceGraph() if problem.acyclic or problem.contiguous else Annealing(FEW_ROUNDS), relaxed

    def _spread(self, devices: Sequence[int], seconds: float, *, quick: bool = False) -> None:
        """Look for a split of small loads over some devices; *quick* does without moves, which need compiled code."""
        method, relaxed = self._relaxed(devices)
        relaxed = next(stricter(relaxed), relaxed)
        method = SliceGraph(starts=0) if quick and isinstance(method, SliceGraph) else method
        if self.told is None and relaxed.allowed.any(axis=1).all() and method.accepts(relaxed) is None:
            self.progress.say(f"spreading {relaxed.graph.n} nodes over {len(devices)} devices")
            method.solve(relaxed, self.limits.within(seconds, start=None), PlansAlone(self.problem, self.progress))

    def lanes(self, count: int) -> list[list[LaneTask]]:
        """Return lanes of tasks, at most *count*: the search, the exact model, and the search with other seeds."""
        exact = [LaneTask(method) for method in (self._models if self.searched else self.model())]
        if count == 1:
            return [[LaneTask(Annealing(), 0.4 if exact else 1.0, seed=1), *exact]]
        lanes = [[LaneTask(Annealing(), seed=1)], exact]
        lanes += [[LaneTask(Annealing(), seed=seed)] for seed in range(2, count)]
        return [lane for lane in lanes if lane][:count]

    def searches(self) -> Iterator[Method]:
        """Yield the search for splits."""
        yield Annealing()

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield self._exact

    @cached_property
    def _exact(self) -> Method:
        """The exact model, one for all steps: what has ended by itself is not started again."""
        return mip(formulation("exact"))

    @cached_property
    def _models(self) -> list[Method]:
        """The exact model, unless it is too large."""
        graph, k = self.problem.graph, self.problem.k
        rows = (graph.n + (2 + (k if self.problem.acyclic else 0)) * graph.m) * k
        most = MAX_ROWS if self.searched else LAST_HOPE_ROWS
        if rows <= most:
            return self.model()
        self.notes.append(f"the exact model would have some {rows:,} rows and was left out; --method exact insists")
        return []
