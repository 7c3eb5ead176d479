"""Lists, sets and maps, written out or made by a comprehension."""

from __future__ import annotations

from collections.abc import Iterable

from mtpp_dsl.core.base.spec_limits import MAX_STEPS
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import Locals, evaluate, evaluates, loops
from mtpp_dsl.language.values.naming import subscripts_text
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.selecting import key_of
from mtpp_dsl.language.values.values import DeviceRef, Key, MapValue, NodeRef, Quantity, Sequence, Value, describe

__all__: list[str] = []


@evaluates(tree.ListOf)
def _list(node: tree.ListOf, scope: SpecScope, local: Locals) -> Sequence:
    return _counted([evaluate(item, scope, local) for item in node.items], "list", node.span, scope)


@evaluates(tree.SetOf)
def _set(node: tree.SetOf, scope: SpecScope, local: Locals) -> Sequence:
    """Return a set; of sets of nodes or devices in it, their members: a path may name one or several."""
    items = (evaluate(item, scope, local) for item in node.items)
    return _counted([member for item in items for member in _members(item)], "set", node.span, scope)


def _members(item: Value) -> Iterable[Value]:
    if isinstance(item, Sequence) and item.kind == "set" and isinstance(next(iter(item), None), (NodeRef, DeviceRef)):
        return item
    return (item,)


@evaluates(tree.ListWhere)
def _list_where(node: tree.ListWhere, scope: SpecScope, local: Locals) -> Sequence:
    items = [evaluate(node.item, scope, step) for step in loops(node.clauses, scope, local)]
    return _counted(items, "list", node.span, scope)


@evaluates(tree.SetWhere)
def _set_where(node: tree.SetWhere, scope: SpecScope, local: Locals) -> Sequence:
    items = [evaluate(node.item, scope, step) for step in loops(node.clauses, scope, local)]
    return _counted(items, "set", node.span, scope)


def _counted(items: list[Value], kind: str, span: Span, scope: SpecScope) -> Sequence:
    """Return a list or a set, counting its members, with those of what is in it."""
    value = Sequence(tuple(items))
    if value.weight > MAX_STEPS:  # lists of lists grow without ever being gone through
        raise Complaint(
            f"this has more than {MAX_STEPS:,} members, with those of the lists in it", span, code="MTPP-E901"
        )
    scope.steps.spend(value.weight, span)
    return value if kind == "list" else _once_each(items, span)


def _once_each(items: list[Value], span: Span) -> Sequence:
    """Return a set of items.

    Raises:
        Complaint: one is made of decisions: whether two of these are equal is unknown.
    """
    try:
        return Sequence(tuple(dict.fromkeys(items)), "set")
    except TypeError:
        what = "a set holds no expressions over decisions; write them in a list, […]"
        raise Complaint(what, span, code="MTPP-E204") from None


@evaluates(tree.MapOf)
def _map(node: tree.MapOf, scope: SpecScope, local: Locals) -> MapValue:
    entries = ((_key(e.key, scope, local), evaluate(e.value, scope, local), e.key.span) for e in node.entries)
    return _gathered(entries, node.span, scope)


@evaluates(tree.MapWhere)
def _map_where(node: tree.MapWhere, scope: SpecScope, local: Locals) -> MapValue:
    entry = node.entry
    entries = (
        (_key(entry.key, scope, step, computed=True), evaluate(entry.value, scope, step), entry.key.span)
        for step in loops(node.clauses, scope, local)
    )
    return _gathered(entries, node.span, scope)


def _gathered(entries: Iterable[tuple[Key, Value, Span]], span: Span, scope: SpecScope) -> MapValue:
    """Return a map of entries, each key once.

    Raises:
        Complaint: a key twice, or too many entries.
    """
    unique: dict[Key, Value] = {}
    for key, value, place in entries:
        if key in unique:
            raise Complaint(f"the key {_shown(key)} is given twice", place, code="MTPP-E203")
        unique[key] = value
    made = MapValue(unique)
    if made.weight > MAX_STEPS:
        raise Complaint(
            f"this has more than {MAX_STEPS:,} entries, with those of what is in it", span, code="MTPP-E901"
        )
    scope.steps.spend(made.weight, span)
    return made


def _shown(key: Key) -> str:
    return repr(key) if isinstance(key, str) else str(key.value)


def _key(node: tree.Expression, scope: SpecScope, local: Locals, computed: bool = False) -> Key:
    """Return the key that an entry is under: a bare name is its own text, unless it is a variable of this very loop."""
    if isinstance(node, tree.Name) and not (computed and node.name in local):
        return _text(node, scope, local)
    value = evaluate(node.base if isinstance(node, tree.Select) and not node.parts else node, scope, local)
    key = key_of(value, scope)
    if key is None:
        raise Complaint(
            f"a key is a string, a number, a node or a device; this is {describe(value)}", node.span, code="MTPP-E210"
        )
    return key


def _text(node: tree.Name, scope: SpecScope, local: Locals) -> str:
    """Return a name as it is written, with the values of its subscripts."""
    parts = [tree.Part(span=node.span, name=node.name, subscripts=node.subscripts), *node.parts]
    texts: list[str] = []
    for part in parts:
        inside = [evaluate(subscript, scope, local) for subscript in part.subscripts]
        for value, subscript in zip(inside, part.subscripts, strict=True):
            if not isinstance(value, str) and not (isinstance(value, Quantity) and value.whole is not None):
                raise Complaint(
                    f"a subscript is a whole number or a string, not {describe(value)}",
                    subscript.span,
                    code="MTPP-E210",
                )
        bracket = f"[{subscripts_text(inside)}]" if inside else ""
        texts.append(f"{'.' if part.name and texts else ''}{part.name or ''}{bracket}")
    return "".join(texts)
