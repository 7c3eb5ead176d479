"""Measure a problem for method ``auto`` with a bottleneck: smaller forms of it, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Formulation, Method
from mtpp_dsl.core.plans.result import relative_gap
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import FORMULATIONS, METHODS, built_in, load
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

SMALL = 40
"""Fewer nodes than this are no work for several processes: starting them takes longer."""
MAX_ROWS = 150_000
"""Above this many the exact model is not built: solvers do not get through its presolve."""
LAST_HOPE_ROWS = 1_000_000
"""The same where no search accepts the problem; more take gigabytes before any solver sees them."""


NEAR = 1e-4
"""A relative gap that the exact model may close soon."""


def is_path(graph: Graph) -> bool:
    """Return whether the nodes are one path, which ``ideals`` solves in time proportional to them."""
    once = all(len(set(ends.tolist())) == graph.m for ends in (graph.tails, graph.heads))
    return once and graph.m == graph.n - 1


def formulation(name: str) -> Formulation:
    """Return a formulation by its name."""
    formulation: Formulation = load(FORMULATIONS, name)()
    return formulation


def mip(asked: Formulation) -> Method:
    """Return the method that solves a formulation; Pyomo takes long to import, and most runs end without it."""
    method: Method = built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(asked, apart=True)
    return method


def together(problem: Problem) -> Problem:
    """Return the problem with both parts of a training graph counted together.

    It has the same plans, and each costs no more: the largest sum of two loads is no more than the sum of the
    largest. So its bounds hold, and its plans are a start.
    """
    if problem.objective.parts == "together":
        return problem
    return replace(problem, objective=replace(problem.objective, parts="together"))


class Sized(AutoSteps):
    """The steps for a bottleneck know these of their problem."""

    def searches(self) -> Iterator[Method]:
        """Yield the searches for splits; the last has a turn only where the others refuse, as of some replicas."""
        yield from (Ideals(), Annealing(), SliceGraph())
        yield load(METHODS, "dpl")()

    def models(self) -> Iterator[Method]:
        """Yield the exact model with its solver."""
        yield mip(formulation("exact"))

    @cached_property
    def orderless(self) -> bool:
        """Whether the devices need no order, and no constraint asks for what only a model can honour."""
        ordered = self.problem.acyclic or self.problem.contiguous
        return not ordered and Annealing().accepts(together(self.problem)) is None

    @cached_property
    def reduced(self) -> Reduced:
        """The problem that the later steps see, and the way back.

        Without an order it stays as it is: all methods for it take colocated nodes as one, and the certificates of
        its bounds then speak of its own nodes.
        """
        small, lift = (self.problem, identity) if self.orderless or self.as_it_is else reduce(self.problem)
        if lift is not identity:
            self.progress.say(f"reduced {self.problem.graph.n} nodes to {small.graph.n}")
        return Reduced(self.problem, small, lift, self.progress)

    @cached_property
    def together(self) -> Problem:
        """The reduced problem, with both parts of a training graph counted together."""
        return together(self.reduced.problem)

    @cached_property
    def small(self) -> bool:
        """Whether the exact model closes the problem in no time, as far as its size tells."""
        return self.together.graph.n < SMALL and formulation("exact").accepts(self.reduced.problem) is None

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
        return self.rows > (MAX_ROWS if self.searched else LAST_HOPE_ROWS)

    @property
    def nearly(self) -> bool:
        """Whether plan and bound are as close as MIP solvers usually leave them."""
        cost, bound = self.progress.cost, self.progress.bound
        return cost is not None and bound is not None and relative_gap(cost, bound.cost) <= NEAR

    def counted(self) -> Progress:
        """Return a listener to methods on :attr:`together`, which counts plans as the objective does."""
        problem = self.reduced.problem
        return self.reduced.listener(None if self.together is problem else problem)
