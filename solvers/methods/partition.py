"""Methods that split a graph into blocks whose order is that of the devices."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.constraints import (
    Colocate,
    InOrder,
    Linear,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives, Method
from mtpp_dsl.core.contracts.scopes import Scoped, outside
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.bounds import Anchor, Count, Node, Simple
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import (
    BUDGETS,
    CHAINS,
    NETWORKS,
    PHASES,
    PRICED,
    SLICES,
    STAGES,
    checking,
    in_line,
)

__all__ = ["Ideals", "SliceGraph", "unmerged"]

MAX_BYTES = 1e9
"""What the ideals and their labels may take."""
ORDERS, STARTS, MOVES_PER_NODE = 20, 1, 4_000


PHASES_ON_NETWORKS = replace(PHASES, interconnects=("links", "tree"), needs=())
"""What is asked of phases on networks: of chains in any order of the devices, of other graphs under ``acyclic``."""


TABLED = tuple(replace(scope, workspace=True) for scope in (checking(STAGES), PHASES, PRICED, BUDGETS))
"""What is solved on a table of stages, which has a shape for each workspace that may be the largest."""


def unmerged(name: str, problem: Problem) -> str | None:
    """Return which colocated nodes cannot be made one, so that method *name* does not keep them together, or None."""
    if not any(problem.of(Colocate)):
        return None
    from mtpp_dsl.solvers.reductions.all_reductions import reduce

    kept = next(reduce(problem)[0].of(Colocate), None)
    return None if kept is None else f"{name} does not support constraint {kept}, whose nodes cannot be made one"


def cost_of(result: Result) -> float:
    """Return what the plan of *result* costs; ``inf`` without one."""
    return float("inf") if result.cost is None else result.cost


def bound_of(result: Result) -> float:
    """Return the bound of *result*; ``-inf`` without one."""
    return float("-inf") if result.bound is None else result.bound.cost


class Ideals(Scoped, MethodBase):
    """Method ``ideals``: an optimal split whose quotient graph is acyclic (tarnawski2020, 5.1).

    Such splits are chains of ideals of the graph in which colocated nodes are one. The best is found by dynamic
    programming below a target, which is raised until it is proved. Where there are more ideals than memory allows, a
    search stores only those it reaches; if these are too many as well, it returns the best split and the bound so far.

    In a training graph the ideals are those of the forward part. Their optimum is one for ``constraint acyclic
    (parts = "forward")``; for both parts, when the plan satisfies it, and a bound otherwise; then plans are looked for
    whose backward part is in the order of the forward part, or in the opposite one. Groups of colocated nodes that
    are all backward nodes are free to be anywhere: plans place them along their backward edges, reversed, as
    tarnawski2020's program does, and the bound only counts what they cost everybody.

    Under memory by stage, for iterations, and where devices share nodes, stages are placed from the last to the first,
    so that the number of stages after one is known, and every stage is tried on every number of shards and replicas,
    recomputing or not. Where there are too many ideals for that, some orders are cut optimally, and the bound is one
    that needs no search.

    Of a chain on links or a tree, the least sums of latencies and bottlenecks are found without ``acyclic``, too:
    beginnings of the chain have the devices, loads and memory of their nodes as labels.

    Args:
        most_bytes: how much memory the ideals and their labels may take.
        patience: seconds after which it gives up, before its limits, unless it has found that there are few ideals.
    """

    name = "ideals"
    gives: Gives = "plan and bound"
    summary = "optimal partition with acyclic quotient graph, by dynamic programming over ideals (tarnawski2020, 5.1)"
    scopes = (
        checking(replace(CHAINS, groups=True, free_groups=True)),
        checking(NETWORKS),
        PHASES_ON_NETWORKS,
        *TABLED,
        *map(in_line, (checking(NETWORKS), PHASES_ON_NETWORKS, *TABLED)),
    )

    def __init__(self, most_bytes: float = MAX_BYTES, patience: float = float("inf")) -> None:
        self.most_bytes, self.patience = most_bytes, patience

    def beyond(self, problem: Problem) -> str | None:
        """Return why the devices are of too many kinds, or replicas could not be told apart, or None."""
        from mtpp_dsl.solvers.partition.ideals.phases_run import unfit_for_labels
        from mtpp_dsl.solvers.partition.ideals.priced import refusal, unfit_for_budgets
        from mtpp_dsl.solvers.partition.ideals.unsupported import too_large, unfit_for_line, unsupported

        reason = unfit_for_line(problem) if any(problem.of(InOrder)) else None
        if reason is not None:
            return reason
        if problem.networked and (problem.phased or problem.objective.is_linear):
            return unfit_for_labels(problem) or self._unfit_for_networks(problem)
        if problem.phased:
            return unfit_for_labels(problem) or unsupported(problem)
        if problem.objective.is_linear:
            return refusal(problem)
        if problem.robust is not None:
            return unfit_for_budgets(problem)
        return too_large(problem) if problem.networked else unsupported(problem)

    def _unfit_for_networks(self, problem: Problem) -> str | None:
        """Return why a linear objective on links or a tree is of no chain that is solved, or None."""
        from mtpp_dsl.solvers.partition.ideals.phase_parts_run import places_in_chain

        if (problem.phased and problem.acyclic) or places_in_chain(problem) is not None:
            return None
        if problem.phased:
            return "on links and trees, ideals takes what is asked of phases under constraint acyclic, or of chains"
        return "on links and trees, ideals takes sums of latencies and bottlenecks of chains only"

    def keeps_all(self, problem: Problem) -> bool:
        """Return whether the rows of *problem* are budgets, which the search itself keeps; others are only checked."""
        if outside(self.name, (TABLED[-1], in_line(TABLED[-1])), problem) is not None:
            return False
        from mtpp_dsl.solvers.partition.ideals.priced import limit_of, unfit_for_budgets
        from mtpp_dsl.solvers.partition.ideals.unsupported import unfit_for_line

        if any(problem.of(InOrder)) and unfit_for_line(problem) is not None:
            return False
        rows = any(limit_of(row) is None for row in problem.of(Linear))
        return (rows or problem.robust is not None) and unfit_for_budgets(problem) is None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return an optimal plan and its proof, or the best of both within the limits."""
        if not self.keeps_all(problem):
            return self._solve(problem, limits, progress)
        from mtpp_dsl.solvers.partition.ideals.budget_run import BudgetRun

        result = BudgetRun(problem, limits, progress, self.most_bytes, self.patience).result()
        if result.termination != "limit" or self.refused_by_scopes(problem) is not None or problem.robust is not None:
            return result
        other = self._solve(problem, limits.within(limits.remaining, start=result.plan), progress)
        best, bound = min((result, other), key=cost_of), max((result, other), key=bound_of).bound
        return replace(other, plan=best.plan, evaluation=best.evaluation, bound=bound)

    @rows_checked
    def _solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the same; rows are only checked, but for those of sums and of phases."""
        from mtpp_dsl.solvers.algorithms.stages.build import of_stages
        from mtpp_dsl.solvers.partition.ideals.flat_run import FlatRun
        from mtpp_dsl.solvers.partition.ideals.hierarchy_run import NestedRun
        from mtpp_dsl.solvers.partition.ideals.network_run import NetworkRun
        from mtpp_dsl.solvers.partition.ideals.phase_parts_run import PhasePartsRun
        from mtpp_dsl.solvers.partition.ideals.phases_run import PhasesRun
        from mtpp_dsl.solvers.partition.ideals.priced_run import PricedRun
        from mtpp_dsl.solvers.partition.ideals.stages_run import StagesRun

        linear = problem.objective.is_linear
        if problem.phased or (linear and problem.networked):
            parts: list[Method] = [Simple(), Node(), Anchor(), Count(), Ideals(self.most_bytes)]
            if problem.networked:
                return PhasePartsRun(problem, limits, progress, self.most_bytes, self.patience, methods=parts).result()
            return PhasesRun(problem, limits, progress, self.most_bytes, self.patience, methods=parts).result()
        if linear:
            return PricedRun(problem, limits, progress, self.most_bytes, self.patience).result()
        tabled = of_stages(problem) or any(problem.of(InOrder)) or problem.uneven_workspace
        if tabled and not problem.networked:
            return StagesRun(problem, limits, progress, self.most_bytes, self.patience, slices=SliceGraph).result()
        if problem.networked:
            return NetworkRun(problem, limits, progress, self.most_bytes, self.patience).result()
        run = NestedRun if problem.hierarchical else FlatRun
        return run(problem, limits, progress, self.most_bytes, self.patience, slices=SliceGraph).result()


class SliceGraph(Scoped, MethodBase):
    """Method ``slicegraph``: optimal slices of some topological orders, improved by moving nodes.

    Every plan has an acyclic quotient graph, over forward and backward nodes together.

    Under memory by stage, for iterations, and where devices share nodes, each order is cut optimally on all shapes of
    stages, by the programme of ``ideals``; then orders near the best plan are, as long as one of some rounds is better.

    Args:
        orders: how many topological orders to slice.
        starts: how many of the best plans to improve at each heat.
        moves: how many moves to try per node, start and heat; in proportion fewer on graphs
            under 40 nodes, and at most four million.
    """

    name = "slicegraph"
    gives: Gives = "plan"
    summary = "slices good topological orders optimally, and improves the plans by moving nodes (archer2024, section 4)"
    scopes = (
        checking(replace(SLICES, constraints=(*SLICES.constraints, Shard, StageMemory))),
        checking(replace(STAGES, objectives=("iteration", "separate iteration"))),
    )

    def __init__(self, orders: int = ORDERS, starts: int = STARTS, moves: int = MOVES_PER_NODE) -> None:
        self.orders = orders
        self.starts = starts
        self.moves = moves

    def beyond(self, problem: Problem) -> str | None:
        """Return which colocated nodes cannot be made one, or why stages cannot be cut on all shapes, or None."""
        from mtpp_dsl.solvers.algorithms.stages.build import of_stages
        from mtpp_dsl.solvers.partition.ideals.unsupported import unsupported

        if of_stages(problem):
            return unsupported(problem, self.name)
        return unmerged(self.name, problem)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.algorithms.stages.build import of_stages
        from mtpp_dsl.solvers.partition.ideals.stages_run import StageSlices
        from mtpp_dsl.solvers.partition.slicing.slicegraph import slicegraph

        if of_stages(problem):
            return StageSlices(problem, limits, progress, self.orders).result()
        return slicegraph(problem, limits, progress, self.orders, self.starts, self.moves)
