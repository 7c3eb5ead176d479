"""The best plan and the best bound that the time allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from mtpp_dsl.contracts import Backend, Formulation, Gives, Limits, Progress
from mtpp_dsl.evaluation import evaluate
from mtpp_dsl.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.registry import BACKENDS, FORMULATIONS, load
from mtpp_dsl.result import Bound, Result, Termination, relative_gap
from mtpp_dsl.solvers.bounds.simple import Simple
from mtpp_dsl.solvers.combinatorial.slicegraph import HONOURS, SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals
from mtpp_dsl.solvers.mip.limits import check
from mtpp_dsl.solvers.mip.method import MipMethod
from mtpp_dsl.solvers.reduced import Reduced, identity
from mtpp_dsl.solvers.reductions.chain import reduce
from mtpp_dsl.symmetry import interchangeable

__all__ = ["Auto"]

SLICE_SHARE = 0.2
SLICE_SECONDS = 15.0
IDEALS_SHARE = 0.5
IDEALS_FROM = 40
"""Nodes from which on the programme over ideals goes before the exact model, which smaller graphs need no help with."""
RELAX_SHARE = 0.25
INSTEAD_SHARE = 0.5
LARGE_ROWS = 20_000
"""Above this many rows of the exact model, the relaxation, whose size does not depend on k, goes first."""
MOST_ROWS = 150_000
"""Above this many the exact model is not built: solvers do not get through its presolve."""


class Auto:
    """Method ``auto``: everything built in, in the order that pays.

    1. the simple bound (archer2024, Lemma 3.3);
    2. contraction of the graph, where it provably keeps an optimum;
    3. ``slicegraph``: a plan;
    4. ``ideals``, when the graph is not small: both, and often the proof;
    5. ``superblock``, when the exact model is large: a bound;
    6. ``exact``, from that plan, for the rest of the time: both. When it is too large, ``guess``: a bound.

    It stops as soon as plan and bound are within ``limits.gap`` of each other.
    """

    name = "auto"
    gives: Gives = "plan and bound"
    uses_solver = True
    summary = "the best plan and bound that the time allows: contraction, slicegraph, ideals, superblock, exact"

    def accepts(self, problem: Problem) -> str | None:
        """Return why none of the methods behind it can honour the problem, or None."""
        if problem.objective.quantity == "makespan":
            return f"{problem.objective.name} needs a schedule, and no method of this version makes one"
        reason = _formulation("exact").accepts(problem)
        if reason is None or SliceGraph().accepts(problem) is None or Ideals().accepts(problem) is None:
            return None
        return reason

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and bound found.

        Raises:
            SolverError: the MIP solver is missing or failed.
        """
        backend: Backend = load(BACKENDS, limits.solver)()
        check(backend, limits)  # before any work, not after it
        run = _Run(problem, limits, progress)
        run.simple()
        run.slice()
        run.ideals()
        run.relax()
        run.exact()
        return run.result()


def _formulation(name: str) -> Formulation:
    formulation: Formulation = load(FORMULATIONS, name)()
    return formulation


@dataclass
class _Run:
    """One call of :meth:`Auto.solve`: each step reports to ``progress`` and leaves if nothing is open."""

    problem: Problem
    limits: Limits
    progress: Progress

    def __post_init__(self) -> None:
        self.ended: Result | None = None
        self.notes: list[str] = []

    @cached_property
    def reduced(self) -> Reduced:
        """The problem that the later steps see, and the way back."""
        small, lift = reduce(self.problem)
        if lift is not identity:
            self.progress.say(f"reduced {self.problem.graph.n} nodes to {small.graph.n}")
        return Reduced(self.problem, small, lift, self.progress)

    @cached_property
    def together(self) -> Problem:
        """The reduced problem, with both parts of a training graph counted together.

        It has the same plans, and each costs no more: the largest sum of two loads is no more than the sum of the
        largest. So its bounds hold, and its plans are a start.
        """
        problem = self.reduced.problem
        if problem.objective.parts == "together":
            return problem
        return replace(problem, objective=replace(problem.objective, parts="together"))

    @cached_property
    def rows(self) -> int:
        """How many rows the exact model has, about: devices that can be told apart are ordered in pairs."""
        problem = self.reduced.problem
        n, m, k = problem.graph.n, problem.graph.m, problem.k
        pairs = 1 if len(interchangeable(problem)) == 1 else k
        return (n + (2 + pairs) * m) * k

    @property
    def closed(self) -> bool:
        """Whether plan and bound are close enough, or there is nothing more to try."""
        progress = self.progress
        if progress.stopped or self.limits.remaining <= 0 or self.ended is not None:
            return True
        return progress.bound is not None and self.closed_by(progress.bound)

    def closed_by(self, bound: Bound) -> bool:
        """Whether the best plan is close enough to *bound*."""
        cost = self.progress.cost
        return cost is not None and relative_gap(cost, bound.cost) <= self.limits.gap

    def simple(self) -> None:
        if Simple().accepts(self.problem) is None:
            Simple().solve(self.problem, self.limits, self.progress)

    def slice(self) -> None:
        """Slice the problem under the constraints that slicing can honour; keep what satisfies the others too."""
        if self.closed:
            return
        problem = self.reduced.problem
        relaxed = self.together.with_constraints([c for c in problem.constraints if isinstance(c, HONOURS)])
        if SliceGraph().accepts(relaxed) is not None:
            return
        self.progress.say(f"slicing topological orders of {problem.graph.n} nodes")
        seconds = min(SLICE_SECONDS, SLICE_SHARE * self.limits.remaining)
        valid_anyway = len(relaxed.constraints) == len(problem.constraints) and self.together is problem
        start = self.limits.start if self.reduced.lift is identity else None
        SliceGraph().solve(
            relaxed,
            self.limits.within(seconds, start=start),
            self.reduced.listener(None if valid_anyway else problem),
        )

    def ideals(self) -> None:
        """Search the ideals for half of the time: it ends early where there are few, and proves what it finds."""
        problem = self.together
        small = problem.graph.n < IDEALS_FROM and _formulation("exact").accepts(problem) is None
        if self.closed or small or Ideals().accepts(problem) is not None:
            return
        self.progress.say(f"searching the ideals of {problem.graph.n} nodes")
        limits = self.limits.within(IDEALS_SHARE * self.limits.remaining, start=self.reduced.best_plan)
        counted = None if problem is self.reduced.problem else self.reduced.problem
        found = Ideals().solve(problem, limits, self.reduced.listener(counted))
        if found.infeasibility is not None:
            self.ended = found

    def relax(self) -> None:
        """Bound by relaxations: a share of the time before the exact model, all of it in its place."""
        if self.rows > MOST_ROWS:
            self.bound_by("superblock", INSTEAD_SHARE)
            self.bound_by("guess", 1.0)
        elif self.rows > LARGE_ROWS:
            self.bound_by("superblock", RELAX_SHARE)

    def bound_by(self, name: str, share: float) -> None:
        """Take the bound of a relaxation, for a share of the time that is left."""
        problem, relaxation = self.reduced.problem, load(FORMULATIONS, name)()
        if self.closed or relaxation.accepts(problem) is not None:
            return
        self.progress.say(f"bounding with {name}")
        limits = self.limits.within(share * self.limits.remaining, start=None, write_model=None)
        MipMethod(relaxation).solve(problem, limits, self.reduced.listener())

    def exact(self) -> None:
        problem, exact = self.reduced.problem, _formulation("exact")
        if self.limits.write_model is not None and self.closed:
            self.notes.append("no model was written: it was solved without one; use --method exact")
        if self.closed or exact.accepts(problem) is not None:
            return
        if self.rows > MOST_ROWS:
            self.notes.append(
                f"the exact model would have some {self.rows:,} rows and was left out; --method exact insists"
            )
            return
        self.progress.say("solving the exact model")
        listener = self.reduced.listener()
        limits = self.limits.within(float("inf"), start=self.reduced.best_plan)
        self.ended = MipMethod(exact).solve(problem, limits, listener)
        self.notes += self.ended.notes

    def result(self) -> Result:
        progress, ended = self.progress, self.ended
        plan, bound = progress.plan, progress.bound
        if ended is not None and ended.bound is not None and (bound is None or ended.bound.cost >= bound.cost):
            bound = ended.bound
        return Result(
            termination=self.termination(plan, bound),
            plan=plan,
            bound=bound,
            evaluation=None if plan is None else evaluate(self.problem, plan),
            method=Auto.name,
            solver=ended.solver if ended is not None else None,
            seed=self.limits.seed,
            time={**(ended.time if ended is not None else {}), "total": progress.elapsed},
            log=tuple(progress.log),
            infeasibility=ended.infeasibility if ended is not None else None,
            notes=tuple(self.notes),
        )

    def termination(self, plan: Plan | None, bound: Bound | None) -> Termination:
        if self.ended is not None and self.ended.infeasibility is not None:
            return "infeasible"
        if self.progress.stopped:
            return "interrupted"
        if plan is not None and bound is not None and self.closed_by(bound):
            return "gap"
        if self.ended is not None:
            return self.ended.termination
        return "time_limit" if self.limits.remaining <= 0 else "complete"
