"""Method ``critical-path``."""

from __future__ import annotations

from mtpp_dsl.constraints import BatchSizes, Replicate
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.solvers.bounds.schedule.batch_bounds import batch_bound, batch_refusal
from mtpp_dsl.solvers.bounds.schedule.climbing import climb

__all__ = ["CriticalPath", "makespan_refusal"]


class CriticalPath:
    """Method ``critical-path``: no search for a plan, no solver; constraints that take plans away cannot lower it.

    The longest path, every node on its best device, with the transfers that this takes: not on the best device of each
    node alone, but on the best choice for all nodes of the path. Nodes too late for a target on some device leave it.

    For the throughput of a batch it is the path of one input, or the work of all batches between two ends of paths; see
    :mod:`mtpp_dsl.solvers.bounds.schedule.batch_bounds`.
    """

    name = "critical-path"
    gives: Gives = "bound"
    summary = "longest path on links, with every node on its best device and the transfers this takes"

    def accepts(self, problem: Problem) -> str | None:
        """Return why there is no bound for the problem, or None."""
        if problem.objective.batch is not None:
            return batch_refusal(self.name, problem)
        return makespan_refusal(self.name, problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        if problem.objective.batch is not None:
            return batch_bound(problem, self.name, "paths", limits, progress)
        return climb(problem, self.name, self.summary, [(0, "paths")], limits, progress)


def makespan_refusal(name: str, problem: Problem) -> str | None:
    """Return why a bound on the makespan of one sample on links means nothing for the problem, or None."""
    if problem.objective.quantity != "makespan":
        return f"{name} bounds a makespan, not a {problem.objective.quantity}"
    if problem.objective.batch is not None:
        return f"{name} bounds the makespan of one sample, not of a batch of {problem.objective.batch}"
    if not isinstance(problem.interconnect, Links):
        return f"{name} bounds a makespan on links, not on a {problem.interconnect.keyword} interconnect"
    other = next((c for c in problem.constraints if isinstance(c, (Replicate, BatchSizes))), None)
    if other is not None:
        return f"{name} counts every node once, on one device; 'constraint {other.keyword}' changes that"
    return None
