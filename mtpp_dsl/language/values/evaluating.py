"""The way into expressions: which function evaluates which construct, and the loops of comprehensions.

The functions themselves stand in the modules that :mod:`mtpp_dsl.language.values.expressions` brings together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Sequence as SequenceType
from typing import Any, TypeVar

from mtpp_dsl.core.base.units import Dimension, unit_hint
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.complaints import Complaint, reserved
from mtpp_dsl.language.values.linear import general_remedy, is_not_linear, mismatch_code
from mtpp_dsl.language.values.scope import MAX_LOOPS, SpecScope
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    MapValue,
    NodeRef,
    Quantity,
    Sequence,
    TableRow,
    Value,
    describe,
    shown,
)

Locals = Mapping[str, Value]

T = TypeVar("T")
_Rule = Callable[[Any, SpecScope, Locals], Value]
_RULES: dict[type[tree.Expression], _Rule] = {}


def evaluates(kind: type[tree.Expression]) -> Callable[[_Rule], _Rule]:
    """Return a decorator that notes a function as the one that evaluates a construct."""

    def note(rule: _Rule) -> _Rule:
        _RULES[kind] = rule
        return rule

    return note


def evaluate(node: tree.Expression, scope: SpecScope, local: Locals | None = None) -> Value:
    """Return the value of an expression.

    Raises:
        Complaint: an unknown name or unit, values that do not go together, a non-linear term.
    """
    steps = scope.steps
    steps.taken += 1
    if steps.taken > steps.most:
        steps.spend(0, node.span)
    return _RULES[node.__class__](node, scope, {} if local is None else local)


def placed(span: Span, function: Callable[..., T], *arguments: object) -> T:
    """Call *function*, giving a mismatch its place, and what may be written instead of a term that is not linear."""
    try:
        return function(*arguments)
    except Mismatch as error:
        message = str(error)
        notes = general_remedy(message) if is_not_linear(message) else ()
        raise Complaint(message, span, notes, code=mismatch_code(message)) from None


def truth(node: tree.Expression, scope: SpecScope, local: Locals) -> bool:
    """Return the value of a condition."""
    value = evaluate(node, scope, local)
    if isinstance(value, bool):
        return value
    if isinstance(value, Affine):
        notes = ["decisions are counted by adding them up: sum(on(v, d) for v in nodes)"]
        raise Complaint(
            "a condition must be true or false; this depends on decisions", node.span, notes, code="MTPP-E210"
        )
    raise Complaint(f"a condition must be true or false; this is {describe(value)}", node.span, code="MTPP-E210")


def number(node: tree.Expression, scope: SpecScope, local: Locals, what: str) -> Quantity:
    """Return the value of an expression that must be a number; *what* names it in messages."""
    value = evaluate(node, scope, local)
    if not isinstance(value, Quantity):
        raise Complaint(f"{what} must be a number; this is {describe(value)}", node.span, code="MTPP-E210")
    return value


def whole(node: tree.Expression, scope: SpecScope, local: Locals, what: str) -> int:
    """Return the value of an expression that must be a whole number without a unit."""
    value = number(node, scope, local, what)
    size = value.whole
    if size is None:
        raise Complaint(f"{what} must be a whole number; this is {shown(value)}", node.span, code="MTPP-E211")
    return size


def unknown_unit(unit: tree.Word, dimensions: Collection[Dimension] | None = None) -> Complaint:
    """Return the complaint about a word that is no unit; the near ones are of the *dimensions* that are wanted."""
    hint = (unit_hint(unit.text, dimensions) if dimensions is not None else "") or unit_hint(unit.text)
    return Complaint(f"there is no unit {unit.text!r}{hint}", unit.span, code="MTPP-E201")


def iterate(clauses: tree.Clauses | None, scope: SpecScope, local: Locals | None = None) -> Iterator[Locals]:
    """Yield the loop variables of every step of a statement's ``for`` and ``if``; one step where it has neither.

    A statement that its own loop repeats not once is warned of.
    """
    if clauses is None:
        yield local or {}
        return
    repeated = False
    for step in loops(clauses, scope, local or {}):
        repeated = True
        yield step
    if not repeated and not local:
        warn_of_no_step(clauses.binders, clauses.span, scope)


def warn_of_no_step(binders: SequenceType[tree.Binder], span: Span, scope: SpecScope) -> None:
    """Warn of a statement that its loops repeat not once.

    Ranges are often empty with good reason, as in ``0..<n - 1`` for n = 1: there is no warning where one is gone
    through.
    """
    if binders and not any(isinstance(binder.domain, tree.RangeOf) for binder in binders):
        scope.remarks.warn("this loop has no step, so the statement says nothing", span, "MTPP-W202")


def loops(clauses: tree.Clauses, scope: SpecScope, local: Locals) -> Iterator[Locals]:
    """Yield the loop variables of every step of a comprehension."""
    yield from _steps(clauses.binders, clauses.condition, scope, local)


def _steps(
    binders: tuple[tree.Binder, ...], condition: tree.Expression | None, scope: SpecScope, local: Locals
) -> Iterator[Locals]:
    if not binders:
        if condition is None or truth(condition, scope, local):
            yield local
        return
    head, rest = binders[0], binders[1:]
    name, spent = head.name.text, 1 + len(local) // 4
    for item in members_of(head, scope, local):
        scope.steps.spend(spent, head.span)
        yield from _steps(rest, condition, scope, {**local, name: item})


def members_of(head: tree.Binder, scope: SpecScope, local: Locals) -> Iterator[Value]:
    """Return what the variable of a loop stands for, one after the other.

    Raises:
        Complaint: there is nothing to go through, loops are nested too deeply, or the variable is a reserved word.
    """
    name = head.name.text
    if name in RESERVED:
        raise reserved(name, head.name.span)
    domain = evaluate(head.domain, scope, local)
    items = steps_of(domain)
    if isinstance(domain, NodeRef) or (isinstance(domain, Sequence) and domain.kind == "set" and _of_nodes(domain)):
        scope.remarks.count(1 if isinstance(domain, NodeRef) else len(domain), head.domain.span)
    if items is None:
        raise Complaint(
            f"{name!r} must run over a set, a list or a range, not {describe(domain)}", head.span, code="MTPP-E210"
        )
    if len(local) >= MAX_LOOPS:
        raise Complaint(f"loops are nested more than {MAX_LOOPS} deep", head.span, code="MTPP-E901")
    return items


def _of_nodes(members: Sequence) -> bool:
    return isinstance(next(iter(members), None), NodeRef)


def steps_of(value: Value) -> Iterator[Value] | None:
    """Yield what a loop over a value goes through: members, the keys of a map, or rows; None if it is no collection.

    A node or a device is gone through as the set of it alone: a path may name one or several.
    """
    match value:
        case NodeRef() | DeviceRef():
            return iter((value,))
        case Sequence():
            return iter(value)
        case MapValue():
            return iter(value.entries)
        case DataTable():
            return (TableRow(value, i) for i in range(len(value)))
        case _:
            return None
