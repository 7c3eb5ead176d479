"""Solve modules: by CP-SAT in its processes, or by any method; and bound their makespans by their longest paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from types import TracebackType

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import Refused, SolverError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.first_plans import known
from mtpp_dsl.solvers.backends.cpsat.questions import ask
from mtpp_dsl.solvers.backends.cpsat.request import Effort
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solvers.runtime.portfolio.race import run_together
from mtpp_dsl.solvers.schedule.search.schedule_annealing import improve

TIGHT = 1e-7
"""What bounds of whole numbers lose, as a share, at the most: of times of the model, not of the problem."""
CLOSE = 1e-12
"""A schedule this near to its bound, as a share, is as short as can be."""
ANNEALING = 0.15
"""Of the time for a module of batches, to come near: CP-SAT starts from there."""
FIRST = 2.0
"""Seconds, at most, for first schedules by lists."""


@dataclass(frozen=True)
class ModuleResult:
    """The result for a module between given ends.

    Attributes:
        plan: the best; None if none was found.
        cost: of the plan; ``inf`` without one.
        bound: no plan costs less.
        proven: whether the plan is optimal, within the solver's tolerances.
    """

    plan: Plan | None
    cost: float
    bound: float

    @property
    def proven(self) -> bool:
        """Return whether the plan is optimal within the solver's tolerances."""
        return self.bound >= self.cost * (1 - TIGHT)

    @classmethod
    def of(cls, problem: Problem, plan: Plan | None, bound: float) -> ModuleResult:
        """Return the result for a feasible plan and a bound."""
        if plan is None or verify(problem, plan):
            return cls(None, inf, bound)
        return cls(plan, evaluate(problem, plan).cost, bound)


class _Echo(Progress):
    """A progress that stops when another does."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        super().__init__()
        self._stopped = stopped

    @property
    def stopped(self) -> bool:
        return self._stopped()


def by_lists(problem: Problem, limits: Limits, stopped: Callable[[], bool] = lambda: False) -> ModuleResult:
    """Return the best schedule that list schedulers find."""
    plan = known(problem, replace(limits.within(10 * FIRST), start=None), _Echo(stopped))
    return ModuleResult.of(problem, plan, floor(problem))


class ModuleEngine(ABC):
    """Solves modules, several at once; use it as a context, or close it.

    Args:
        limits: of the whole run: its seed, solver, options, threads.
        size: how many modules at once.
        stopped: returns whether to stop.

    Attributes:
        pool: processes of CP-SAT, if it uses them.
        solver: the name of the solver; None for none.
    """

    def __init__(self, limits: Limits, size: int, stopped: Callable[[], bool]) -> None:
        self._limits, self._stopped, self.size = limits, stopped, size
        self._threads = ThreadPoolExecutor(size)
        self.pool: ProcessPool | None = None
        self.solver: str | None = None

    def submit(self, problem: Problem, seconds: float) -> Future[ModuleResult]:
        """Return a future of the result after at most *seconds* of solving."""
        return self._threads.submit(self._solve, problem, seconds)

    @abstractmethod
    def _solve(self, problem: Problem, seconds: float) -> ModuleResult: ...

    def close(self) -> None:
        """Stop what runs."""
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> ModuleEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class ByCpSat(ModuleEngine):
    """Solves modules by CP-SAT, in processes that are kept."""

    def __init__(self, limits: Limits, size: int, stopped: Callable[[], bool]) -> None:
        super().__init__(limits, size, stopped)
        self._pool = self.pool = ProcessPool(size, limits.executor)
        self.solver = "cp-sat"

    def _solve(self, problem: Problem, seconds: float) -> ModuleResult:
        until = self._limits.within(seconds)
        first = by_lists(problem, self._limits, self._stopped)
        if first.bound >= first.cost * (1 - CLOSE):
            return first
        if first.plan is not None and problem.objective.batch is not None:
            better = improve(problem, first.plan, until.within(ANNEALING * seconds), _Echo(self._stopped))
            first = ModuleResult.of(problem, better, first.bound)
        asked = ask(problem, first.plan, at_least=first.bound)
        effort = Effort(until.remaining, 1, self._limits.seed, 0.0, dict(self._limits.solver_options))
        answer = asked.found(self._pool.submit(asked.request, effort, stopped=self._stopped).result())
        plan, cost = (answer.plan, answer.cost) if answer.cost < first.cost else (first.plan, first.cost)
        return ModuleResult(plan, cost, max(first.bound, min(answer.bound, cost)))

    def close(self) -> None:
        super().close()
        self._pool.close()


class ByMethod(ModuleEngine):
    """Solves each module by a method.

    A method that uses a MIP solver gets one module at a time, since models cannot be built side by side. With an
    executor in the limits each module has a process of it.

    Args:
        method: accepts the modules.
        limits, size, stopped: as of :class:`ModuleEngine`.
    """

    def __init__(self, method: Method, limits: Limits, size: int, stopped: Callable[[], bool]) -> None:
        solver = method_traits(method).uses_solver
        super().__init__(limits, 1 if solver and limits.executor is None else size, stopped)
        self._method = method
        self.solver = limits.solver if solver else None

    def _solve(self, problem: Problem, seconds: float) -> ModuleResult:
        reason = self._method.accepts(problem)
        if reason is not None:
            raise Refused(f"the modules cannot be solved: {reason}")
        solver = method_traits(self._method).uses_solver
        first = by_lists(problem, self._limits, self._stopped)
        threads = self._limits.threads if solver else None
        own = self._limits.within(seconds, start=first.plan if solver else None, threads=threads)
        result = self._result(problem, own)
        bound = max(first.bound, 0.0 if result.bound is None else result.bound.cost)
        if result.infeasibility is not None:
            bound = inf
        best = ModuleResult.of(problem, result.plan, bound)
        if best.plan is None or (solver and first.cost < best.cost):
            best = replace(first, bound=bound)
        return replace(best, bound=min(best.bound, best.cost))

    def _result(self, problem: Problem, limits: Limits) -> Result:
        """Return what the method finds, here or in a process of the executor of the limits."""
        progress = _Echo(self._stopped)
        if limits.executor is None:
            return self._method.solve(problem, limits, progress)
        threads = limits.threads or 1
        results, notes = run_together(
            problem, [[LaneTask(self._method)]], limits, progress, threads=threads, to_the_end=True
        )
        if not results:  # the time was up, or somebody asked to stop: what it has reported counts
            return progress.result(self._method.name, limits, "time_limit", plan=progress.plan, bound=progress.bound)
        if results[-1].termination == "error":
            raise SolverError(" ".join((*results[-1].notes, *notes)))
        return results[-1]


# Bound the makespan of a module by its longest path.


def floor(problem: Problem) -> float:
    """Return the longest path, with every node on the device that makes it shortest.

    Of batches, each node has its fastest size, and transfers take no time.
    """
    if problem.objective.batch is not None:
        instance = BatchInstance.of(problem)
        least = instance.time[:, :, 1:].min(axis=(1, 2), initial=np.inf)
        return _longest(problem, np.repeat(least[:, None], problem.k, axis=1), moves=False)
    return _longest(problem, np.where(problem.allowed, problem.time, np.inf), moves=True)


def _longest(problem: Problem, time: Floats, *, moves: bool) -> float:
    graph = problem.graph
    ready = np.zeros((graph.n, problem.k))
    last = 0.0
    for v in graph.topological_order.tolist():
        end = ready[v] + time[v]
        last = max(last, float(end.min()))
        for e in range(int(graph.offsets[v]), int(graph.offsets[v + 1])):
            ways = end[:, None] + problem.transfers.of(e) if moves else end[:, None]
            if moves:
                np.fill_diagonal(ways, end)
            w = int(graph.heads[e])
            ready[w] = np.maximum(ready[w], ways.min(axis=0))
    return last
