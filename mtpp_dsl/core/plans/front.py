"""Fronts of two objectives: plans of which none is better than another in both, each with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, Any

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.plans.result import Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Front(Picklable):
    """Plans of which none is better than another in both objectives.

    Attributes:
        problem: what was asked, with the two objectives in the order in which they were named.
        points: an answer for each plan, the best in the first objective first. Of each objective it has a value and
            a bound, which holds for the plans that are as good in the other objective as its ``under`` says.
        complete: whether every plan is proved to be no better in both objectives than some point.
        termination: why the search ended.
        infeasibility: why there is no plan, where that is proven.
        notes: for the user.
    """

    problem: Problem
    points: tuple[Result, ...] = ()
    complete: bool = False
    termination: Termination = "complete"
    infeasibility: Infeasibility | None = None
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> list[tuple[float, float]]:
        """The values of both objectives at every point."""
        first, second = self.problem.objectives
        costs = [tuple(one.cost for one in point.objectives) for point in self.points]
        return [(first.value(a), second.value(b)) for a, b in costs if a is not None and b is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the front as JSON: what ``mtpp solve --pareto --json`` writes."""
        data: dict[str, Any] = late("mtpp_dsl.show.report.fronts:front_to_json")(self)
        return data

    def to_json(self) -> str:
        """Return the same as text."""
        text: str = late("mtpp_dsl.solving.answers.json:dumps")(self.to_dict())
        return text

    def show(self, width: int | None = None, file: IO[str] | None = None) -> None:
        """Print what ``mtpp solve --pareto`` prints; *width* is that of the lines, *file* is where to."""
        late("mtpp_dsl.show.report.fronts:show")(self, width, file)

    def plot(self, path: Path | str | None = None, *, width: float | None = None) -> Any:
        """Draw the points and their bounds for a paper, and return matplotlib's figure.

        Args:
            path: where to write it: a .svg, .png or .pdf; None writes nothing.
            width: in inches; None for that of a column.

        Raises:
            UsageError: there are no points, or matplotlib is not installed.
        """
        return late("mtpp_dsl.show.pictures.plotting:plot_front")(self, path, width=width)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the points as a table."""
        page: str = late("mtpp_dsl.show.notebook.answer:front_html")(self)
        return page

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        names = " and ".join(objective.shown for objective in self.problem.objectives)
        whole = ", complete" if self.complete else ""
        return f"Front({len(self.points)} points of {names}{whole})"


def without_dominated(points: Sequence[Result]) -> list[Result]:
    """Return the points that no other is as good as in both objectives, the best in the first one first."""
    kept: list[Result] = []
    least = inf
    for point in sorted(points, key=costs_of):
        if costs_of(point)[1] < least:
            least = costs_of(point)[1]
            kept.append(point)
    return kept


def costs_of(point: Result) -> tuple[float, float]:
    """Return the costs of both objectives at a point."""
    first, second = (one.cost for one in point.objectives)
    assert first is not None
    assert second is not None
    return first, second
