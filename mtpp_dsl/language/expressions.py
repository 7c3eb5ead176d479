"""Evaluation of expressions, with every complaint placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mtpp_dsl.constraints import Bottleneck, Makespan
from mtpp_dsl.errors import did_you_mean
from mtpp_dsl.language import arithmetic, tree
from mtpp_dsl.language.arithmetic import Mismatch
from mtpp_dsl.language.functions import AGGREGATES, FUNCTIONS, decision
from mtpp_dsl.language.scope import Complaint, Scope
from mtpp_dsl.language.values import Affine, DeviceRef, NodeRef, Quantity, Sequence, Value, describe
from mtpp_dsl.source import Span
from mtpp_dsl.units import NONE, SIZE, UNITS

__all__ = ["Locals", "evaluate", "iterate", "number", "truth", "whole"]

Locals = Mapping[str, Value]

_MAX_RANGE = 1_000_000


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
    what = "depends on decisions" if isinstance(value, Affine) else f"is {describe(value)}"
    raise Complaint(f"a condition must be true or false; this {what}", node.span)


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
    for item in domain:
        scope.step(head.span)
        yield from _steps(tuple(rest), condition, scope, {**local, head.name.text: item})


def _shown(value: Quantity) -> str:
    return f"{value.value:g}" if value.dimension == NONE else str(value.dimension)


class _Evaluator:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def value(self, node: tree.Expression, local: Locals) -> Value:
        match node:
            case tree.Number():
                return self.number(node)
            case tree.Text():
                return node.value
            case tree.Name():
                return self.name(node, local)
            case tree.Chain():
                return self.chain(node, local)
            case tree.Negate():
                return self.placed(node.span, arithmetic.negate, self.value(node.operand, local))
            case tree.Compare():
                return self.compare(node, local)
            case tree.Logic():
                return self.logic(node, local)
            case tree.Not():
                return not truth(node.operand, self.scope, local)
            case tree.RangeOf():
                return self.range(node, local)
            case tree.ListOf():
                return Sequence(tuple(self.value(item, local) for item in node.items))
            case tree.SetOf():
                return Sequence(tuple(dict.fromkeys(self.value(item, local) for item in node.items)), "set")
            case tree.SetWhere():
                steps = _steps((node.binder,), node.condition, self.scope, local)
                return Sequence(tuple(step[node.binder.name.text] for step in steps), "set")
            case tree.Call():
                return self.call(node, local)
            case _:
                raise AssertionError(f"no evaluation for {type(node).__name__}")

    @staticmethod
    def placed(span: Span, function: object, *arguments: object) -> Value:
        """Call *function*, giving a mismatch its place."""
        try:
            return function(*arguments)  # type: ignore[operator, no-any-return]
        except Mismatch as error:
            raise Complaint(str(error), span) from None

    def number(self, node: tree.Number) -> Quantity:
        if node.unit is None:
            factor, dimension = 1.0, NONE
        elif node.unit.text in UNITS:
            factor, dimension = UNITS[node.unit.text]
            if dimension == SIZE:
                self.scope.sizes.add(node.unit.text)
        else:
            known = [unit for unit in UNITS if unit.lower() == node.unit.text.lower()] or UNITS
            raise Complaint(f"there is no unit {node.unit.text!r}{did_you_mean(node.unit.text, known)}", node.unit.span)
        if factor < 1:  # 5 us is 5 / 10^6, which is nearer than 5 * 1e-6
            value = self.placed(node.span, arithmetic.divide, Quantity(node.value), Quantity(round(1 / factor)))
        else:
            value = self.placed(node.span, arithmetic.multiply, Quantity(int(factor)), Quantity(node.value))
        assert isinstance(value, Quantity)
        return Quantity(value.value, dimension)

    def name(self, node: tree.Name, local: Locals) -> Value:
        if node.subscripts:
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
            raise self.scope.unknown(node.name, node.span, list(local))
        return known

    def let(self, name: str, span: Span) -> Value:
        values, pending = self.scope.values_of_lets, self.scope.pending
        if name in pending:
            chain = " -> ".join([*pending[pending.index(name) :], name])
            raise Complaint(f"'let {name}' is defined by itself: {chain}", span)
        if name not in values:
            pending.append(name)
            try:
                values[name] = self.value(self.scope.lets[name].value, {})
            finally:
                pending.pop()
        return values[name]

    def builtin(self, name: str) -> Value | None:
        graph, devices = self.scope.graph, self.scope.devices
        if name in ("true", "false"):
            return name == "true"
        if name == "nodes" and graph is not None:
            return Sequence(tuple(NodeRef(v) for v in range(graph.n)), "set")
        if name == "devices" and devices is not None:
            return Sequence(tuple(DeviceRef(d) for d in range(len(devices))), "set")
        if name in ("bottleneck", "makespan") and devices is not None:
            return decision(Bottleneck() if name == "bottleneck" else Makespan(), self.scope)
        return None

    def chain(self, node: tree.Chain, local: Locals) -> Value:
        result = self.value(node.operands[0], local)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            span = node.operands[0].span.to(operand.span)
            right = self.value(operand, local)
            match operator:
                case "+":
                    result = self.placed(span, arithmetic.total, [result, right])
                case "-":
                    result = self.placed(span, arithmetic.subtract, result, right)
                case "*":
                    result = self.placed(span, arithmetic.multiply, result, right)
                case _:
                    result = self.placed(span, arithmetic.divide, result, right)
        return result

    def compare(self, node: tree.Compare, local: Locals) -> bool:
        left, right = self.value(node.left, local), self.value(node.right, local)
        if node.operator in ("in", "not in"):
            if not isinstance(right, Sequence):
                raise Complaint(f"'in' needs a set, a list or a range, not {describe(right)}", node.right.span)
            return (left in right) == (node.operator == "in")
        if isinstance(left, Affine) or isinstance(right, Affine):
            raise Complaint("an inequality over decisions stands only at the top of a labelled constraint", node.span)
        value = self.placed(node.span, arithmetic.compare, left, node.operator, right)
        assert isinstance(value, bool)
        return value

    def logic(self, node: tree.Logic, local: Locals) -> bool:
        check = all if node.operator == "and" else any
        return check(truth(operand, self.scope, local) for operand in node.operands)

    def range(self, node: tree.RangeOf, local: Locals) -> Sequence:
        first = whole(node.first, self.scope, local, "a range's first end")
        last = whole(node.last, self.scope, local, "a range's last end")
        if last - first > _MAX_RANGE:
            raise Complaint(f"a range may have at most {_MAX_RANGE:,} members", node.span)
        return Sequence(range(first, last + 1), "range")

    def call(self, node: tree.Call, local: Locals) -> Value:
        name = node.function.text
        if name not in FUNCTIONS and name not in AGGREGATES:
            hint = did_you_mean(name, [*FUNCTIONS, *AGGREGATES])
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
        resolved = [self.node_by_string(a, w) for a, w in zip(arguments, wanted, strict=True)]
        return self.placed(node.span, function, self.scope, *resolved)

    def node_by_string(self, value: Value, wanted: str) -> Value:
        """Return the node that a string names, where a node is wanted (names such as "225")."""
        if isinstance(value, str) and "node" in wanted:
            return self.scope.node(value) or value
        return value

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
        return self.placed(node.span, AGGREGATES[node.function.text], values)
