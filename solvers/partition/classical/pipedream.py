"""Method ``pipedream``: the optimizer of PipeDream (Narayanan et al., 2019), as tarnawski2020 compares with it."""

from __future__ import annotations

from functools import partial

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.partition.classical.branches import contract_branches
from mtpp_dsl.solvers.partition.classical.linear import refuses, split_orders

__all__ = ["PipeDream"]


class PipeDream:
    """Method ``pipedream``: branchings become single nodes, and the path that is left is split optimally.

    Where the contracted graph is no path, as with several inputs, a depth-first order of it is split. A stage has
    replicas where ``constraint replicate`` allows them.
    """

    name = "pipedream"
    gives: Gives = "plan"
    baseline = True
    summary = "contracts branchings to single nodes, then splits the path optimally (PipeDream's optimizer)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why splits of a path cannot honour the problem, or None."""
        return refuses(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best split of the path, if there is one; no bound."""
        contract = partial(contract_branches, problem)
        return split_orders(self.name, problem, limits, progress, orders=1, contract=contract)
