"""A difference of two answers in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.show.explaining.called import called, called_all
from mtpp_dsl.show.explaining.moved import folded
from mtpp_dsl.show.explaining.sides import SAME, Side, objectives_of, traded

if TYPE_CHECKING:
    from mtpp_dsl.show.explaining.difference import Difference

__all__ = ["words"]

MOST_MOVES, MOST_LOADS = 12, 12


def words(found: Difference) -> list[str]:
    """Return a difference in words, a line an entry, indented by its leading spaces."""
    a, b = found.a, found.b
    said = [f"A  {_answer(a)}", f"B  {_answer(b)}", ""]
    if found.asked:
        said += ["they answer different questions:", *(f"  {one}" for one in found.asked)]
    trade = traded(a, b)
    said.append(_trade(trade) if trade else _verdict(found))
    for i, (x, y) in enumerate(zip(objectives_of(a), objectives_of(b), strict=False)):
        if (i or trade) and x["name"] == y["name"] and None not in (x["value"], y["value"]) and _value(x) != _value(y):
            said.append(f"  {x['name']}: {_value(x)} -> {_value(y)}")
    said += [f"  {reason}" for reason in found.reasons]
    changed = [*_moves(found), *_loads(found)]
    said += ["", *changed] if changed else []
    return [*said, *(["", *(f"note: {note}" for note in found.notes)] if found.notes else [])]


def _value(objective: Mapping[str, Any]) -> str:
    return format_quantity(objective["value"], objective["unit"])


def _answer(side: Side) -> str:
    """Return an answer in a line: its file, its value, its bound, and whether these are only what the file says."""
    objective = side.answer["objective"]
    unchecked = ", which is not checked, says" if side.why else ""
    said = [f"{side.name}{unchecked}: {side.answer['status']}"]
    said += [f"{each['name']} {_value(each)}" for each in objectives_of(side) if each["value"] is not None]
    if side.bound is not None:
        said.append(f"bound {format_quantity(side.bound, objective['unit'])}")
    if side.answer["gap"] is not None and side.answer["status"] != "optimal":
        said.append(f"gap {format_gap(side.answer['gap'])}")
    return ", ".join([*said, f"by {side.answer['method']}"])


def _verdict(found: Difference) -> str:
    """Return in a sentence which of the two is better."""
    if found.better is None:
        return "which is better cannot be said"
    if found.better == "equal":
        same = " and have the same plan" if found.same_plan and not found.renamed else ""
        if found.same_plan and found.renamed:
            same = " and have the same plan, with alike devices named otherwise"
        return f"both are equally good{same}"
    x, y = found.a.value, found.b.value
    best = "B" if found.better == "b" else "A"
    if x is None or y is None or abs(x - y) <= SAME * max(abs(x), abs(y)):
        return f"{best} is better, in a later objective"
    ratio = found.ratio
    share = "" if ratio is None or ratio <= 0 else f", by {format_gap(abs((ratio if best == 'B' else 1 / ratio) - 1))}"
    name = found.a.answer["objective"]["name"]
    word = "less" if (y < x) == (best == "B") else "more"
    return f"{best} is better{share}: {word} {name}"


def _trade(differ: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return in a sentence in what each of two points of a front is better."""
    better: dict[str, list[str]] = {"A": [], "B": []}
    for x, y in differ:
        less = x["value"] < y["value"]
        word = "less" if x["sense"] == "minimize" else "more"
        better["A" if less == (x["sense"] == "minimize") else "B"].append(f"{word} {x['name']}")
    said = [f"{which} has {' and '.join(names)}" for which, names in better.items()]
    return f"neither is better in all objectives of the front: {', '.join(said)}"


def _moves(found: Difference) -> Iterator[str]:
    """Yield what moved, and how devices are named."""
    both = bool(found.a.assignment) and bool(found.b.assignment)
    if not both:
        return
    if found.renamed:
        pairs = ", ".join(f"{called(old)} -> {called(new)}" for old, new in found.renamed.items())
        yield f"alike devices that have other names in B: {pairs}; below they are called as in B"
    many = sum(len(one.nodes) for one in found.moved)
    if not found.moved and not found.stayed:
        yield "they have no node in common"
    elif found.moved:
        yield f"{counted(many, 'node')} moved, {found.stayed:,} stayed:"
    else:
        yield f"no node moved: all {found.stayed:,} are where they were"
    for one in found.moved[:MOST_MOVES]:
        yield f"  {one.words}: {called_all(one.source)} -> {called_all(one.target)}"
    if len(found.moved) > MOST_MOVES:
        yield f"  and {counted(len(found.moved) - MOST_MOVES, 'smaller group')}"
    yield from found.stages[:MOST_MOVES]
    if len(found.stages) > MOST_MOVES:
        yield f"and {counted(len(found.stages) - MOST_MOVES, 'more change')} of stages"
    for which, names, side in (("A", found.only_a, found.a), ("B", found.only_b, found.b)):
        if names:
            yield f"only {which} has {counted(len(names), 'node')}: {folded(names, list(side.assignment))}"


def _loads(found: Difference) -> Iterator[str]:
    """Yield the loads that have changed, the largest change first."""
    unit = _time_unit(found.a)
    if unit != _time_unit(found.b):
        yield "loads are in different units"
        return
    rows = [row for row in found.rows() if _changed(row[2], row[3])]
    if not rows or not (found.a.loads and found.b.loads):
        return
    yield "loads:"
    rows.sort(key=lambda row: -abs((row[3] or 0.0) - (row[2] or 0.0)))
    for one, other, x, y in rows[:MOST_LOADS]:
        name = other or one
        before, after = ("not there" if load is None else format_quantity(load, unit) for load in (x, y))
        yield f"  {called(name)}: {before} -> {after}{_change(x, y)}"
    if len(rows) > MOST_LOADS:
        yield f"  and {len(rows) - MOST_LOADS} more"


def _changed(x: float | None, y: float | None) -> bool:
    return abs((x or 0.0) - (y or 0.0)) > SAME * max(abs(x or 0.0), abs(y or 0.0))


def _change(x: float | None, y: float | None) -> str:
    if not x or y is None:
        return ""
    return f" ({'+' if y > x else '-'}{format_gap(abs(y / x - 1))})"


def _time_unit(side: Side) -> str:
    """Return the unit of loads; of JSON alone, that of the objective where that is a time."""
    if side.problem is not None:
        return side.problem.time_unit
    unit: str = side.answer["objective"]["unit"]
    return "s" if unit in ("s", "1/s") else ""
