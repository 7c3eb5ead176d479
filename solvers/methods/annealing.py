"""Method ``annealing``: splits with an order between the devices, and without."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Linear,
    Memory,
    Pin,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives, Method
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.methods.shared_scopes import (
    BATCH,
    BY_MOVES,
    MOVED,
    NETWORKS,
    ONE_SAMPLE,
    PHASE_MOVES,
    PLACED,
    TIMED_WEIGHTED,
    WEIGHTED,
    in_line,
)

PATIENCE = 10
MOVES = 200
BYTES, FEW_BYTES, FEW_ORDERS = 2e8, 2e7, 10
"""What the ideals may take that splits start from, and with an order of the devices, where few orders are sliced."""
MAX_NODES_FOR_IDEALS = 5_000
"""Above this only slices of orders are tried: ideals of so large a graph take too long to set up."""


class Annealing(Scoped, MethodBase):
    """Method ``annealing``: moves of classes of nodes between devices, and a sum of powers of the loads as the energy.

    For splits that need not be contiguous (tarnawski2020, 5.2, by another way than the integer programme) it starts
    from the best split with an acyclic quotient graph, from slices and from random splits. Rounds of four annealings
    go on side by side; every second round is twice as long as the one before.

    Where the quotient graph must be acyclic it starts from slices of topological orders, keeps an order of the devices
    that changes as the moves ask for it, and anneals once in each round, on one processor. Where the problem gives an
    order of all devices, no move breaks it.

    Labelled rows are kept by the moves: one that does not hold is charged as a memory that is exceeded. For a linear
    objective, and under rows with a penalty, the energy is the cost itself and what is broken; see
    :mod:`mtpp_dsl.solvers.partition.weighted`. So it is for what is asked of single phases, on links and trees, too.

    For a makespan on links moves also change the order in which nodes run; see
    :mod:`mtpp_dsl.solvers.schedule.search`. Under rows with a penalty, or on what such moves cannot keep track of, they
    change places alone, and a list scheduler says when nodes run. For the throughput of a batch they move chunks of
    nodes between devices; see :mod:`mtpp_dsl.solvers.schedule.search.schedule_annealing`.

    Args:
        patience: it ends after so many rounds without a better plan.
        moves: how many each annealing of the first round tries, per class and device.
    """

    name = "annealing"
    gives: Gives = "plan"
    summary = "simulated annealing for partitions and schedules"
    scopes = (
        replace(BY_MOVES, constraints=(*BY_MOVES.constraints, Linear), decisions=PLACED),
        replace(ONE_SAMPLE, constraints=(*ONE_SAMPLE.constraints, Linear), decisions=MOVED),
        replace(TIMED_WEIGHTED, objectives=("makespan",)),
        BATCH,
        WEIGHTED,
        PHASE_MOVES,
        TIMED_WEIGHTED,
        NETWORKS,
        in_line(PHASE_MOVES),
        replace(NETWORKS, constraints=(BreakSymmetry, Colocate, Forbid, Memory, Pin), backward=True),
    )

    def __init__(self, patience: int = PATIENCE, moves: int = MOVES) -> None:
        self.patience = patience
        self.moves = moves

    def beyond(self, problem: Problem) -> str | None:
        """Return why sets would have to be convex that no order of the devices makes so, or None."""
        if any(problem.of(InOrder)) and problem.line is None:
            return "annealing keeps one order of all devices"
        if _in_columns(problem):
            convex = next((c for c in problem.of(Contiguous) if not problem.acyclic), None)
            return None if convex is None else f"annealing over phases keeps {convex} under acyclic alone"
        if problem.objective.quantity != "bottleneck" or _weighted(problem):
            return None
        convex = next((c for c in problem.of(Contiguous) if not _implied(c, problem)), None)
        return (
            None if convex is None else f"annealing keeps no set convex, as constraint {convex} asks, without acyclic"
        )

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.annealing.network_annealing import anneal_on_network
        from mtpp_dsl.solvers.partition.annealing.ordered_annealing import OrderedRun
        from mtpp_dsl.solvers.partition.annealing.split_annealing import SplitAnnealing
        from mtpp_dsl.solvers.partition.weighted.phase_annealing import anneal_phases
        from mtpp_dsl.solvers.partition.weighted.weighted_annealing import anneal_weighted
        from mtpp_dsl.solvers.schedule.search.placed_annealing import anneal_placed
        from mtpp_dsl.solvers.schedule.search.schedule_annealing import anneal_batches, anneal_sample

        if _in_columns(problem):
            return anneal_phases(problem, limits, progress, self.patience, self.moves)
        if problem.networked:
            return anneal_on_network(problem, limits, progress, self.patience, self.moves)
        if _by_places(problem):
            return anneal_placed(problem, limits, progress, self.patience)
        if _weighted(problem):
            return anneal_weighted(problem, limits, progress, self.patience, self.moves)
        if problem.objective.batch is not None:
            return anneal_batches(problem, limits, progress, self.patience, self.moves)
        if problem.objective.quantity == "makespan":
            return anneal_sample(problem, limits, progress, self.patience, self.moves)
        ideals = problem.graph.n <= MAX_NODES_FOR_IDEALS
        run: type[OrderedRun | SplitAnnealing]
        methods: list[Method]
        if problem.acyclic:
            run, methods = OrderedRun, [SliceGraph(orders=FEW_ORDERS, starts=0), *([Ideals(FEW_BYTES)] * ideals)]
        else:
            run, methods = SplitAnnealing, [*([Ideals(BYTES)] * ideals), SliceGraph()]
        return run(problem, limits, progress, self.patience, self.moves, methods).result()


def _implied(contiguous: Contiguous, problem: Problem) -> bool:
    """Whether device sets are convex, as asked, wherever the quotient graph is as acyclic as the problem asks."""
    parts = {constraint.parts for constraint in problem.of(Acyclic)}
    if not parts:
        return False
    return "both" in parts or contiguous.parts == "forward" or not problem.graph.backward.any()


def _in_columns(problem: Problem) -> bool:
    """Return whether single phases, a given order of devices, or on networks sums, rows or any order are asked for."""
    rows = any(problem.of(Linear))
    if any(problem.of(InOrder)):
        return True
    return problem.phased or (problem.networked and (problem.objective.is_linear or rows or problem.acyclic))


def _by_places(problem: Problem) -> bool:
    """Return whether a schedule costs more than its makespan, or moves in it cannot keep track of what rows limit."""
    if problem.objective.is_linear:
        return problem.timed
    if problem.objective.quantity != "makespan" or problem.objective.batch is not None:
        return False
    spoken = (type(one) for row in problem.hard_rows for one in dict(row.terms))
    return bool(problem.soft_rows) or not set(spoken) <= set(MOVED)


def _weighted(problem: Problem) -> bool:
    """Return whether a split is more than its largest load and rows that must hold, or has sets that must be convex."""
    if problem.objective.is_linear:
        return True
    if problem.objective.quantity != "bottleneck" or not any(problem.of(Linear)):
        return False
    others = any(not isinstance(one, PLACED) for row in problem.of(Linear) for one, _ in row.terms)
    return others or bool(problem.soft_rows) or any(not _implied(convex, problem) for convex in problem.of(Contiguous))
