"""Arithmetic and comparison of values, with dimensions. Errors carry no place: the caller adds it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mtpp_dsl.base.units import NONE, Dimension
from mtpp_dsl.constraints import Decision
from mtpp_dsl.language.values import Affine, Quantity, Value, describe

__all__ = ["Mismatch", "Total", "compare", "divide", "multiply", "negate", "subtract", "total"]


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
        self.constant: int | float = 0
        self.terms: dict[Decision, float] | None = None  # None while all are numbers

    def add(self, value: Value, sign: int = 1) -> None:
        """Add *value*, or with a sign of -1 take it away.

        Raises:
            Mismatch: it cannot be added, or has another dimension.
        """
        if isinstance(value, Quantity):
            if self.dimension != value.dimension:
                self.dimension = _common(self.dimension, value)
            self.constant = _finite(self.constant + sign * value.value)
        elif isinstance(value, Affine):
            self.dimension = _common(self.dimension, value)
            self.constant = _finite(self.constant + sign * value.constant)
            terms = self.terms = {} if self.terms is None else self.terms
            for decision, coefficient in value.terms.items():
                terms[decision] = terms.get(decision, 0.0) + sign * coefficient
        else:
            raise Mismatch(f"cannot add {describe(value)}")

    def value(self) -> Quantity | Affine:
        """Return the sum."""
        dimension = self.dimension or NONE
        if self.terms is None:
            return Quantity(self.constant, dimension)
        return Affine(self.terms, float(self.constant), dimension)


def _common(dimension: Dimension | None, value: Quantity | Affine) -> Dimension | None:
    """Return the dimension shared by what was added so far and *value*; a bare 0 goes with all."""
    if isinstance(value, Quantity) and value.bare_zero:
        return dimension
    if dimension is None or dimension == value.dimension:
        return value.dimension
    raise Mismatch(f"cannot add {dimension} and {value.dimension}")


def negate(value: Value) -> Quantity | Affine:
    """Return ``-value``."""
    return multiply(Quantity(-1), value)


def subtract(left: Value, right: Value) -> Quantity | Affine:
    """Return ``left - right``."""
    return total([left, negate(right)])


def multiply(left: Value, right: Value) -> Quantity | Affine:
    """Return the product; one of the two must be a number.

    Raises:
        Mismatch: neither is a number: the product of two decisions is not linear.
    """
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        one, two = left.dimension, right.dimension
        return Quantity(_finite(left.value * right.value), one if two == NONE else two if one == NONE else one * two)
    if isinstance(left, Affine) and isinstance(right, Affine):
        raise Mismatch("the product of two decisions is not linear")
    if isinstance(left, Affine):
        left, right = right, left
    if not isinstance(left, Quantity):
        raise Mismatch(f"cannot multiply {describe(left)}")
    if isinstance(right, Affine):
        terms = {decision: left.value * coefficient for decision, coefficient in right.terms.items()}
        return Affine(terms, left.value * right.constant, left.dimension * right.dimension)
    raise Mismatch(f"cannot multiply {describe(right)}")


def divide(left: Value, right: Value) -> Quantity | Affine:
    """Return the quotient; whole numbers that divide evenly stay whole.

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
        value: int | float
        if isinstance(left.value, int) and isinstance(right.value, int) and left.value % right.value == 0:
            value = left.value // right.value
        else:
            value = left.value / right.value
        return Quantity(_finite(value), left.dimension / right.dimension)
    return multiply(Quantity(1 / right.value, NONE / right.dimension), left)


def compare(left: Value, operator: str, right: Value) -> bool:
    """Return whether ``left operator right`` holds, for values that are no decisions.

    Raises:
        Mismatch: values of two kinds or dimensions, or an order that makes no sense.
    """
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        if left.dimension != right.dimension and not (left.bare_zero or right.bare_zero):
            raise Mismatch(f"cannot compare {left.dimension} with {right.dimension}")
        order = (left.value > right.value) - (left.value < right.value)
        return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0}.get(
            operator, order != 0
        )
    if type(left) is not type(right):
        raise Mismatch(f"cannot compare {describe(left)} with {describe(right)}")
    if operator not in ("==", "!="):
        raise Mismatch(f"cannot order {describe(left)} by {operator!r}")
    return (left == right) == (operator == "==")


def _finite(value: int | float) -> int | float:
    if isinstance(value, int) and abs(value) < 10**18:
        return value
    try:
        as_float = float(value)
    except OverflowError:
        raise Mismatch("the number is too large") from None
    if not math.isfinite(as_float):
        raise Mismatch("the number is too large")
    return value if isinstance(value, int) else as_float
