"""Calls: functions of the language, those of the spec's own ``def``, and functions of many values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from mtpp_dsl.core.base.exact_numbers import LONG
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import word_hint
from mtpp_dsl.language.values.arithmetic import Total
from mtpp_dsl.language.values.complaints import Complaint, Unsettled
from mtpp_dsl.language.values.evaluating import Locals, evaluate, evaluates, loops, placed, steps_of
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS, own_function
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Affine, Value

__all__: list[str] = []

MAX_CALLS = 50
"""Calls of the spec's own functions inside each other; with no recursion, only long chains of them are deeper."""


@evaluates(tree.Call)
def _call(node: tree.Call, scope: SpecScope, local: Locals) -> Value:
    name = node.function.text
    own = own_function(node.function, scope)
    if own is None and name in AGGREGATES:
        return _aggregate(node, scope, local)
    if node.clauses is not None and (own is not None or name in FUNCTIONS):
        listed = ", ".join(AGGREGATES)
        raise Complaint(f"{name!r} takes no comprehension; these do: {listed}", node.clauses.span, code="MTPP-E206")
    if own is not None:
        return _own(node, own, scope, local)
    if name not in FUNCTIONS:
        raise _no_function(node, scope)
    arguments = [evaluate(argument, scope, local) for argument in node.arguments]
    function, wanted = FUNCTIONS[name]
    least = sum(not name.endswith("?") for name in wanted)
    if not least <= len(arguments) <= len(wanted):
        raise _wrong_number(node, wanted)
    named = zip(arguments, wanted, node.arguments, strict=False)
    resolved = [_by_string(value, kind, argument.span, scope) for value, kind, argument in named]
    return placed(node.span, function, scope, *resolved)


def _no_function(node: tree.Call, scope: SpecScope) -> Complaint:
    name = node.function.text
    scope.remarks.need(name)
    if node.named:  # options behind 'for', which the parser has refused
        raise Unsettled(name)
    hint = word_hint(name, [*FUNCTIONS, *AGGREGATES, *scope.defs], "function")
    note = f"subscripts are written {name}[…]" if scope.member(name, node.span) is not None else ""
    if name == "range":
        hint, note = "", "a range is written 0..<3, or with its last number 0..2: for i in 0..<3"
    return Complaint(
        f"there is no function {name!r}{hint}", node.function.span, [note] if note else [], code="MTPP-E206"
    )


def _wrong_number(node: tree.Call, wanted: tuple[str, ...]) -> Complaint:
    number = len(node.arguments)
    given = f"{number} argument{'s' if number != 1 else ''}"
    return Complaint(f"{node.function.text}({_shown(wanted)}) got {given}", node.span, code="MTPP-E206")


def _shown(wanted: tuple[str, ...]) -> str:
    """Return the names of arguments for messages; those that may be left out in brackets."""
    return ", ".join(f"[{name[:-1]}]" if name.endswith("?") else name for name in wanted)


def _by_string(value: Value, wanted: str, span: Span, scope: SpecScope) -> Value:
    """Return the node or the device that a string names, where one is wanted (names such as "225").

    Raises:
        Complaint: nothing is called so.
    """
    if not isinstance(value, str) or not ("node" in wanted or "device" in wanted):
        return value
    member = scope.wanted(value, "node" if "node" in wanted else "device", span)
    if member is None:
        raise scope.unknown(value, span)
    return member


def _own(node: tree.Call, definition: tree.DefStatement, scope: SpecScope, local: Locals) -> Value:
    """Return the value of a function of the spec; its body sees its parameters, and no variable of the caller."""
    name = node.function.text
    scope.remarks.need(name)
    parameters = tuple(word.text for word in definition.params)
    if len(node.arguments) != len(parameters):
        raise _wrong_number(node, parameters)
    values = [evaluate(argument, scope, local) for argument in node.arguments]
    if name in scope.evaluated.calls:
        chain = " -> ".join([*scope.evaluated.calls[scope.evaluated.calls.index(name) :], name])
        raise Complaint(f"'def {name}' calls itself: {chain}", node.span, code="MTPP-E207")
    if len(scope.evaluated.calls) >= MAX_CALLS:
        raise Complaint(f"functions call each other more than {MAX_CALLS} deep", node.span, code="MTPP-E901")
    scope.evaluated.calls.append(name)
    try:
        return evaluate(definition.value, scope, dict(zip(parameters, values, strict=True)))
    except Unsettled:
        raise
    except Complaint as complaint:
        raise complaint.noting(f"in {node.span.text}, called at {node.span}") from None
    finally:
        scope.evaluated.calls.pop()


def _aggregate(node: tree.Call, scope: SpecScope, local: Locals) -> Value:
    name = node.function.text
    if node.clauses is not None:
        if len(node.arguments) != 1:
            raise Complaint(f"{name} takes one expression before 'for'", node.span, code="MTPP-E206")
        values: Iterator[Value] = (
            evaluate(node.arguments[0], scope, step) for step in loops(node.clauses, scope, local)
        )
    else:
        items = [evaluate(argument, scope, local) for argument in node.arguments]
        members = steps_of(items[0]) if len(items) == 1 else None
        values = iter(items) if members is None else members
    if name == "sum":
        return placed(node.span, _total, values, node.span, scope)
    return placed(node.span, AGGREGATES[name], _gone_through(values, node.span, scope))


def _total(values: Iterator[Value], span: Span, scope: SpecScope) -> Value:
    """Return a sum, counting what is added: a fraction with a long denominator takes longer."""
    result = Total()
    for value in _gone_through(values, span, scope):
        result.add(value)
        if isinstance(result.constant, Fraction) and result.constant.denominator > LONG:
            scope.steps.spend(4, span)
    return result.value()


def _gone_through(values: Iterator[Value], span: Span, scope: SpecScope) -> Iterator[Value]:
    """Yield values, counting each, and the terms of those over decisions."""
    for value in values:
        scope.steps.spend(len(value.terms) if isinstance(value, Affine) else 1, span)
        yield value
