"""Method ``auto``: the best plan and the best bound that the time allows."""

from __future__ import annotations

from mtpp_dsl.contracts import Backend, Formulation, Gives, Limits, Method, MethodBase, Progress
from mtpp_dsl.errors import Refused
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.registry import BACKENDS, FORMULATIONS, METHODS, load
from mtpp_dsl.result import Result
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.combinatorial.slicegraph import SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals

__all__ = ["Auto"]


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
    may_need_none = True
    backends = True
    engines = ("cp-sat",)
    summary = "the best plan and bound that the time allows, from everything built in"

    def accepts(self, problem: Problem) -> str | None:
        """Return why none of the methods behind it can honour the problem, or None."""
        if problem.objective.quantity == "makespan":
            return self._schedules(problem)
        if any(other.accepts(problem) is None for other in (Ideals(), Annealing(), SliceGraph())):
            return None
        exact: Formulation = load(FORMULATIONS, "exact")()
        return exact.accepts(problem)

    def _schedules(self, problem: Problem) -> str | None:
        """Return why nothing can make a schedule for the problem, or None."""
        if not isinstance(problem.interconnect, Links):
            search: Method = load(METHODS, "latency-search")()
            return search.accepts(problem)
        if Annealing().accepts(problem) is None:
            return None
        formulation: Formulation = load(FORMULATIONS, "moirai" if problem.objective.batch is None else "batched")()
        return formulation.accepts(problem)

    def outline(self, problem: Problem) -> tuple[str, ...]:
        """Return the methods that the problem would be given to, in their order, without any work."""
        from mtpp_dsl.solvers.auto.outline import outline

        return outline(problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and bound found.

        Raises:
            Refused: a model is to be written, or a solver has options: which one is used, if any, is seen on the way.
            SolverError: the MIP solver is missing or failed.
        """
        if limits.write_model is not None or limits.solver_options:
            raise Refused("auto may use several solvers, or none: choose the method whose model or solver is meant")
        from mtpp_dsl.solvers.auto.batches import BatchRun
        from mtpp_dsl.solvers.auto.latency import LatencyRun
        from mtpp_dsl.solvers.auto.run import Run
        from mtpp_dsl.solvers.auto.schedule import ScheduleRun
        from mtpp_dsl.solvers.cpsat.limits import check as check_engine
        from mtpp_dsl.solvers.mip.limits import check

        run: type[Run | ScheduleRun | BatchRun | LatencyRun] = Run
        if problem.objective.batch is not None:
            run = BatchRun
        elif problem.objective.quantity == "makespan":
            run = ScheduleRun if isinstance(problem.interconnect, Links) else LatencyRun
        if limits.solver not in self.engines:
            backend: Backend = load(BACKENDS, limits.solver)()
            check(backend, limits)  # before any work, not after it
        elif run in (ScheduleRun, BatchRun):
            check_engine(limits)
        else:
            raise Refused(f"auto uses {limits.solver} for makespans on links only")
        return run(problem, limits, progress).result()
