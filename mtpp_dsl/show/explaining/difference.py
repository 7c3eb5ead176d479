"""Say how two answers differ: what moved, loads before and after, and why one is better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.explaining.compared import SAME, AnswerSide, objectives_of, stages_of, traded
from mtpp_dsl.show.explaining.moves import NodeMove, folded, renamed_track
from mtpp_dsl.show.report.names import short_name, short_names

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

    a: AnswerSide
    b: AnswerSide
    asked: tuple[str, ...] = ()
    better: Better | None = None
    renamed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    moved: tuple[NodeMove, ...] = ()
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
        changes = []
        for devices, (again, shards) in one.items():
            name = f"the stage on {short_names(devices)}"
            now, parts = other.get(devices, (again, shards))
            if again != now:
                changes.append(f"{name} recomputes {'in B, and not in A' if now else 'in A, and not in B'}")
            if shards != parts:
                changes.append(f"{name} has {counted(shards, 'shard')} in A, {counted(parts, 'shard')} in B")
        return tuple(changes)

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
        rows: list[tuple[str, str, float | None, float | None]] = []
        for name, load in one.items():
            there = renamed_track(name, self.renamed)
            rows.append((name, there if there in other else "", load, other.get(there)))
        taken = {there for _, there, _, _ in rows}
        return [*rows, *(("", name, None, load) for name, load in other.items() if name not in taken)]

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
        return _words(self)


def diff_schema() -> dict[str, Any]:
    """Return the JSON schema of differences."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.show.explaining").joinpath("diff.json").read_text())
    return loaded


def _side(side: AnswerSide) -> dict[str, Any]:
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


MOST_MOVES, MOST_LOADS = 12, 12


def _words(difference: Difference) -> list[str]:
    """Return a difference in words, a line an entry, indented by its leading spaces."""
    a, b = difference.a, difference.b
    lines = [f"A  {_answer(a)}", f"B  {_answer(b)}", ""]
    if difference.asked:
        lines += ["they answer different questions:", *(f"  {one}" for one in difference.asked)]
    trade = traded(a, b)
    lines.append(_trade(trade) if trade else _verdict(difference))
    for i, (x, y) in enumerate(zip(objectives_of(a), objectives_of(b), strict=False)):
        if (i or trade) and x["name"] == y["name"] and None not in (x["value"], y["value"]) and _value(x) != _value(y):
            lines.append(f"  {x['name']}: {_value(x)} -> {_value(y)}")
    lines += [f"  {reason}" for reason in difference.reasons]
    changed = [*_moves(difference), *_loads(difference)]
    lines += ["", *changed] if changed else []
    return [*lines, *(["", *(f"note: {note}" for note in difference.notes)] if difference.notes else [])]


def _value(objective: Mapping[str, Any]) -> str:
    return format_quantity(objective["value"], objective["unit"])


def _answer(side: AnswerSide) -> str:
    """Return an answer in a line: its file, its value, its bound, and whether these are only what the file says."""
    objective = side.answer["objective"]
    unchecked = ", which is not checked, says" if side.why else ""
    parts = [f"{side.name}{unchecked}: {side.answer['status']}"]
    parts += [
        f"{objective_value['name']} {_value(objective_value)}"
        for objective_value in objectives_of(side)
        if objective_value["value"] is not None
    ]
    if side.bound is not None:
        parts.append(f"bound {format_quantity(side.bound, objective['unit'])}")
    if side.answer["gap"] is not None and side.answer["status"] != "optimal":
        parts.append(f"gap {format_gap(side.answer['gap'])}")
    return ", ".join([*parts, f"by {side.answer['method']}"])


def _verdict(difference: Difference) -> str:
    """Return in a sentence which of the two is better."""
    if difference.better is None:
        return "which is better cannot be said"
    if difference.better == "equal":
        same = " and have the same plan" if difference.same_plan and not difference.renamed else ""
        if difference.same_plan and difference.renamed:
            same = " and have the same plan, with alike devices named otherwise"
        return f"both are equally good{same}"
    x, y = difference.a.value, difference.b.value
    best = "B" if difference.better == "b" else "A"
    if x is None or y is None or abs(x - y) <= SAME * max(abs(x), abs(y)):
        return f"{best} is better, in a later objective"
    ratio = difference.ratio
    share = "" if ratio is None or ratio <= 0 else f", by {format_gap(abs((ratio if best == 'B' else 1 / ratio) - 1))}"
    name = difference.a.answer["objective"]["name"]
    word = "less" if (y < x) == (best == "B") else "more"
    return f"{best} is better{share}: {word} {name}"


def _trade(differ: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return in a sentence in what each of two points of a front is better."""
    better: dict[str, list[str]] = {"A": [], "B": []}
    for x, y in differ:
        less = x["value"] < y["value"]
        word = "less" if x["sense"] == "minimize" else "more"
        better["A" if less == (x["sense"] == "minimize") else "B"].append(f"{word} {x['name']}")
    sides = [f"{which} has {' and '.join(names)}" for which, names in better.items()]
    return f"neither is better in all objectives of the front: {', '.join(sides)}"


def _moves(difference: Difference) -> Iterator[str]:
    """Yield what moved, and how devices are named."""
    both = bool(difference.a.assignment) and bool(difference.b.assignment)
    if not both:
        return
    if difference.renamed:
        pairs = ", ".join(f"{short_name(old)} -> {short_name(new)}" for old, new in difference.renamed.items())
        yield f"alike devices that have other names in B: {pairs}; below they are called as in B"
    many = sum(len(one.nodes) for one in difference.moved)
    if not difference.moved and not difference.stayed:
        yield "they have no node in common"
    elif difference.moved:
        yield f"{counted(many, 'node')} moved, {difference.stayed:,} stayed:"
    else:
        yield f"no node moved: all {difference.stayed:,} are where they were"
    for one in difference.moved[:MOST_MOVES]:
        yield f"  {one.words}: {short_names(one.source)} -> {short_names(one.target)}"
    if len(difference.moved) > MOST_MOVES:
        yield f"  and {counted(len(difference.moved) - MOST_MOVES, 'smaller group')}"
    yield from difference.stages[:MOST_MOVES]
    if len(difference.stages) > MOST_MOVES:
        yield f"and {counted(len(difference.stages) - MOST_MOVES, 'more change')} of stages"
    for which, names, side in (("A", difference.only_a, difference.a), ("B", difference.only_b, difference.b)):
        if names:
            yield f"only {which} has {counted(len(names), 'node')}: {folded(names, list(side.assignment))}"


def _loads(difference: Difference) -> Iterator[str]:
    """Yield the loads that have changed, the largest change first."""
    unit = _time_unit(difference.a)
    if unit != _time_unit(difference.b):
        yield "loads are in different units"
        return
    rows = [row for row in difference.rows() if _changed(row[2], row[3])]
    if not rows or not (difference.a.loads and difference.b.loads):
        return
    yield "loads:"
    rows.sort(key=lambda row: -abs((row[3] or 0.0) - (row[2] or 0.0)))
    for one, other, x, y in rows[:MOST_LOADS]:
        name = other or one
        before, after = ("not there" if load is None else format_quantity(load, unit) for load in (x, y))
        yield f"  {short_name(name)}: {before} -> {after}{_change(x, y)}"
    if len(rows) > MOST_LOADS:
        yield f"  and {len(rows) - MOST_LOADS} more"


def _changed(x: float | None, y: float | None) -> bool:
    return abs((x or 0.0) - (y or 0.0)) > SAME * max(abs(x or 0.0), abs(y or 0.0))


def _change(x: float | None, y: float | None) -> str:
    if not x or y is None:
        return ""
    return f" ({'+' if y > x else '-'}{format_gap(abs(y / x - 1))})"


def _time_unit(side: AnswerSide) -> str:
    """Return the unit of loads; of JSON alone, that of the objective where that is a time."""
    if side.problem is not None:
        return side.problem.time_unit
    unit: str = side.answer["objective"]["unit"]
    return "s" if unit in ("s", "1/s") else ""
