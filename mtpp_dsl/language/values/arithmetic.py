"""Arithmetic and comparison of values, with dimensions. Errors carry no place: the caller adds it.

Numbers are exact: whole numbers and fractions. ``inf`` is the one number that is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne

from mtpp_dsl.core.base.exact_numbers import Exact, settled
from mtpp_dsl.core.base.units import NONE, Dimension
from mtpp_dsl.core.constraints import Decision
from mtpp_dsl.language.values.values import Affine, MapValue, Quantity, Sequence, Value, describe

_SMALL = 10**18
_COMPARED: dict[str, Callable[[Exact, Exact], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}


class Mismatch(ValueError):
    """Values that do not go together; the message says why."""


def total(values: Iterable[Value], dimension: Dimension | None = None) -> Quantity | Affine:
    """Return the sum of numbers and expressions over decisions; 0 for none.

    Raises:
        Mismatch: something that cannot be added, or two dimensions.
    """
    result = Total(dimension)
    for value in values:
        result.add(value)
    return result.value()


class Total:
    """A sum of numbers and expressions over decisions while it is added up."""

    def __init__(self, dimension: Dimension | None = None) -> None:
        self.dimension = dimension
        self.constant: Exact = 0
        self.terms: dict[Decision, Exact] | None = None  # None while all are numbers

    def add(self, value: Value, sign: int = 1) -> None:
        """Add *value*, or with a sign of -1 take it away.

        Raises:
            Mismatch: it cannot be added, or has another dimension.
        """
        if isinstance(value, Quantity):
            if self.dimension != value.dimension:
                self.dimension = _common(self.dimension, value)
            self.constant = _settled(self.constant + value.value if sign == 1 else self.constant - value.value)
        elif isinstance(value, Affine):
            if self.dimension != value.dimension:
                self.dimension = _common(self.dimension, value)
            if value.constant:
                self.constant = _settled(self.constant + sign * value.constant)
            terms = self.terms = {} if self.terms is None else self.terms
            for decision, coefficient in value.terms.items():
                known = terms.get(decision)
                terms[decision] = sign * coefficient if known is None else _settled(known + sign * coefficient)
        else:
            raise Mismatch(f"cannot add {describe(value)}")

    def value(self) -> Quantity | Affine:
        """Return the sum.

        Raises:
            Mismatch: ``inf`` is added to decisions.
        """
        dimension = self.dimension or NONE
        if self.terms is None:
            return Quantity(self.constant, dimension)
        if isinstance(self.constant, float):
            raise Mismatch("inf is added to decisions, which have finite values")
        return Affine(self.terms, self.constant, dimension)


def _common(dimension: Dimension | None, value: Quantity | Affine) -> Dimension | None:
    """Return the dimension shared by what was added so far and *value*; a bare 0 or inf goes with all."""
    if isinstance(value, Quantity) and value.fits_all:
        return dimension
    if dimension is None or dimension == value.dimension:
        return value.dimension
    raise Mismatch(f"cannot add {dimension} and {value.dimension}")


def negate(value: Value) -> Quantity | Affine:
    """Return ``-value``."""
    return multiply(Quantity(-1), value)


def subtract(left: Value, right: Value) -> Quantity | Affine:
    """Return ``left - right``."""
    result = Total()
    result.add(left)
    result.add(right, -1)
    return result.value()


def multiply(left: Value, right: Value) -> Quantity | Affine:
    """Return the product; one of the two must be a number.

    Raises:
        Mismatch: neither is a number: the product of two decisions is not linear.
    """
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return Quantity(_settled(left.value * right.value), _times(left.dimension, right.dimension))
    if isinstance(left, Affine) and isinstance(right, Affine):
        raise Mismatch("the product of two decisions is not linear")
    if isinstance(left, Affine):
        left, right = right, left
    if not isinstance(left, Quantity):
        raise Mismatch(f"cannot multiply {describe(left)}")
    if not isinstance(right, Affine):
        raise Mismatch(f"cannot multiply {describe(right)}")
    factor = left.value
    if isinstance(factor, float):
        raise Mismatch("a decision is multiplied by inf; leave these terms out with 'if', or forbid the placement")
    terms = {decision: _settled(factor * coefficient) for decision, coefficient in right.terms.items()}
    return Affine(terms, _settled(factor * right.constant), _times(left.dimension, right.dimension))


def _times(one: Dimension, two: Dimension) -> Dimension:
    return one if two == NONE else two if one == NONE else one * two


def divide(left: Value, right: Value) -> Quantity | Affine:
    """Return the quotient, exactly.

    Raises:
        Mismatch: division by zero or by a decision.
    """
    if isinstance(right, Affine):
        raise Mismatch("a quotient by a decision is not linear")
    if not isinstance(right, Quantity):
        raise Mismatch(f"cannot divide by {describe(right)}")
    if right.value == 0:
        raise Mismatch("division by zero")
    if isinstance(left, Quantity):
        dimension = left.dimension if right.dimension == NONE else left.dimension / right.dimension
        return Quantity(_quotient(left.value, right.value), dimension)
    return multiply(Quantity(_quotient(1, right.value), NONE / right.dimension), left)


def _quotient(left: Exact, right: Exact) -> Exact:
    if isinstance(right, float):
        return _settled(left / right) if isinstance(left, float) else 0
    if isinstance(left, float):
        return _settled(left / right)
    return _settled(Fraction(left, right))


def compare(left: Value, operator: str, right: Value) -> bool:
    """Return whether ``left operator right`` holds, for values that are no decisions.

    Raises:
        Mismatch: values of two kinds or dimensions, or an order that makes no sense.
    """
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if left.dimension != right.dimension and not (left.fits_all or right.fits_all):
            raise Mismatch(f"cannot compare {left.dimension} with {right.dimension}")
        return _COMPARED[operator](left.value, right.value)
    sets = {value.kind == "set" for value in (left, right) if isinstance(value, Sequence)}
    if type(left) is not type(right) or len(sets) == 2:
        remedy = "; a set is compared with a set, {…}" if len(sets) == 2 else ""
        raise Mismatch(f"cannot compare {describe(left)} with {describe(right)}{remedy}")
    if operator not in ("==", "!="):
        raise Mismatch(f"cannot order {describe(left)} by {operator!r}{_ORDER_REMEDIES.get(type(left), '')}")
    return (left == right) == (operator == "==")


_ORDER_REMEDIES: dict[type, str] = {
    Sequence: "; count(…) gives its length, and max(…) its largest member",
    MapValue: "; compare the values that it holds, m[key]",
}


def _settled(value: Exact) -> Exact:
    """Return a result in its simplest form.

    Raises:
        Mismatch: it is too large or too small.
    """
    if value.__class__ is int and -_SMALL < value < _SMALL:
        return value
    try:
        return settled(value)
    except OverflowError as error:
        raise Mismatch(str(error)) from None
