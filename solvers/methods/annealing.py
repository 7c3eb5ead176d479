"""Method ``annealing``: splits with an order between the devices, and without."""

from __future__ import annotations

from mtpp_dsl.constraints import Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Separate
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.views.batch_tasks import why_not as why_no_batches
from mtpp_dsl.views.tasks import why_not

__all__ = ["Annealing"]

HONOURS = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Separate)
PATIENCE = 10
MOVES = 200


class Annealing:
    """Method ``annealing``: moves of classes of nodes between devices, and a sum of powers of the loads as the energy.

    For splits that need not be contiguous (tarnawski2020, 5.2, by another way than the integer programme) it starts
    from the best split with an acyclic quotient graph, from slices and from random splits. Rounds of four annealings
    go on side by side; every second round is twice as long as the one before.

    Where the quotient graph must be acyclic it starts from slices of topological orders, keeps an order of the devices
    that changes as the moves ask for it, and anneals once in each round, on one processor.

    For a makespan on links moves also change the order in which nodes run; see
    :mod:`mtpp_dsl.solvers.schedule.search`. For
    the throughput of a batch they move chunks of nodes between devices; see
    :mod:`mtpp_dsl.solvers.schedule.search.batch_annealing`.

    Args:
        patience: it ends after so many rounds without a better plan.
        moves: how many each annealing of the first round tries, per class and device.
    """

    name = "annealing"
    gives: Gives = "plan"
    summary = "simulated annealing for partitions and schedules"

    def __init__(self, patience: int = PATIENCE, moves: int = MOVES) -> None:
        self.patience = patience
        self.moves = moves

    def accepts(self, problem: Problem) -> str | None:
        """Return why the annealing cannot honour the problem, or None."""
        if problem.objective.batch is not None:
            return why_no_batches(problem, self.name)
        if problem.objective.quantity == "makespan":
            return why_not(problem, self.name)
        if problem.objective.quantity != "bottleneck":
            return f"annealing minimises one bottleneck, not a {problem.objective.quantity}"
        if isinstance(problem.interconnect, Links):
            return "annealing knows the shared and host interconnects, not links"
        if problem.hierarchical:
            return "annealing has one bandwidth, not another between groups of devices"
        other = next((c for c in problem.constraints if not isinstance(c, HONOURS)), None)
        if other is not None:
            return f"annealing cannot honour constraint {other}"
        convex = next((c for c in problem.of(Contiguous) if not _implied(c, problem)), None)
        return (
            None if convex is None else f"annealing keeps no set convex, as constraint {convex} asks, without acyclic"
        )

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.annealing.ordered_annealing import OrderedRun
        from mtpp_dsl.solvers.partition.annealing.split_annealing import Run
        from mtpp_dsl.solvers.schedule.search.batch_annealing import BatchSchedules
        from mtpp_dsl.solvers.schedule.search.sample_annealing import Schedules

        if problem.objective.batch is not None:
            return BatchSchedules(problem, limits, progress, self.patience, self.moves).result()
        if problem.objective.quantity == "makespan":
            return Schedules(problem, limits, progress, self.patience, self.moves).result()
        run = OrderedRun if problem.acyclic else Run
        return run(problem, limits, progress, self.patience, self.moves).result()


def _implied(contiguous: Contiguous, problem: Problem) -> bool:
    """Whether device sets are convex, as asked, wherever the quotient graph is as acyclic as the problem asks."""
    parts = {constraint.parts for constraint in problem.of(Acyclic)}
    if not parts:
        return False
    return "both" in parts or contiguous.parts == "forward" or not problem.graph.backward.any()
