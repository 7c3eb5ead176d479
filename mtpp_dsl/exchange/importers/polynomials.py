"""Polynomials with whole coefficients over the symbols of a model: what shapes and costs are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TypeAlias

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.sizes import MAX_TEXT

Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Symbols with their powers, in alphabetical order."""
Amount: TypeAlias = "int | Polynomial"

MAX_TERMS = 64
MAX_AMOUNT = 2**100
"""A larger coefficient is refused: no model that exists has it."""


class Polynomial:
    """A sum of monomials; :func:`symbol` makes the first, and + and * the rest.

    A symbol may also stand for text that is no polynomial, such as ``(seq // 2)``, in brackets.

    >>> batch, seq = symbol("batch"), symbol("seq")
    >>> size_of(2 * batch * (seq + 1))
    '2*batch + 2*batch*seq'
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {powers: number for powers, number in terms.items() if number}
        if len(self.terms) > MAX_TERMS or any(abs(number) > MAX_AMOUNT for number in self.terms.values()):
            raise UsageError("a size of the model is out of range")

    def __add__(self, other: Amount) -> Polynomial:
        terms = dict(self.terms)
        for powers, number in _terms(other).items():
            terms[powers] = terms.get(powers, 0) + number
        return Polynomial(terms)

    __radd__ = __add__

    def __sub__(self, other: Amount) -> Polynomial:
        return self + (-1) * other

    def __rsub__(self, other: Amount) -> Polynomial:
        return (-1) * self + other

    def __mul__(self, other: Amount) -> Polynomial:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in _terms(other).items():
                powers = _joined(left, right)
                terms[powers] = terms.get(powers, 0) + a * b
        return Polynomial(terms)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, Polynomial)) and self.terms == _terms(other)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"Polynomial({size_of(self)!r})"


def _terms(amount: Amount) -> Mapping[Monomial, int]:
    return amount.terms if isinstance(amount, Polynomial) else {(): amount}


def _joined(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def symbol(name: str) -> Polynomial:
    """Return the polynomial that is one symbol, or text that stands for one.

    Raises:
        UsageError: the text is longer than sizes may be: texts within texts grow by their number at each level.
    """
    if len(name) > MAX_TEXT:
        raise UsageError(f"a size of the model is a formula of more than {MAX_TEXT:,} characters")
    return Polynomial({((name, 1),): 1})


def product(amounts: Iterable[Amount]) -> Amount:
    """Return the product of amounts, 1 of none; as a number where it is one.

    Raises:
        UsageError: it is beyond :data:`MAX_AMOUNT`.
    """
    numbers: list[int] = []
    polynomial: Polynomial | None = None
    for amount in amounts:
        if isinstance(amount, int):
            numbers.append(amount)
        else:
            polynomial = amount if polynomial is None else polynomial * amount
    number = prod(numbers)
    if abs(number) > MAX_AMOUNT:
        raise UsageError("a size of the model is out of range")
    return number if polynomial is None else polynomial * number


def whole_quotient(amount: Amount, divisor: int) -> Amount:
    """Return *amount* divided by *divisor*, rounded down."""
    terms = _terms(amount)
    if all(number % divisor == 0 for number in terms.values()):
        return _simple(Polynomial({powers: number // divisor for powers, number in terms.items()}))
    if isinstance(amount, int):
        return amount // divisor
    return symbol(f"(({size_of(amount)}) // {divisor})")


def _simple(polynomial: Polynomial) -> Amount:
    return polynomial.terms.get((), 0) if set(polynomial.terms) <= {()} else polynomial


def size_of(amount: Amount) -> int | str:
    """Return an amount as a number, or as the text of a formula."""
    if isinstance(amount, int):
        return amount
    simple = _simple(amount)
    if isinstance(simple, int):
        return simple
    text = ""
    for powers, number in sorted(simple.terms.items()):
        factors = [str(abs(number))] if abs(number) != 1 or not powers else []
        factors += [name if power == 1 else f"{name}**{power}" for name, power in powers]
        text += f"{' - ' if number < 0 else ' + '}{'*'.join(factors)}"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]
