"""The functions of the language: mathematics, and the table of all, attributes and decisions among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from mtpp_dsl.core.base.exact_numbers import Exact, from_float, settled
from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.constraints import Largest
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values import decisions
from mtpp_dsl.language.values.arithmetic import Mismatch, Total, compare, multiply, total
from mtpp_dsl.language.values.attributes import ATTRIBUTES
from mtpp_dsl.language.values.decisions import decision
from mtpp_dsl.language.values.scope import SpecScope
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

__all__ = ["AGGREGATES", "FUNCTIONS", "MATHEMATICS", "decision", "own_function"]

_MAX_POWER = 1_000


def _plain(value: Value, what: str) -> Quantity:
    if isinstance(value, Affine):
        raise Mismatch(f"{what} of a decision is not linear")
    if not isinstance(value, Quantity):
        raise Mismatch(f"{what} needs a number, not {describe(value)}")
    return value


def _without_unit(value: Value, what: str) -> Exact:
    quantity = _plain(value, what)
    if quantity.dimension != NONE:
        raise Mismatch(f"{what} needs a number without a unit, not {quantity.dimension}")
    return quantity.value


def _rounded(name: str, function: Callable[[Exact], int]) -> Callable[[SpecScope, Value], Value]:
    def rounding(_: SpecScope, value: Value) -> Value:
        number = _without_unit(value, name)
        if isinstance(number, float):
            raise Mismatch(f"{name}(inf) is not defined")
        return Quantity(function(number))

    return rounding


def _abs(_: SpecScope, value: Value) -> Value:
    quantity = _plain(value, "abs")
    return quantity if quantity.value >= 0 else Quantity(-quantity.value, quantity.dimension)


def _real(name: str, function: Callable[[float], float]) -> Callable[[SpecScope, Value], Value]:
    """Return a function that is computed in floating point; its result is taken as the decimal that is written."""

    def real(_: SpecScope, value: Value) -> Value:
        number = _without_unit(value, name)
        try:
            return Quantity(settled(from_float(function(float(number)))))
        except (ValueError, OverflowError):
            raise Mismatch(f"{name}({shown(number)}) is not defined") from None

    return real


def _sqrt(_: SpecScope, value: Value) -> Value:
    """Return a square root, exactly where it is a fraction."""
    number = _without_unit(value, "sqrt")
    if number < 0:
        raise Mismatch(f"sqrt({shown(number)}) is not defined")
    if isinstance(number, float):
        return Quantity(number)
    over, under = (math.isqrt(part) for part in (number.numerator, number.denominator))
    if over * over == number.numerator and under * under == number.denominator:
        return Quantity(settled(Fraction(over, under)))
    return Quantity(from_float(math.sqrt(number)))


def _power(scope: SpecScope, base: Value, exponent: Value) -> Value:
    """Return ``pow(x, n)``: *x* without a unit, *n* whole."""
    x, n = _without_unit(base, "pow"), _plain(exponent, "pow").whole
    if n is None or abs(n) > _MAX_POWER:
        raise Mismatch(f"pow needs a whole exponent, {_MAX_POWER:,} at most; this is {describe(exponent)}")
    if x == 0 and n < 0:
        raise Mismatch("division by zero")
    scope.steps.taken += abs(n) // 10
    try:
        return Quantity(settled(Fraction(x) ** n if not isinstance(x, float) else x**n))
    except OverflowError as error:
        raise Mismatch(str(error)) from None


def _mod(_: SpecScope, left: Value, right: Value) -> Value:
    a, b = _plain(left, "mod").whole, _plain(right, "mod").whole
    if a is None or b is None or b <= 0:
        raise Mismatch("mod needs whole numbers, the second more than zero")
    return Quantity(a % b)


def _string(scope: SpecScope, value: Value) -> Value:
    """Return a number as it is written, or the name of a node or a device."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Quantity):
        return shown(value)
    text = value if isinstance(value, str) else scope.name_of(value)
    if not text and not isinstance(value, str):
        raise Mismatch(f"string needs a number, a string, a node or a device, not {describe(value)}")
    return text


_NO_COUNT = "{} of decisions is the same for every plan, whatever they are; add them up: sum(…)"


def _length(_: SpecScope, value: Value) -> Value:
    """Return the number of members, entries, rows or characters."""
    if (
        isinstance(value, Sequence)
        and isinstance(value.items, tuple)
        and any(isinstance(member, Affine) for member in value.items)
    ):
        raise Mismatch(_NO_COUNT.format("length"))
    match value:
        case str() | Sequence() | DataTable():
            return Quantity(len(value))
        case MapValue(entries=entries):
            return Quantity(len(entries))
        case NodeRef() | DeviceRef():
            return Quantity(1)
    raise Mismatch(f"{describe(value)} has no length")


def _keys(_: SpecScope, value: Value) -> Value:
    if not isinstance(value, MapValue):
        raise Mismatch(f"keys needs a map, not {describe(value)}")
    return Sequence(tuple(value.entries))


def _values(_: SpecScope, value: Value) -> Value:
    if not isinstance(value, MapValue):
        raise Mismatch(f"values needs a map, not {describe(value)}")
    return Sequence(tuple(value.entries.values()))


MATHEMATICS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    "abs": (_abs, ("number",)),
    "floor": (_rounded("floor", math.floor), ("number",)),
    "ceil": (_rounded("ceil", math.ceil), ("number",)),
    "round": (_rounded("round", round), ("number",)),
    "sqrt": (_sqrt, ("number",)),
    "log2": (_real("log2", math.log2), ("number",)),
    "exp": (_real("exp", math.exp), ("number",)),
    "pow": (_power, ("number", "whole number")),
    "mod": (_mod, ("number", "number")),
    "string": (_string, ("value",)),
    "length": (_length, ("collection or string",)),
    "keys": (_keys, ("map",)),
    "values": (_values, ("map",)),
}
"""Function and names of its arguments, by name."""


def _extreme(name: str, operator: str) -> Callable[[Iterable[Value]], Value]:
    def extreme(values: Iterable[Value]) -> Value:
        best: Quantity | None = None
        for value in values:
            quantity = _plain(value, name)
            if best is None or compare(quantity, operator, best):
                best = quantity
        if best is None:
            raise Mismatch(f"{name} of nothing")
        return best

    return extreme


def _max(values: Iterable[Value]) -> Value:
    """Return the largest of several numbers; of sums of decisions, a decision itself."""
    addends = list(values)
    if not any(isinstance(value, Affine) for value in addends):
        return _extreme("max", ">")(addends)
    common = Total()
    for value in addends:
        common.add(value)  # holds that they have one dimension
    sums = [
        (tuple((x, float(a)) for x, a in value.terms.items() if a), float(value.constant))
        if isinstance(value, Affine)
        else ((), float(_plain(value, "max").value))
        for value in addends
    ]
    return Affine({Largest(tuple(dict.fromkeys(sums))): 1}, 0, common.value().dimension)


def _product(values: Iterable[Value]) -> Value:
    result: Value = Quantity(1)
    for value in values:
        result = multiply(result, value)
    return result


def _every(name: str, wanted: bool) -> Callable[[Iterable[Value]], Value]:
    """Return what ends with the first value that is not *wanted*."""

    def every(values: Iterable[Value]) -> Value:
        for value in values:
            if isinstance(value, Affine):
                raise Mismatch(f"{name} of decisions is not linear")
            if not isinstance(value, bool):
                raise Mismatch(f"{name} needs conditions, not {describe(value)}")
            if value is not wanted:
                return value
        return wanted

    return every


def _count(values: Iterable[Value]) -> Value:
    """Return how many values there are; decisions and conditions are none that anybody means to count like this."""
    number = 0
    for value in values:
        if isinstance(value, Affine):
            raise Mismatch(_NO_COUNT.format("count"))
        if isinstance(value, bool):
            raise Mismatch("count counts members, whether a condition is true or not: write 'count(v for … if …)'")
        number += 1
    return Quantity(number)


AGGREGATES: dict[str, Callable[[Iterable[Value]], Value]] = {
    "sum": total,
    "min": _extreme("min", "<"),
    "max": _max,
    "count": _count,
    "product": _product,
    "all": _every("all", True),
    "any": _every("any", False),
}
"""Functions of a set, a list, a comprehension or several arguments."""


FUNCTIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    **ATTRIBUTES,
    "on": (decisions.on, ("node", "device")),
    "load": (decisions.load, ("device", "phase?")),
    "bottleneck": (decisions.bottleneck, ("phase",)),
    "latency": (decisions.latency, ("phase",)),
    "used": (decisions.used, ("device",)),
    "moved": (decisions.moved, ("node",)),
    "start": (decisions.start, ("node",)),
    "finish": (decisions.finish, ("node",)),
    **MATHEMATICS,
}
"""Function and names of its arguments, by name; those that may be left out end in "?"."""


def own_function(called: tree.Word, scope: SpecScope) -> tree.DefStatement | None:
    """Return the spec's own function that a call means; None where it means one of the language, or none.

    A ``def`` comes before a function of the language with the same name, so that a function that is added to the
    language leaves older specs as they are. Files of the library are written for the functions of the language: there
    these come first.
    """
    own, source = scope.defs.get(called.text), called.span.source
    if own is None or (called.text not in FUNCTIONS and called.text not in AGGREGATES):
        return own
    return None if source.path is not None and source.path.is_relative_to(FOLDER) else own
