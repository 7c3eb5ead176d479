"""Load, solve, verify: what the command line does, for Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.amounts import Duration, Share, seconds_of, share_of, whole
from mtpp_dsl.core.base.files import Folders
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem, check_problem
from mtpp_dsl.solving.finding import find_method, instead, method_names
from mtpp_dsl.solving.one_problem import SolveArguments
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER, check_solver, refuse_scheduler

if TYPE_CHECKING:
    from mtpp_dsl.language.lowering.analysis import Analysis
    from mtpp_dsl.language.lowering.lower import Spec

__all__ = ["DEFAULT_TIME", "analyse", "find_method", "instead", "load", "method_names", "read", "solve"]

DEFAULT_TIME = 60.0
"""Seconds that ``solve`` takes at most unless told otherwise."""


def load(
    spec: str | os.PathLike[str], *, search: Folders = (), scenario: str | None = None, **params: object
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
    from mtpp_dsl.language.lowering.lower import load as load_spec

    return load_spec(spec, params, search, scenario=scenario)


def read(spec: str | os.PathLike[str], *, search: Folders = ()) -> Spec:
    """Read and parse a spec once, for problems with different values of its params: ``read(path).problem(k=4)``.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        search: folders where ``include`` looks after the including file's own.

    Raises:
        SpecError: with every error of the syntax, each in its place.
        UsageError: the file is missing or unreadable.
    """
    from mtpp_dsl.language.lowering.lower import read as read_spec

    return read_spec(spec, search)


def analyse(
    spec: str | os.PathLike[str],
    *,
    search: Folders = (),
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
    from mtpp_dsl.language.lowering.lower import analyse as analyse_spec

    return analyse_spec(spec, params, search, texts=texts, scenario=scenario)


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
    progress: Progress | Callable[[Progress], object] | None = None,
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
        progress: to watch and to stop the search: a function, which is called with a :class:`mtpp_dsl.Progress`
            whenever there is a better plan or bound, or a Progress of your own.
        checkpoint: where to keep the best answer so far, as JSON, whenever it has become better.
        target: the runtime that the plan is for: its limits are constraints, and what they cost is in the result.
        scheduler: where processes run: the address of a Dask scheduler such as ``tcp://host:8786``,
            ``local-cluster:2``, or what :func:`mtpp_dsl.core.executors.addresses.open_executor` returns, which is left
            open; None for this machine.

    Returns:
        A result whose plan, if any, has passed :func:`mtpp_dsl.checks.verification.verify`.

    Raises:
        Refused: the method cannot honour this problem; says why and names one that can.
        SolverError: the solver is missing, or failed before anything was found. What was found before is returned,
            with termination "error".
        VerificationError: a plan or bound is wrong: a bug of ours.
    """
    began = monotonic()
    check_problem(problem, "solve")
    progress = Progress.of(progress)
    gap, time_limit = share_of("gap", gap), seconds_of("time_limit", time_limit)
    threads, seed = None if threads is None else whole("threads", threads, 1), whole("seed", seed, 0)
    check_solver(solver)
    chosen = find_method(method, solver) if isinstance(method, str) else method
    if scheduler is not None:
        refuse_scheduler(problem, chosen, write_model)
    call = SolveArguments(
        began,
        chosen,
        solver,
        time_limit,
        gap,
        threads,
        seed,
        start,
        solver_options,
        write_model,
        progress,
        checkpoint,
    )
    if isinstance(scheduler, str):
        with opened(scheduler) as executor:
            return solve(problem, chosen, time_limit=call.left, target=target, scheduler=executor, **call.options())
    if target is not None:
        problem = late("mtpp_dsl.solving.answers.again:under_target")(problem, target)
    if problem.target is not None:
        under: Result = late("mtpp_dsl.solving.drivers.target_cost:solve_under")(
            problem, chosen, time_limit=time_limit, scheduler=scheduler, **call.options()
        )
        return under
    if not problem.later:
        return call.solve(problem, scheduler)
    if write_model is not None:
        raise UsageError("each of several objectives has a model of its own: leave all but one out to write it")
    several: Result = late("mtpp_dsl.solving.drivers.several:Several")(call, scheduler).in_order(problem)
    return several
