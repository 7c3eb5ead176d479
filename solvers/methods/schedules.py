"""Methods that search for schedules on links: a tree search, an evolutionary algorithm, large neighbourhoods."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, MOVED, ONE_SAMPLE, checking

MAX_NODES, MAX_ITEMS = 300, 8_000
"""Nodes, and nodes and edges times devices, of graphs that branch-and-bound does not refuse."""

SERIES_PATIENCE, SERIES_MOVES = 5, 40
"""Of the annealing of a module by ``series``: rounds without a better schedule, and moves per node and device."""

PATIENCE = 50
"""Children in a row without a shorter schedule after which ``ea`` ends, per class and device."""


class BranchAndBound(Scoped, MethodBase):
    """Method ``branch-and-bound`` (ghannane2023, 3.1), with bounds, left shifts and dominance.

    The thesis maps nodes in topological order. Here partial schedules grow by their starts, so that their order is
    searched too, with the bounds of ``interval`` behind every node. Depth first, below the best makespan known or below
    a smaller one, to raise the bound; see :mod:`mtpp_dsl.solvers.schedule.search.search_tree`.
    """

    name = "branch-and-bound"
    gives: Gives = "plan and bound"
    seeded = False
    summary = "optimal schedules of small graphs on links, by depth-first branch and bound"
    scopes = (checking(ONE_SAMPLE),)

    def beyond(self, problem: Problem) -> str | None:
        """Return why the graph is too large, or None."""
        if problem.graph.n > MAX_NODES:
            return f"{self.name} is for graphs of up to {MAX_NODES} nodes"
        items = (problem.graph.n + problem.graph.m) * problem.k
        if items > MAX_ITEMS:
            return f"{self.name} is for smaller graphs: nodes and edges times devices are {items}, above {MAX_ITEMS}"
        return None

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule and the best bound; stopped early, those so far."""
        impossible = quick(problem)
        if impossible is not None:
            return progress.result(self.name, limits, "infeasible", infeasibility=impossible)
        from mtpp_dsl.solvers.bounds.schedule.interval import interval
        from mtpp_dsl.solvers.schedule.search.branch_and_bound_run import BranchAndBoundRun

        return BranchAndBoundRun(problem, limits, progress, interval).result()


class Ea(Scoped, MethodBase):
    """Method ``ea``: the biased (1+1) EA of ghannane2023, 4.2.

    The parent is at first every node on its fastest device (where that fits; else as ``met`` places it). A child gives
    every node another device with probability 1/n, and takes the parent's place if its makespan is no longer. Nodes run
    in the order of upward ranks, as early as they can. Nodes that are colocated move together.

    For the throughput of a batch the parent is what ``met`` makes, and a child gives every node another spread of its
    chunks over devices; see :mod:`mtpp_dsl.solvers.schedule.search.evolution`.

    Args:
        patience: children in a row, per class and device, without a shorter schedule, after which it ends.
    """

    name = "ea"
    gives: Gives = "plan"
    baseline = True
    summary = "biased (1+1) evolutionary algorithm: moves random nodes, and keeps a schedule that is no longer"
    scopes = (checking(ONE_SAMPLE), BATCH)

    def __init__(self, patience: int = PATIENCE) -> None:
        self.patience = patience

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule found, or none, with a note that says why."""
        from mtpp_dsl.solvers.schedule.search.evolution import evolve_batches, evolve_sample

        evolve = evolve_sample if problem.objective.batch is None else evolve_batches
        return evolve(problem, limits, progress, self.patience)


class Series(Scoped, MethodBase):
    """Method ``series``: schedules of the modules between cut nodes, one after another, equal modules annealed once.

    All cut nodes are on one device where they can be. For graphs of any size that repeat their modules; see
    :mod:`mtpp_dsl.solvers.schedule.search.series_annealing`.

    Args:
        patience: rounds without a better schedule after which the annealing of a module ends.
        moves: of each annealing of the first round, per node and device of a module.
    """

    name = "series"
    gives: Gives = "plan"
    summary = "schedules of the modules between cut nodes, one after another: each kind of module is annealed once"
    scopes = (checking(ONE_SAMPLE),)

    def __init__(self, patience: int = SERIES_PATIENCE, moves: int = SERIES_MOVES) -> None:
        self.patience, self.moves = patience, moves

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, or none, with a note that says why."""
        from mtpp_dsl.solvers.schedule.search.series_annealing import anneal_series

        return anneal_series(problem, limits, progress, self.patience, self.moves)


class Lns(Scoped, MethodBase):
    """Method ``lns``: parts of a schedule, of one sample or of batches, made anew by CP-SAT as long as that helps.

    Starts from the plan that is given, or from the best of some list schedulers; where these find none, as memory is
    short, from the first that CP-SAT finds; and from what a short annealing makes of it. Shaw: Using constraint
    programming and local search methods to solve vehicle routing problems (1998).
    """

    name = "lns"
    summary = "large-neighbourhood search for schedules: CP-SAT re-optimises one part of the plan after another"
    gives: Gives = "plan"
    uses_solver = True
    spreads = True
    engines = ("cp-sat",)
    scopes = (replace(ONE_SAMPLE, constraints=(*ONE_SAMPLE.constraints, Linear), decisions=MOVED), BATCH)

    def available(self) -> Availability:
        """Return whether ortools is installed."""
        from mtpp_dsl.solvers.backends.cpsat.effort import availability

        return availability()

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule found.

        Raises:
            Refused: a model is to be written.
            SolverError: ortools is missing, or its process died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.schedule.lns.lns import lns

        return lns(problem, limits, progress)
