"""Method ``orders``: split graphs over unequal devices, and prove it, by branching on their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import SLICES, checking

MAX_NODES, MAX_DEVICES = 30_000, 12


class Orders(Scoped, MethodBase):
    """Method ``orders``: splits whose quotient graph is acyclic, over unequal devices, optimal ones where it can.

    A plan is a chain of ideals, and the devices are in some order. Sets of devices that stand next to each other are
    one device, no faster than all of them; how far others get says which nodes are in which ideals, and a linear
    programme over what is left bounds all orders of a sequence of sets. Sets are parted, best first, until every one
    is a single device; there an integer programme, by HiGHS, finds the best chain.
    """

    name = "orders"
    gives: Gives = "plan and bound"
    summary = "optimal partition over unequal devices, by branching on their order and programmes over chains of ideals"
    scopes = (checking(replace(SLICES, needs=(Acyclic,), streams=False, backward=False)),)

    def beyond(self, problem: Problem) -> str | None:
        """Return why there is too much to look at, or None."""
        if problem.graph.n > MAX_NODES:
            return f"{self.name} takes graphs of up to {MAX_NODES:,} nodes, not of {problem.graph.n:,}"
        useful = int(np.count_nonzero(problem.allowed.any(axis=0)))
        return None if useful <= MAX_DEVICES else f"{self.name} takes up to {MAX_DEVICES} devices, not {useful}"

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found within the limits, and a bound."""
        from mtpp_dsl.solvers.partition.orders.orders_run import orders

        return orders(problem, limits, progress)
