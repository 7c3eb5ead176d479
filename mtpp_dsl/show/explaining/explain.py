"""Explaining an answer: the parts that fit it, one after the other, in the time that there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from mtpp_dsl.core.base.amounts import Duration, seconds_of
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import Refused, UsageError, did_you_mean
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem, check_problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.explaining.question import Question, question_of
from mtpp_dsl.show.report.names import short_names

__all__ = [
    "DEFAULT_TIME",
    "EXPLAIN_VERSION",
    "PARTS",
    "Explanation",
    "ExplanationPart",
    "explain",
    "explain_schema",
    "explained",
    "parts_named",
]

EXPLAIN_VERSION = 1
KEYS = ("infeasible", "bottleneck", "critical", "constraints", "next", "node", "what_if")
"""The parts of an explanation in the order in which they are told, by their names in JSON."""


class ExplanationPart(Protocol):
    """One part of an explanation."""

    def to_json(self) -> Any:
        """Return it as JSON: times in the unit of the problem's times, sizes in that of its sizes."""

    def words(self) -> list[str]:
        """Return it in words, a line an entry; an entry that begins with spaces is indented by so many."""


@dataclass(frozen=True, repr=False)
class Explanation(Short):
    """What was found out about an answer.

    Attributes:
        status: of the answer: optimal, feasible, bound, infeasible or unknown.
        objective: its name, sense, value, bound and gap, and the units of its value, of times and of sizes.
        parts: those that were asked for and that this answer has, by their names in JSON.
        notes: what was left out, and why.
        interrupted: whether somebody asked to stop: then parts that take time may be missing or not whole.
    """

    status: str
    objective: Mapping[str, Any]
    parts: Mapping[str, ExplanationPart] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON, as :func:`explain_schema` has it; a part that is not there is null."""
        return {
            "explain": EXPLAIN_VERSION,
            "status": self.status,
            "objective": dict(self.objective),
            **{key: self.parts[key].to_json() if key in self.parts else None for key in KEYS},
            "notes": list(self.notes),
            "interrupted": self.interrupted,
        }

    def __str__(self) -> str:
        """Return the words as a text that may be printed."""
        return visible("\n".join(self.words()))

    def words(self) -> list[str]:
        """Return the explanation in words: the parts, with an empty entry between them."""
        lines: list[str] = []
        for key in KEYS:
            part = self.parts[key].words() if key in self.parts else []
            lines += ["", *part] if lines and part else part
        noted = [f"note: {note}" for note in self.notes]
        return [*lines, "", *noted] if lines and noted else [*lines, *noted]


def explain_schema() -> dict[str, Any]:
    """Return the JSON schema of explanations."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.show.explaining").joinpath("explain.json").read_text())
    return loaded


MAX_SHORTER = 10_000
"""Names whose beginnings are suggested where there is no such node."""

DEFAULT_TIME = 30.0
"""Seconds that an explanation takes at most unless told otherwise."""


class PartFinder(NamedTuple):
    """How one part of an explanation is found.

    Attributes:
        where: ``"module:function"`` of what takes a :class:`Question` and the seconds it may take, and returns a part,
            or None where the answer has no such part. It raises :class:`Refused` with the reason where it cannot tell.
        weight: its share of the time, beside those of the others; 0.0 for one that takes next to none.
        always: whether it is told without being named.
    """

    where: str
    weight: float
    always: bool = True


PARTS: dict[str, PartFinder] = {
    "bottleneck": PartFinder("mtpp_dsl.show.explaining.bottleneck:bottleneck", 0.0),
    "critical": PartFinder("mtpp_dsl.show.explaining.critical:critical", 0.0),
    "next": PartFinder("mtpp_dsl.show.explaining.next_best:next_best", 1.0),
    "infeasible": PartFinder("mtpp_dsl.show.explaining.clash:infeasible", 4.0),
    "constraints": PartFinder("mtpp_dsl.show.explaining.constraint_costs:constraints", 4.0),
    "node": PartFinder("mtpp_dsl.show.explaining.node_choice:node_choice", 3.0, always=False),
    "what_if": PartFinder("mtpp_dsl.show.explaining.what_if:what_if", 3.0, always=False),
}
"""The parts by their names, in the order in which they are found: those that take no time first."""


def explain(
    problem: Problem,
    given: Result | Plan | Mapping[str, Any],
    *,
    only: Iterable[str] | None = None,
    node: str | None = None,
    time_limit: Duration | None = DEFAULT_TIME,
    method: str = "auto",
    solver: str = "highs",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | Callable[[Progress], object] | None = None,
) -> Explanation:
    """Explain an answer: what holds its cost where it is, what constraints cost, what else there is.

    Args:
        problem: what was asked.
        given: a result, a plan, or an answer's JSON.
        only: the parts that are told, by name; None for all that fit the answer, without what takes longest.
        node: the name of a node: why it is on its device is told, too.
        time_limit: seconds, or a text such as "30s", that all parts together may take.
        method: by which altered problems are solved.
        solver: MIP back end of the method.
        seed: of everything random.
        threads: of the solver.
        progress: to watch and to stop the search.

    Raises:
        UsageError: there is no such part, or no such node.
    """
    check_problem(problem, "explain")
    seconds = seconds_of("time_limit", time_limit)
    question = question_of(
        problem,
        given,
        node=None if node is None else node_of(problem, node),
        time=DEFAULT_TIME if seconds is None else seconds,
        method=method,
        solver=solver,
        seed=seed,
        threads=threads,
        progress=Progress.of(progress),
    )
    return explained(question, only)


def node_of(problem: Problem, name: str) -> int:
    """Return the number of the one node that a path names, as in a spec; ``node("a")`` is the one of exactly that name.

    Raises:
        UsageError: there is none, or there are several.
    """
    graph = problem.graph
    alone = name.removeprefix('node("').removesuffix('")')
    if f'node("{alone}")' == name and alone in graph.index:
        return graph.index[alone]
    nodes = graph.prefixes.below(name)
    if not nodes:
        near = chain(graph.names, graph.prefixes.shorter(MAX_SHORTER))
        raise UsageError(f"there is no node {name!r}{did_you_mean(name, near)}")
    if len(nodes) > 1:
        own = f"""; --node 'node("{name}")' is the one of exactly that name""" if name in graph.index else ""
        listed = short_names([graph.names[v] for v in nodes])
        raise UsageError(f"{name!r} names {len(nodes):,} nodes; ask about one of them: {listed}{own}")
    return nodes[0]


def parts_named(only: Iterable[str] | None, *, node: bool) -> list[str]:
    """Return the parts that are asked for, in the order in which they are found.

    Args:
        only: their names, with hyphens or underscores; None for those that are always told.
        node: whether a node is asked about.

    Raises:
        UsageError: there is no such part, or a node is asked about and none is named.
    """
    if only is None:
        return [name for name, asked in PARTS.items() if asked.always or (name == "node" and node)]
    named = [name.strip().replace("-", "_") for name in only]
    for name in named:
        if name not in PARTS:
            raise UsageError(
                f"an explanation has no part {name!r}{did_you_mean(name, PARTS)}"
                f" (it has {', '.join(PARTS).replace('_', '-')})"
            )
    if "node" in named and not node:
        raise UsageError("say which node: --node NAME (node = … in Python)")
    chosen = {*named, "node"} if node else set(named)
    return [name for name in PARTS if name in chosen]


def explained(question: Question, only: Iterable[str] | None = None) -> Explanation:
    """Return the explanation that a question asks for; what cannot be told is among its notes."""
    names = parts_named(only, node=question.node is not None)
    end = monotonic() + question.time
    parts: dict[str, ExplanationPart] = {}
    notes: list[tuple[str, str]] = []
    for i, name in enumerate(names):
        asked, later = PARTS[name], sum(PARTS[other].weight for other in names[i:])
        left = max(0.0, end - monotonic())
        share = left * asked.weight / later if later else 0.0
        if question.progress.stopped and asked.weight:
            notes.append((name, "not looked at, as the search was stopped"))
            continue
        question.progress.say(f"explaining: {name.replace('_', ' ')}")
        try:
            part = late(asked.where)(question, share)
        except Refused as error:
            notes.append((name, str(error)))
            continue
        if part is not None:
            parts[name] = part
        elif only is not None:
            notes.append((name, _absent(name, question)))
    return Explanation(
        status=str(question.answer["status"]),
        objective=_objective(question),
        parts={key: parts[key] for key in KEYS if key in parts},
        notes=tuple(_noted(notes)),
        interrupted=question.progress.stopped,
    )


def _noted(notes: list[tuple[str, str]]) -> Iterator[str]:
    """Yield what parts could not tell, those for the same reason together."""
    for why in dict.fromkeys(why for _, why in notes):
        names = [name.replace("_", " ") for name, reason in notes if reason == why]
        yield f"{', '.join(names)}: {why}"


def _absent(name: str, question: Question) -> str:
    """Return why an answer does not have a part."""
    if name == "infeasible":
        return "nothing clashes, as far as is known: the status is " + str(question.answer["status"])
    if question.plan is None:
        return f"there is no plan: the status is {question.answer['status']}"
    if name == "critical":
        return f"plans to {question.problem.objective} do not say when nodes run"
    return "there is nothing to say of this problem"


def _objective(question: Question) -> dict[str, Any]:
    """Return the objective of the answer with its value, bound and gap, and the units of values, times and sizes."""
    problem, answer = question.problem, question.answer
    objective = problem.objective
    bound = None if question.bound is None else objective.value(question.bound)
    return {
        "name": objective.called,
        "kind": objective.kind,
        "sense": objective.sense,
        "value": None if question.cost is None else objective.value(question.cost),
        "bound": bound if bound is not None and abs(bound) < float("inf") else None,
        "gap": answer["gap"],
        "unit": objective.unit(problem.time_unit),
        "time_unit": problem.time_unit,
        "size_unit": problem.graph.memory_unit,
    }
