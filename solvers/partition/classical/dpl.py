"""Method ``dpl``: the linearization heuristic of tarnawski2020, 5.1.2."""

from __future__ import annotations

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.partition.classical.linear import refuses, split_orders

__all__ = ["Dpl"]

ORDERS = 20


class Dpl:
    """Method ``dpl``: the best splits of some depth-first orders of the graph.

    A depth-first topological order is made a path by artificial edges, which leaves as many ideals as nodes, and
    split optimally. The paper takes one order, whose ties depend on its program's hash tables; here the first one
    prefers nodes that come later, and others, with random ties, follow.

    Args:
        orders: how many orders to split.
    """

    name = "dpl"
    gives: Gives = "plan"
    summary = "slices depth-first topological orders optimally (tarnawski2020, 5.1.2)"

    def __init__(self, orders: int = ORDERS) -> None:
        self.orders = orders

    def accepts(self, problem: Problem) -> str | None:
        """Return why splits of orders cannot honour the problem, or None."""
        return refuses(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        return split_orders(self.name, problem, limits, progress, orders=self.orders, contract=lambda classes: classes)
