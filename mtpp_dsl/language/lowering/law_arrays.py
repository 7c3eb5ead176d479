"""A law asked for many operators at once: arithmetic on columns, where it consists of no more than that.

One operator at a time takes some 0.1 ms, and counts as many steps of reading as the law has parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.attributes import OF_DEVICES, OF_OPERATORS
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.functions import FUNCTIONS, own_function
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, Quantity

Column: TypeAlias = NDArray[Any]
"""[operators] numbers, truth values or strings."""

NODE, DEVICE = "node", "device"
"""What a parameter of a function stands for, where it is no value."""

COLUMNS = {"kind": "kinds", "dtype": "dtypes", "weight_type": "weight_types"}
OPERATORS: dict[str, Callable[[Any, Any], Column]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
EXTREMES: dict[str, Callable[[Any, Any], Column]] = {"max": np.maximum, "min": np.minimum}


class _OtherError(Exception):
    """The law has a part that columns cannot do."""


@dataclass(frozen=True)
class _Columns:
    """Operators, and what a law may ask of them on one device."""

    scope: SpecScope
    costs: Costs
    d: int

    def value(self, node: tree.Expression, items: NDArray[np.int64], names: Mapping[str, Any]) -> Column:
        """Return [items] the values of an expression.

        Args:
            node: the expression.
            items: numbers of the operators.
            names: what parameters stand for: :data:`NODE`, :data:`DEVICE`, or a column of values.

        Raises:
            _OtherError: it has a part that columns cannot do.
        """
        match node:
            case tree.Number() | tree.Text():
                return self.constant(node, items)
            case tree.Name(name=name, subscripts=(), parts=()):
                known = names.get(name)
                if isinstance(known, str):
                    raise _OtherError
                return self.constant(node, items) if known is None else known
            case tree.Negate(operand=operand):
                return np.negative(self.value(operand, items, names))
            case tree.Chain(operands=operands, operators=operators):
                column = self.value(operands[0], items, names)
                for operator, operand in zip(operators, operands[1:], strict=True):
                    column = OPERATORS[operator](column, self.value(operand, items, names))
                return column
            case tree.Compare(left=left, operator=operator, right=right) if operator in OPERATORS:
                return OPERATORS[operator](self.value(left, items, names), self.value(right, items, names))
            case tree.Not(operand=operand):
                return np.logical_not(self.value(operand, items, names))
            case tree.Logic(operator=operator, operands=operands):
                join = np.logical_and if operator == "and" else np.logical_or
                column = self.value(operands[0], items, names)
                for operand in operands[1:]:
                    column = join(column, self.value(operand, items, names))
                return column
            case tree.Conditional():
                return self.conditional(node, items, names)
            case tree.Call(named=(), clauses=None):
                return self.call(node, items, names)
        raise _OtherError

    def constant(self, node: tree.Expression, items: NDArray[np.int64]) -> Column:
        """Return [items] the value of an expression that does not depend on the operator."""
        value = evaluate(node, self.scope, {})
        if isinstance(value, Quantity):
            return np.full(len(items), float(value.value))
        if isinstance(value, str):
            return np.full(len(items), value, object)
        raise _OtherError

    def conditional(self, node: tree.Conditional, items: NDArray[np.int64], names: Mapping[str, Any]) -> Column:
        """Return [items] the values of ``if … then … else``: each branch is asked only where it counts."""
        yes = self.value(node.condition, items, names).astype(np.bool_)
        column: Column | None = None
        for branch, where in ((node.then, yes), (node.otherwise, ~yes)):
            if where.any():
                some = {name: what if isinstance(what, str) else what[where] for name, what in names.items()}
                values = self.value(branch, items[where], some)
                column = np.empty(len(items), values.dtype) if column is None else column
                column[where] = values
        return np.zeros(0) if column is None else column

    def call(self, node: tree.Call, items: NDArray[np.int64], names: Mapping[str, Any]) -> Column:
        """Return [items] the values of a call."""
        name, arguments = node.function.text, node.arguments
        kinds = [_meant(operand, names) for operand in arguments]
        first = kinds[0] if kinds and isinstance(kinds[0], str) else None
        own = own_function(node.function, self.scope)
        if own is not None:
            return self.own(own, arguments, kinds, items, names)
        if name in EXTREMES and len(arguments) > 1:
            extreme = self.value(arguments[0], items, names)
            for operand in arguments[1:]:
                extreme = EXTREMES[name](extreme, self.value(operand, items, names))
            return extreme
        if name in OF_OPERATORS and first == NODE and len(arguments) == 1:
            column = getattr(self.costs, COLUMNS.get(name, name))
            return np.array(column, object if name in COLUMNS else np.float64)[items]
        if name in OF_DEVICES and first == DEVICE:
            return self.of_device(name, arguments[1:], items, names)
        raise _OtherError

    def own(
        self,
        function: tree.DefStatement,
        arguments: tuple[tree.Expression, ...],
        kinds: list[Any],
        items: NDArray[np.int64],
        names: Mapping[str, Any],
    ) -> Column:
        """Return [items] the values of a call of the spec's own function; *kinds*: what each argument stands for."""
        if len(function.params) != len(arguments):
            raise _OtherError
        bound = {
            word.text: kind if isinstance(kind, str) else self.value(argument, items, names)
            for word, kind, argument in zip(function.params, kinds, arguments, strict=True)
        }
        return self.value(function.value, items, bound)

    def of_device(
        self, name: str, more: tuple[tree.Expression, ...], items: NDArray[np.int64], names: Mapping[str, Any]
    ) -> Column:
        """Return [items] what a function says of the device, of which one may depend on a word about the operator."""
        function, _ = FUNCTIONS[name]
        words = self.value(more[0], items, names) if more else np.full(len(items), "", object)
        answers: Column | None = None
        for word in dict.fromkeys(words.tolist()):
            value = function(self.scope, DeviceRef(self.d), *([word] if more else []))
            if not isinstance(value, (str, Quantity)):
                raise _OtherError
            answers = (
                np.empty(len(items), object if isinstance(value, str) else np.float64) if answers is None else answers
            )
            answers[words == word] = value if isinstance(value, str) else float(value.value)
        return np.zeros(0) if answers is None else answers


def _meant(argument: tree.Expression, names: Mapping[str, Any]) -> Any:
    """Return what a parameter that is handed on as it is stands for; None for any other argument."""
    bare = isinstance(argument, tree.Name) and not argument.subscripts and not argument.parts
    return names.get(argument.name) if isinstance(argument, tree.Name) and bare else None


def column_times(
    definition: tree.DefStatement, scope: SpecScope, costs: Costs, items: list[int], d: int
) -> Column | None:
    """Return [items] the times of operators on device *d* by a law, in seconds; None if it has to be asked one by one.

    They differ from those that are asked one by one by the rounding of floating point alone. Units are not looked at:
    ask for some of the operators before.

    Args:
        definition: the law.
        scope: of the spec, with its graph and its devices.
        costs: of the graph, settled.
        items: numbers of the operators.
        d: number of the device.
    """
    v, device = (word.text for word in definition.params)
    numbers = np.array(items, np.int64)
    try:
        with np.errstate(all="ignore"):
            times = _Columns(scope, costs, d).value(definition.value, numbers, {v: NODE, device: DEVICE})
    except (_OtherError, Mismatch, Complaint, RecursionError):
        return None
    sound = times.shape == numbers.shape and times.dtype == np.float64 and bool((times >= 0).all())
    return times if sound else None
