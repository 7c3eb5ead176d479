"""``type`` statements: options that devices of the type have, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.declaring import check_word
from mtpp_dsl.language.values.expressions import Locals, truth
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.selecting import select
from mtpp_dsl.language.values.values import Quantity
from mtpp_dsl.language.values.values import Sequence as Values

__all__ = ["declare_type", "type_of", "with_type"]


def declare_type(statement: tree.TypeStatement, scope: SpecScope) -> None:
    """Make a type known to *scope*; a later file may declare it anew.

    Raises:
        Complaint: the file has it already, or the name is that of a param or a let.
    """
    name, place = statement.name.text, statement.name.span
    check_word(statement.name)
    old = scope.types.get(name)
    if old is not None and old.span.source is statement.span.source:
        raise Complaint(
            f"type {name!r} is already declared at {old.span.place}",
            place,
            code="MTPP-E102",
            second=(old.name.span, "first declared here"),
        )
    if name in scope.params or name in scope.lets:
        raise Complaint(f"{name!r} is both a type and a param or let; rename one", place, code="MTPP-E104")
    scope.types[name] = statement


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
    if name in scope.types:
        return name
    scope.need(name, "types")
    if scope.called(name):
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
                found = select(places, parts, scope, local)
                if not isinstance(found, Quantity):
                    return value
                value = items[int(found.value)]
            case _:
                return value


def with_type(options: tuple[tree.Option, ...], scope: SpecScope, local: Locals) -> tuple[tree.Option, ...]:
    """Return the options of a device, and those of its declared type that it does not give itself.

    Raises:
        Complaint: there is no such type, or types are made of each other in a circle.
    """
    found, own = options, options
    chain: list[str] = []
    while (name := type_of(own, scope, local)) is not None:
        if name in chain:
            told = " -> ".join([*chain[chain.index(name) :], name])
            raise Complaint(f"type {name!r} is made of itself: {told}", scope.types[name].span, code="MTPP-E108")
        chain.append(name)
        own, local = scope.types[name].options, {}
        given = {option.name.text for option in found}
        found = (*found, *(option for option in own if option.name.text not in given))
    return found


def _unknown(name: str, span: Span, scope: SpecScope) -> Complaint:
    from mtpp_dsl.exchange.library import entries

    entry = entries.entries().get(name)
    if entry is not None:
        message = f'there is no type {name!r} here; the library has it: include "{entry.file}"'
        return Complaint(message, span, code="MTPP-E101")
    near = entries.near(name, "type", scope.types)
    notes = [f'type {name} (memory = 16 GiB) declares one; type = "{name}", in quotation marks, is a name alone']
    return Complaint(f"there is no type {name!r}{near}", span, notes, code="MTPP-E101")
