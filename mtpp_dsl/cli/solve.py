"""``mtpp solve``."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.cli.calls import SolveCall
from mtpp_dsl.cli.largest import LargestCall
from mtpp_dsl.cli.parameters import read_problem, solver_values
from mtpp_dsl.cli.pictures import check_pictures, picture_paths, plots_of, write_pictures
from mtpp_dsl.cli.progress import ProgressWriter
from mtpp_dsl.cli.report import searched_page, what_if_seconds, write_page
from mtpp_dsl.cli.screen import STDOUT, UNWRITTEN, say, screen_width, show, tell_warnings, write_file, write_json
from mtpp_dsl.cli.signals import NOTHING_FOUND, PROVEN_INFEASIBLE, elapsed, listener
from mtpp_dsl.core.base.amounts import fraction, seconds
from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.base.writing import check_writable, replacing, write_text
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import built_in
from mtpp_dsl.solving.answers.again import under_target
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.api import find_method, solve
from mtpp_dsl.solving.drivers.front import front

__all__ = ["solve_and_report"]

OUTPUT_SECONDS = 0.1
"""Of the time limit, what is kept for writing the answer."""
LEAST_SECONDS = 0.3
"""What solving gets of a time limit that reading the spec has used up."""
TAKERS = {
    "channels": "milp-split and split-bound have it",
    "module_time_limit": "milp-split has it",
    "module_method": "milp-split has it",
    "policy": "placeto has it",
}
"""Options that single methods take."""


POINTS = 20


def solve_and_report(call: SolveCall) -> int:
    """Read, solve, print, write; return the exit code."""
    if call.quiet and call.verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    if call.sweep or "," in call.method:
        swept: int = late("mtpp_dsl.cli.bench.small:small_sweep")(call)
        return swept
    if call.db is not None:
        raise UsageError("--db keeps the results of a sweep: write --sweep k=2..8 or --method a,b")
    # Refuse what is wrong with the call before any file is read.
    check_front_call(call)
    limit, gap, solver_options = (
        seconds(call.time_limit, "--time-limit"),
        fraction(call.gap, "--gap"),
        solver_values(call.solver_option),
    )
    named = (None if call.json == STDOUT else call.json, call.checkpoint, call.write_model, call.html)
    check_writable(*(path for path in named if path is not None), *picture_paths(call))
    more = what_if_seconds(call.what_if)
    if more is not None and call.html is None:
        raise UsageError("--what-if is shown on the page: say where to write that, --html FILE")
    # Read the problem, and refuse what does not go with it before anything is solved.
    start_up, began = elapsed(), monotonic()
    asked = None if call.largest is None else LargestCall.of(call)
    problem = (
        read_problem(call.spec, call.define, call.include, scenario=call.scenario) if asked is None else asked.least
    )
    if call.target is not None:
        problem = under_target(problem, call.target)
    read = monotonic() - began
    method = _method(call)
    if call.pareto is None:
        check_pictures(call, problem, method)
    if asked is None:
        tell_warnings(problem)
    start = None if call.start is None else _start(call, problem, call.start)
    if call.pareto is not None:
        return front_and_report(call, problem, method, limit, _left(limit), gap, start)
    # Solve; from here to the end of the block a signal asks the search to stop, and the answer is still written.
    watcher = ProgressWriter(problem, limit=limit, quiet=call.quiet, verbose=call.verbose)
    progress = Progress(watcher, watcher.write if call.verbose else None)
    with listener.searching(progress.stop):
        with watcher.shown():
            options: dict[str, Any] = {
                "solver": call.solver,
                "time_limit": _left(limit),
                "gap": max(gap, 1e-6),
                "threads": call.threads,
                "seed": call.seed,
                "solver_options": solver_options,
                "progress": progress,
                "scheduler": call.scheduler,
            }
            if asked is not None:
                result = asked.search(method, quiet=call.quiet, **options)
                problem = result.problem or problem
            else:
                files: dict[str, Any] = {"write_model": call.write_model, "checkpoint": call.checkpoint}
                result = solve(problem, method, start=start, **files, **options)
        listener.search_ended()
        if asked is not None:  # warnings may name amounts, which are those of the value that is answered
            tell_warnings(problem)
        result = replace(result, time={"start": start_up, "read": read, **result.time, "total": elapsed()})
        written = _report(call, problem, result)
        if result.termination == "error":
            say(f"error: ended by a failure, with the best until then: {' '.join(result.notes[-1:])}", stderr=True)
    if call.html is not None:
        written = _write_page(call, problem, result, more) and written
    if not written:
        return UNWRITTEN
    return _exit_code(result, only_bounds=method.gives == "bound")


def _left(limit: float | None) -> float | None:
    """Return what solving may take of the time limit."""
    return None if limit is None else max(limit - elapsed() - OUTPUT_SECONDS, min(limit, LEAST_SECONDS))


def _method(call: SolveCall) -> Method:
    """Return the method asked for, with options of its own and on a coarsened graph where these are asked for."""
    method = _with_options(find_method(call.method, call.solver), call)
    if call.coarsen is None:
        return method
    coarse: Method = built_in("mtpp_dsl.solvers.reductions.coarsened:coarsened")(method, call.coarsen)
    return coarse


def _with_options(method: Method, call: SolveCall) -> Method:
    """Return the method with the options that it alone takes; complain of those that it does not take."""
    limit = None
    if call.module_time_limit is not None:
        limit = seconds(call.module_time_limit, "--module-time-limit")
        limit = inf if limit is None else limit
    asked = {
        "channels": call.channels,
        "module_time_limit": limit,
        "module_method": call.module_method,
        "policy": call.policy,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    for name in given:
        if name not in method_traits(method).options:
            takers = TAKERS[name]
            raise UsageError(f"--{name.replace('_', '-')} is not an option of method {method.name!r}; {takers}")
    return type(method)(**given) if given else method


def _start(call: SolveCall, problem: Problem, path: Path) -> Plan:
    """Return the plan to start from, whose place the checkpoint may take."""
    with replacing(path, call.checkpoint):
        return read_plan(problem, path)


def read_plan(problem: Problem, path: Path) -> Plan:
    """Read a plan from a JSON file."""
    return Plan.from_json(problem, read_json(path))


def _report(call: SolveCall, problem: Problem, result: Result) -> bool:
    """Print and write the answer; return whether all files could be written. Where one could not, it is printed."""
    written = write_json(call.json, result_to_json(problem, result))
    written = write_pictures(call, problem, result) and written
    if not (call.quiet and written) and call.json != STDOUT:
        from mtpp_dsl.show.report.terminal import summary

        show(summary(problem, result, screen_width(), whole=call.verbose))
        if result.infeasibility is not None and not call.quiet:
            say(f"which lines clash, and by how much: mtpp explain {call.spec}", stderr=True)
    return written


def _write_page(call: SolveCall, problem: Problem, result: Result, more: float | None) -> bool:
    """Write the page of the answer; return whether it could be. After an interrupt nothing else is solved for it."""
    assert call.html is not None
    if more is not None and listener.stopped_by is not None:
        say("--what-if was left out, as the search was stopped", stderr=True)
        more = None
    text = searched_page(
        problem,
        result,
        more,
        quiet=call.quiet,
        answer=result_to_json(problem, result),
        search=call.include,
        method=call.method,
        solver=call.solver,
        seed=call.seed,
        threads=call.threads,
    )
    return write_page(text, call.html, quiet=True)


def _exit_code(result: Result, *, only_bounds: bool) -> int:
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    if result.infeasibility is not None:
        return PROVEN_INFEASIBLE
    if result.termination == "error":
        return SolverError.exit_code
    answer = result.bound if only_bounds else result.plan
    return NOTHING_FOUND if answer is None else 0


def check_front_call(call: SolveCall) -> None:
    """Refuse options that go with fronts only, or with anything but fronts.

    Raises:
        UsageError: it names the option.
    """
    if call.pareto is None:
        if call.points is not None:
            raise UsageError("--points is about a front: say of what, --pareto bottleneck,cost")
        return
    asked: dict[str, object] = {
        "--checkpoint": call.checkpoint,
        "--gantt": call.gantt,
        "--microbatches": call.microbatches,
        "--solver-option": call.solver_option or None,
        "--trace": call.trace,
        "--what-if": call.what_if,
        "--write-model": call.write_model,
    }
    for option, given in asked.items():
        if given is not None:
            raise UsageError(f"{option} is about one plan, and --pareto gives a front of several")
    for _, kind, path in plots_of(call):
        if kind not in (None, "front"):
            raise UsageError(f"--pareto gives several plans, and a picture of their front: write --plot {path}")


def front_and_report(
    call: SolveCall,
    problem: Problem,
    method: Method,
    limit: float | None,
    left: float | None,
    gap: float,
    start: Plan | None,
) -> int:
    """Search for the front that was asked for, print it, write it, and return the exit code."""
    assert call.pareto is not None
    names = [name.strip() for name in call.pareto.split(",")]
    if "makespan" in names and not isinstance(problem.interconnect, Links):
        raise UsageError(
            f"--pareto {call.pareto}: a front with makespan needs plans with a schedule, which have costs beside it on "
            f"interconnect links alone; this is {problem.interconnect.keyword}. Ask for bottleneck, or for links"
        )
    watcher = ProgressWriter(problem, limit=limit, quiet=call.quiet, verbose=call.verbose)
    progress = Progress(watcher, watcher.write if call.verbose else None)
    with listener.searching(progress.stop):
        with watcher.shown():
            plans = front(
                problem,
                names,
                points=POINTS if call.points is None else call.points,
                method=method,
                solver=call.solver,
                time_limit=left,
                gap=max(gap, 1e-6),
                threads=call.threads,
                seed=call.seed,
                start=start,
                progress=progress,
                scheduler=call.scheduler,
            )
        listener.search_ended()
        written = _report_front(call, plans)
    if not written:
        return UNWRITTEN
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    if plans.infeasibility is not None:
        return PROVEN_INFEASIBLE
    return 0 if plans.points else NOTHING_FOUND


def _report_front(call: SolveCall, plans: Front) -> bool:
    """Print and write the front; return whether all files could be written. Where one could not, it is printed."""
    from mtpp_dsl.show.report.fronts import front_table, front_to_json

    data = front_to_json(plans)
    all_written = write_json(call.json, data)
    for _, _, path in plots_of(call):
        if plans.points:
            all_written = write_file(path, plans.plot().savefig) and all_written
        else:
            say(f"{path} was not written: the front has no points", stderr=True)
    if call.html is not None:
        from mtpp_dsl.show.page.front import front_page

        text = front_page(data, "FRONT.json" if call.json in (None, STDOUT) else call.json.name)
        all_written = write_file(call.html, lambda path: write_text(path, text)) and all_written
    if not (call.quiet and all_written) and call.json != STDOUT:
        show(front_table(plans, screen_width()))
    return all_written
