"""Pictures and traces that ``mtpp solve`` writes: ``--plot``, ``--gantt``, ``--trace``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.cli.calls import SolveCall
from mtpp_dsl.cli.screen import say, write_file
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import Bound, Infeasibility, LogEntry, Reached, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.again import Answered
from mtpp_dsl.solving.answers.claims import cost_of_value
from mtpp_dsl.solving.answers.json import dumps


def plots_of(call: SolveCall) -> Iterator[tuple[str, str | None, Path]]:
    """Yield option, kind and file of every picture that was asked for.

    Raises:
        UsageError: a kind or a form of files that there is not.
    """
    if not call.plot and call.gantt is None:
        return
    from mtpp_dsl.show.pictures.plotting import check_picture, parse_plot

    for text in call.plot:
        kind, path = parse_plot(text)
        yield "--plot", kind, path
    if call.gantt is not None:
        check_picture(call.gantt)
        yield "--gantt", "gantt", call.gantt


def picture_paths(call: SolveCall) -> list[Path]:
    """Return the files that pictures and traces are to be written to."""
    return [path for _, _, path in plots_of(call)] + ([] if call.trace is None else [call.trace])


def check_pictures(call: SolveCall, problem: Problem, method: Method) -> None:
    """Complain, before anything is solved, about pictures and traces that no answer could have.

    Raises:
        UsageError: it says why.
    """
    bounds = method.gives == "bound"
    if call.trace is not None and bounds:
        raise UsageError(f"--trace shows a plan, and method {method.name!r} gives only bounds")
    asked = list(plots_of(call))
    if call.microbatches is not None:
        if problem.timed:
            raise UsageError(f"--microbatches is about pipelines, and a plan to {problem.objective} has a schedule")
        own = problem.objective.microbatches
        if own not in (None, call.microbatches):
            raise UsageError(
                f"--microbatches {call.microbatches}: the iteration has {own}, and is shown with all of them"
            )
        if call.trace is None and all(kind != "gantt" for _, kind, _ in asked):
            raise UsageError("--microbatches goes with --trace, --gantt or --plot gantt:FILE")
    for option, kind, _ in asked:
        from mtpp_dsl.show.pictures.plotting import check_call

        if option == "--gantt" and bounds:
            raise UsageError(f"--gantt shows a plan, and method {method.name!r} gives only bounds")
        check_call(problem, kind, bounds=bounds)


def write_pictures(call: SolveCall, problem: Problem, result: Result) -> bool:
    """Write the trace and the pictures that were asked for; return whether they could be, where there is any to show.

    Where an answer has none, such as one without a plan, that is said and no failure.
    """
    written = True
    if call.trace is not None:
        text = _trace(call, problem, result)
        if text is not None:
            written = write_file(call.trace, lambda path: write_text(path, text))
    for _, kind, path in plots_of(call):
        from mtpp_dsl.show.pictures.plotting import plot

        many = call.microbatches if kind == "gantt" else None
        try:
            figure = plot(problem, result, kind=kind, microbatches=many)
        except UsageError as error:
            say(f"{path} was not written: {error}", stderr=True)
            continue
        written = write_file(path, figure.savefig) and written
    return written


def _trace(call: SolveCall, problem: Problem, result: Result) -> str | None:
    """Return the trace of an answer; where there is none, say why and return None."""
    from mtpp_dsl.show.report.activities import Timeline
    from mtpp_dsl.show.report.steady import steady
    from mtpp_dsl.show.report.trace import trace

    plan, evaluation = result.plan, result.evaluation
    if plan is None or evaluation is None:
        say(f"{call.trace} was not written: there is no plan to show", stderr=True)
        return None
    try:
        timeline = Timeline(problem, plan) if plan.timed else steady(problem, plan, evaluation, call.microbatches)
    except UsageError as error:
        say(f"{call.trace} was not written: {error}", stderr=True)
        return None
    return dumps(trace(problem, timeline))


def result_of(answered: Answered) -> Result:
    """Return as much of a result as pictures show, of an answer that was read again."""
    problem, plan, answer = answered
    objective, bound, reason = problem.objective, answer["bound"], answer["infeasible"]

    def cost(value: float | None) -> float | None:
        return None if value is None else cost_of_value(objective, value)

    log = tuple(LogEntry(entry["time"], cost(entry["incumbent"]), cost(entry["bound"])) for entry in answer["log"])
    return Result(
        answer["termination"],
        plan=plan,
        bound=None
        if answered.bound is None
        else Bound(answered.bound, bound["method"], bound["proof"], bound["by"], bound["detail"] or ""),
        evaluation=None if plan is None else evaluate(problem, plan),
        method=answer["method"],
        time=answer["time"],
        log=log,
        infeasibility=None if reason is None else Infeasibility(reason["reason"], tuple(reason["clash"])),
        verified=bool(answer["verified"]),
        problem=problem,
    )


def front_of(points: Sequence[Answered], *, complete: bool) -> Front:
    """Return as much of a front as its picture shows, of points that were read again."""
    return Front(points[0].problem, tuple(map(_point, points)), complete)


def _point(answered: Answered) -> Result:
    """Return a point of a front with the values and the bounds of both objectives."""
    reached = []
    for objective, recorded in zip(answered.problem.objectives, answered.answer["objectives"], strict=True):
        cost, best = (
            None if recorded[key] is None else cost_of_value(objective, recorded[key]) for key in ("value", "best")
        )
        of = recorded["bound"]
        bound = of and Bound(
            cost_of_value(objective, of["value"]), of["method"], of["proof"], of["by"], of["detail"] or ""
        )
        reached.append(Reached(objective, cost, best, bound, recorded["gap"], recorded["under"] or ""))
    return replace(result_of(answered), objectives=tuple(reached))
