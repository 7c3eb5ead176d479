"""Load, solve, verify: what the command line does, for Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from mtpp_dsl import registry
from mtpp_dsl.base.amounts import Duration, Share, seconds_of, share_of, whole
from mtpp_dsl.base.late import late
from mtpp_dsl.base.shown import in_full
from mtpp_dsl.checkpoint import kept
from mtpp_dsl.checks.infeasible import forced_together, quick
from mtpp_dsl.checks.verification import check_result, settled, verify
from mtpp_dsl.contracts import (
    Engine,
    Executor,
    Formulation,
    FormulationFamily,
    Limits,
    Method,
    MethodBase,
    Progress,
    as_read_by,
    method_traits,
    refusal,
    why_not,
)
from mtpp_dsl.errors import PluginError, Refused, SolverError, UsageError, VerificationError, nearest
from mtpp_dsl.executors.addresses import opened
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan, plan_of
from mtpp_dsl.plans.result import OPTIMAL_GAP, Bound, Result
from mtpp_dsl.plugins import supervision
from mtpp_dsl.plugins.honoured import DEFAULT_SOLVER, check_solver, refuse_options, refuse_scheduler, refuse_solver
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.counting import Recognised, restored

if TYPE_CHECKING:
    from mtpp_dsl.language.analysis import Analysis
    from mtpp_dsl.language.lower import Spec

__all__ = ["DEFAULT_TIME", "analyse", "find_method", "instead", "load", "method_names", "read", "solve"]

_APART = "mtpp_dsl.solvers.runtime.portfolio.own_process"
DEFAULT_TIME = 60.0
"""Seconds that ``solve`` takes at most unless told otherwise."""
CHECK_SECONDS = 3e-5
"""What it takes, about, to evaluate and check a plan, per node and edge (and chunk of a batch)."""
FEW_THREADS = 8
"""So many threads are started if they are asked for, however few cores there are."""
LEAST_TIME = 0.1
"""What a method is given of a time limit that is over before it begins."""


def load(
    spec: str | os.PathLike[str], *, search: Sequence[Path] = (), scenario: str | None = None, **params: object
) -> Problem:
    """Read and check a spec.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        search: folders where ``include`` looks after the including file's own.
        scenario: the name of the spec's scenario that counts.
        params: values for its ``param`` statements: numbers, or text as ``-D`` takes it.

    Raises:
        SpecError: with every error found, each in its place.
        UsageError: the file is missing or unreadable.
    """
    from mtpp_dsl.language.lower import load as load_spec

    return load_spec(spec, params, search, scenario=scenario)


def read(spec: str | os.PathLike[str], *, search: Sequence[Path] = ()) -> Spec:
    """Read and parse a spec once, for problems with different values of its params: ``read(path).problem(k=4)``.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        search: folders where ``include`` looks after the including file's own.

    Raises:
        SpecError: with every error of the syntax, each in its place.
        UsageError: the file is missing or unreadable.
    """
    from mtpp_dsl.language.lower import read as read_spec

    return read_spec(spec, search)


def analyse(
    spec: str | os.PathLike[str],
    *,
    search: Sequence[Path] = (),
    texts: Mapping[str | os.PathLike[str], str] | None = None,
    scenario: str | None = None,
    **params: object,
) -> Analysis:
    """Read and check a spec, whatever is wrong with it: statements, names, messages with their places, and the problem.

    Nothing that is wrong in the text is raised: it is among the ``diagnostics`` of the result, in whose ``problem`` is
    None where one of them is an error.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        search: folders where ``include`` looks after the including file's own.
        texts: texts of files by their paths, which count in place of what is on the disk: an editor's.
        scenario: the name of the spec's scenario that counts.
        params: values for its ``param`` statements: numbers, or text as ``-D`` takes it.

    Raises:
        UsageError: the file is missing or unreadable.
    """
    from mtpp_dsl.language.lower import analyse as analyse_spec

    return analyse_spec(spec, params, search, texts=texts, scenario=scenario)


def method_names() -> dict[str, str]:
    """Return every name that ``--method`` takes, and whether it is a "method" or a "formulation"."""
    names = dict.fromkeys(registry.available(registry.METHODS), "method")
    for name in registry.available(registry.FORMULATIONS):
        if name in names:
            raise PluginError(f"{name!r} is both a method and a formulation; uninstall or rename one")
        names[name] = "formulation"
    return names


def find_method(name: str, solver: str = DEFAULT_SOLVER) -> Method:
    """Return the method *name*: an algorithm, or a formulation with the MIP back end or the engine *solver*.

    Raises:
        PluginError: there is no such method or solver, or it cannot be imported.
        Refused: the engine has no model for that formulation.
    """
    names = method_names()
    if name not in names:
        raise PluginError(f"there is no method {name!r}{nearest(name, names)} (mtpp methods lists all {len(names)})")
    if names[name] == "method":
        method: Method = registry.load(registry.METHODS, name)()
        return method
    if solver in registry.available(registry.ENGINES):
        engine: Engine = registry.load(registry.ENGINES, solver)()
        return engine.method(name)
    formulation: Formulation | FormulationFamily = registry.load(registry.FORMULATIONS, name)()
    mip: Method = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(
        formulation, solver, apart=True
    )
    return mip


def solve(
    problem: Problem,
    method: str | Method = "auto",
    *,
    solver: str = DEFAULT_SOLVER,
    time_limit: Duration | None = DEFAULT_TIME,
    gap: Share = 1e-6,
    threads: int | None = None,
    seed: int = 0,
    start: Plan | Mapping[str, object] | None = None,
    solver_options: Mapping[str, Any] | None = None,
    write_model: Path | str | None = None,
    progress: Progress | None = None,
    checkpoint: Path | str | None = None,
    target: str | None = None,
    scheduler: str | Executor | None = None,
) -> Result:
    """Find a plan and a bound, and check both independently.

    Args:
        problem: what is asked.
        method: a name (``mtpp methods`` lists them) or a method of your own.
        solver: MIP back end, for the methods that use one.
        time_limit: seconds, or a text such as "10s" or "2min", counted from the call, checks of the answer included;
            None for no limit. A method that is then within a step that cannot be interrupted is left behind, and what
            it has reported counts.
        gap: stop when ``(cost - bound) / cost`` is at most this: a number, or a text such as "1%".
        threads: of the solver, and processes of ``auto``; None leaves it to the solver and to the cores there are. More
            than twice the cores (and than eight) are not started: they would take memory and gain nothing.
        seed: of everything random: the same seed gives the same answer, time limits aside.
        start: a plan to start from; an answer's JSON, or ``{node: device}``, too.
        solver_options: passed to the solver; one it does not know is an error.
        write_model: where to write the MIP, as .lp or .mps.
        progress: to watch and to stop the search.
        checkpoint: where to keep the best answer so far, as JSON, whenever it has become better.
        target: the runtime that the plan is for: its limits are constraints, and what they cost is in the result.
        scheduler: where processes run: the address of a Dask scheduler such as ``tcp://host:8786``,
            ``local-cluster:2``, or what :func:`mtpp_dsl.executors.addresses.open_executor` returns, which is left open;
            None for this machine.

    Returns:
        A result whose plan, if any, has passed :func:`mtpp_dsl.checks.verification.verify`.

    Raises:
        Refused: the method cannot honour this problem; says why and names one that can.
        SolverError: the solver is missing, or failed before anything was found. What was found before is returned,
            with termination "error".
        VerificationError: a plan or bound is wrong: a bug of ours.
    """
    began = monotonic()
    gap, time_limit = share_of("gap", gap), seconds_of("time_limit", time_limit)
    threads, seed = None if threads is None else whole("threads", threads, 1), whole("seed", seed, 0)
    check_solver(solver)
    chosen = find_method(method, solver) if isinstance(method, str) else method
    if scheduler is not None:
        refuse_scheduler(problem, chosen, write_model)
    if isinstance(scheduler, str):
        with opened(scheduler) as executor:
            left = None if time_limit is None else max(LEAST_TIME, began + time_limit - monotonic())
            return solve(
                problem,
                chosen,
                solver=solver,
                time_limit=left,
                gap=gap,
                threads=threads,
                seed=seed,
                start=start,
                solver_options=solver_options,
                write_model=write_model,
                progress=progress,
                checkpoint=checkpoint,
                target=target,
                scheduler=executor,
            )
    if target is not None:
        problem = late("mtpp_dsl.answers.again:under_target")(problem, target)
    if problem.target is not None:
        return _under_target(
            problem,
            chosen,
            solver=solver,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            start=start,
            solver_options=solver_options,
            write_model=write_model,
            progress=progress,
            checkpoint=checkpoint,
            scheduler=scheduler,
        )
    if problem.later:
        if write_model is not None:
            raise UsageError("each of several objectives has a model of its own: leave all but one out to write it")
        call = _several(chosen, solver, gap, threads, seed, solver_options, checkpoint, scheduler)
        several: Result = call.in_order(problem, time_limit, start, progress or Progress())
        return several
    traits = method_traits(chosen)
    refuse_options(problem, chosen, solver, solver_options, write_model, threads)
    refuse_solver(chosen, solver)
    reason = why_not(chosen, problem)
    if reason is not None:
        by = "" if solver == DEFAULT_SOLVER else f" with solver {solver!r}"
        raise Refused(f"method {chosen.name!r}{by} cannot solve this: {reason}{instead(problem, chosen)}")
    progress = progress or Progress()
    start = None if start is None else plan_of(problem, start).of(None)
    if start is not None and not start.timed and problem.timed:
        start = _timed(problem, start)
    if traits.needs_start:
        _check_given(problem, chosen, start)
    if traits.own_rows and progress.plan is not None:
        raise UsageError(
            f"method {chosen.name!r} may not allow the plan that is in the progress given: give it as start"
        )
    start, notes = _take_start(problem, start, None if traits.own_rows else progress)
    most = max(FEW_THREADS, 2 * (os.cpu_count() or 1) if scheduler is None else scheduler.slots)
    if threads is not None and threads > most:
        there = f"this machine has {os.cpu_count()} cores" if scheduler is None else f"the cluster has {most} slots"
        notes = (*notes, f"{most} threads are used, not {threads}: {there}")
        threads = most
    forced = forced_together(problem)
    limits = Limits(
        time=None if time_limit is None else _time_for(problem, began + time_limit - monotonic()),
        gap=gap,
        threads=threads,
        seed=seed,
        solver=solver,
        solver_options=dict(solver_options or {}),
        start=start,
        write_model=None if write_model is None else Path(write_model),
        executor=scheduler,
    )
    with kept(checkpoint, problem, chosen.name, seed, progress) as keep:
        impossible = None if write_model is not None else quick(problem)  # the model is written even so
        if impossible is not None:
            result = Result("infeasible", method=chosen.name, infeasibility=impossible, seed=seed)
        else:
            result = _solved(chosen, problem, limits, progress)
        if write_model is not None and not progress.models:
            unwritten = f"no model was written to {write_model}"
            if not progress.stopped:
                raise UsageError(f"{unwritten}: the time was up before it was built; give it more time")
            notes = (*notes, f"{unwritten}: the search was stopped before it was built")
        notes = notes if forced is None else (*notes, forced)
        result = replace(result, notes=(*notes, *result.notes))
        try:
            finished = finish(problem, result, progress, limits, own_rows=traits.own_rows)
        except VerificationError as error:
            error.evidence = _evidence(problem, result)
            raise
        return keep(_honest(replace(finished, time={**result.time, "total": monotonic() - began}), gap))


def _under_target(*arguments: Any, **options: Any) -> Result:
    """Return the result of a problem that is for a runtime, with what its limits cost."""
    found: Result = late("mtpp_dsl.drivers.target_cost:solve_under")(*arguments, **options)
    return found


def _several(*arguments: Any) -> Any:
    """Return what solves for several objectives, with the arguments of one call of :func:`solve`."""
    return late("mtpp_dsl.drivers.several:Several")(*arguments)


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
    checks = CHECK_SECONDS * (problem.graph.n + problem.graph.m) * chunks
    return max(seconds - checks, LEAST_TIME, 0.0) if seconds > 0 else 0.0


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
        timed: Plan = registry.built_in("mtpp_dsl.solvers.schedule.list.complete:complete")(problem, start)
    except UsageError:
        return start
    return timed


def _honest(result: Result, gap: float) -> Result:
    """Say "complete" of a method that closed the gap of its own model, where that of the answer is wider.

    And say "gap" of one that was out of time where what it had reported has met.
    """
    if result.termination == "time_limit" and result.gap is not None and result.gap <= gap:
        return replace(result, termination="gap")
    if result.termination == "gap" and result.gap is not None and result.gap > gap + OPTIMAL_GAP:
        return replace(result, termination="complete")
    return result


def instead(problem: Problem, refused: Method) -> str:
    """Return which methods can solve *problem*, and no narrower one, in place of the one that refused."""
    others = [method for name in method_names() if name != refused.name and (method := _found(name)) is not None]
    others = [other for other in others if "plan" in other.gives and not _narrow(method_traits(other))]
    can = [other.name for other in others if refusal(other, problem) is None]
    return f"; {' and '.join([', '.join(can[:-1]), *can[-1:]] if can[1:] else can)} can" if can else ""


def _narrow(traits: MethodBase) -> bool:
    """Return whether a method is there only to be compared with, or keeps rows that the problem does not have."""
    return traits.baseline or traits.own_rows


def _found(name: str) -> Method | None:
    """Return the method *name*, or None where it is a plug-in that cannot be imported, which is no help."""
    try:
        return find_method(name)
    except PluginError:
        return None


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


def finish(
    problem: Problem, result: Result, progress: Progress, limits: Limits | None = None, *, own_rows: bool = False
) -> Result:
    """Re-evaluate a method's plan, settle its bound, and check the two.

    What the method reported on the way counts too: an interrupt loses nothing. The bound of ``simple`` is added unless
    it takes longer than what is left of *limits*. Of a method with rows of its own only the plan that it returns
    counts: another one may break them, whoever has reported it.
    """
    reported = None if own_rows else progress.plan
    if result.infeasibility is not None:
        if reported is not None:
            raise VerificationError(f"{result.method!r} calls the problem infeasible and has reported a plan for it")
        return replace(result, bound=None, log=result.log or tuple(progress.log)).of(problem)
    plan = _best_plan(problem, [result.plan, reported])
    bound = _best_bound([result.bound, progress.bound, _simple(problem, progress, limits or Limits())])
    evaluation = None if plan is None else evaluate(problem, plan)
    if evaluation is not None and bound is not None:
        bound = settled(bound, evaluation.cost, evaluation.size)
    result = replace(result, plan=plan, evaluation=evaluation, bound=bound, log=result.log or tuple(progress.log))
    check_result(problem, result)
    return replace(result, verified=plan is not None).of(problem)


def _best_plan(problem: Problem, plans: Sequence[Plan | None]) -> Plan | None:
    found = [plan for plan in plans if plan is not None]
    return min(found, key=lambda plan: evaluate(problem, plan).cost, default=None)


def _best_bound(bounds: Sequence[Bound | None]) -> Bound | None:
    """Return the highest bound; the first of equals, so that the method's own stands before ours."""
    return max((bound for bound in bounds if bound is not None), key=lambda bound: bound.cost, default=None)


def _simple(problem: Problem, progress: Progress, limits: Limits) -> Bound | None:
    """Return the combinatorial bound that every answer can be held against; None if there is no time, or too little."""
    simple: Method = registry.load(registry.METHODS, "simple")()
    if simple.accepts(problem) is not None:
        return None
    if limits.remaining <= 0 and (progress.plan is not None or progress.bound is not None):
        return None
    left = None if limits.time is None else max(limits.remaining, LEAST_TIME)
    return supervision.run(simple, problem, Limits(time=left), Progress()).bound
