"""The two sides of a comparison: an answer with its problem and plan, or its JSON alone where the spec is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.answered import value_of
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.files import Folders, read_json
from mtpp_dsl.core.errors import MtppError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.again import points_of, read_answer
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.answers.shape import check_shape

SAME = 1e-9
"""Values that differ by no more than this share are one."""


@dataclass(frozen=True, repr=False)
class AnswerSide(Short):
    """One of two answers.

    Attributes:
        name: what it is called: the path of its file, and of a front which of its points it is.
        answer: its JSON.
        problem: what was asked; None where the spec cannot be read as it was.
        plan: that it has, checked against the problem; None without a plan or a problem.
        why: why there is no problem; "" where there is one.
    """

    name: str
    answer: Mapping[str, Any]
    problem: Problem | None = None
    plan: Plan | None = None
    why: str = ""

    @property
    def value(self) -> float | None:
        """The value of the first objective."""
        return value_of(self.answer["objective"])

    @property
    def bound(self) -> float | None:
        """The value that no plan is beyond, as the answer claims; None where it claims none for all plans."""
        bound, first = self.answer["bound"], (self.answer.get("objectives") or [{}])[0]
        return None if bound is None or first.get("under") else value_of(bound)

    @property
    def assignment(self) -> dict[str, tuple[str, ...]]:
        """The devices of every node by name: one, all replicas of its stage, or several of a batch; {} without a plan.

        Replicas are in the order of the devices: which of them leads the others makes no other plan.
        """
        plan = self.answer["plan"]
        devices = {} if plan is None else plan["assignment"]
        place = {row["name"]: d for d, row in enumerate(self.answer["devices"])}
        given = {} if plan is None else plan.get("replicas") or {}
        replicas = {lead: tuple(sorted(all_, key=lambda name: place.get(name, 0))) for lead, all_ in given.items()}
        return {
            node: replicas.get(where, (where,)) if isinstance(where, str) else tuple(where)
            for node, where in devices.items()
        }

    @property
    def loads(self) -> dict[str, float]:
        """The loads of devices by name, and then of channels, also of those that carry nothing."""
        loads = {row["name"]: float(row["load"]) for row in self.answer["devices"]}
        if self.plan is not None and self.problem is not None and self.problem.networked:
            loads |= dict.fromkeys(self.problem.network.channels, 0.0)
        return loads | {row["name"]: float(row["load"]) for row in self.answer.get("channels", ())}


def side_of(
    given: Result | str | os.PathLike[str],
    name: str,
    spec: Path | None = None,
    search: Folders = (),
    point: int | None = None,
) -> AnswerSide:
    """Return one side of a comparison.

    Of a file whose spec is gone, or has changed, the JSON alone is compared: the side says why.

    Args:
        given: a result, or the path of an answer.
        name: what a result is called.
        spec: where the spec of the answer is now.
        search: folders where ``include`` looks.
        point: which point of a front.

    Raises:
        UsageError: the file is no answer of mtpp, or a front of which no point is chosen; or the answer has a plan
            that is none of its spec.
    """
    if isinstance(given, Result):
        if given.problem is None:
            raise UsageError("a result that does not know its problem cannot be compared: write result.of(problem)")
        return AnswerSide(name, result_to_json(given.problem, given), given.problem, given.plan)
    path = Path(given)
    data = read_json(path)
    points = points_of(data)
    called = str(path) if points is None else f"{path} point {point}"
    try:
        answered = read_answer(path, spec, search=search, point=point if points is not None else None)
        return AnswerSide(called, answered.answer, answered.problem, answered.plan)
    except MtppError as error:
        if points is not None:
            if point is None or not 1 <= point <= len(points):
                raise
            data = points[point - 1]
        if spec is not None or not isinstance(data, dict) or "plan" not in data or "spec" not in data:
            raise
        check_shape(data, str(path))
        if not _gone(str(error)):
            raise
        return AnswerSide(called, data, why=str(error).partition("\n")[0])


def objectives_of(side: AnswerSide) -> Sequence[Mapping[str, Any]]:
    """Return the objectives of an answer in their order, each with its value."""
    objectives: Sequence[Mapping[str, Any]] = side.answer.get("objectives") or [side.answer["objective"]]
    return [{**one, "value": value_of(one)} for one in objectives]


def stages_of(side: AnswerSide, renamed: Mapping[str, str]) -> dict[tuple[str, ...], tuple[bool, int]]:
    """Return by the devices of each stage of a plan, renamed, whether it recomputes, and how many shards it has."""
    stages = [] if side.answer["plan"] is None else side.answer["plan"].get("stages") or []
    return {
        tuple(sorted(renamed.get(name, name) for name in stage["devices"])): (
            bool(stage.get("recompute")),
            int(stage.get("shards") or 1),
        )
        for stage in stages
    }


def traded(a: AnswerSide, b: AnswerSide) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the objectives of *a* and *b* that differ, if one is a point of a front and each is better in some."""
    one, other = objectives_of(a), objectives_of(b)
    names = [[(x["name"], x["sense"], x["unit"]) for x in objectives] for objectives in (one, other)]
    if not (one[0].get("under") or other[0].get("under")) or names[0] != names[1]:
        return []
    if any(x["value"] is None for x in (*one, *other)):
        return []
    differ = [
        (x, y)
        for x, y in zip(one, other, strict=True)
        if abs(x["value"] - y["value"]) > SAME * max(abs(x["value"]), abs(y["value"]))
    ]
    return differ if len({(x["value"] < y["value"]) == (x["sense"] == "minimize") for x, y in differ}) == 2 else []


def _gone(why: str) -> bool:
    """Return whether a spec is not there any more, or has changed: what leaves the JSON to be compared."""
    return "as it is now" in why or "which is not there" in why or "does not name its spec" in why


def asked_differently(a: AnswerSide, b: AnswerSide) -> Iterator[str]:
    """Yield in what the questions of two answers differ; nothing where they are one question."""
    one, other = a.answer["spec"], b.answer["spec"]
    if a.problem is not None and b.problem is not None and one["sha256"] is None and other["sha256"] is None:
        if a.problem is not b.problem:  # texts and problems made in Python
            yield from _by_problem(a.problem, b.problem)
    elif one["sha256"] != other["sha256"]:
        yield f"the spec: {one['path'] or 'a text'} and {other['path'] or 'a text'} say different things"
    for name in sorted({*one["params"], *other["params"]}):
        x, y = one["params"].get(name), other["params"].get(name)
        if x != y:
            yield f"param {name}: {_value_or_none(x)} and {_value_or_none(y)}"
    if one.get("scenario") != other.get("scenario"):
        yield f"the scenario: {one.get('scenario') or 'none'} and {other.get('scenario') or 'none'}"
    files, those = one.get("files") or {}, other.get("files") or {}
    changed = sorted(name for name in {*files, *those} if files.get(name) != those.get(name))
    if changed:
        yield f"what the specs read: {', '.join(changed)}"
    targets = [None if side.answer.get("target") is None else side.answer["target"]["name"] for side in (a, b)]
    if targets[0] != targets[1]:
        yield f"the runtime: {targets[0] or 'none'} and {targets[1] or 'none'}"


def _value_or_none(value: object) -> str:
    return "not there" if value is None else str(value)


def _by_problem(one: Problem, other: Problem) -> Iterator[str]:
    """Yield in what two problems that no file says differ, as the specs that would say them do."""
    try:
        if one.to_spec() != other.to_spec():
            yield "the problem: they say different things"
    except MtppError:
        yield "the problem: they are two problems made in Python"
