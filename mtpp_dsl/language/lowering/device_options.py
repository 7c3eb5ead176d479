"""``type`` statements, and the options of devices that a law makes times of, such as ``peak``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import COMPUTE, NONE, RATE, Dimension
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import check_word
from mtpp_dsl.language.values.expressions import Locals, truth
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.selecting import select
from mtpp_dsl.language.values.values import MapValue, Quantity, shown
from mtpp_dsl.language.values.values import Sequence as Values

FIGURES = ("peak", "bandwidth", "efficiency")
"""The options."""

OTHER = "other"
"""The key of a map that stands for what has no key of its own."""


def figures(options: Options) -> dict[str, Any]:
    """Return the fields of a device that its options give: those that are not given are left out.

    Raises:
        Complaint: a value in another unit, a figure of zero, a share of more than 100 %.
    """
    fields: dict[str, Any] = {}
    for name, dimension in (("peak", COMPUTE), ("efficiency", NONE)):
        if name in options:
            fields[name] = _by_key(options, name, (dimension,))
    bandwidth = options.quantity("bandwidth", (RATE,))
    if bandwidth is not None:
        fields["bandwidth"] = _positive(options, "bandwidth", bandwidth)
    for kind, share in fields.get("efficiency", {}).items():
        if share > 1:
            of = f" of {kind}" if kind else ""
            message = f"an efficiency{of} is more than 0 %, at most 100 %; this is {100 * share:g} %"
            raise Complaint(message, options.span("efficiency"), code="MTPP-E214")
    return fields


def _by_key(options: Options, name: str, dimensions: Sequence[Dimension]) -> Mapping[str, float]:
    """Return the numbers of a map from words; of one number alone, that number for whatever it is asked for."""
    value = options.value(name)
    if not isinstance(value, MapValue):
        number = options.quantity(name, dimensions)
        assert number is not None
        return {"": _positive(options, name, number)}
    numbers: dict[str, float] = {}
    for key, figure in value.entries.items():
        if not isinstance(key, str):
            example = "{bf16: 312 TFLOP/s}" if name == "peak" else "{matmul: 60 %}"
            message = f"the keys of {name} are words, as in {example}; this is {shown(key)}"
            raise Complaint(message, options.span(name), code="MTPP-E210")
        numbers["" if key == OTHER else key] = _positive(options, name, options.checked(name, figure, dimensions))
    return numbers


def _positive(options: Options, name: str, value: Quantity) -> float:
    if not value.value > 0:
        raise Complaint(f"{name} must be more than zero", options.span(name), code="MTPP-E214")
    return float(value.value)


def declare_type(statement: tree.TypeStatement, scope: SpecScope) -> None:
    """Make a type known to *scope*; a later file may declare it anew.

    Raises:
        Complaint: the file has it already, or the name is that of a param or a let.
    """
    name, place = statement.name.text, statement.name.span
    check_word(statement.name)
    old = scope.declared.types.get(name)
    if old is not None and old.span.source is statement.span.source:
        raise Complaint(
            f"type {name!r} is already declared at {old.span.place}",
            place,
            code="MTPP-E102",
            second=(old.name.span, "first declared here"),
        )
    if name in scope.params or name in scope.lets:
        raise Complaint(f"{name!r} is both a type and a param or let; rename one", place, code="MTPP-E104")
    scope.declared.types[name] = statement


def type_of(options: Sequence[tree.Option], scope: SpecScope, local: Locals) -> str | None:
    """Return the name of the declared type that options name by a bare word; None where they name none.

    ``if i < 2 then a100_80gb else l40s`` and ``[a100_80gb, l40s][i]`` name the one that they come to.

    Raises:
        Complaint: there are declared types, or one of that name in the library, and this is none of the declared.
    """
    given = next((option.value for option in options if option.name.text == "type"), None)
    given = given and _chosen(given, scope, local)
    bare = isinstance(given, tree.Name) and not given.subscripts and not given.parts
    if not isinstance(given, tree.Name) or not bare or given.name in {*scope.params, *scope.lets, *local}:
        return None
    name = given.name
    if name in scope.declared.types:
        return name
    scope.remarks.need(name, "types")
    if scope.kind_called(name):
        return None  # whatever it is, it is no string, which the option says
    raise _unknown(name, given.span, scope)


def _chosen(value: tree.Expression, scope: SpecScope, local: Locals) -> tree.Expression:
    """Return the branch of conditionals that counts, and the item of a list in brackets that a subscript takes."""
    while True:
        match value:
            case tree.Conditional():
                value = value.then if truth(value.condition, scope, local) else value.otherwise
            case tree.Select(base=tree.ListOf(items=items), parts=(tree.Part(name=None, subscripts=(_,)),) as parts):
                places = Values(tuple(Quantity(place, NONE) for place in range(len(items))))
                position = select(places, parts, scope, local)
                if not isinstance(position, Quantity):
                    return value
                value = items[int(position.value)]
            case _:
                return value


def with_type(options: tuple[tree.Option, ...], scope: SpecScope, local: Locals) -> tuple[tree.Option, ...]:
    """Return the options of a device, and those of its declared type that it does not give itself.

    Raises:
        Complaint: there is no such type, or types are made of each other in a circle.
    """
    every, own = options, options
    chain: list[str] = []
    while (name := type_of(own, scope, local)) is not None:
        if name in chain:
            message = f"type {name!r} is made of itself: {' -> '.join([*chain[chain.index(name) :], name])}"
            raise Complaint(message, scope.declared.types[name].span, code="MTPP-E108")
        chain.append(name)
        own, local = scope.declared.types[name].options, {}
        given = {option.name.text for option in every}
        every = (*every, *(option for option in own if option.name.text not in given))
    return every


def _unknown(name: str, span: Span, scope: SpecScope) -> Complaint:
    from mtpp_dsl.exchange.library import entries

    entry = entries.entries().get(name)
    if entry is not None:
        message = f'there is no type {name!r} here; the library has it: include "{entry.file}"'
        return Complaint(message, span, code="MTPP-E101")
    near = entries.near(name, "type", scope.declared.types)
    notes = [f'type {name} (memory = 16 GiB) declares one; type = "{name}", in quotation marks, is a name alone']
    return Complaint(f"there is no type {name!r}{near}", span, notes, code="MTPP-E101")
