"""Method ``ea``: the biased (1+1) evolutionary algorithm."""

from __future__ import annotations

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.views.batch_tasks import why_not as why_no_batches
from mtpp_dsl.views.tasks import why_not

__all__ = ["Ea"]

PATIENCE = 50


class Ea:
    """Method ``ea``: the biased (1+1) EA of ghannane2023, 4.2.

    The parent is at first every node on its fastest device (where that fits; else as ``met`` places it). A child gives
    every node another device with probability 1/n, and takes the parent's place if its makespan is no longer. Nodes run
    in the order of upward ranks, as early as they can. Nodes that are colocated move together.

    For the throughput of a batch the parent is what ``met`` makes, and a child gives every node another spread of its
    chunks over devices; see :mod:`mtpp_dsl.solvers.schedule.search.batch_mutation`.

    Args:
        patience: children in a row, per class and device, without a shorter schedule, after which it ends.
    """

    name = "ea"
    gives: Gives = "plan"
    baseline = True
    summary = "biased (1+1) evolutionary algorithm: moves random nodes, and keeps a schedule that is no longer"

    def __init__(self, patience: int = PATIENCE) -> None:
        self.patience = patience

    def accepts(self, problem: Problem) -> str | None:
        """Return why the problem is not one that this schedules, or None."""
        if problem.objective.batch is not None:
            return why_no_batches(problem, self.name)
        return why_not(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule found, or none, with a note that says why."""
        if problem.objective.batch is not None:
            from mtpp_dsl.solvers.schedule.search.batch_ea import BatchEa

            return BatchEa(problem, limits, progress, self.patience).result()
        from mtpp_dsl.solvers.schedule.search.sample_ea import Run

        return Run(problem, limits, progress, self.patience).result()
