"""Which pictures there are, which fits an answer, and how they are asked for and written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mtpp_dsl.core.base.lazy import late, need
from mtpp_dsl.core.errors import UsageError, nearest
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem

SUFFIXES = (".pdf", ".png", ".svg")


def check_picture(path: Path) -> None:
    """Complain, before the work is done, about a picture that cannot be drawn.

    Raises:
        UsageError: it is a folder, its format is not known, or matplotlib is missing.
    """
    if path.is_dir():
        raise UsageError(f"cannot draw {path}: it is a folder")
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot draw {path}: a picture ends in {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib: pip install 'mtpp-dsl[plots]'")


PictureKind: TypeAlias = Literal["loads", "gantt", "graph", "gap", "memory", "front"]
KINDS: dict[str, str] = {
    "loads": "what the load of each stage consists of, against the bottleneck and the bound",
    "gantt": "when every device and link does what: a schedule, or a pipeline over several microbatches",
    "graph": "the graph, coloured by stage",
    "gap": "plan and bound over the time of the search",
    "memory": "what each stage takes of the memory of its devices",
    "front": "the points of a front of two objectives",
}
"""The kinds of pictures, and what each shows."""
_DRAWS = {
    "loads": "mtpp_dsl.show.pictures.loads:draw_loads",
    "gantt": "mtpp_dsl.show.pictures.gantt:draw_gantt",
    "graph": "mtpp_dsl.show.pictures.graph:draw_graph",
    "gap": "mtpp_dsl.show.pictures.gap:draw_gap",
    "memory": "mtpp_dsl.show.pictures.loads:draw_memory",
}


def parse_plot(text: str) -> tuple[str | None, Path]:
    """Return the kind and the file that ``--plot [KIND:]FILE`` names; no kind is None.

    >>> parse_plot("graph:out/plan.svg")[0], parse_plot("plan.svg")[0]
    ('graph', None)

    Raises:
        UsageError: no picture is called so, or the file is none that can be drawn.
    """
    kind, colon, rest = text.partition(":")
    if not colon or "/" in kind or "\\" in kind or len(kind) == 1:
        kind, rest = "", text
    elif kind not in KINDS:
        raise UsageError(
            f"no picture is called {kind!r}{nearest(kind, KINDS)} (there are {', '.join(KINDS)}); for a file of that "
            f"name write ./{text}"
        )
    if not rest:
        raise UsageError(f"{text!r} names no file: a picture ends in {', '.join(SUFFIXES)}")
    check_picture(Path(rest))
    return kind or None, Path(rest)


def check_call(problem: Problem, kind: str | None, *, bounds: bool) -> None:
    """Complain, before anything is solved, about a picture that no answer could have.

    Args:
        problem: what is asked.
        kind: of the picture; None for the one that fits.
        bounds: whether the method gives bounds alone.

    Raises:
        UsageError: it says why.
    """
    check_kind(kind)
    if kind == "front":
        raise UsageError("a front is of two objectives: say of which, --pareto bottleneck,cost")
    if kind == "memory" and all(device.memory is None for device in problem.devices):
        raise UsageError("no device has a memory: there is nothing to draw by --plot memory:FILE")
    if kind == "loads" and problem.timed:
        raise UsageError(
            f"a plan to {problem.objective} has a schedule, and no loads per input: ask for gantt or memory"
        )
    if bounds and kind not in (None, "gap"):
        raise UsageError(f"{kind} shows a plan, and the method gives only bounds: ask for gap")


def check_kind(kind: str | None) -> None:
    """Complain about a kind that there is not.

    Raises:
        UsageError: it names those that there are.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no picture is called {kind!r}{nearest(str(kind), KINDS)}: there are {', '.join(KINDS)}")


def best_kind(result: Result) -> str:
    """Return what fits an answer: a chart of a schedule, the loads of a split, the gap of a bound over time."""
    if result.plan is None:
        return "gap"
    return "gantt" if result.plan.timed else "loads"


def why_not(problem: Problem, result: Result, kind: str) -> str | None:
    """Return why there is no picture of that kind of an answer, or None."""
    if kind == "front":
        return "one answer is no front: mtpp solve --pareto finds one"
    if kind == "gap":
        known = any(entry.incumbent is not None or entry.bound is not None for entry in result.log)
        if known or result.infeasibility is None:
            return None if known else "nothing was found over time: neither a plan nor a bound"
    if result.infeasibility is not None:
        return f"no plan exists: {result.infeasibility.reason}"
    if result.plan is None or result.evaluation is None:
        return "there is no plan to show"
    if kind == "memory":
        limited = any(device.memory is not None for device in problem.devices)
        return None if limited else "no device has a memory"
    if kind == "loads" and result.plan.timed:
        return "the plan has a schedule, and no loads per input: ask for gantt"
    return None


def plot(
    problem: Problem,
    result: Result,
    path: Path | str | None = None,
    kind: str | None = None,
    *,
    width: float | None = None,
    microbatches: int | None = None,
) -> Any:
    """Draw a picture of an answer, and write it if *path* says where to.

    Args:
        problem: what was asked.
        result: the answer.
        path: where to; a .svg, .png or .pdf.
        kind: one of :data:`KINDS`; None for the one that fits.
        width: in inches; None for that of a column, or of a page where it takes one.
        microbatches: of a pipeline that is drawn over several, by "gantt".

    Returns:
        matplotlib's figure.

    Raises:
        UsageError: there is no such kind, the answer has no such picture, or matplotlib is missing.
    """
    if path is not None:
        check_picture(Path(path))
    check_kind(kind)
    chosen = kind or best_kind(result)
    reason = why_not(problem, result, chosen)
    if reason is not None:
        raise UsageError(f"no picture of kind {chosen}: {reason}")
    need("matplotlib", "plots")
    options: dict[str, Any] = {"microbatches": microbatches} if chosen == "gantt" else {}
    if microbatches is not None and chosen != "gantt":
        raise UsageError(f"microbatches are for a picture of kind gantt, and this is {chosen}")
    try:
        return _drawn(lambda: late(_DRAWS[chosen])(problem, result, width, **options), path)
    except UsageError as error:  # such as that of routes that share the inputs, which have no common period
        raise UsageError(f"no picture of kind {chosen}: {error}") from None


def plot_front(front: Front, path: Path | str | None = None, *, width: float | None = None) -> Any:
    """Draw a front, and write the picture if *path* says where to; see :func:`plot`.

    Raises:
        UsageError: the front has no points, or matplotlib is missing.
    """
    if path is not None:
        check_picture(Path(path))
    if not front.points:
        raise UsageError("no picture of kind front: it has no points")
    need("matplotlib", "plots")
    return _drawn(lambda: late("mtpp_dsl.show.pictures.front:draw_front")(front, width), path)


def _drawn(draw: Callable[[], Any], path: Path | str | None) -> Any:
    """Return what is drawn in our style, written to *path* if there is one."""
    with late("mtpp_dsl.show.pictures.canvas:style")():
        figure = draw()
        if path is not None:
            figure.savefig(Path(path))
    return figure
