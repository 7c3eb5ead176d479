"""Find what sort of value a place in an expression wants, and what is of that sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl.core.base.units import COMPUTE, DOLLARS, EUROS, NONE, POWER, RATE, SIZE, TIME, WORK, Dimension
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.editor.server.features.context import Context, Frame
from mtpp_dsl.editor.server.features.marks import TextMark
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.generators.generate import signature
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    EdgeRef,
    MapValue,
    NodeRef,
    Quantity,
    TableRow,
    Value,
)
from mtpp_dsl.language.values.values import Sequence as Values
from mtpp_dsl.language.words.meanings import meaning_of_option

_OF_FORM = {
    "time": (TIME,),
    "size": (SIZE,),
    "bandwidth": (RATE,),
    "power": (POWER,),
    "FLOP": (WORK,),
    "FLOP/s": (COMPUTE,),
    "share": (NONE,),
    "money": (DOLLARS, EUROS, DOLLARS / TIME, EUROS / TIME),
    "factor": (NONE,),
}
_DECISIONS = frozenset(("on", "load", "bottleneck", "latency", "used", "moved", "start", "finish"))
_TEXTS = frozenset(("label", "name", "part", "kind", "dtype", "weight_type", "type", "string", "group"))
_SETS = frozenset(("successors", "predecessors", "keys", "values"))
_CONDITIONS = frozenset(("all", "any"))
_OPENS_VALUE = frozenset(["(", ",", "=", "+", "-", "*", "/", ":", "[", "then", "else", "<=", ">=", "==", "!="])
_OTHERWISE = frozenset(("if", "for", "forall", "and", "or", "not"))
"""Words behind which an expression is no longer what the bracket or the option wants."""


@dataclass(frozen=True)
class Sort:
    """What an expression is to be.

    Attributes:
        names: sorts of values, any of which it may be: "node", "device", "edge", "phase", "number", "string", "kind"
            and "dtype" (strings), "map", "bool", "set"; () for any value.
        dimensions: of a number; () for any.
        decided: whether what a plan decides may stand there, such as a load.
    """

    names: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    decided: bool = True

    def __contains__(self, name: str) -> bool:
        return name in self.names


ANY = Sort()
_SORTS = {
    "node": Sort(("node",)),
    "device": Sort(("device",)),
    "node or device": Sort(("node", "device")),
    "edge": Sort(("edge",)),
    "phase": Sort(("phase",)),
    "kind": Sort(("kind",)),
    "dtype": Sort(("dtype",)),
    "number": Sort(("number",)),
    "whole number": Sort(("number",), (NONE,)),
    "collection or string": Sort(("set", "string")),
    "map": Sort(("map",)),
}
_OF_PARAM = {
    "int": Sort(("number",), (NONE,), decided=False),
    "float": Sort(("number",), (NONE,), decided=False),
    "bool": Sort(("bool",), decided=False),
    "string": Sort(("string",), decided=False),
    "time": Sort(("number",), (TIME,), decided=False),
    "size": Sort(("number",), (SIZE,), decided=False),
    "bandwidth": Sort(("number",), (RATE,), decided=False),
}


def sort_at(reading: TextReading, context: Context) -> Sort:
    """Return what is wanted at a place where an expression, or a part of one, begins."""
    if context.before not in _OPENS_VALUE and context.before not in ("in", "minimize", "maximize", ""):
        return ANY
    if context.before == "in":
        return Sort(("set",))
    frame = context.frame
    row = frame is context.container and _is_row(context)
    begin = max((mark.offset for mark in context.marks if mark.text == ":"), default=0) if row else frame.offset
    inside = [mark for mark in context.marks if mark.offset > begin or (frame.opener < 0 and not row)]
    if any(mark.text in ("for", "forall") for mark in inside) or _last_word(inside) in _OTHERWISE:
        return ANY
    if frame.kind == "call":
        return _argument(reading, frame, context.marks, context.before)
    if frame.kind == "subscript":
        return Sort(("number", "string"), (NONE,), decided=False)
    words = [mark.text for mark in context.marks]
    if words[:1] == ["param"] and words[2:3] == [":"] and context.before == "=":
        return _OF_PARAM.get(words[3], ANY)
    if context.option:
        return _of_option(context) if frame.sign != "{" or context.before == ":" else ANY
    return Sort(("number",)) if row else ANY


def dimensions_of(context: Context) -> tuple[Dimension, ...]:
    """Return the dimensions that the value of the option at a place may have; () where that is not known."""
    if context.keyword == "time" and not context.option:
        return (TIME,)
    meaning = meaning_of_option(context.owner, context.option) if context.option else None
    form = "" if meaning is None else meaning.form
    words = form.replace(",", "").split()
    words = ["money"] if "money" in words else words
    return tuple(dimension for word, dimensions in _OF_FORM.items() if word in words for dimension in dimensions)


def fits(value: Value | None, sort: Sort) -> bool:
    """Return whether a value may be of a sort, or hold one that is; of None nothing is known, so that it may."""
    if value is None or not sort.names:
        return True
    match value:
        case bool():
            return "bool" in sort
        case Quantity() | Affine():
            return "number" in sort
        case str():
            return bool({"string", "kind", "dtype", "phase", "node", "device"} & set(sort.names))
        case Path():
            return "string" in sort
        case NodeRef():
            return "node" in sort
        case DeviceRef():
            return "device" in sort
        case EdgeRef():
            return "edge" in sort
        case MapValue() | DataTable() | TableRow():
            return bool({"map", "set", "number", "string"} & set(sort.names))
        case Values():
            first = next(iter(value), None)
            return "set" in sort or (first is not None and not isinstance(first, Values) and fits(first, sort))
    return True


def gives(function: str, sort: Sort) -> bool:
    """Return whether a function of the language gives a value of a sort."""
    if not sort.names:
        return True
    if function in _SETS:
        return "set" in sort
    if function in _CONDITIONS:
        return "bool" in sort
    if function in _TEXTS:
        return bool({"string", "kind", "dtype"} & set(sort.names))
    return "number" in sort and (sort.decided or function not in _DECISIONS)


def _last_word(marks: Sequence[TextMark]) -> str:
    """Return the last of the words that part an expression; ``then`` and ``else`` begin one of the same sort again."""
    return next((mark.text for mark in reversed(marks) if mark.text in (*_OTHERWISE, "then", "else")), "")


def _argument(reading: TextReading, frame: Frame, marks: Sequence[TextMark], before: str) -> Sort:
    """Return what an argument of a call is to be."""
    if reading.index.declared.has("def", frame.name):
        return ANY
    if frame.name in AGGREGATES:
        return Sort(("number",)) if frame.name in ("sum", "min", "max", "product") else ANY
    if frame.name not in FUNCTIONS:
        return ANY
    number = depth = 0
    for mark in marks:
        if mark.offset > frame.offset:
            depth += (mark.text in "([{") - (mark.text in ")]}")
            number += mark.text == "," and depth == 0
    wanted = FUNCTIONS[frame.name][1]
    sort = _SORTS.get(wanted[number].rstrip("?"), ANY) if number < len(wanted) else ANY
    return sort if before in ("(", ",", "then", "else") or "number" in sort else ANY


def _of_option(context: Context) -> Sort:
    """Return what the value of an option is to be."""
    owner, option = context.owner, context.option
    if owner.startswith("generator "):
        return _of_parameter(owner.partition(" ")[2], option)
    meaning = meaning_of_option(owner, option)
    form = "" if meaning is None else meaning.form
    dimensions = dimensions_of(context)
    if dimensions:
        return Sort(("number", "map") if "map" in form else ("number",), dimensions, decided=False)
    if option in ("kind", "unsupported"):
        return Sort(("kind",), decided=False)
    if form.startswith("string") or form == "type or string":
        names = ("string", "number") if "number" in form else ("string",)
        return Sort(names, (NONE,) if "number" in form else (), decided=False)
    if form in ("whole number", "number"):
        return Sort(("number",), (NONE,), decided=False)
    return Sort(("map",), decided=False) if form == "map" else ANY


def _of_parameter(generator: str, name: str) -> Sort:
    """Return what a parameter of a generator is to be."""
    try:
        types = {parameter.name: parameter.type for parameter in signature(generator)}
    except PluginError:
        return ANY
    sorts = {int: "number", float: "number", str: "string", bool: "bool"}
    kind = sorts.get(types[name]) if name in types else None
    return ANY if kind is None else Sort((kind,), (NONE,) if kind == "number" else (), decided=False)


def _is_row(context: Context) -> bool:
    """Return whether a place is in a row of the spec's own, or in an objective, where nothing but numbers stand."""
    words = [mark.text for mark in context.marks]
    row = words[:1] == ["constraint"] and words[2:3] == [":"]
    wanted = words[:1] in (["minimize"], ["maximize"]) and not (len(words) > 1 and words[1] in OBJECTIVES)
    return (row or wanted) and "{" not in words
