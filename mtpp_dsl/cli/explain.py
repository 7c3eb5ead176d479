"""``mtpp explain`` and ``mtpp diff``: what holds an answer where it is, and how two answers differ."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.text import Text

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.cli.calls import ExplainCall
from mtpp_dsl.cli.parameters import read_problem
from mtpp_dsl.cli.progress import ProgressWriter
from mtpp_dsl.cli.screen import STDOUT, UNWRITTEN, say, screen_width, show, tell_warnings, write_json
from mtpp_dsl.cli.signals import NOTHING_FOUND, elapsed, listener
from mtpp_dsl.core.base.amounts import seconds
from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.writing import check_writable
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.comparing import check_point, diff
from mtpp_dsl.show.explaining.explain import Explanation, explained, node_of, parts_named
from mtpp_dsl.show.explaining.question import Question, question_of
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.solving.answers.again import Answered, points_of, read_answer
from mtpp_dsl.solving.api import find_method, solve

__all__ = ["ExplainCall", "diff_answers", "explain_and_report", "show_words"]

SAYING = "stopping, with what has been found out so far"
SOLVING = 0.5
"""Of the time limit, what solving takes at most where no answer is given."""
LEAST_SECONDS = 0.3


def explain_and_report(call: ExplainCall) -> int:
    """Read, solve where no answer is given, explain, print, write; return the exit code."""
    limit = seconds(call.time_limit, "--time-limit")
    if limit is None:
        raise UsageError("an explanation goes on for as long as it may: give --time-limit a time, such as 5min")
    only = None if call.only is None else [name for name in call.only.split(",") if name.strip()]
    if not parts_named(only, node=call.node is not None):
        raise UsageError(
            "--only names no part: write one or more of bottleneck, critical, next, … (mtpp explain --help)"
        )
    find_method(call.method, call.solver)
    if call.json is not None and call.json != STDOUT:
        check_writable(call.json)
    problem, known = _given(call)
    node = None if call.node is None else node_of(problem, call.node)
    watcher = ProgressWriter(problem, limit=limit, quiet=call.quiet, verbose=False)
    progress = Progress(watcher)
    with listener.searching(progress.stop, SAYING):
        with watcher.shown():
            given = _solved(call, problem, limit, progress) if known is None else known
            question = question_of(
                problem,
                given,
                node=node,
                time=max(limit - elapsed(), LEAST_SECONDS),
                method=call.method,
                solver=call.solver,
                seed=call.seed,
                threads=call.threads,
                progress=progress,
                search=tuple(call.include),
            )
            explanation = explained(question, only)
        listener.search_ended()
        written = _report(call, question, explanation)
    if not written:
        return UNWRITTEN
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    if question.plan is not None or explanation.parts:
        return 0
    if not call.quiet:
        say(_without_plan(call, known is None), stderr=True)
    return NOTHING_FOUND


def _without_plan(call: ExplainCall, solved: bool) -> str:
    """Return why there is nothing to explain, and what to do."""
    if not solved:
        return "the answer has no plan, so that there is nothing to explain"
    return (
        f"no plan was found in the part of --time-limit {call.time_limit} that is for solving, so that there is "
        f"nothing to explain: give it more, or explain an answer of 'mtpp solve {call.spec} --json answer.json'"
    )


def _given(call: ExplainCall) -> tuple[Problem, Answered | Plan | None]:
    """Return the problem, and the answer or the plan that is explained; None where none is given.

    Raises:
        UsageError: an answer is given without its spec, or params beside an answer, which has its own; or the plan
            breaks the problem.
    """
    if call.answer is None and call.spec.suffix == ".json":
        raise UsageError(f"{call.spec} is not a spec: to explain an answer, name its spec first: SPEC {call.spec}")
    data: Any = None if call.answer is None else read_json(call.answer)
    if isinstance(data, dict) and call.answer is not None and (points_of(data) is not None or "spec" in data):
        if call.define or call.scenario is not None:
            raise UsageError(f"{call.answer} names its params and its scenario: leave out -D and --scenario")
        answered = read_answer(call.answer, call.spec, search=call.include, point=call.point)
        return answered.problem, answered
    if call.point is not None:
        raise UsageError("--point chooses an answer of a front, and none is given")
    problem = read_problem(call.spec, call.define, call.include, scenario=call.scenario)
    tell_warnings(problem)
    if call.answer is None:
        return problem, None
    plan = Plan.from_json(problem, data)
    broken = verify(problem, plan)
    if broken:
        violations = "\n".join(f"  {violation}" for violation in broken[:20])
        raise UsageError(f"{call.answer} is not a plan for {call.spec}:\n{violations}")
    return problem, plan


def _solved(call: ExplainCall, problem: Problem, limit: float, progress: Progress) -> Result:
    """Return what solving finds, in a part of the time, and say that it is done."""
    share = max(SOLVING * (limit - elapsed()), LEAST_SECONDS)
    if not call.quiet:
        say(f"no answer is given: solving {call.spec} first, for {share:.0f} s at most", stderr=True)
    return solve(
        problem,
        call.method,
        solver=call.solver,
        time_limit=share,
        seed=call.seed,
        threads=call.threads,
        progress=progress,
    )


def _report(call: ExplainCall, question: Question, explanation: Explanation) -> bool:
    """Print and write the explanation; return whether all files could be written."""
    if call.json != STDOUT:
        heading = question.problem.origin.path or str(call.spec)
        show_words([f"{heading}: {question.answer['status']}", "", *explanation.words()])
    return write_json(call.json, explanation.to_json())


def show_words(words: Iterable[str]) -> None:
    """Print lines of words as wide as the terminal; what follows the first line of each is indented by two more."""
    width = screen_width()
    lines: list[Text] = []
    for word in words:
        indent = len(word) - len(word.lstrip(" "))
        lines += wrapped(Text(word[indent:]), width, indent, indent + 2) or [Text()]
    show(lines)


def diff_answers(a: Path, b: Path, spec: Path | None, include: list[Path], point: str | None, json: Path | None) -> int:
    """Compare two answers, print and write how they differ; return the exit code."""
    points = check_point(point)
    if point is not None and all(points_of(read_json(path)) is None for path in (a, b)):
        raise UsageError(f"--point {point}: neither {a} nor {b} is a front that has points")
    if json is not None and json != STDOUT:
        check_writable(json)
    difference = diff(a, b, spec=spec, search=include, points=points)
    if json != STDOUT:
        show_words(difference.words())
    return 0 if write_json(json, difference.to_json()) else UNWRITTEN
