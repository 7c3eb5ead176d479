"""``mtpp solve --pareto``: a front of two objectives."""

from __future__ import annotations

import sys
from pathlib import Path

from mtpp_dsl.cli.ending import NOTHING_FOUND, PROVEN_INFEASIBLE
from mtpp_dsl.cli.pictures import plots_of
from mtpp_dsl.cli.progress import ProgressWriter
from mtpp_dsl.cli.screen import say, screen_width, show, write_file
from mtpp_dsl.cli.signals import listener
from mtpp_dsl.cli.solve_call import SolveCall
from mtpp_dsl.cli.streams import UNWRITTEN
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import dumps
from mtpp_dsl.solving.drivers.front import front

__all__ = ["check_front_call", "front_and_report"]

POINTS = 20
STDOUT = Path("-")


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
            found = front(
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
        listener.found()
        written = _report(call, found)
    if not written:
        return UNWRITTEN
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    if found.infeasibility is not None:
        return PROVEN_INFEASIBLE
    return 0 if found.points else NOTHING_FOUND


def _report(call: SolveCall, found: Front) -> bool:
    """Print and write the front; return whether all files could be written. Where one could not, it is printed."""
    from mtpp_dsl.show.report.fronts import front_table, front_to_json

    data, all_written = front_to_json(found), True
    if call.json == STDOUT:
        sys.stdout.write(dumps(data, sys.stdout.encoding or "ascii"))
    elif call.json is not None:
        all_written = write_file(call.json, lambda path: write_text(path, dumps(data)))
    for _, _, path in plots_of(call):
        if found.points:
            all_written = write_file(path, found.plot().savefig) and all_written
        else:
            say(f"{path} was not written: the front has no points", stderr=True)
    if call.html is not None:
        from mtpp_dsl.show.page.front import front_page

        text = front_page(data, "FRONT.json" if call.json in (None, STDOUT) else call.json.name)
        all_written = write_file(call.html, lambda path: write_text(path, text)) and all_written
    if not (call.quiet and all_written) and call.json != STDOUT:
        show(front_table(found, screen_width()))
    return all_written
