"""Why one of two plans of a problem is better: what held the one back, and where that is in the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.show.explaining.bottleneck import Held, held_of
from mtpp_dsl.show.explaining.called import called_all
from mtpp_dsl.show.explaining.held import Holder
from mtpp_dsl.show.explaining.moved import Moved
from mtpp_dsl.show.explaining.renamed import called_there
from mtpp_dsl.show.explaining.sides import AnswerSide

__all__ = ["amounts", "reasons"]

MOST = 6
"""Terms, or parts of a critical path, whose changes are told."""
ALL = 100_000
PAID = "what row "
SAME = 1e-9


def reasons(a: AnswerSide, b: AnswerSide, renamed: Mapping[str, str], moves: Sequence[Moved]) -> Iterator[str]:
    """Yield why the cost of the better of two plans of one problem is less than that of the other.

    Args:
        a: the worse one.
        b: the better one.
        renamed: by the names of devices in *a*, those of the devices in *b* that take their place.
        moves: from *a* to *b*, with the devices of *a* renamed.
    """
    one, other = held(a), held(b)
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
        text = f"{called_all(holder.names)} holds {a.name} back{what}, with {format_quantity(holder.amount, unit)}"
        if holder.kind == "device" and not what and names[0] in loads:
            now = loads[names[0]]
            called = "" if names == holder.names else f", there {called_all(names)},"
            text += f"; in {b.name} it{called} has {format_quantity(now, unit)}"
        elif holder.kind == "channel":
            text += (
                f"; in {b.name} it has {format_quantity(loads.get(called_there(holder.names[0], renamed), 0.0), unit)}"
            )
        yield text
        yield from _flows(holder, names, moves)
    told: set[str] = set()
    for holder in other.holders:  # of each part the first, as others are as large
        if holder.role != "paid" and holder.role not in told:
            told.add(holder.role)
            amount = format_quantity(holder.amount, unit)
            yield f"{b.name} is held back by {called_all(holder.names)}{_part(holder)}, with {amount}"
    yield from _rows(a, b, one, other)


def _part(holder: Holder) -> str:
    return {"forward": " in the forward part", "backward": " in the backward part"}.get(holder.role, "")


def _rows(a: AnswerSide, b: AnswerSide, one: Held, other: Held) -> Iterator[str]:
    """Yield which rows that may be broken cost one plan more than the other."""
    before, after = (
        {holder.named: holder.amount for holder in held.holders if holder.role == "paid"} for held in (one, other)
    )
    for row in {**before, **after}:
        x, y = before.get(row, 0.0), after.get(row, 0.0)
        if abs(x - y) > SAME * max(x, y):
            yield f"row {row} costs {a.name} {format_quantity(x, _unit(a))}; {b.name} {format_quantity(y, _unit(b))}"


def _flows(holder: Holder, names: Sequence[str], moves: Sequence[Moved]) -> Iterator[str]:
    """Yield what has gone from a device, and what has come to it."""
    if holder.kind != "device":
        return
    for one in moves:
        if set(one.source) & set(names) and not set(one.target) & set(names):
            yield f"  {one.words} went to {called_all(one.target)}"
    for one in moves:
        if set(one.target) & set(names) and not set(one.source) & set(names):
            yield f"  {one.words} came from {called_all(one.source)}"


def _by_amounts(a: AnswerSide, one: Held, other: Held, renamed: Mapping[str, str]) -> Iterator[str]:
    """Yield which terms of a linear objective, or parts of a critical path, have become less, and which more."""
    before, after = amounts(one, renamed), amounts(other, {})
    keys = sorted({*before, *after}, key=lambda key: -abs(after.get(key, 0.0) - before.get(key, 0.0)))
    unit = _unit(a, one)
    size = max([abs(one.cost), abs(other.cost), 1e-300])
    told = [key for key in keys if abs(after.get(key, 0.0) - before.get(key, 0.0)) > SAME * size]
    what = "critical path" if one.objective.quantity == "makespan" else "sum"
    for key in told[:MOST]:
        x, y = before.get(key, 0.0), after.get(key, 0.0)
        change = "less" if y < x else "more"
        amount = format_quantity(abs(y - x), unit)
        of = "cost" if key.startswith(PAID) else what
        yield f"{amount} {change} of the {of} is {key}: {format_quantity(x, unit)} -> {format_quantity(y, unit)}"
    if len(told) > MOST:
        yield f"and {len(told) - MOST} smaller changes"


def amounts(one: Held, renamed: Mapping[str, str]) -> dict[str, float]:
    """Return what adds to a cost, by what it is in words."""
    found: dict[str, float] = {}
    for holder in one.holders:
        names = [renamed.get(name, name) for name in holder.names]
        name = called_all(names) if holder.kind != "link" else called_there(holder.names[0], renamed)
        word = {"wait": "waiting", "paid": f"{PAID}{name} costs"}.get(holder.role, name)
        if holder.role == "path":
            word = f"sending over {name}" if holder.kind == "link" else f"on {name}"
        found[word] = found.get(word, 0.0) + holder.amount
    return found


def held(side: AnswerSide) -> Held | None:
    """Return what holds the first objective of a side, broken rows too; None without a problem or a plan."""
    if side.problem is None or side.plan is None:
        return None
    found, objective = evaluate(side.problem, side.plan), side.problem.objective
    one = held_of(side.problem, side.plan, found, objective, found.cost, ALL)
    if not objective.penalised:
        return one
    sign = -1.0 if objective.maximized else 1.0
    paid = [Holder("row", (row,), sign * amount, "paid") for row, amount in found.penalties.items() if amount > 0]
    return replace(one, holders=(*one.holders, *paid))


def _unit(side: AnswerSide, one: Held | None = None) -> str:
    assert side.problem is not None
    linear = one is not None and one.objective.is_linear
    return side.problem.objective.unit(side.problem.time_unit) if linear else side.problem.time_unit
