"""One solve for one objective: from the call to an answer that is checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.checks.infeasible import forced_together, quick
from mtpp_dsl.checks.verification import check_result, settled, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.base.data_classes import in_full
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method, as_read_by, why_not
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import Refused, SolverError, UsageError, VerificationError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan, plan_of
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, Bound, Result
from mtpp_dsl.core.problem.counting import Recognised, restored
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.certifying import certified
from mtpp_dsl.solving.checkpoint import kept
from mtpp_dsl.solving.finding import instead
from mtpp_dsl.solving.plugins import supervision
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER, refuse_options, refuse_solver

_APART = "mtpp_dsl.solvers.runtime.portfolio.own_process"
CHECK_SECONDS, TIMED_CHECK_SECONDS, MOST_CHECKS = 2e-6, 8e-6, 0.2
"""What it takes to bound, evaluate and check at the end, per node and edge (and chunk of a batch) of splits and of
schedules, and the largest share of the time that is kept for it. Layered graphs of 2,000 to 100,000 nodes on a quiet
machine take 1e-6, and 3e-6 to 5e-6 on links: twice as much on a busy one."""
FEW_THREADS = 8
"""So many threads are started if they are asked for, however few cores there are."""
LEAST_TIME = 0.1
"""What a method is given of a time limit that is over before it begins."""


@dataclass(frozen=True)
class SolveArguments:
    """The arguments of one call of :func:`mtpp_dsl.solve`, read: the problem, its target and the scheduler aside.

    Attributes:
        began: when it was called, by the monotonic clock.
        time_limit: seconds from then; None for none.
    """

    began: float
    method: Method
    solver: str
    time_limit: float | None
    gap: float
    threads: int | None
    seed: int
    start: Plan | Mapping[str, object] | None = None
    solver_options: Mapping[str, Any] | None = None
    write_model: Path | str | None = None
    progress: Progress | None = None
    checkpoint: Path | str | None = None

    @property
    def left(self) -> float | None:
        """The seconds that are left, at least :data:`LEAST_TIME`; None for no limit."""
        return None if self.time_limit is None else max(LEAST_TIME, self.began + self.time_limit - monotonic())

    def options(self) -> dict[str, Any]:
        """Return the arguments of another call that asks for the same, without its method and its time limit."""
        kept = ("solver", "gap", "threads", "seed", "start", "solver_options", "write_model", "progress", "checkpoint")
        return {name: getattr(self, name) for name in kept}

    def solve(self, problem: Problem, executor: Executor | None) -> Result:
        """Solve a problem of one objective and check the answer.

        Raises:
            Refused: the method cannot honour the problem.
            SolverError: the solver is missing, or failed before anything was found.
            VerificationError: a plan or bound is wrong.
        """
        chosen, traits = self.method, method_traits(self.method)
        self.check(problem)
        progress = self.progress or Progress()
        start, notes = self.started(problem, progress)
        threads, more = self.given_threads(executor)
        forced = forced_together(problem)
        limits = Limits(
            time=None if self.time_limit is None else _time_for(problem, self.began + self.time_limit - monotonic()),
            gap=self.gap,
            threads=threads,
            seed=self.seed,
            solver=self.solver,
            solver_options=dict(self.solver_options or {}),
            start=start,
            write_model=None if self.write_model is None else Path(self.write_model),
            executor=executor,
        )
        with kept(self.checkpoint, problem, chosen.name, self.seed, progress) as keep:
            result = self.search(problem, limits, progress)
            notes = (*notes, *more, *self.unwritten(progress), *(() if forced is None else (forced,)))
            result = replace(result, notes=(*notes, *result.notes))
            try:
                finished = finish(problem, result, progress, limits, own_rows=traits.own_rows)
            except VerificationError as error:
                error.evidence = _evidence(problem, result)
                raise
            if not progress.stopped:
                finished = certified(problem, finished, monotonic() - self.began, self.time_limit, progress)
            time = {**result.time, "total": monotonic() - self.began}
            return keep(_honest(replace(finished, time=time), self.gap))

    def check(self, problem: Problem) -> None:
        """Refuse what the method cannot honour: options, solver, problem.

        Raises:
            Refused: with the reason, and methods that can.
            UsageError: an option is not one of the method's or of its solver's.
        """
        refuse_options(problem, self.method, self.solver, self.solver_options, self.write_model, self.threads)
        refuse_solver(self.method, self.solver)
        reason = why_not(self.method, problem)
        if reason is not None:
            by = "" if self.solver == DEFAULT_SOLVER else f" with solver {self.solver!r}"
            other = instead(problem, self.method)
            raise Refused(f"method {self.method.name!r}{by} cannot solve this: {reason}{other}")

    def started(self, problem: Problem, progress: Progress) -> tuple[Plan | None, tuple[str, ...]]:
        """Return the plan to start from, which *progress* then knows, and notes about one that is none."""
        start, traits = self.start, method_traits(self.method)
        plan = None if start is None else plan_of(problem, start).of(None)
        if plan is not None and not plan.timed and problem.timed:
            plan = _timed(problem, plan)
        if traits.needs_start:
            _check_given(problem, self.method, plan)
        if traits.own_rows and progress.plan is not None:
            name = self.method.name
            raise UsageError(f"method {name!r} may not allow the plan that is in the progress given: give it as start")
        return _take_start(problem, plan, None if traits.own_rows else progress)

    def given_threads(self, executor: Executor | None) -> tuple[int | None, tuple[str, ...]]:
        """Return how many threads are used of those asked for, and a note where they are fewer."""
        threads = self.threads
        most = max(FEW_THREADS, 2 * (os.cpu_count() or 1) if executor is None else executor.slots)
        if threads is None or threads <= most:
            return threads, ()
        there = f"this machine has {os.cpu_count()} cores" if executor is None else f"the cluster has {most} slots"
        return most, (f"{most} threads are used, not {threads}: {there}",)

    def search(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return what counting shows, or else what the method finds."""
        impossible = None if self.write_model is not None else quick(problem)  # the model is written even so
        if impossible is not None:
            return Result("infeasible", method=self.method.name, infeasibility=impossible, seed=self.seed)
        return _solved(self.method, problem, limits, progress)

    def unwritten(self, progress: Progress) -> tuple[str, ...]:
        """Return a note about a model that was to be written and was not, as the search was stopped.

        Raises:
            UsageError: the time was up before.
        """
        if self.write_model is None or progress.models:
            return ()
        message = f"no model was written to {self.write_model}"
        if not progress.stopped:
            raise UsageError(f"{message}: the time was up before it was built; give it more time")
        return (f"{message}: the search was stopped before it was built",)


def finish(
    problem: Problem, result: Result, progress: Progress, limits: Limits | None = None, *, own_rows: bool = False
) -> Result:
    """Re-evaluate a method's plan, settle its bound, and check the two.

    What the method reported on the way counts too: an interrupt loses nothing. The bound of ``simple`` is added unless
    it takes longer than what is left of *limits*. Of a method with rows of its own only the plan that it returns
    counts: another one may break them, whoever has reported it.
    """
    reported = None if own_rows else progress.plan
    result = replace(result, log=result.log or tuple(progress.log), turns=tuple(progress.turns))
    if result.infeasibility is not None:
        if reported is not None:
            raise VerificationError(f"{result.method!r} calls the problem infeasible and has reported a plan for it")
        return replace(result, bound=None).of(problem)
    plan = _best_plan(problem, [result.plan, reported])
    bound = _best_bound([result.bound, progress.bound, _simple(problem, progress, limits or Limits())])
    evaluation = None if plan is None else evaluate(problem, plan)
    if evaluation is not None and bound is not None:
        bound = settled(bound, evaluation.cost, evaluation.size)
    result = replace(result, plan=plan, evaluation=evaluation, bound=bound)
    check_result(problem, result)
    return replace(result, verified=plan is not None).of(problem)


def _solved(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Solve by *method*; where its solver fails, keep what it has reported until then.

    Raises:
        SolverError: it has reported nothing.
    """
    given = progress.plan
    read = as_read_by(method, problem)
    try:
        return _restored(_run(method, read.problem, limits, progress), read)
    except SolverError as error:
        if progress.bound is None and progress.plan is given:
            raise
        return Result("error", method=method.name, seed=limits.seed, notes=(f"{method.name!r} failed: {error}",))


def _run(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Solve by *method*, in a process of its own where HiGHS cannot be used in this one."""
    if "ortools" in sys.modules and registry.built_in(f"{_APART}:highs_is_hidden")():
        apart: Result = registry.built_in(f"{_APART}:solve_apart")(method, problem, limits, progress)
        return apart
    return supervision.run(method, problem, limits, progress)


def _restored(result: Result, read: Recognised) -> Result:
    """Return a result whose constraints are those of the problem as it is stated."""
    why = result.infeasibility
    if why is None or not read.sources:
        return result
    return replace(result, infeasibility=replace(why, clash=restored(why.clash, read.sources)))


def _time_for(problem: Problem, seconds: float) -> float:
    """Return what a method may take of *seconds*: the answer has to be evaluated and checked in them as well."""
    chunks = 1 if problem.objective.batch is None else problem.batching.count
    rate = TIMED_CHECK_SECONDS if problem.timed else CHECK_SECONDS
    checks = min(rate * (problem.graph.n + problem.graph.m) * chunks, MOST_CHECKS * seconds)
    return max(seconds - checks, LEAST_TIME) if seconds > 0 else 0.0


def _check_given(problem: Problem, method: Method, start: Plan | None) -> None:
    """Refuse a method that works on a given plan without one, or with one that is none."""
    if start is None:
        raise Refused(f"method {method.name!r} works on a given plan: give it one with --start (start = … in Python)")
    broken = verify(problem, start)
    if broken:
        raise UsageError(
            f"the plan given to method {method.name!r} is infeasible:\n" + "\n".join(f"  {b}" for b in broken)
        )


def _take_start(problem: Problem, start: Plan | None, progress: Progress | None) -> tuple[Plan | None, tuple[str, ...]]:
    """Report the plan to start from, whatever the method makes of it; drop it, with a note, if it is none.

    Without *progress* it is for the method to say whether its own rows allow it.
    """
    if start is None:
        return None, ()
    broken = verify(problem, start)
    if broken:
        return None, (f"the start was dropped, as it is no plan: {broken[0]}",)
    if progress is not None:
        progress.report_plan(start, evaluate(problem, start).cost)
    return start, ()


def _timed(problem: Problem, start: Plan) -> Plan:
    """Return a plan that says where nodes run with a schedule that says when; as it is where there can be none."""
    if problem.objective.batch is not None:
        return start
    try:
        timed: Plan = registry.built_in("mtpp_dsl.solvers.schedule.list.list_run:complete")(problem, start)
    except UsageError:
        return start
    return timed


def _honest(result: Result, gap: float) -> Result:
    """Say "complete" of a method that closed the gap of its own model, where that of the answer is wider or unknown.

    And say "gap" of one that was out of time where what it had reported has met.
    """
    if result.termination == "time_limit" and result.gap is not None and result.gap <= gap:
        return replace(result, termination="gap")
    wide = result.plan is not None and (result.gap is None or result.gap > gap + OPTIMAL_GAP)
    if result.termination == "gap" and wide:
        return replace(result, termination="complete")
    return result


def _evidence(problem: Problem, result: Result) -> dict[str, Any]:
    """Return what is needed to find the bug behind a failed verification."""
    return {
        "problem": repr(problem),
        "spec": {"path": problem.origin.path, "sha256": problem.origin.sha256, "params": dict(problem.origin.params)},
        "constraints": [in_full(constraint) for constraint in problem.constraints],
        "plan": None if result.plan is None else result.plan.to_json(problem),
        "bound": None if result.bound is None else in_full(result.bound),
        "method": result.method,
        "solver": result.solver,
        "seed": result.seed,
    }


def _best_plan(problem: Problem, plans: Sequence[Plan | None]) -> Plan | None:
    there = [plan for plan in plans if plan is not None]
    return min(there, key=lambda plan: evaluate(problem, plan).cost, default=None)


def _best_bound(bounds: Sequence[Bound | None]) -> Bound | None:
    """Return the best bound; the first of equals, so that the method's own stands before ours."""
    best: Bound | None = None
    for bound in bounds:
        best = bound if bound is not None and bound.better(best) else best
    return best


def _simple(problem: Problem, progress: Progress, limits: Limits) -> Bound | None:
    """Return the combinatorial bound that every answer can be held against; None if there is no time, or too little."""
    simple: Method = registry.load(registry.METHODS, "simple")()
    if simple.accepts(problem) is not None:
        return None
    if limits.remaining <= 0 and (progress.plan is not None or progress.bound is not None):
        return None
    left = None if limits.time is None else max(limits.remaining, LEAST_TIME)
    return supervision.run(simple, problem, Limits(time=left), Progress()).bound
