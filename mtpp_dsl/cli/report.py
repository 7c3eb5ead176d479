"""``mtpp report``, and ``mtpp solve --html``: an answer as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mtpp_dsl.cli.calls import ReportCall
from mtpp_dsl.cli.screen import STDOUT, write_file
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.errors import UsageError

SAYING = "stopping, with the page of what has been found so far"


def report_answer(call: ReportCall) -> int:
    """Read an answer again, and write its page; return the exit code."""
    from mtpp_dsl.cli.screen import UNWRITTEN
    from mtpp_dsl.cli.signals import listener
    from mtpp_dsl.core.base.files import read_json
    from mtpp_dsl.core.base.writing import check_writable
    from mtpp_dsl.show.pictures.plotting import parse_plot
    from mtpp_dsl.solving.answers.again import points_of, read_answer

    limit = what_if_seconds(call.what_if)
    asked = [parse_plot(text) for text in call.plot]
    alone = bool(asked) and call.output is None and limit is None
    output = _beside(call) if call.output is None else call.output
    check_writable(*(path for _, path in asked), *([] if alone or output == STDOUT else [output]))
    if asked:
        written = _drawn(call, asked)
        if alone:
            return 0 if written else UNWRITTEN
    data: Any = read_json(call.answer)
    if points_of(data) is not None and call.point is None:
        if limit is not None:
            raise UsageError(
                f"{call.answer} is a front: --what-if is about one of its answers, so choose it by --point"
            )
        text = _front(call, data)
    else:
        answered = read_answer(call.answer, call.spec, search=call.include, point=call.point)
        text = searched_page(answered.problem, answered, limit, quiet=call.quiet, search=call.include,
                             seed=int(answered.answer["seed"]))  # fmt: skip
    if not write_page(text, output, quiet=call.quiet):
        return UNWRITTEN
    return 0 if listener.stopped_by is None else listener.exit_code(listener.stopped_by)


def _drawn(call: ReportCall, asked: list[tuple[str | None, Path]]) -> bool:
    """Draw pictures, each a kind and a file; return whether they could be written.

    Raises:
        UsageError: the answer has no such picture; a front has no other than that of its points.
    """
    from mtpp_dsl.cli.pictures import front_of, result_of
    from mtpp_dsl.core.base.files import read_json
    from mtpp_dsl.show.pictures.plotting import plot, plot_front
    from mtpp_dsl.solving.answers.again import points_of, read_answer

    data: Any = read_json(call.answer)
    points = points_of(data)
    if points is not None and call.point is None:
        other = next((kind for kind, _ in asked if kind not in (None, "front")), None)
        if other is not None:
            raise UsageError(f"{call.answer} is a front: --plot {other}:FILE is about one of its answers, so choose it "
                             "by --point")  # fmt: skip
        if not points:
            raise UsageError(f"{call.answer} is a front without points: there is nothing to draw")
        numbers = range(1, len(points) + 1)
        read = [read_answer(call.answer, call.spec, search=call.include, point=number) for number in numbers]
        front = front_of(read, complete=bool(data.get("complete")))
        figures = [plot_front(front) for _ in asked]
    else:
        result = result_of(read_answer(call.answer, call.spec, search=call.include, point=call.point))
        assert result.problem is not None
        figures = [plot(result.problem, result, kind=kind) for kind, _ in asked]
    written = [write_file(path, figure.savefig) for (_, path), figure in zip(asked, figures, strict=True)]
    return all(written)


def _beside(call: ReportCall) -> Path:
    """Return where the page is written by default: beside the answer, of a point of a front with its number."""
    number = "" if call.point is None else f"-{call.point}"
    return call.answer.with_name(f"{call.answer.stem}{number}.html")


def _front(call: ReportCall, data: Any) -> str:
    """Return the page of a front, each of whose answers was held against its spec.

    Raises:
        UsageError: one of them is wrong, or one is as good as another in both objectives.
    """
    from mtpp_dsl.checks.verification import costs_of
    from mtpp_dsl.show.page.front import front_page
    from mtpp_dsl.solving.answers.again import read_answer
    from mtpp_dsl.solving.answers.shape import answers_of, dominated, unlike

    answers = answers_of(data, str(call.answer))
    wrong = list(unlike(answers))
    if not wrong:
        numbers = range(1, len(answers) + 1)
        points = [read_answer(call.answer, call.spec, search=call.include, point=number) for number in numbers]
        wrong += [
            f"point {number}: there is no plan" for number, one in zip(numbers, points, strict=True) if not one.plan
        ]
        wrong += dominated([tuple(costs_of(one.problem, one.plan)) if one.plan else None for one in points])
    if wrong:
        faults = "\n".join(f"  {fault}" for fault in wrong)
        raise UsageError(f"{call.answer} is no front:\n{faults}")
    return front_page(data, call.answer.name)


def what_if_seconds(text: str | None) -> float | None:
    """Return the time for changed problems; None where none are asked for.

    Raises:
        UsageError: it is no time, or none is the limit.
    """
    from mtpp_dsl.core.base.amounts import seconds

    if text is None:
        return None
    limit = seconds(text, "--what-if")
    if limit is None or limit <= 0:
        raise UsageError(f"--what-if {text}: say how long changed problems may be solved for, such as 30s")
    return limit


def searched_page(problem: Any, given: Any, limit: float | None, *, quiet: bool, **options: Any) -> str:
    """Return the page of an answer, with changed problems solved in *limit* seconds unless that is None."""
    from mtpp_dsl.cli.progress import ProgressWriter
    from mtpp_dsl.cli.signals import listener
    from mtpp_dsl.core.contracts.limits import Progress

    page_of = late("mtpp_dsl.show.reporting:page_of")
    if limit is None:
        return str(page_of(problem, given, **options))
    watcher = ProgressWriter(problem, limit=limit, quiet=quiet, verbose=False)
    progress = Progress(watcher)
    before = listener.stopped_by
    with listener.searching(progress.stop, SAYING):
        with watcher.shown():
            text = str(page_of(problem, given, what_if=limit, progress=progress, **options))
        listener.search_ended()
    if listener.stopped_by is None:
        listener.stopped_by = before
    return text


def write_page(text: str, path: Path, *, quiet: bool) -> bool:
    """Write a page, or print it; return whether it could be written."""
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.writing import write_text

    if path == STDOUT:
        sys.stdout.buffer.write(text.encode())  # which is what the page says it is, whatever the terminal has
        return True
    written = write_file(path, lambda to: write_text(to, text))
    if written and not quiet:
        say(f"wrote {path}")
    return written
