"""Method ``auto``: the best plan and the best bound that the time allows."""

from __future__ import annotations

from mtpp_dsl.contracts import Backend, Formulation, Gives, Limits, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.registry import BACKENDS, FORMULATIONS, load
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.auto.run import Run
from mtpp_dsl.solvers.combinatorial.slicegraph import SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals
from mtpp_dsl.solvers.mip.limits import check

__all__ = ["Auto"]


class Auto:
    """Method ``auto``: everything built in, in the order that pays.

    1. bounds that cost next to nothing, and contraction of the graph, where it provably keeps an optimum;
    2. ``ideals`` for a moment, and a first plan by ``slicegraph`` or ``annealing``;
    3. searches and proofs at the same time, in processes that tell one another what they find (see :mod:`.lanes`);
    4. ``superblock``, when the exact model is large: a bound;
    5. ``exact``, from that plan, for the rest of the time: both. When it is too large, ``guess``: a bound.

    It stops as soon as plan and bound are within ``limits.gap`` of each other.
    """

    name = "auto"
    gives: Gives = "plan and bound"
    uses_solver = True
    summary = "the best plan and bound that the time allows, from everything built in"

    def accepts(self, problem: Problem) -> str | None:
        """Return why none of the methods behind it can honour the problem, or None."""
        if problem.objective.quantity == "makespan":
            return f"{problem.objective.name} needs a schedule, and no method of this version makes one"
        if any(other.accepts(problem) is None for other in (Ideals(), Annealing(), SliceGraph())):
            return None
        exact: Formulation = load(FORMULATIONS, "exact")()
        return exact.accepts(problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and bound found.

        Raises:
            SolverError: the MIP solver is missing or failed.
        """
        backend: Backend = load(BACKENDS, limits.solver)()
        check(backend, limits)  # before any work, not after it
        return Run(problem, limits, progress).result()
