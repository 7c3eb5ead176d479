"""Several routes that share the inputs of a pipeline."""

from __future__ import annotations

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Copies,
    Forbid,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem


class CopiesOfChains(Scoped, MethodBase):
    """Method ``copies``: shares of routes of a chain of nodes, each route an ordinary plan.

    Devices of one type may change places, and are counted. Prices on devices bound the period: no shares of routes are
    better than the cheapest route at those prices, which a dynamic programme finds. The prices are the certificate.
    Pipelines beside each other come from a dynamic programme over numbers of devices and a knapsack; stages on several
    devices from another. For anything else, branch and bound over what devices hold, windows of the chain or single
    nodes, closes what is left.
    """

    name = "copies"
    gives: Gives = "plan and bound"
    seeded = False
    summary = "several routes that share the inputs: prices on devices, branch and bound over what they hold"
    scopes = (
        Scope(
            objectives=("bottleneck",),
            interconnects=("shared", "host", "links", "tree"),
            constraints=(Acyclic, BreakSymmetry, Colocate, Contiguous, Copies, Forbid, Memory, Pin, Separate),
            needs=(Copies,),
            groups=True,
            free_groups=True,
            unequal=True,
        ),
    )

    def beyond(self, problem: Problem) -> str | None:
        """Return why there are no routes to go through, by the graph, its size or its groups, or None."""
        from mtpp_dsl.core.problem.plan_rules import is_chain
        from mtpp_dsl.solvers.partition.copies.graph import no_graph
        from mtpp_dsl.solvers.partition.copies.instance import unsupported

        return unsupported(problem) if is_chain(problem.graph) else no_graph(problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best routes found within the limits, and a bound."""
        from mtpp_dsl.solvers.partition.copies.run import run_copies

        return run_copies(problem, limits, progress)
