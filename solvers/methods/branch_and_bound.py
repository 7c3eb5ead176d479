"""Method ``branch-and-bound``: exact schedules of small graphs on links, and a bound at any time."""

from __future__ import annotations

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.views.tasks import why_not

__all__ = ["BranchAndBound"]

MOST_NODES, MOST_ITEMS = 300, 8_000
"""Nodes, and nodes and edges times devices, of graphs that are not refused."""


class BranchAndBound:
    """Method ``branch-and-bound`` (ghannane2023, 3.1), with bounds, left shifts and dominance.

    The thesis maps nodes in topological order. Here partial schedules grow by their starts, so that their order is
    searched too, with the bounds of ``interval`` behind every node. Depth first, below the best makespan known or below
    a smaller one, to raise the bound; see :mod:`mtpp_dsl.solvers.schedule.search.search_tree`.
    """

    name = "branch-and-bound"
    gives: Gives = "plan and bound"
    summary = "optimal schedules of small graphs on links, by depth-first branch and bound"

    def accepts(self, problem: Problem) -> str | None:
        """Return why the problem is not one that this schedules, or None."""
        reason = why_not(problem, self.name)
        if reason is None and problem.graph.n > MOST_NODES:
            return f"{self.name} is for graphs of up to {MOST_NODES} nodes"
        items = (problem.graph.n + problem.graph.m) * problem.k
        if reason is None and items > MOST_ITEMS:
            return f"{self.name} is for smaller graphs: nodes and edges times devices are {items}, above {MOST_ITEMS}"
        return reason

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule and the best bound; stopped early, those so far."""
        impossible = quick(problem)
        if impossible is not None:
            return Result("infeasible", method=self.name, seed=limits.seed, infeasibility=impossible)
        from mtpp_dsl.solvers.schedule.search.branch_and_bound_run import Run

        return Run(problem, limits, progress).result()
