"""How two answers differ: what moved, loads before and after, and why one is better."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from mtpp_dsl.core.base.files import Folders
from mtpp_dsl.core.base.shown import Short
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.show.explaining.called import called_all
from mtpp_dsl.show.explaining.moved import Moved, moved
from mtpp_dsl.show.explaining.reasons import reasons
from mtpp_dsl.show.explaining.renamed import called_there, matched
from mtpp_dsl.show.explaining.sides import SAME, Side, asked_differently, objectives_of, side_of, stages_of, traded

__all__ = ["DIFF_VERSION", "Difference", "diff", "diff_schema", "difference"]

DIFF_VERSION = 1
Better = Literal["a", "b", "equal"]


@dataclass(frozen=True, repr=False)
class Difference(Short):
    """How two answers differ.

    Attributes:
        a, b: the answers.
        asked: in what their questions differ; () where they are answers to one question.
        better: which has the better first objective, or the first of several that differs; "equal"; None where their
            values cannot be compared, and of points of a front of which each is better in one objective.
        renamed: devices of *a* by the names of those of *b* that take their place, where these differ: alike devices.
        moved: the nodes that are elsewhere in *b*, after devices of *a* are renamed.
        stayed: how many nodes are where they were.
        only_a, only_b: nodes that only one of the two has.
        reasons: why the better one is, in words.
        notes: what could not be compared, and why.
    """

    a: Side
    b: Side
    asked: tuple[str, ...] = ()
    better: Better | None = None
    renamed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    moved: tuple[Moved, ...] = ()
    stayed: int = 0
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def same_plan(self) -> bool:
        """Whether both have plans with every node at the same place, up to the names of alike devices."""
        both = bool(self.a.assignment) and bool(self.b.assignment)
        return both and not (self.moved or self.only_a or self.only_b or self.stages)

    @property
    def stages(self) -> tuple[str, ...]:
        """How stages on the same devices run otherwise in *b*: recomputed or not, with other shards; in words."""
        one, other = stages_of(self.a, self.renamed), stages_of(self.b, {})
        found = []
        for devices, (again, shards) in one.items():
            name = f"the stage on {called_all(devices)}"
            now, parts = other.get(devices, (again, shards))
            if again != now:
                found.append(f"{name} recomputes {'in B, and not in A' if now else 'in A, and not in B'}")
            if shards != parts:
                found.append(f"{name} has {counted(shards, 'shard')} in A, {counted(parts, 'shard')} in B")
        return tuple(found)

    @property
    def ratio(self) -> float | None:
        """The value of *b* as a multiple of that of *a*; None where that says nothing."""
        x, y = self.a.value, self.b.value
        if self.better is None or x is None or y is None or x <= 0 or y < 0:
            return None
        return y / x

    def rows(self) -> list[tuple[str, str, float | None, float | None]]:
        """Return the devices and channels: names in *a* and in *b*, and their loads there, "" and None where absent."""
        one, other = self.a.loads, self.b.loads
        found: list[tuple[str, str, float | None, float | None]] = []
        for name, load in one.items():
            there = called_there(name, self.renamed)
            found.append((name, there if there in other else "", load, other.get(there)))
        taken = {there for _, there, _, _ in found}
        return [*found, *(("", name, None, load) for name, load in other.items() if name not in taken)]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, as :func:`diff_schema` has it."""
        return {
            "diff": DIFF_VERSION,
            "a": _side(self.a),
            "b": _side(self.b),
            "asked": list(self.asked),
            "better": self.better,
            "ratio": self.ratio,
            "same_plan": self.same_plan,
            "renamed": dict(self.renamed),
            "moved": [one.to_json() for one in self.moved],
            "stayed": self.stayed,
            "stages": list(self.stages),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "loads": [{"a": a or None, "b": b or None, "load_a": x, "load_b": y} for a, b, x, y in self.rows()],
            "reasons": list(self.reasons),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Return the words as a text that may be printed."""
        return visible("\n".join(self.words()))

    def words(self) -> list[str]:
        """Return it in words."""
        from mtpp_dsl.show.explaining.difference_words import words

        return words(self)


def diff_schema() -> dict[str, Any]:
    """Return the JSON schema of differences."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.show.explaining").joinpath("diff.json").read_text())
    return loaded


def _side(side: Side) -> dict[str, Any]:
    answer = side.answer
    return {
        "name": side.name,
        "spec": answer["spec"]["path"],
        "status": answer["status"],
        "objective": answer["objective"]["name"],
        "sense": answer["objective"]["sense"],
        "values": [one["value"] for one in objectives_of(side)],
        "unit": answer["objective"]["unit"],
        "bound": side.bound,
        "gap": answer["gap"],
        "method": answer["method"],
        "time": answer["time"].get("total"),
    }


def diff(
    a: Result | str | os.PathLike[str],
    b: Result | str | os.PathLike[str],
    *,
    spec: str | os.PathLike[str] | None = None,
    search: Folders = (),
    points: tuple[int | None, int | None] = (None, None),
) -> Difference:
    """Compare two answers: what moved, loads before and after, objectives and bounds, and why one is better.

    Args:
        a: a result, or the path of an answer's JSON.
        b: another one.
        spec: where the spec of answers that are read is now; left out, where they say.
        search: folders where ``include`` looks.
        points: of fronts, which point of each, from 1.

    Raises:
        UsageError: a file is no answer of mtpp, or a front of which no point is chosen.
    """
    where = None if spec is None else Path(spec)
    return difference(
        side_of(a, "the first", where, search, points[0]), side_of(b, "the second", where, search, points[1])
    )


def difference(a: Side, b: Side) -> Difference:
    """Return how two sides differ."""
    asked = (*asked_differently(a, b), *_objectives_differ(a, b))
    notes = [f"{side.name} is compared by its JSON alone: {side.why}" for side in (a, b) if side.why]
    better, cannot = _better(a, b)
    notes += [cannot] if cannot else []
    if asked and better is not None:
        notes.append("the questions differ, so that the better value need not be of the better plan")
    notes += [] if asked else _contradictions(a, b)
    renamed = {} if asked else _renamed(a, b)
    before = {node: tuple(renamed.get(name, name) for name in where) for node, where in a.assignment.items()}
    after = b.assignment
    notes += [
        f"{side.name} has no plan: its status is {side.answer['status']}" for side in (a, b) if not side.assignment
    ]
    notes += [
        f"{side.name} has several routes: the first of them is compared"
        for side in (a, b)
        if side.answer["plan"] is not None and side.answer["plan"].get("routes")
    ]
    both = before and after
    moves = moved(before, after) if both else []
    why: list[str] = []
    if better in ("a", "b") and not asked:
        named = replace(a, name="A"), replace(b, name="B")
        worse, best = named if better == "b" else named[::-1]
        back = {new: old for old, new in renamed.items()}
        flows = (
            moves
            if better == "b"
            else [Moved(one.nodes, _back(one.target, back), _back(one.source, back), one.words) for one in moves]
        )
        # of the worse one, devices get the names that they have in the better one
        why = list(reasons(worse, best, renamed if better == "b" else back, flows))
    return Difference(
        a,
        b,
        asked,
        better,
        renamed,
        tuple(moves),
        sum(before[node] == after[node] for node in before if node in after) if both else 0,
        tuple(node for node in before if node not in after) if both else (),
        tuple(node for node in after if node not in before) if both else (),
        tuple(why),
        tuple(notes),
    )


def _back(names: tuple[str, ...], back: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(back.get(name, name) for name in names)


def _objectives_differ(a: Side, b: Side) -> list[str]:
    one, other = ([(x["name"], x["sense"], x["unit"], x.get("batch")) for x in objectives_of(side)] for side in (a, b))
    if one == other:
        return []
    said = [" then ".join(f"{sense} {name}" for name, sense, _, _ in each) for each in (one, other)]
    if said[0] == said[1]:
        return ["the objective: its unit, or its batch"]
    return [f"the objective: {said[0]} and {said[1]}"]


def _better(a: Side, b: Side) -> tuple[Better | None, str]:
    """Return which answer has the better value, by the first objective that differs; and why that cannot be said."""
    one, other = a.answer["objective"], b.answer["objective"]
    if (one["name"], one["sense"], one["unit"]) != (other["name"], other["sense"], other["unit"]):
        return None, "their objectives differ, so that their values cannot be compared"
    if traded(a, b):
        return None, ""
    for x, y in zip(objectives_of(a), objectives_of(b), strict=False):
        if (x["name"], x["sense"]) != (y["name"], y["sense"]):
            break
        if x["value"] is None or y["value"] is None:
            if a.assignment and b.assignment:
                return None, "a value is missing, so that they cannot be compared"
            return None, ""
        if abs(x["value"] - y["value"]) > SAME * max(abs(x["value"]), abs(y["value"])):
            return ("b" if (y["value"] < x["value"]) == (x["sense"] == "minimize") else "a"), ""
    return "equal", ""


def _contradictions(a: Side, b: Side) -> list[str]:
    """Return where the bound of one answer to a question is beyond the plan of the other: then one of them is wrong."""
    found = []
    for one, other in ((a, b), (b, a)):
        if one.bound is None or other.value is None:
            continue
        sign = 1 if one.answer["objective"]["sense"] == "minimize" else -1
        if sign * (one.bound - other.value) > 1e-6 * abs(other.value):
            found.append(
                f"the bound of {one.name} is beyond the plan of {other.name}: one of them is wrong (mtpp verify)"
            )
    if (a.answer["status"] == "infeasible" and b.assignment) or (b.answer["status"] == "infeasible" and a.assignment):
        found.append("one says that no plan exists, and the other has one: one of them is wrong (mtpp verify)")
    return found


def _renamed(a: Side, b: Side) -> dict[str, str]:
    """Return the devices of *a* that are called otherwise in *b*: as fits most nodes, within those that are alike."""
    if a.plan is None or b.plan is None or a.problem is None or a.plan.replicas or b.plan.replicas:
        return {}
    if a.plan.routes or b.plan.routes:
        return {}
    names = [device.name for device in a.problem.devices]
    one, other = (np.asarray(side.plan.assignment) for side in (a, b) if side.plan is not None)
    to = matched(one, other, interchangeable(a.problem), a.problem.k)
    return {names[d]: names[e] for d, e in enumerate(to.tolist()) if d != e}


def check_point(point: str | None) -> tuple[int | None, int | None]:
    """Return which point of either front ``--point 1,3``, or ``--point 2`` for both, asks for.

    Raises:
        UsageError: it says no such numbers.
    """
    if point is None:
        return None, None
    said = [part.strip() for part in point.split(",")]
    if not 1 <= len(said) <= 2 or not all(part.isdecimal() and int(part) >= 1 for part in said):
        raise UsageError(f"--point {point}: write the numbers of the points, from 1, as --point 1,3")
    return int(said[0]), int(said[-1])
