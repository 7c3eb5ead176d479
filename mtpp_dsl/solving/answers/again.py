"""Answers read again with the spec and the files that they come from: for what exports, runs or shows their plans."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.files import Folders, read_bytes, read_json
from mtpp_dsl.core.contracts.targets import target_called
from mtpp_dsl.core.errors import MtppError, Refused, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import OneMore, targeted, with_objectives
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.language.lowering.lower import load, read
from mtpp_dsl.language.syntax.places import Places
from mtpp_dsl.language.values.params import Recorded
from mtpp_dsl.solving.answers.claims import cost_of_value, false_claims, false_source
from mtpp_dsl.solving.answers.plans import false_plan
from mtpp_dsl.solving.answers.shape import answers_of, check_shape

__all__ = [
    "Again",
    "Answered",
    "analysed_again",
    "places_of",
    "points_of",
    "read_again",
    "read_answer",
    "recorded_params",
    "under_target",
]

MAX_WRONG = 10
"""What is wrong with one answer that is told."""


class Again(NamedTuple):
    """An answer with what it is the answer to.

    Attributes:
        problem: of its spec, with its params and its scenario, under the limits of its target.
        plan: that it has, checked against the problem.
        answer: its JSON.
    """

    problem: Problem
    plan: Plan
    answer: Mapping[str, Any]


class Answered(NamedTuple):
    """An answer, with or without a plan, and what it is the answer to.

    Attributes:
        problem: of its spec, with its params and its scenario, under the limits of its target; of a point of a front,
            with the two objectives of the front.
        plan: that it has, checked against the problem; None for an answer that is infeasible, a bound alone or unknown.
        answer: its JSON.
    """

    problem: Problem
    plan: Plan | None
    answer: Mapping[str, Any]

    @property
    def bound(self) -> float | None:
        """The cost that no plan is below, as the answer claims; None where it claims none that holds for all plans."""
        bound = self.answer["bound"]
        first = (self.answer.get("objectives") or [{}])[0]
        if bound is None or first.get("under"):
            return None
        return cost_of_value(self.problem.objective, bound["value"])


def read_again(answer_path: str | os.PathLike[str], spec: Path | None = None, *, search: Folders = ()) -> Again:
    """Read an answer with a plan, the spec that it names, and the data files that the spec reads.

    The spec is looked for as the answer names it, from the working folder, and then from the folder of the answer.
    What the answer says beside its plan is held against the plan and the spec; that its bound holds is for
    ``mtpp verify``.

    Args:
        answer_path: JSON of ``mtpp solve --json``.
        spec: where the spec is now.
        search: folders where ``include`` looks after the including file's own.

    Raises:
        UsageError: the file is no answer with a plan; the spec is not there; the spec, a data file or a param has
            changed since; the plan is not one of the spec; or what the answer says contradicts its plan or itself.
    """
    path = Path(answer_path)
    data = read_json(path)
    if not isinstance(data, dict) or "plan" not in data or "spec" not in data:
        more = "; it is a front: take one of its answers" if isinstance(data, dict) and "front" in data else ""
        raise UsageError(f"{path} is no answer of mtpp with its plan and its spec: make one with --json{more}")
    check_shape(data, str(path))
    if data["plan"] is None:
        raise UsageError(f"{path} is an answer without a plan: its status is {data['status']}")
    answered = _checked(path, _answered(path, data, spec, search))
    assert answered.plan is not None
    return Again(answered.problem, answered.plan, data)


def read_answer(
    answer_path: str | os.PathLike[str],
    spec: Path | None = None,
    *,
    search: Folders = (),
    point: int | None = None,
) -> Answered:
    """Read an answer, with or without a plan, the spec that it names, and the data files that the spec reads.

    What it says beside its plan is held against the plan and the spec; that its bound holds is for ``mtpp verify``.

    Args:
        answer_path: JSON of ``mtpp solve --json``; of a front, one of its points is taken.
        spec: where the spec is now.
        search: folders where ``include`` looks after the including file's own.
        point: which point of a front, from 1.

    Raises:
        UsageError: the file is no answer; a front, and no point of it is chosen; a point of what is none; or what
            :func:`read_again` complains of.
    """
    path = Path(answer_path)
    data = read_json(path)
    points = points_of(data)
    if points is not None:
        answers_of(data, str(path))
        if not points:
            raise UsageError(f"{path} is a front without a point: there is no answer in it")
        if point is None or not 1 <= point <= len(points):
            which = f"which has no point {point}" if point is not None else "of which one is to be chosen"
            raise UsageError(f"{path} is a front of {len(points)} points, {which}: take one with --point 1")
        return _checked(path, _answered(path, points[point - 1], spec, search, in_front=True), in_front=True)
    if not isinstance(data, dict) or "plan" not in data or "spec" not in data:
        raise UsageError(f"{path} is no answer of mtpp with its spec: make one with --json")
    if point is not None:
        raise UsageError(f"{path} is one answer, and no front that has points")
    return _checked(path, _answered(path, data, spec, search))


def _checked(path: Path, answered: Answered, *, in_front: bool = False) -> Answered:
    """Return an answer whose figures follow from its plan and do not contradict each other.

    Raises:
        UsageError: they do not; says which.
    """
    problem, plan, data = answered
    wrong = list(false_claims(problem, data, plan, in_front=in_front))
    wrong += islice(false_plan(problem, plan, data), MAX_WRONG)
    if wrong:
        faults = "\n".join(f"  {fault}" for fault in [*wrong[:MAX_WRONG], *(["…"] if len(wrong) > MAX_WRONG else [])])
        raise UsageError(f"{path} says what is not so (mtpp verify tells all of it):\n{faults}")
    return answered


def points_of(data: object) -> list[Any] | None:
    """Return the answers of a front that was read as JSON; None if it is no front."""
    points = data.get("front") if isinstance(data, Mapping) and "schema" in data else None
    return points if isinstance(points, list) else None


def _answered(
    path: Path, data: Mapping[str, Any], spec: Path | None, search: Folders, *, in_front: bool = False
) -> Answered:
    """Return an answer with its problem and its plan, after all of them were held against each other."""
    check_shape(data, str(path))
    source = data["spec"]
    spec_path = _spec_of(path, source, spec)
    problem = load(spec_path, recorded_params(source, spec_path), search, scenario=source.get("scenario"))
    changed = list(false_source(problem, source))
    if changed:
        lines = "\n".join(f"  {line}" for line in changed)
        raise UsageError(f"{path} is not an answer to {spec_path} as it is now; solve it again:\n{lines}")
    target = data.get("target")
    if target is not None:
        problem = under_target(problem, target["name"])
    if in_front:
        problem = with_objectives(problem, [str(one["name"]) for one in data["objectives"]])
    if data["plan"] is None:
        return Answered(problem, None, data)
    plan = Plan.from_json(problem, data)
    broken = verify(problem, plan)
    if broken:
        lines = "\n".join(f"  {line}" for line in broken)
        raise UsageError(f"{path} has no plan for {spec_path}:\n{lines}")
    return Answered(problem, plan, data)


def under_target(problem: Problem, name: str) -> Problem:
    """Return *problem* under the limits of the target *name*, such as "vllm", and not those of another.

    Raises:
        PluginError: there is no such target.
        UsageError: it has no such option, or the problem is about what the runtime cannot do.
    """
    target = target_called(name)
    return targeted(problem, target.name, target.restrict)


def _spec_of(path: Path, source: Mapping[str, Any], spec: Path | None) -> Path:
    """Return where the spec of an answer is: the one given, or the first of its places where there is a file."""
    if spec is not None:
        return spec
    named: str | None = source["path"]
    if not named or "\0" in named:
        raise UsageError(f"{path} does not name its spec: say where it is with --spec")
    places = [Path(named), path.parent / named, path.parent / Path(named).name]
    spec_path = next((place for place in places if place.is_file()), None)
    if spec_path is None:
        raise UsageError(f"{path} is an answer to {named}, which is not there: say where it is with --spec")
    if source["sha256"] is not None and hashlib.sha256(read_bytes(spec_path)).hexdigest() != source["sha256"]:
        raise UsageError(  # before it is read as a spec: an answer of somebody else's may name any file
            f"{path} is not an answer to {spec_path} as it is now; solve it again, or say where the spec is with --spec"
        )
    return spec_path


def recorded_params(source: Mapping[str, Any], spec: Path) -> dict[str, object]:
    """Return the params of an answer; paths among them lie beside the spec as they lay beside the answer's."""
    return {name: Recorded(value, path_of(value, source["path"], spec)) for name, value in source["params"].items()}


def places_of(problem: Problem, search: Folders = ()) -> Places:
    """Return which statements of the spec of a problem say what of it, by reading the spec again.

    Of a problem made in Python, or of a text, and where the files are no longer what they were, it knows no more than
    the places that the constraints carry.

    Args:
        problem: that was read from a file.
        search: folders where ``include`` looks after the including file's own.
    """
    analysis = None if problem.origin.path is None else analysed_again(problem, search)
    return Places() if analysis is None else analysis.places


def analysed_again(problem: Problem, search: Folders = (), one_more: OneMore | None = None) -> Analysis | None:
    """Read the spec of a problem again, with its params and its scenario.

    Args:
        problem: that was read from a file or a text.
        search: folders where ``include`` looks after the including file's own.
        one_more: a device that is added to those of the spec.

    Returns:
        What is found; None of a problem made in Python, and where the files are no longer what they were. It has no
        problem where the spec cannot be meant with the device that is added.

    Raises:
        Refused: nothing says what would join the device that is added to the others.
    """
    origin = problem.origin
    of = origin.path or origin.text
    if of is None:
        return None
    try:
        params = recorded_params({"params": origin.params, "path": origin.path}, Path(origin.path or ""))
        analysis = read(of, search).analyse(params, scenario=origin.scenario, one_more=one_more)
    except Refused:
        raise
    except MtppError:
        return None
    again = analysis.problem
    if again is None:
        return None if one_more is None else analysis
    return analysis if (again.origin.sha256, again.origin.files) == (origin.sha256, origin.files) else None


def path_of(value: object, old: str | None, spec: Path) -> Path | None:
    """Return where a file lies now that lay at *value* when the spec was at *old*; None if that cannot be told."""
    if not isinstance(value, str) or not value or not old or "\0" in value + old:
        return None
    if Path(value).is_absolute() != Path(old).is_absolute():
        return Path(value)
    return spec.parent / os.path.relpath(value, Path(old).parent)
