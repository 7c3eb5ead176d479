"""Pages of answers: the view of each put together from its problem, its plan, its spec and its explanation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.amounts import Duration, seconds_of
from mtpp_dsl.core.base.files import Folders, folders_of, read_bytes
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.language.values.origin import lost_files
from mtpp_dsl.show.explaining.explain import PARTS, explained
from mtpp_dsl.show.explaining.question import FRONT, Question, question_of
from mtpp_dsl.show.page.document import page
from mtpp_dsl.show.page.spec_text import spec_text
from mtpp_dsl.show.page.view import SpecText, View
from mtpp_dsl.solving.answers.again import Answered

SOLVED = ("infeasible", "constraints", "what_if")
"""The parts of an explanation that solve changed problems, and that a page has where it is given time for them."""
MAX_WRITTEN = 1_000
"""Nodes of a problem made in Python that is shown as a spec."""


def page_of(
    problem: Problem,
    given: Result | Answered,
    *,
    what_if: float | None = None,
    answer: Mapping[str, Any] | None = None,
    search: Folders = (),
    **options: Any,
) -> str:
    """Return the page of an answer.

    Args:
        problem: what was asked.
        given: what was found.
        what_if: seconds for solving changed problems; None leaves them out.
        answer: the JSON of a result, where that says more than the result does.
        search: folders where ``include`` looks, for the spec.
        options: of :class:`mtpp_dsl.show.explaining.question.Question`: method, solver, seed, threads and progress.
    """
    question = question_of(problem, given, search=folders_of(search), time=what_if or 0.0, **options)
    return page(view_of(question, answer or question.answer, asked=what_if is not None))


def view_of(question: Question, answer: Mapping[str, Any], *, asked: bool) -> View:
    """Return the view of an answer, explained as far as that takes no time, or, if *asked*, in the question's time."""
    parts = [name for name in PARTS if _fits(name, question, asked=asked)]
    explanation = explained(replace(question, claimed=True), parts)  # a page is read away from the search
    return View(
        problem=question.problem,
        plan=question.plan,
        evaluation=question.evaluation,
        answer=answer,
        spec=spec_of(question),
        explanation=explanation.to_json(),
        told={key: tuple(part.words()) for key, part in explanation.parts.items()},
        asked=asked,
    )


def _fits(name: str, question: Question, *, asked: bool) -> bool:
    """Return whether a page tells a part of an explanation: one that takes no time, or all that time is given for."""
    if name == "critical" and not question.problem.timed:
        return False
    if name == "infeasible":
        return asked and question.plan is None and question.answer["status"] in ("infeasible", "unknown")
    if question.plan is None and name in ("bottleneck", "constraints"):
        return False
    part = PARTS[name]
    return (part.always and not part.weight) or (asked and name in SOLVED)


def to_html(problem: Problem, result: Result, what_if: Duration | None = None) -> str:
    """Return the page of a result, as :meth:`mtpp_dsl.Result.to_html` does."""
    return page_of(problem, result, what_if=seconds_of("what_if", what_if), progress=Progress())


def spec_of(question: Question) -> SpecText | None:
    """Return the spec of a problem, with what it includes and what its lines are about; None where there is none.

    Of one that is gone, or has changed since, there is the name alone; of files that it includes and that have, too.
    Of a problem that no file says, it is written as a spec, unless it has thousands of nodes or what no spec can say.
    """
    problem = question.problem
    origin = problem.origin
    with suppress(MtppError, OSError, UnicodeDecodeError, ValueError):
        if origin.path is None:
            if problem.graph.n > MAX_WRITTEN:
                return None
            problem = problem.with_constraints([rule for rule in problem.constraints if rule.origin != FRONT])
            text = problem.to_spec()
            return spec_text(problem, analyse(text).places, "<text>", text)
        data = read_bytes(Path(origin.path))
        if origin.sha256 is not None and hashlib.sha256(data).hexdigest() == origin.sha256:
            lost = None if question.places.sources or not origin.files else lost_files(origin)
            return spec_text(problem, question.places, origin.path, data.decode(), lost)
    return None if origin.path is None else SpecText(origin.path, None)
