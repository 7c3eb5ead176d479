"""Check that JSON has the shape of an answer, or of a front of answers whose points belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import isfinite
from sys import float_info
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.solving.answers.json import schema

MAX_FAULTS = 5
"""Number of faults of one answer that are printed."""

WORDS = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}

KEYWORDS = {
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items", "oneOf"),
    *("minimum", "minItems", "maxItems", "description", "title", "$schema"),
}
"""What a schema may say; another keyword would be ignored, and a test finds it."""


def check_shape(data: object, what: str, part: str | None = None) -> None:
    """Check that *data* is an answer as the schema says; of a *part*, that it may be that, with what it leaves out.

    Args:
        data: JSON.
        what: what messages call it.
        part: a property of the schema, such as "plan".

    Raises:
        UsageError: it is not, with the first faults.
    """
    rule = schema(1) if isinstance(data, Mapping) and _same(data.get("schema"), 1) else schema()
    if part is not None:
        rule = next(form for form in rule["properties"][part]["oneOf"] if form["type"] == "object")
        rule = {**rule, "required": []}
    wrong = list(islice(faults(data, rule, part or ""), MAX_FAULTS))
    if wrong:
        raise UsageError(f"{what} is no answer of mtpp as its JSON schema says:\n" + "\n".join(f"  {f}" for f in wrong))


def faults(data: object, rule: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield where *data* is not what a schema says; *place* is what messages call it, "" for the whole."""
    where = place or "the answer"
    if "oneOf" in rule:
        yield from _one_of(data, rule, place)
        return
    kinds = _kinds(rule)
    if kinds and not any(_is(data, kind) for kind in kinds):
        yield f"{where} is {_shown(data)}, not {' or '.join(WORDS[kind] for kind in kinds)}"
        return
    if "const" in rule and not _same(data, rule["const"]):
        yield f"{where} is {_shown(data)}, not {rule['const']!r}"
    if "enum" in rule and not any(_same(data, value) for value in rule["enum"]):
        yield f"{where} is {_shown(data)}, not one of {', '.join(map(str, rule['enum']))}"
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if abs(data) > float_info.max or not isfinite(data):
            yield f"{where} is {_shown(data)}, not a number that can be computed with"
        elif data < rule.get("minimum", data):
            yield f"{where} is {_shown(data)}; the least is {rule['minimum']}"
    elif isinstance(data, Mapping):
        yield from _object(data, rule, place)
    elif isinstance(data, list):
        if not rule.get("minItems", 0) <= len(data) <= rule.get("maxItems", len(data)):
            yield f"{where} has {len(data)} entries"
        for i, item in enumerate(data):
            yield from faults(item, rule.get("items", {}), f"{place}[{i}]")


def _one_of(data: object, rule: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield the faults of the alternative whose type fits; the alternatives of our schema differ in their types."""
    for form in rule["oneOf"]:
        if any(_is(data, kind) for kind in _kinds(form)):
            yield from faults(data, form, place)
            return
    words = dict.fromkeys(WORDS[kind] for form in rule["oneOf"] for kind in _kinds(form))
    yield f"{place or 'the answer'} is {_shown(data)}, not {' or '.join(words)}"


def _object(data: Mapping[str, Any], rule: Mapping[str, Any], place: str) -> Iterator[str]:
    known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
    dot = f"{place}." if place else ""
    for name in rule.get("required", ()):
        if name not in data:
            yield f"{dot}{name} is missing"
    for name, value in data.items():
        if name in known:
            yield from faults(value, known[name], f"{dot}{name}")
        elif others is False:
            yield f"{dot}{name:.40} is no field{did_you_mean(name, known)}"
        elif isinstance(others, Mapping):
            yield from faults(value, others, f"{dot}{name:.40}")
        else:
            yield from faults(value, {}, f"{dot}{name:.40}")


def _kinds(rule: Mapping[str, Any]) -> list[str]:
    kinds = rule.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is(data: object, kind: str) -> bool:
    match kind:
        case "null":
            return data is None
        case "boolean":
            return isinstance(data, bool)
        case "string":
            return isinstance(data, str)
        case "integer":
            whole = isinstance(data, int) or (isinstance(data, float) and isfinite(data) and data == int(data))
            return whole and not isinstance(data, bool)
        case "number":
            return isinstance(data, (int, float)) and not isinstance(data, bool)
        case "array":
            return isinstance(data, list)
        case _:
            return isinstance(data, Mapping)


def _same(data: object, value: object) -> bool:
    return isinstance(data, bool) == isinstance(value, bool) and data == value


def _shown(data: object) -> str:
    if data is None or isinstance(data, bool):
        return {None: "null", True: "true", False: "false"}[data]
    if isinstance(data, (Mapping, list)):
        return "an object" if isinstance(data, Mapping) else "a list"
    if isinstance(data, int) and abs(data) > float_info.max:
        return "a number of more digits than can be computed with"
    return f"{data!r:.40}"


def answers_of(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Return the answers of a front, checked for their shape.

    Args:
        data: JSON.
        name: what messages call it.

    Raises:
        UsageError: it is no front, or an answer of it is none.
    """
    if set(data) != {"schema", "front", "complete"} or data["schema"] != 2 or not isinstance(data["complete"], bool):
        raise UsageError(f"{name} is no front of mtpp: it has schema (2), front (a list) and complete (true or false)")
    for number, answer in enumerate(data["front"], 1):
        check_shape(answer, f"point {number} of {name}")
    return list(data["front"])


def unlike(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which points are of other objectives, or of another spec, than the first."""
    for number, answer in enumerate(answers[1:], 2):
        names, first = (_names(one) for one in (answer, answers[0]))
        if names != first:
            yield f"point {number}: it is of {' and '.join(names)}, the first of {' and '.join(first)}"
        elif answer["spec"] != answers[0]["spec"]:
            yield f"point {number}: it is an answer to another spec than the first, or with other params"


def _names(answer: Mapping[str, Any]) -> list[str]:
    return [str(one["name"]) for one in answer["objectives"]]


def dominated(costs: Sequence[tuple[float, ...] | None]) -> Iterator[str]:
    """Yield which points are no better in both objectives than the one before them; None is one without a plan."""
    for number, (one, other) in enumerate(pairwise(costs), 2):
        if one is not None and other is not None and (other[0] <= one[0] or other[1] >= one[1]):
            yield f"point {number}: it is out of order, or no better than point {number - 1} in both objectives"
