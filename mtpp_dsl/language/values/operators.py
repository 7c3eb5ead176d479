"""Numbers, strings, operators, conditions and ranges."""

from __future__ import annotations

from fractions import Fraction

from mtpp_dsl.core.base.exact_numbers import LONG
from mtpp_dsl.core.base.units import NONE, SIZE, UNITS
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values import arithmetic
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import Locals, evaluate, evaluates, placed, truth, unknown_unit, whole
from mtpp_dsl.language.values.linear import general_remedy, is_not_linear, mismatch_code
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.selecting import has_key
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    MapValue,
    NodeRef,
    Quantity,
    Sequence,
    Value,
    describe,
    shown,
)

__all__: list[str] = []

_MAX_RANGE = 1_000_000


@evaluates(tree.Number)
def _number(node: tree.Number, scope: SpecScope, _: Locals) -> Value:
    known = scope.evaluated.numbers.get(id(node))
    if known is None:
        known = scope.evaluated.numbers[id(node)] = (node, _literal(node, scope))
    return known[1]


def _literal(node: tree.Number, scope: SpecScope) -> Quantity:
    if node.unit is None:
        quantity = placed(node.span, arithmetic.multiply, Quantity(node.value), Quantity(1))
        assert isinstance(quantity, Quantity)
        return quantity
    unit = node.unit.text
    if unit not in UNITS:
        raise unknown_unit(node.unit)
    factor, dimension = UNITS[unit]
    if dimension == SIZE:
        scope.units.sizes.add(unit)
    quantity = placed(node.span, arithmetic.multiply, Quantity(node.value), Quantity(factor, dimension))
    assert isinstance(quantity, Quantity)
    return quantity


@evaluates(tree.Text)
def _text(node: tree.Text, _: SpecScope, __: Locals) -> str:
    return node.value


@evaluates(tree.Negate)
def _negate(node: tree.Negate, scope: SpecScope, local: Locals) -> Value:
    return placed(node.span, arithmetic.negate, evaluate(node.operand, scope, local))


@evaluates(tree.Chain)
def _chain(node: tree.Chain, scope: SpecScope, local: Locals) -> Value:
    return (_sum if node.operators[0] in "+-" else _product)(node, scope, local)


def _product(node: tree.Chain, scope: SpecScope, local: Locals) -> Value:
    result = evaluate(node.operands[0], scope, local)
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        right = evaluate(operand, scope, local)
        try:
            if operator == "*":
                result = arithmetic.multiply(result, right)
            else:
                _refuse_inverse(result, operand, right)
                result = arithmetic.divide(result, right)
        except Mismatch as error:
            message, span = str(error), node.operands[0].span.to(operand.span)
            notes = general_remedy(message) if is_not_linear(message) else ()
            raise Complaint(message, span, notes, code=mismatch_code(message)) from None
        if isinstance(result, Affine):
            scope.steps.spend(len(result.terms), operand.span)
        elif isinstance(result.value, Fraction) and result.value.denominator > LONG:
            scope.steps.spend(4, operand.span)
    return result


def _refuse_inverse(left: Value, operand: tree.Expression, right: Value) -> None:
    """Complain about ``1/2 ms``, which is one by two milliseconds and is meant to be half a millisecond.

    With brackets, ``1 / (2 ms)``, it is what it says.
    """
    if not (isinstance(operand, tree.Number) and operand.unit is not None and isinstance(right, Quantity)):
        return
    if not isinstance(left, Quantity) or left.dimension != NONE or right.dimension == NONE:
        return
    start = operand.span.start
    before = operand.span.source.text[max(0, start - 200) : start].rstrip()
    if before.endswith("("):
        return
    text, unit = operand.span.text, operand.unit.text
    inverse = describe(Quantity(1, NONE / right.dimension))
    raise Complaint(
        f"this divides by {text}, which gives {inverse}",
        operand.span,
        [
            f"write '{shown(left)} {unit} / {shown(operand.value)}' to divide a quantity",
            f"write '… / ({text})' for the inverse of {text}",
        ],
        code="MTPP-E202",
    )


def _sum(node: tree.Chain, scope: SpecScope, local: Locals) -> Value:
    """Return ``a + b - c``, adding up once: a long sum of decisions takes as long as it has terms."""
    first = evaluate(node.operands[0], scope, local)
    if isinstance(first, (str, Sequence, MapValue, DataTable, NodeRef, DeviceRef)):
        return _joined(node, first, scope, local)
    result, settling = arithmetic.Total(), node.operands[0]
    for i, operand in enumerate(node.operands):
        value = evaluate(operand, scope, local) if i else first
        known = result.dimension
        try:
            result.add(value, -1 if i and node.operators[i - 1] == "-" else 1)
        except Mismatch as error:
            span = node.operands[0].span.to(operand.span)
            if known is None or not isinstance(value, (Quantity, Affine)):
                raise Complaint(str(error), span, code=mismatch_code(str(error))) from None
            second = (settling.span, f"this is {known}")
            raise Complaint(str(error), span, code="MTPP-E209", second=second) from None
        if known is None and result.dimension is not None:
            settling = operand
        if isinstance(value, Affine):
            scope.steps.spend(len(value.terms), operand.span)
    if isinstance(result.constant, Fraction) and result.constant.denominator > LONG:
        scope.steps.spend(4 * len(node.operands), node.span)
    return placed(node.span, result.value)


def _joined(node: tree.Chain, first: Value, scope: SpecScope, local: Locals) -> Value:
    """Return strings and lists one behind the other, and the union or the difference of sets."""
    result = first
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        right = evaluate(operand, scope, local)
        result = placed(node.operands[0].span.to(operand.span), join, result, operator, right)
        scope.steps.spend(len(result) if isinstance(result, (str, Sequence)) else 1, operand.span)
    return result


@evaluates(tree.Compare)
def _compare(node: tree.Compare, scope: SpecScope, local: Locals) -> bool:
    left, right = evaluate(node.left, scope, local), evaluate(node.right, scope, local)
    if node.operator in ("in", "not in"):
        return _contains(node, left, right, scope) == (node.operator == "in")
    if isinstance(left, Affine) or isinstance(right, Affine):
        raise Complaint(
            "an inequality over decisions stands only at the top of a labelled constraint", node.span, code="MTPP-E212"
        )
    if isinstance(left, (Sequence, MapValue)):
        scope.steps.spend(left.weight, node.span)
    return placed(node.span, arithmetic.compare, left, node.operator, right)


def _contains(node: tree.Compare, member: Value, holder: Value, scope: SpecScope) -> bool:
    if isinstance(holder, MapValue):
        return has_key(holder, member, scope)
    if isinstance(holder, str) and isinstance(member, str):
        return member in holder
    if isinstance(holder, (NodeRef, DeviceRef)):
        return member == holder
    if not isinstance(holder, Sequence):
        raise Complaint(
            f"'in' needs a set, a list, a range or a map, not {describe(holder)}", node.right.span, code="MTPP-E210"
        )
    if isinstance(holder.items, tuple) and "members" not in vars(holder):  # made once, then looked up
        scope.steps.spend(holder.weight, node.span)
    if isinstance(member, Sequence):
        scope.steps.spend(member.weight, node.span)
    try:
        return member in holder
    except TypeError:
        raise Complaint("'in' does not look for expressions over decisions", node.span, code="MTPP-E204") from None


@evaluates(tree.Logic)
def _logic(node: tree.Logic, scope: SpecScope, local: Locals) -> bool:
    check = all if node.operator == "and" else any
    return check(truth(operand, scope, local) for operand in node.operands)


@evaluates(tree.Not)
def _not(node: tree.Not, scope: SpecScope, local: Locals) -> bool:
    return not truth(node.operand, scope, local)


@evaluates(tree.Conditional)
def _conditional(node: tree.Conditional, scope: SpecScope, local: Locals) -> Value:
    return evaluate(node.then if truth(node.condition, scope, local) else node.otherwise, scope, local)


@evaluates(tree.RangeOf)
def _range(node: tree.RangeOf, scope: SpecScope, local: Locals) -> Sequence:
    first = whole(node.first, scope, local, "a range's first end")
    last = whole(node.last, scope, local, "a range's last end")
    beyond = last if node.open else last + 1
    if beyond - first > _MAX_RANGE:
        raise Complaint(f"a range may have at most {_MAX_RANGE:,} members", node.span, code="MTPP-E901")
    if beyond < first:
        sign = "..<" if node.open else ".."
        scope.remarks.warn(f"this range runs backwards and has no members: {first}{sign}{last}", node.span, "MTPP-W201")
    return Sequence(range(first, max(first, beyond)), "range")


# ``+`` and ``-`` of what is no number: strings, lists and sets.

MAX_TEXT = 1_000_000
"""Characters of a string."""


def join(left: Value, operator: str, right: Value) -> Value:
    """Return ``left + right`` or ``left - right``.

    Strings and lists (also ranges) stand one behind the other. Of sets, ``+`` is the union, in the order in which the
    members first occur, and ``-`` what is only in the left one. Beside a set, a node or a device is the set of it
    alone: a path may name one or several.

    Raises:
        Mismatch: they are of two kinds, or have no such operation; or the string would be too long.
    """
    left, right = _as_set(left, right), _as_set(right, left)
    word = {"+": "add", "-": "take"}[operator]
    if isinstance(left, str) and isinstance(right, str) and operator == "+":
        if len(left) + len(right) > MAX_TEXT:
            raise Mismatch(f"a string has at most {MAX_TEXT:,} characters")
        return left + right
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return _sequences(left, operator, right)
    if isinstance(left, str) and operator == "+":
        remedy = "; write string(…) around it" if isinstance(right, Quantity) else ""
        raise Mismatch(f"cannot add {describe(right)} to a string{remedy}")
    where = f"{'to' if operator == '+' else 'from'} {describe(left)}"
    remedy = ""
    if isinstance(left, Sequence):
        remedy = f": write it in {'{…}' if left.kind == 'set' else '[…]'}"
    raise Mismatch(f"cannot {word} {describe(right)} {where}{remedy}")


def _as_set(value: Value, other: Value) -> Value:
    """Return the set of a node or a device alone where the *other* operand is a set, or a node or device, too."""
    beside = isinstance(other, (NodeRef, DeviceRef)) or (isinstance(other, Sequence) and other.kind == "set")
    return Sequence((value,), "set") if beside and isinstance(value, (NodeRef, DeviceRef)) else value


def _sequences(left: Sequence, operator: str, right: Sequence) -> Sequence:
    sets = [value.kind == "set" for value in (left, right)]
    if all(sets):
        if operator == "-":
            return Sequence(tuple(item for item in left if item not in right.members), "set")
        return Sequence(tuple(dict.fromkeys([*left, *right])), "set")
    if any(sets):
        raise Mismatch(
            f"{describe(left)} and {describe(right)} do not go together: a set has no order; "
            "write {x for x in …} for a set, or [x for x in …] for a list"
        )
    if operator == "-":
        raise Mismatch("a list has no difference; sets have: write {…} - {…}")
    return Sequence((*left, *right), "list")
