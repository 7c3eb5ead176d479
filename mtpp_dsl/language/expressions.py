"""Evaluation of expressions, with every complaint placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mtpp_dsl.base.near_units import unit_hint
from mtpp_dsl.base.spec_limits import MAX_STEPS
from mtpp_dsl.base.units import NONE, SIZE, TIME, UNITS
from mtpp_dsl.constraints import Bottleneck, Makespan
from mtpp_dsl.errors import SpecError
from mtpp_dsl.language import arithmetic, tree
from mtpp_dsl.language.arithmetic import Mismatch
from mtpp_dsl.language.functions import AGGREGATES, FUNCTIONS, decision
from mtpp_dsl.language.linear import general_remedy, is_not_linear
from mtpp_dsl.language.near_words import word_hint
from mtpp_dsl.language.scope import MAX_LOOPS, Complaint, Scope
from mtpp_dsl.language.values import Affine, DeviceRef, NodeRef, Quantity, Sequence, Value, describe
from mtpp_dsl.text.source import Diagnostic, Span

__all__ = ["Locals", "evaluate", "iterate", "number", "truth", "whole"]

Locals = Mapping[str, Value]

_MAX_RANGE = 1_000_000

MAX_LETS = 100
"""Lets that wait for each other's values; in their order, any number may refer to those before."""

_UNIT_NOTE = "write a unit after a number, as in 1 ms; rates are per second, such as GB/s"


def evaluate(node: tree.Expression, scope: Scope, local: Locals | None = None) -> Value:
    """Return the value of an expression.

    Raises:
        Complaint: an unknown name or unit, values that do not go together, a non-linear term.
    """
    return _Evaluator(scope).value(node, local or {})


def truth(node: tree.Expression, scope: Scope, local: Locals) -> bool:
    """Return the value of a condition."""
    value = evaluate(node, scope, local)
    if isinstance(value, bool):
        return value
    if isinstance(value, Affine):
        notes = ["decisions are counted by adding them up: sum(on(v, d) for v in nodes)"]
        raise Complaint("a condition must be true or false; this depends on decisions", node.span, notes)
    raise Complaint(f"a condition must be true or false; this is {describe(value)}", node.span)


def number(node: tree.Expression, scope: Scope, local: Locals, what: str) -> Quantity:
    """Return the value of an expression that must be a number; *what* names it in messages."""
    value = evaluate(node, scope, local)
    if not isinstance(value, Quantity):
        raise Complaint(f"{what} must be a number; this is {describe(value)}", node.span)
    return value


def whole(node: tree.Expression, scope: Scope, local: Locals, what: str) -> int:
    """Return the value of an expression that must be a whole number without a unit."""
    value = number(node, scope, local, what)
    if value.dimension != NONE or value.value != int(value.value):
        raise Complaint(f"{what} must be a whole number; this is {_shown(value)}", node.span)
    return int(value.value)


def iterate(clauses: tree.Clauses | None, scope: Scope, local: Locals | None = None) -> Iterator[Locals]:
    """Yield the loop variables of every step of a comprehension; one empty step without one."""
    if clauses is None:
        yield local or {}
        return
    yield from _steps(clauses.binders, clauses.condition, scope, local or {})


def _steps(
    binders: tuple[tree.Binder, ...], condition: tree.Expression | None, scope: Scope, local: Locals
) -> Iterator[Locals]:
    if not binders:
        if condition is None or truth(condition, scope, local):
            yield local
        return
    head, *rest = binders
    domain = evaluate(head.domain, scope, local)
    if not isinstance(domain, Sequence):
        raise Complaint(f"{head.name.text!r} must run over a set, a list or a range, not {describe(domain)}", head.span)
    if len(local) >= MAX_LOOPS:
        raise Complaint(f"loops are nested more than {MAX_LOOPS} deep", head.span, code="MTPP-E901")
    for item in domain:
        scope.spend(1 + len(local) // 4, head.span)
        yield from _steps(tuple(rest), condition, scope, {**local, head.name.text: item})


def _shown(value: Quantity) -> str:
    return f"{value.value:g}" if value.dimension == NONE else str(value.dimension)


def _complaint(error: Mismatch, span: Span) -> Complaint:
    """Return a mismatch with its place, and with what may be written instead of a term that is not linear."""
    message = str(error)
    return Complaint(message, span, general_remedy(message) if is_not_linear(message) else ())


class _Evaluator:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def value(self, node: tree.Expression, local: Locals) -> Value:
        scope = self.scope
        scope.steps += 1
        if scope.steps > MAX_STEPS:
            scope.spend(0, node.span)
        known = _EVALUATED.get(node.__class__)
        if known is None:
            raise Complaint("this form of expression is not supported yet", node.span)
        value: Value = known(self, node, local)
        return value

    def negate(self, node: tree.Negate, local: Locals) -> Value:
        return self.placed(node.span, arithmetic.negate, self.value(node.operand, local))

    def invert(self, node: tree.Not, local: Locals) -> bool:
        return not truth(node.operand, self.scope, local)

    def text(self, node: tree.Text, _: Locals) -> str:
        return node.value

    def list(self, node: tree.ListOf, local: Locals) -> Sequence:
        return self.counted(Sequence(tuple([self.value(item, local) for item in node.items])), node.span)

    def set(self, node: tree.SetOf, local: Locals) -> Sequence:
        items = self.counted(Sequence(tuple([self.value(item, local) for item in node.items])), node.span)
        return Sequence(tuple(dict.fromkeys(items)), "set")

    def set_where(self, node: tree.SetWhere, local: Locals) -> Sequence:
        steps = iterate(node.clauses, self.scope, local)
        items = self.counted(Sequence(tuple([self.value(node.item, step) for step in steps])), node.span)
        return Sequence(tuple(dict.fromkeys(items)), "set")

    def counted(self, value: Sequence, span: Span) -> Sequence:
        """Count the members of a list or set, with those of what is in it."""
        if value.weight > MAX_STEPS:  # lists of lists grow without ever being gone through
            raise Complaint(
                f"this has more than {MAX_STEPS:,} members, with those of the lists in it", span, code="MTPP-E901"
            )
        self.scope.spend(value.weight, span)
        return value

    @staticmethod
    def placed(span: Span, function: object, *arguments: object) -> Value:
        """Call *function*, giving a mismatch its place."""
        try:
            return function(*arguments)  # type: ignore[operator, no-any-return]
        except Mismatch as error:
            raise _complaint(error, span) from None

    def number(self, node: tree.Number, _: Locals) -> Quantity:
        known = self.scope.numbers.get(id(node))
        if known is None:
            known = self.scope.numbers[id(node)] = (node, self.literal(node))
        return known[1]

    def literal(self, node: tree.Number) -> Quantity:
        given = node.value if isinstance(node.value, int) else float(node.value)
        if node.unit is None:
            factor, dimension = 1.0, NONE
        elif node.unit.text in UNITS:
            factor, dimension = UNITS[node.unit.text]
            if dimension == SIZE:
                self.scope.sizes.add(node.unit.text)
        else:
            unit = node.unit.text
            raise Complaint(f"there is no unit {unit!r}{unit_hint(unit)}", node.unit.span, code="MTPP-E201")
        if factor < 1:  # 5 us is 5 / 10^6, which is nearer than 5 * 1e-6
            value = self.placed(node.span, arithmetic.divide, Quantity(given), Quantity(round(1 / factor)))
        else:
            value = self.placed(node.span, arithmetic.multiply, Quantity(int(factor)), Quantity(given))
        assert isinstance(value, Quantity)
        return Quantity(value.value, dimension)

    def name(self, node: tree.Name, local: Locals) -> Value:
        if node.parts:
            raise Complaint("parts of a name are not supported yet", node.span)
        if node.subscripts:
            if (node.name in FUNCTIONS or node.name in AGGREGATES) and self.scope.member(node.name, node.span) is None:
                raise Complaint(f"write a function's arguments in '(' and ')': {node.name}(…)", node.span)
            inside = ",".join(str(whole(s, self.scope, local, "a subscript")) for s in node.subscripts)
            full = f"{node.name}[{inside}]"
            member = self.scope.member(full, node.span)
            if member is None:
                raise self.scope.unknown(full, node.span)
            return member
        if node.name in local:
            return local[node.name]
        if node.name in self.scope.params:
            return self.scope.params[node.name]
        if node.name in self.scope.lets:
            return self.let(node.name, node.span)
        known = self.builtin(node.name)
        if known is None:
            known = self.scope.member(node.name, node.span)
        if known is None:
            complaint = self.scope.unknown(node.name, node.span, list(local))
            if node.name in UNITS or (len(node.name) > 2 and unit_hint(node.name, [TIME])):
                raise Complaint(complaint.diagnostic.message, node.span, [_UNIT_NOTE])
            raise complaint
        return known

    def let(self, name: str, span: Span) -> Value:
        values, pending = self.scope.values_of_lets, self.scope.pending
        if name in pending:
            chain = " -> ".join([*pending[pending.index(name) :], name])
            raise Complaint(f"'let {name}' is defined by itself: {chain}", span)
        if name not in values:
            self.scope.need(name)
            if len(pending) >= MAX_LETS:
                what = f"lets refer to each other more than {MAX_LETS} deep, from {pending[0]!r} on; put them in order"
                raise SpecError([Diagnostic(what, span, code="MTPP-E901")])
            pending.append(name)
            try:
                values[name] = self.value(self.scope.lets[name].value, {})
            except Complaint:
                self.scope.unsettled.add(name)
                raise
            finally:
                pending.pop()
        return values[name]

    def builtin(self, name: str) -> Value | None:
        graph, devices = self.scope.graph, self.scope.devices
        if name in ("true", "false"):
            return name == "true"
        if name in ("nodes", "devices"):
            self.scope.need(name)
        if name == "nodes" and graph is not None:
            return Sequence(tuple(NodeRef(v) for v in range(graph.n)), "set")
        if name == "devices" and devices is not None:
            return Sequence(tuple(DeviceRef(d) for d in range(len(devices))), "set")
        if name in ("bottleneck", "makespan") and devices is not None:
            return decision(Bottleneck() if name == "bottleneck" else Makespan(), self.scope)
        return None

    def chain(self, node: tree.Chain, local: Locals) -> Value:
        if node.operators[0] in "+-":
            return self.sum(node, local)
        result = self.value(node.operands[0], local)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            right = self.value(operand, local)
            try:
                result = arithmetic.multiply(result, right) if operator == "*" else arithmetic.divide(result, right)
            except Mismatch as error:
                raise _complaint(error, node.operands[0].span.to(operand.span)) from None
            if isinstance(result, Affine):
                self.scope.spend(len(result.terms), operand.span)
        return result

    def sum(self, node: tree.Chain, local: Locals) -> Value:
        """Return ``a + b - c``, adding up once: a long sum of decisions takes as long as it has terms."""
        result = arithmetic.Total()
        for i, operand in enumerate(node.operands):
            value = self.value(operand, local)
            try:
                result.add(value, -1 if i and node.operators[i - 1] == "-" else 1)
            except Mismatch as error:
                raise Complaint(str(error), node.operands[0].span.to(operand.span)) from None
            if isinstance(value, Affine):
                self.scope.spend(len(value.terms), operand.span)
        return self.placed(node.span, result.value)

    def compare(self, node: tree.Compare, local: Locals) -> bool:
        left, right = self.value(node.left, local), self.value(node.right, local)
        if node.operator in ("in", "not in"):
            if not isinstance(right, Sequence):
                raise Complaint(f"'in' needs a set, a list or a range, not {describe(right)}", node.right.span)
            if not isinstance(right.items, range):
                self.scope.spend(right.weight, node.span)
            return (left in right) == (node.operator == "in")
        if isinstance(left, Affine) or isinstance(right, Affine):
            raise Complaint("an inequality over decisions stands only at the top of a labelled constraint", node.span)
        if isinstance(left, Sequence):
            self.scope.spend(left.weight, node.span)
        value = self.placed(node.span, arithmetic.compare, left, node.operator, right)
        assert isinstance(value, bool)
        return value

    def logic(self, node: tree.Logic, local: Locals) -> bool:
        check = all if node.operator == "and" else any
        return check(truth(operand, self.scope, local) for operand in node.operands)

    def range(self, node: tree.RangeOf, local: Locals) -> Sequence:
        first = whole(node.first, self.scope, local, "a range's first end")
        last = whole(node.last, self.scope, local, "a range's last end") - node.open
        if last - first > _MAX_RANGE:
            raise Complaint(f"a range may have at most {_MAX_RANGE:,} members", node.span)
        return Sequence(range(first, last + 1), "range")

    def call(self, node: tree.Call, local: Locals) -> Value:
        name = node.function.text
        if name not in FUNCTIONS and name not in AGGREGATES:
            hint = word_hint(name, [*FUNCTIONS, *AGGREGATES], "function")
            note = f"subscripts are written {name}[…]" if self.scope.member(name, node.span) is not None else ""
            raise Complaint(f"there is no function {name!r}{hint}", node.function.span, [note] if note else [])
        if name in AGGREGATES:
            return self.aggregate(node, local)
        if node.clauses is not None:
            raise Complaint(f"{name!r} takes no comprehension; sum, min, max and count do", node.clauses.span)
        arguments = [self.value(argument, local) for argument in node.arguments]
        function, wanted = FUNCTIONS[name]
        if len(arguments) != len(wanted):
            given = f"{len(arguments)} argument{'s' if len(arguments) != 1 else ''}"
            raise Complaint(f"{name}({', '.join(wanted)}) got {given}", node.span)
        resolved = [self.by_string(a, w) for a, w in zip(arguments, wanted, strict=True)]
        return self.placed(node.span, function, self.scope, *resolved)

    def by_string(self, value: Value, wanted: str) -> Value:
        """Return the node or the device that a string names, where one is wanted (names such as "225")."""
        if not isinstance(value, str):
            return value
        node = self.scope.node(value) if "node" in wanted else None
        return node or (self.scope.device(value) if "device" in wanted else None) or value

    def aggregate(self, node: tree.Call, local: Locals) -> Value:
        if node.clauses is not None:
            if len(node.arguments) != 1:
                raise Complaint(f"{node.function.text} takes one expression before 'for'", node.span)
            values: Iterator[Value] = (
                self.value(node.arguments[0], step) for step in iterate(node.clauses, self.scope, local)
            )
        else:
            items = [self.value(argument, local) for argument in node.arguments]
            values = iter(items[0]) if len(items) == 1 and isinstance(items[0], Sequence) else iter(items)
        return self.placed(node.span, AGGREGATES[node.function.text], self.gone_through(values, node.span))

    def gone_through(self, values: Iterator[Value], span: Span) -> Iterator[Value]:
        """Yield values, counting each, and the terms of those over decisions."""
        for value in values:
            self.scope.spend(len(value.terms) if isinstance(value, Affine) else 1, span)
            yield value


_EVALUATED: dict[type[tree.Expression], Callable[..., Value]] = {
    tree.Number: _Evaluator.number,
    tree.Text: _Evaluator.text,
    tree.Name: _Evaluator.name,
    tree.Chain: _Evaluator.chain,
    tree.Negate: _Evaluator.negate,
    tree.Compare: _Evaluator.compare,
    tree.Logic: _Evaluator.logic,
    tree.Not: _Evaluator.invert,
    tree.RangeOf: _Evaluator.range,
    tree.ListOf: _Evaluator.list,
    tree.SetOf: _Evaluator.set,
    tree.SetWhere: _Evaluator.set_where,
    tree.Call: _Evaluator.call,
}
