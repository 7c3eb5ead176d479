"""Names with subscripts and parts, such as ``layer[0..2].attn``: which members they stand for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.evaluating import Locals, evaluate, steps_of
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.values import Quantity, Value, describe
from mtpp_dsl.language.values.values import Sequence as Values

__all__ = ["PathStep", "member_of", "steps_of_path", "subscripts_text"]


@dataclass(frozen=True)
class PathStep:
    """One part of a path: the texts that it may stand for, of which there are several where it is a slice."""

    texts: tuple[str, ...]
    several: bool


def steps_of_path(parts: Sequence[tree.Part], scope: SpecScope, local: Locals) -> list[PathStep]:
    """Return the texts of every part behind a name, such as ``[0]``, ``[1]`` and ``[2]`` of ``[0..2]``.

    Raises:
        Complaint: a subscript is neither a whole number nor a string, nor some of these.
    """
    steps = []
    for part in parts:
        dot = "" if part.name is None else f".{part.name}"
        inside = [_subscript(subscript, scope, local) for subscript in part.subscripts]
        count = 1
        for step in inside:
            count *= len(step.texts)
        scope.spend(count, part.span)
        brackets = [f"[{','.join(one)}]" for one in itertools.product(*(step.texts for step in inside))]
        texts = tuple(dot + bracket for bracket in brackets) if inside else (dot,)
        steps.append(PathStep(texts, any(step.several for step in inside)))
    return steps


def _subscript(node: tree.Expression, scope: SpecScope, local: Locals) -> PathStep:
    value = evaluate(node, scope, local)
    many = steps_of(value) if isinstance(value, Values) else None
    values = [value] if many is None else list(many)
    scope.spend(len(values), node.span)
    for each in values:
        if not isinstance(each, str) and not (isinstance(each, Quantity) and each.whole is not None):
            what = "a whole number" if isinstance(each, Quantity) else "a whole number or a string"
            raise Complaint(f"a subscript must be {what}; this is {describe(each)}", node.span, code="MTPP-E210")
    return PathStep(tuple(subscripts_text([each]) for each in values), many is not None)


def subscripts_text(values: Sequence[Value]) -> str:
    """Return subscripts as names have them: ``0,1``, and strings without quotes."""
    return ",".join(value if isinstance(value, str) else str(getattr(value, "value", value)) for value in values)


def member_of(name: str, steps: Sequence[PathStep], span: Span, scope: SpecScope) -> Value | None:
    """Return the node, the device or the set that a path names; None if nothing has its name.

    Of a path with a slice, the set of all that it names.

    Raises:
        Complaint: some of several members are there, and others are not.
    """
    if not any(step.several for step in steps):
        return scope.member(name + "".join(step.texts[0] for step in steps), span)
    found: dict[Value, None] = {}
    missing = ""
    for path in itertools.product(*(step.texts for step in steps)):
        full = name + "".join(path)
        member = scope.member(full, span)
        if member is None:
            missing = missing or full
            continue
        items = list(_flat(member))
        scope.spend(len(items), span)
        found.update(dict.fromkeys(items))
    if missing and found:
        raise scope.unknown(missing, span)
    empty = not missing and scope.member(name, span) is not None
    return Values(tuple(found), "set") if found or empty else None


def _flat(member: Value) -> Iterator[Value]:
    return iter(member) if isinstance(member, Values) else iter((member,))
