"""Compare two answers: which is better and why, what moved, what was asked otherwise, what contradicts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.files import Folders
from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.show.explaining.bottleneck import ObjectiveHolders, holders_of_objective
from mtpp_dsl.show.explaining.compared import SAME, AnswerSide, asked_differently, objectives_of, side_of, traded
from mtpp_dsl.show.explaining.difference import Better, Difference
from mtpp_dsl.show.explaining.holders import Holder
from mtpp_dsl.show.explaining.moves import NodeMove, matched_devices, moves_between, renamed_track
from mtpp_dsl.show.report.names import short_names

__all__ = ["amounts", "check_point", "diff", "difference", "reasons"]


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


def difference(a: AnswerSide, b: AnswerSide) -> Difference:
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
    moves = moves_between(before, after) if both else []
    why: list[str] = []
    if better in ("a", "b") and not asked:
        named = replace(a, name="A"), replace(b, name="B")
        worse, best = named if better == "b" else named[::-1]
        back = {new: old for old, new in renamed.items()}
        flows = (
            moves
            if better == "b"
            else [NodeMove(one.nodes, _back(one.target, back), _back(one.source, back), one.words) for one in moves]
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


def _objectives_differ(a: AnswerSide, b: AnswerSide) -> list[str]:
    one, other = ([(x["name"], x["sense"], x["unit"], x.get("batch")) for x in objectives_of(side)] for side in (a, b))
    if one == other:
        return []
    texts = [" then ".join(f"{sense} {name}" for name, sense, _, _ in objectives) for objectives in (one, other)]
    if texts[0] == texts[1]:
        return ["the objective: its unit, or its batch"]
    return [f"the objective: {texts[0]} and {texts[1]}"]


def _better(a: AnswerSide, b: AnswerSide) -> tuple[Better | None, str]:
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


def _contradictions(a: AnswerSide, b: AnswerSide) -> list[str]:
    """Return where the bound of one answer to a question is beyond the plan of the other: then one of them is wrong."""
    contradictions = []
    for one, other in ((a, b), (b, a)):
        if one.bound is None or other.value is None:
            continue
        sign = 1 if one.answer["objective"]["sense"] == "minimize" else -1
        if sign * (one.bound - other.value) > 1e-6 * abs(other.value):
            contradictions.append(
                f"the bound of {one.name} is beyond the plan of {other.name}: one of them is wrong (mtpp verify)"
            )
    if (a.answer["status"] == "infeasible" and b.assignment) or (b.answer["status"] == "infeasible" and a.assignment):
        contradictions.append("one says that no plan exists, and the other has one: one of them is wrong (mtpp verify)")
    return contradictions


def _renamed(a: AnswerSide, b: AnswerSide) -> dict[str, str]:
    """Return the devices of *a* that are called otherwise in *b*: as fits most nodes, within those that are alike."""
    if a.plan is None or b.plan is None or a.problem is None or a.plan.replicas or b.plan.replicas:
        return {}
    if a.plan.routes or b.plan.routes:
        return {}
    names = [device.name for device in a.problem.devices]
    one, other = (np.asarray(side.plan.assignment) for side in (a, b) if side.plan is not None)
    to = matched_devices(one, other, interchangeable(a.problem), a.problem.k)
    return {names[d]: names[e] for d, e in enumerate(to.tolist()) if d != e}


def check_point(point: str | None) -> tuple[int | None, int | None]:
    """Return which point of either front ``--point 1,3``, or ``--point 2`` for both, asks for.

    Raises:
        UsageError: it says no such numbers.
    """
    if point is None:
        return None, None
    numbers = [part.strip() for part in point.split(",")]
    if not 1 <= len(numbers) <= 2 or not all(part.isdecimal() and int(part) >= 1 for part in numbers):
        raise UsageError(f"--point {point}: write the numbers of the points, from 1, as --point 1,3")
    return int(numbers[0]), int(numbers[-1])


# Why the better one is better: what held the other one back, and where that is in the better one.

MOST = 6
"""Terms, or parts of a critical path, whose changes are told."""
ALL = 100_000
PAID = "what row "


def reasons(a: AnswerSide, b: AnswerSide, renamed: Mapping[str, str], moves: Sequence[NodeMove]) -> Iterator[str]:
    """Yield why the cost of the better of two plans of one problem is less than that of the other.

    Args:
        a: the worse one.
        b: the better one.
        renamed: by the names of devices in *a*, those of the devices in *b* that take their place.
        moves: from *a* to *b*, with the devices of *a* renamed.
    """
    one, other = holders_of_side(a), holders_of_side(b)
    if one is None or other is None:
        return
    if one.objective.is_linear or one.objective.quantity == "makespan":
        yield from _by_amounts(a, one, other, renamed)
        return
    unit = _unit(a)
    loads = b.loads
    for holder in one.holders:
        if holder.role == "paid":
            continue
        names = tuple(renamed.get(name, name) for name in holder.names)
        what = _part(holder)
        text = f"{short_names(holder.names)} holds {a.name} back{what}, with {format_quantity(holder.amount, unit)}"
        if holder.kind == "device" and not what and names[0] in loads:
            now = loads[names[0]]
            called = "" if names == holder.names else f", there {short_names(names)},"
            text += f"; in {b.name} it{called} has {format_quantity(now, unit)}"
        elif holder.kind == "channel":
            text += (
                f"; in {b.name} it has {format_quantity(loads.get(renamed_track(holder.names[0], renamed), 0.0), unit)}"
            )
        yield text
        yield from _flows(holder, names, moves)
    roles: set[str] = set()
    for holder in other.holders:  # of each part the first, as others are as large
        if holder.role != "paid" and holder.role not in roles:
            roles.add(holder.role)
            amount = format_quantity(holder.amount, unit)
            yield f"{b.name} is held back by {short_names(holder.names)}{_part(holder)}, with {amount}"
    yield from _rows(a, b, one, other)


def _part(holder: Holder) -> str:
    return {"forward": " in the forward part", "backward": " in the backward part"}.get(holder.role, "")


def _rows(a: AnswerSide, b: AnswerSide, one: ObjectiveHolders, other: ObjectiveHolders) -> Iterator[str]:
    """Yield which rows that may be broken cost one plan more than the other."""
    before, after = (
        {holder.named: holder.amount for holder in side.holders if holder.role == "paid"} for side in (one, other)
    )
    for row in {**before, **after}:
        x, y = before.get(row, 0.0), after.get(row, 0.0)
        if abs(x - y) > SAME * max(x, y):
            yield f"row {row} costs {a.name} {format_quantity(x, _unit(a))}; {b.name} {format_quantity(y, _unit(b))}"


def _flows(holder: Holder, names: Sequence[str], moves: Sequence[NodeMove]) -> Iterator[str]:
    """Yield what has gone from a device, and what has come to it."""
    if holder.kind != "device":
        return
    for one in moves:
        if set(one.source) & set(names) and not set(one.target) & set(names):
            yield f"  {one.words} went to {short_names(one.target)}"
    for one in moves:
        if set(one.target) & set(names) and not set(one.source) & set(names):
            yield f"  {one.words} came from {short_names(one.source)}"


def _by_amounts(
    a: AnswerSide, one: ObjectiveHolders, other: ObjectiveHolders, renamed: Mapping[str, str]
) -> Iterator[str]:
    """Yield which terms of a linear objective, or parts of a critical path, have become less, and which more."""
    before, after = amounts(one, renamed), amounts(other, {})
    keys = sorted({*before, *after}, key=lambda key: -abs(after.get(key, 0.0) - before.get(key, 0.0)))
    unit = _unit(a, one)
    size = max([abs(one.cost), abs(other.cost), 1e-300])
    changed = [key for key in keys if abs(after.get(key, 0.0) - before.get(key, 0.0)) > SAME * size]
    what = "critical path" if one.objective.quantity == "makespan" else "sum"
    for key in changed[:MOST]:
        x, y = before.get(key, 0.0), after.get(key, 0.0)
        change = "less" if y < x else "more"
        amount = format_quantity(abs(y - x), unit)
        of = "cost" if key.startswith(PAID) else what
        yield f"{amount} {change} of the {of} is {key}: {format_quantity(x, unit)} -> {format_quantity(y, unit)}"
    if len(changed) > MOST:
        yield f"and {len(changed) - MOST} smaller changes"


def amounts(one: ObjectiveHolders, renamed: Mapping[str, str]) -> dict[str, float]:
    """Return what adds to a cost, by what it is in words."""
    amounts: dict[str, float] = {}
    for holder in one.holders:
        names = [renamed.get(name, name) for name in holder.names]
        name = short_names(names) if holder.kind != "link" else renamed_track(holder.names[0], renamed)
        word = {"wait": "waiting", "paid": f"{PAID}{name} costs"}.get(holder.role, name)
        if holder.role == "path":
            word = f"sending over {name}" if holder.kind == "link" else f"on {name}"
        amounts[word] = amounts.get(word, 0.0) + holder.amount
    return amounts


def holders_of_side(side: AnswerSide) -> ObjectiveHolders | None:
    """Return what holds the first objective of a side, broken rows too; None without a problem or a plan."""
    if side.problem is None or side.plan is None:
        return None
    evaluation, objective = evaluate(side.problem, side.plan), side.problem.objective
    one = holders_of_objective(side.problem, side.plan, evaluation, objective, evaluation.cost, ALL)
    if not objective.penalised:
        return one
    sign = -1.0 if objective.maximized else 1.0
    paid = [Holder("row", (row,), sign * amount, "paid") for row, amount in evaluation.penalties.items() if amount > 0]
    return replace(one, holders=(*one.holders, *paid))


def _unit(side: AnswerSide, one: ObjectiveHolders | None = None) -> str:
    assert side.problem is not None
    linear = one is not None and one.objective.is_linear
    return side.problem.objective.unit(side.problem.time_unit) if linear else side.problem.time_unit
