"""Methods that solve or bound a schedule by modules of the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import PinChunks
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability, Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, ONE_SAMPLE, PATHS, checking

if TYPE_CHECKING:
    from mtpp_dsl.solvers.schedule.decomposition.decomposition import DecompositionRun

SECONDS = 10.0
"""For a module between given ends, by default."""
PIECE_PATIENCE = 10
"""Rounds without a better schedule after which the annealing of a piece ends, by default."""


class _ByParts(Scoped, MethodBase):
    """What methods share that solve parts of the graph by CP-SAT."""

    gives: Gives = "plan and bound"
    uses_solver = True
    spreads = True
    scopes = (checking(ONE_SAMPLE),)

    def available(self) -> Availability:
        """Return whether ortools is installed, which solves the modules."""
        from mtpp_dsl.solvers.backends.cpsat.effort import availability

        return availability()

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and the best bound found.

        Raises:
            Refused: the method cannot honour the problem; another solver than CP-SAT, or a file for a model, is asked.
            SolverError: ortools is missing, or a process of it died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.schedule.decomposition.decomposition import by_parts

        _require(self, problem)
        return by_parts(self.name, problem, limits, progress, lambda: self._run(problem, limits, progress))

    def _run(self, problem: Problem, limits: Limits, progress: Progress) -> DecompositionRun:
        """Return a run that has not begun."""
        raise NotImplementedError


def _require(method: Scoped, problem: Problem) -> None:
    """Raise Refused, with the reason, where *method* does not accept *problem*."""
    reason = method.accepts(problem)
    if reason is not None:
        raise Refused(reason)


class Decomposition(_ByParts):
    """Method ``decomposition``: modules between cut nodes, solved for the devices of their ends as far as it matters.

    Whatever is in a module, transfers included, happens between the end of the cut node before it and the start of the
    one behind it. So the shortest way through the modules, over the devices of the cut nodes, is the least makespan,
    with exclusive links too. Colocated and separated nodes are kept in one module. Memory limits hold in every module
    by itself: where they bind between modules the shortest way is a bound still, and a plan only if it keeps them.

    Modules are bounded by device-aware longest paths and scheduled by lists; those on the shortest way by the bounds
    are solved by CP-SAT, in parallel, with growing time limits, until the way is proved. Equal modules are solved once,
    modules of one graph and similar times learn from each other. With exclusive links the bounds without come first.
    """

    name = "decomposition"
    summary = "optimal schedule of a chain of modules between cut nodes, which CP-SAT solves only where they matter"

    def _run(self, problem: Problem, limits: Limits, progress: Progress) -> DecompositionRun:
        from mtpp_dsl.solvers.schedule.decomposition.decomposition import DecompositionRun, whole_parts

        return DecompositionRun(self.name, problem, limits, progress, whole_parts(problem))


class ChainRelaxation(_ByParts):
    """Method ``chain-relaxation``: the same between anchors, with what lies beside them left out, and put in again.

    Anchors are a chain of nodes between which as much work as possible lies. Tasks that are not between two consecutive
    ones, and edges that bypass one, are left out: a relaxation, in which the anchors are cut nodes. Its bound holds for
    the whole. For a plan its schedule is kept and the rest put in by a list, by latest starts.

    With exclusive links minimum cuts around one device come first. They bound the time of each module, and the load and
    the transfers of the device with what lies beside the chain; plans move whole modules from device to device.

    Args:
        largest: nodes between two anchors, at most; None for 120, or up to 960 where that keeps much more.
        cuts_alone: whether to end before CP-SAT is asked, where these cuts are made.
    """

    name = "chain-relaxation"
    summary = "bound from the modules along a chain of nodes; the plan has the other nodes put into its gaps"

    def __init__(self, largest: int | None = None, *, cuts_alone: bool = False) -> None:
        self.largest, self.cuts_alone = largest, cuts_alone

    def _run(self, problem: Problem, limits: Limits, progress: Progress) -> DecompositionRun:
        from mtpp_dsl.solvers.schedule.decomposition.chain_run import ChainRun

        return ChainRun(self.name, problem, limits, progress, largest=self.largest, cuts_alone=self.cuts_alone)


class Lifted(Scoped, MethodBase):
    """Method ``lifted``: modules in a row, bounded by assignment programmes over classes of equal nodes, and annealed.

    Nodes of a module that nothing but their names tells apart, such as the heads of a layer, are one class, and a
    programme counts how many of each class are on each device. So a layer of a hundred heads is as small as one of
    four. For graphs that repeat their modules, and modules that repeat their parts; see
    :mod:`mtpp_dsl.solvers.schedule.lifted.run`.
    """

    name = "lifted"
    gives: Gives = "plan and bound"
    summary = "modules in a row: bounds by assignment programmes over classes of equal nodes, annealed schedules"
    scopes = (checking(ONE_SAMPLE),)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and the best bound found.

        Raises:
            SolverError: HiGHS refused a programme.
        """
        from mtpp_dsl.solvers.schedule.lifted.run import LiftedRun

        return LiftedRun(problem, limits, progress).result()


class Transplant(Scoped, MethodBase):
    """Method ``transplant``: modules of one graph are scheduled by themselves, and good orders put into all of them.

    Starts from the plan that is given, or from a list schedule. See :mod:`mtpp_dsl.solvers.schedule.lifted.transplant`.
    """

    name = "transplant"
    gives: Gives = "plan"
    summary = "better orders of modules that a graph repeats, put into a plan one at a time"
    scopes = (checking(ONE_SAMPLE),)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found."""
        from mtpp_dsl.solvers.schedule.lifted.transplant import transplant

        return transplant(self.name, problem, limits, progress)


class MilpSplit(Scoped, MethodBase):
    """Method ``milp-split``: the graph in modules, which are solved one by one (ghannane2023, 3.3).

    See :mod:`mtpp_dsl.solvers.algorithms.module_rows` for the modules and
    :mod:`mtpp_dsl.solvers.schedule.splitting.boundary_states` for the
    dynamic programme. Between cut nodes its value is exact when all modules are solved to the end; else modules that
    wait for all of those before are a restriction, from which the plan is freed afterwards: everything starts as early
    as its order allows, and the time that is left goes into a search that knows of no modules.

    Args:
        channels: tensors across a boundary, at most; None for the fewest that give useful modules.
        module_time_limit: seconds of solving a module between given ends; None for 10.
        module_method: what solves modules; None for CP-SAT, or without it a mixed-integer programme.
    """

    name = "milp-split"
    summary = "cuts the graph into modules where few tensors cross, solves and combines them (ghannane2023, 3.3)"
    gives: Gives = "plan and bound"
    uses_solver = True
    spreads = True
    backends = True
    engines = ("cp-sat",)
    options = ("channels", "module_time_limit", "module_method")
    scopes = (
        checking(ONE_SAMPLE),
        replace(BATCH, constraints=tuple(kind for kind in BATCH.constraints if kind is not PinChunks)),
    )

    def __init__(
        self, channels: int | None = None, module_time_limit: float | None = None, module_method: str | None = None
    ) -> None:
        if channels is not None and channels < 1:
            raise UsageError(f"modules are joined by one channel or more, not by {channels}")
        self.channels, self.module_time_limit, self.module_method = channels, module_time_limit, module_method

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and the best bound found.

        Raises:
            Refused: the method, or what solves modules, cannot honour the problem; a file for a model is asked for.
            SolverError: a solver is missing or failed.
            UsageError: an option that the solver does not have.
            PluginError: there is no such method for modules.
        """
        from mtpp_dsl.solvers.methods.module_solver import module_solver
        from mtpp_dsl.solvers.schedule.splitting.split_run import SplitRun

        _require(self, problem)
        if limits.write_model is not None:
            raise Refused(f"{self.name} solves a model for each module: there is no one file to write")
        impossible = quick(problem)
        if impossible is not None:
            return progress.result(self.name, limits, "infeasible", infeasibility=impossible)
        engine, words = module_solver(problem, limits, progress, self.module_method)
        seconds = SECONDS if self.module_time_limit is None else self.module_time_limit
        with engine:
            return SplitRun(self.name, problem, limits, progress, engine, words, self.channels, seconds).solve()


class Piecewise(Scoped, MethodBase):
    """Method ``piecewise``: pieces of a row of modules annealed one after another, then windows across them, or all.

    A search that moves single nodes gets nowhere in a graph of thousands, and far in one of a hundred. See
    :mod:`mtpp_dsl.solvers.schedule.splitting.piecewise`.

    Args:
        wanted: nodes of a piece, about so many; None for 64.
        patience: rounds without a better schedule after which the annealing of a piece, and of the whole, ends.
    """

    name = "piecewise"
    gives: Gives = "plan"
    summary = "pieces of the graph that few tensors join, annealed one after another, then windows of the schedule"
    scopes = (
        checking(ONE_SAMPLE),
        replace(BATCH, constraints=tuple(kind for kind in BATCH.constraints if kind is not PinChunks)),
    )

    def __init__(self, wanted: int | None = None, patience: int = PIECE_PATIENCE) -> None:
        self.wanted, self.patience = wanted, patience

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule found, or none, with a note that says why."""
        from mtpp_dsl.solvers.schedule.splitting.piecewise import anneal_piecewise

        _require(self, problem)
        return anneal_piecewise(self.name, problem, limits, progress, self.wanted, self.patience)


class SplitBound(Scoped, MethodBase):
    """Method ``split-bound``: a graph in modules along few channels, and bounds on its parts put together.

    From the last module to the first it is bounded how long before the end of everything the head of every channel
    starts, for each device: the optimum of what depends on it in its module, every node followed by what was found of
    the modules behind; from the first to the last how soon its tail ends. Then every module is solved with both on
    either side. That is as strong as the inequalities of ghannane2023, 3.3.2, over every set of channels, as the last
    of the nodes that lead to them to end is followed by what depends on one of them, and stronger as it knows devices.
    Then parts of two modules are solved in place of one, and so on. Before, one sample is bounded by the times between
    the last ends at boundaries (:mod:`mtpp_dsl.solvers.bounds.schedule.last_ends`).

    Of a batch, these parts are of one chunk; what all chunks take between them is bounded by the work of devices, by
    the thesis's recursion over numbers of chunks (:mod:`mtpp_dsl.solvers.bounds.schedule.recursion`), and by modules
    solved for all chunks.

    Args:
        channels: tensors across a boundary, at most; None for the fewest that give useful modules.
    """

    name = "split-bound"
    summary = "combines bounds on modules that few tensors join (ghannane2023, 3.3.2, corrected)"
    gives: Gives = "bound"
    uses_solver = True
    spreads = True
    engines = ("cp-sat",)
    options = ("channels",)
    scopes = (replace(PATHS, soft=False), BATCH)

    def __init__(self, channels: int | None = None) -> None:
        self.channels = channels

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best bound found.

        Raises:
            Refused: there is no bound for the problem, or a model is to be written.
            SolverError: the process of CP-SAT died.
            UsageError: an option that CP-SAT does not have, fewer than one channel.
        """
        from mtpp_dsl.solvers.bounds.schedule.split_bound import split_bound

        _require(self, problem)
        return split_bound(problem, limits, progress, self.channels)
