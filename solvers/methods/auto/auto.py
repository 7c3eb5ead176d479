"""Method ``auto``: the best plan and the best bound that the time allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpp_dsl.core.constraints import Copies, Latency, Linear, Penalties, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Gives, as_read_by
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, load

if TYPE_CHECKING:
    from mtpp_dsl.solvers.methods.auto.steps import AutoSteps


class Auto(MethodBase):
    """Method ``auto``: everything built in, in the order that pays.

    1. bounds that cost next to nothing, and contraction of the graph, where it provably keeps an optimum;
    2. ``ideals`` for a moment, and a first plan by ``slicegraph`` or ``annealing``;
    3. searches and proofs at the same time, in processes that tell one another what they find (see :mod:`.lanes`);
    4. ``superblock``, when the exact model is large: a bound;
    5. ``exact``, from that plan, for the rest of the time: both. When it is too large, ``guess``: a bound.

    It stops as soon as plan and bound are within ``limits.gap`` of each other.
    """

    name = "auto"
    gives: Gives = "plan and bound"
    uses_solver = True
    spreads = True
    may_need_none = True
    backends = True
    engines = ("cp-sat",)
    custom_constraints = True
    summary = "the default: runs the other methods, in turn or side by side, and combines their plans and bounds"

    def accepts(self, problem: Problem) -> str | None:
        """Return why none of the methods behind it can honour the problem, or is installed; None if one can."""
        return _run_of(problem)(problem, Limits(), Progress()).refusal()

    def outline(self, problem: Problem) -> tuple[str, ...]:
        """Return the names of the methods that the problem would be given to, in their order, without any work.

        Bounds that cost next to nothing are left out, all list schedules but that of ``heft``, and what is given the
        problem without some of its constraints. A run ends where plan and bound meet, so that most problems never see
        the last ones.
        """
        return _run_of(problem)(problem, Limits(), Progress()).outline()

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and bound found.

        Raises:
            Refused: a model is to be written, or a solver has options: which one is used, if any, is seen on the way.
            SolverError: the MIP solver is missing or failed.
        """
        if limits.write_model is not None or limits.solver_options:
            raise Refused("auto may use several solvers, or none: choose the method whose model or solver is meant")
        from mtpp_dsl.solvers.backends.cpsat.effort import check as check_engine
        from mtpp_dsl.solvers.backends.mip.unsupported import check

        problem = as_read_by(self, problem).problem  # as the methods that take part are asked whether they accept it
        run = _run_of(problem)
        if limits.solver not in self.engines:
            backend: Backend = load(BACKENDS, limits.solver)()
            check(backend, limits)  # before any work, not after it
        elif run.on_links:
            check_engine(limits)
        else:
            raise Refused(f"auto uses {limits.solver} for makespans on links only")
        steps = run(problem, limits, progress)
        steps.require_one()
        return steps.result()


def _run_of(problem: Problem) -> type[AutoSteps]:
    """Return the steps for the objective of *problem*, and its interconnect; no others are imported."""
    if problem.objective.batch is not None:
        from mtpp_dsl.solvers.methods.auto.timed_runs import BatchRun

        return BatchRun
    if _staged(problem):
        from mtpp_dsl.solvers.methods.auto.split_runs import StagesSteps

        return StagesSteps
    if any(problem.of(Copies)):
        from mtpp_dsl.solvers.methods.auto.split_runs import CopiesRun

        return CopiesRun
    if problem.networked and not _weighted(problem):
        from mtpp_dsl.solvers.methods.auto.split_runs import NetworkSteps

        return NetworkSteps
    if not problem.timed and _weighted(problem):
        from mtpp_dsl.solvers.methods.auto.weighted import WeightedRun

        return WeightedRun
    if not problem.timed:
        from mtpp_dsl.solvers.methods.auto.bottleneck import BottleneckRun

        return BottleneckRun
    if isinstance(problem.interconnect, Links) and problem.objective.is_linear:
        from mtpp_dsl.solvers.methods.auto.timed_runs import TimedWeightedRun

        return TimedWeightedRun
    if isinstance(problem.interconnect, Links):
        from mtpp_dsl.solvers.methods.auto.makespan import ScheduleRun

        return ScheduleRun
    from mtpp_dsl.solvers.methods.auto.timed_runs import LatencyRun

    return LatencyRun


def _staged(problem: Problem) -> bool:
    """Return whether what a stage costs or keeps depends on its place, or several devices may share its nodes."""
    if problem.timed or problem.objective.is_linear or problem.soft_rows:
        return False
    return problem.objective.is_iteration or any(problem.stage_memory) or any(problem.shard)


def _weighted(problem: Problem) -> bool:
    """Return whether the cost of a split, or a row, is made of more than loads and places: of used devices, penalties.

    No search or bound for bottlenecks alone knows of these.
    """
    if problem.objective.is_linear or problem.soft_rows or problem.phased:
        return True
    return any(isinstance(one, (Used, Latency, Penalties)) for row in problem.of(Linear) for one, _ in row.terms)
