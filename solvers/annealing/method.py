"""Method ``annealing``: splits without an order between the devices."""

from __future__ import annotations

from mtpp_dsl.constraints import Acyclic, Colocate, Contiguous, Forbid, Memory, Pin, Separate
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.annealing.run import Run

__all__ = ["Annealing"]

HONOURS = (Colocate, Forbid, Memory, Pin, Separate)
PATIENCE = 10
MOVES = 200


class Annealing:
    """Method ``annealing``: moves of classes of nodes between devices, for splits that need not be contiguous.

    tarnawski2020, 5.2, by another way than the integer programme. It starts from the best split with an acyclic
    quotient graph, from slices and from random splits, and anneals a sum of high powers of the loads. Rounds
    of four annealings go on side by side; every second round is twice as long as the one before.

    Args:
        patience: it ends after so many rounds without a better plan.
        moves: how many each annealing of the first round tries, per class and device.
    """

    name = "annealing"
    gives: Gives = "plan"
    summary = "splits that need not be contiguous, by moves of nodes between devices (tarnawski2020, 5.2)"

    def __init__(self, patience: int = PATIENCE, moves: int = MOVES) -> None:
        self.patience = patience
        self.moves = moves

    def accepts(self, problem: Problem) -> str | None:
        """Return why the annealing cannot honour the problem, or None."""
        if problem.objective.quantity != "bottleneck":
            return f"annealing minimises one bottleneck, not a {problem.objective.quantity}"
        if isinstance(problem.interconnect, Links):
            return "annealing knows the shared and host interconnects, not links"
        if problem.hierarchical:
            return "annealing has one bandwidth, not another between groups of devices"
        ordered = next((c for c in problem.constraints if isinstance(c, (Acyclic, Contiguous))), None)
        if ordered is not None:
            return f"annealing keeps no order between the devices, which constraint {ordered} asks for"
        other = next((c for c in problem.constraints if not isinstance(c, HONOURS)), None)
        return None if other is None else f"annealing cannot honour constraint {other}"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        return Run(problem, limits, progress, self.patience, self.moves).result()
