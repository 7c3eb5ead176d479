"""Methods that published work compares with: splits of one order, local search, an external partitioner."""

from __future__ import annotations

from functools import partial

from mtpp_dsl.core.constraints import Acyclic, Contiguous, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import too_many_states
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import BY_MOVES, CHAINS, checking

ORDERS = 20
RESTARTS = 10


class Dpl(Scoped, MethodBase):
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
    scopes = (checking(CHAINS),)

    def __init__(self, orders: int = ORDERS) -> None:
        self.orders = orders

    def beyond(self, problem: Problem) -> str | None:
        """Return why the devices are of too many kinds, or None."""
        return too_many_states(self.name, problem)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.classical.linear import split_orders

        return split_orders(self.name, problem, limits, progress, orders=self.orders, contract=lambda classes: classes)


class PipeDream(Scoped, MethodBase):
    """Method ``pipedream``: branchings become single nodes, and the path that is left is split optimally.

    Where the contracted graph is no path, as with several inputs, a depth-first order of it is split. A stage has
    replicas where ``constraint replicate`` allows them.
    """

    name = "pipedream"
    gives: Gives = "plan"
    baseline = True
    seeded = False
    summary = "contracts branchings to single nodes, then splits the path optimally (PipeDream's optimizer)"
    scopes = (checking(CHAINS),)

    def beyond(self, problem: Problem) -> str | None:
        """Return why the devices are of too many kinds, or None."""
        return too_many_states(self.name, problem)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best split of the path, if there is one; no bound."""
        from mtpp_dsl.solvers.partition.classical.branches import contract_branches
        from mtpp_dsl.solvers.partition.classical.linear import split_orders

        contract = partial(contract_branches, problem)
        return split_orders(self.name, problem, limits, progress, orders=1, contract=contract)


class LocalSearch(Scoped, MethodBase):
    """Method ``local-search``: from random splits, the best move of one group of colocated nodes until none helps.

    The program of tarnawski2020 heeds neither memory nor CPUs nor contiguity; this one heeds every constraint it
    accepts, at the start and in every move. Where the quotient graph must be acyclic, or blocks contiguous, the
    blocks keep to a random sequence of the devices that no edge goes against.

    Args:
        restarts: how many random splits to start from; a plan to start from comes before them.
    """

    name = "local-search"
    gives: Gives = "plan"
    baseline = True
    summary = "the best single move, again and again, from 10 random splits (tarnawski2020, section 6)"
    scopes = (checking(BY_MOVES),)

    def __init__(self, restarts: int = RESTARTS) -> None:
        self.restarts = restarts

    def beyond(self, problem: Problem) -> str | None:
        """Return why blocks in an order would have to keep nodes apart, or None."""
        ordered = any(problem.of(Acyclic)) or any(problem.of(Contiguous))
        if ordered and any(problem.of(Separate)):
            return f"{self.name} supports 'constraint separate' only without 'acyclic' and 'contiguous'"
        return None

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best local optimum found, if any; no bound."""
        from mtpp_dsl.solvers.partition.classical.local_search import local_search

        return local_search(problem, limits, progress, self.restarts)


class Scotch(Scoped, MethodBase):
    """Method ``scotch``: a partition balanced in running time that cuts little, by the program ``gpart``.

    It fills equal accelerators and no CPU, and knows nothing of memory, contiguity or who pays for a tensor how often:
    a mapping that breaks a constraint is no plan, and is not returned. Running times and tensors are scaled to whole
    numbers whose sums stay below 2^30.
    """

    name = "scotch"
    gives: Gives = "plan"
    baseline = True
    seeded = False
    summary = "balanced partition over the accelerators with a small cut, by the program Scotch (pellegrini2009)"
    scopes = (checking(BY_MOVES),)

    def available(self) -> Availability:
        """Return whether there is a ``scotch_gpart`` or ``gpart``."""
        from mtpp_dsl.solvers.partition.classical.scotch_program import program

        return Availability(ok=program() is not None, install="apt-get install scotch")

    def beyond(self, problem: Problem) -> str | None:
        """Return why there are no equal accelerators that could hold everything, or None."""
        from mtpp_dsl.solvers.partition.classical.scotch import unfilled

        return unfilled(problem)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the partition if it is a plan, else what it breaks.

        Raises:
            SolverError: Scotch is missing, or failed.
        """
        from mtpp_dsl.solvers.partition.classical.scotch import scotch

        return scotch(problem, limits, progress, self.available().install)
