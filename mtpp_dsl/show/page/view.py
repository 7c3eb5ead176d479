"""Hold what a page shows: an answer with its problem, its spec, and what was asked about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.markup import Markup


@dataclass(frozen=True)
class Mark:
    """Lines of a spec and what they are about.

    Attributes:
        first, last: numbers of the lines, from 1.
        kind: what they are about.
        indices: which constraints, objectives, devices, nodes or edges of the problem, or included files of the page.
    """

    first: int
    last: int
    kind: Literal["constraint", "objective", "device", "interconnect", "graph", "node", "edge", "include"]
    indices: tuple[int, ...] = ()


@dataclass(frozen=True)
class SpecText:
    """The text of the spec, or of a file that it includes.

    Attributes:
        name: its path, as messages call it.
        text: all of it; None of a spec that has changed since, or is gone.
        marks: which lines are about what.
        nodes: [n] the number of the line that makes each node, 0 where it is in another file; () where unknown.
        called: of an included file, its path as the file that includes it has it.
        includer: of an included file, the name of the file that includes it, and the line.
        anchor: what the identifiers of its lines on the page begin with; their number follows.
        included: of the spec, the files that it includes, and that they include, in their order.
        library: of the spec, the files of the library of the package that it includes.
        lost: of the spec, the files it read that have changed or are gone, so that it is unknown what is in others than
            itself; None where all of them are as they were.
    """

    name: str
    text: str | None
    marks: tuple[Mark, ...] = ()
    nodes: tuple[int, ...] = ()
    called: str = ""
    includer: tuple[str, int] | None = None
    anchor: str = "line-"
    included: tuple[SpecText, ...] = ()
    library: tuple[str, ...] = ()
    lost: tuple[str, ...] | None = None

    @property
    def files(self) -> tuple[SpecText, ...]:
        """The spec itself, and what it includes."""
        return (self, *self.included)


@dataclass(frozen=True, eq=False)
class View:
    """All that a page is made of: what is not here is not on it.

    Attributes:
        problem: what was asked.
        plan: the plan of the answer; None where it has none.
        evaluation: what the plan costs.
        answer: JSON of schema 2.
        spec: its text; None for a problem that has none.
        explanation: JSON of ``mtpp explain``; None where it was not requested.
        told: the parts of the explanation in words, by their names in its JSON.
        asked: whether somebody gave time to solve changed problems.
    """

    problem: Problem
    plan: Plan | None
    evaluation: Evaluation | None
    answer: Mapping[str, Any]
    spec: SpecText | None = None
    explanation: Mapping[str, Any] | None = None
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: bool = False

    @property
    def what_if(self) -> Mapping[str, Any] | None:
        """The JSON of the problems that were changed and solved; None where it was not requested."""
        return None if self.explanation is None else self.explanation.get("what_if")

    def time(self, value: float) -> str:
        """Return a time, or a cost in the unit of times, for people."""
        return format_quantity(value, self.problem.time_unit)

    def value(self, value: float) -> str:
        """Return a value of the first objective for people."""
        return self.amount(value, self.problem.objective.unit(self.problem.time_unit))

    def amount(self, value: float, unit: str) -> str:
        """Return an amount for people: sizes in the family of units that the spec writes."""
        return format_quantity(value, unit, decimal=self.problem.origin.decimal)


# One section of a page.


@dataclass(frozen=True)
class Section:
    """A section of a page, with its heading and its entry in the navigation.

    Attributes:
        id: what links lead to.
        title: the heading.
        body: what stands under it; headings in it begin with ``h3``.
        nav: what the navigation calls it; "" for the title.
        folded: whether only its heading is seen until a reader, or a link into it, opens it.
    """

    id: str
    title: str
    body: Markup
    nav: str = ""
    folded: bool = False
