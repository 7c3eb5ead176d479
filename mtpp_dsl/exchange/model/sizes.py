"""Sizes that speak of symbols: numbers, or formulas such as ``33554432*batch*seq``, read within stated limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError, did_you_mean

__all__ = ["EXPERTS_READ", "MAX_TEXT", "MAX_VALUE", "Size", "SizeValues", "symbols_of", "value"]

Size: TypeAlias = int | float | str
"""A number, or text: a formula over the symbols of a model."""
Number: TypeAlias = int | Fraction
Tree: TypeAlias = tuple[Any, ...]

EXPERTS_READ = ("expected", "all_distinct")
"""What ``experts(count, used, tokens)`` is in a size: those read under uniform routing, or the most there can be."""

MAX_TEXT = 2_000
"""Characters of a formula."""
MAX_DEPTH = 50
"""Brackets within brackets."""
MAX_EXPONENT = 8
EXPERT_ARGUMENTS = 3
MAX_VALUE = 10**60
"""No number of a formula, and no value on the way, is larger."""

_TOKEN = re.compile(
    r"\s*(?:([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|//|[-+*/%^(),]))"
)


def value(size: Size, symbols: Mapping[str, int] | None = None, experts_read: str = EXPERTS_READ[0]) -> Number:
    """Return what a size is where the symbols have these values, exactly.

    ``experts(count, used, tokens)`` are the experts that *tokens* tokens read, each of which uses *used* of *count*:
    the expected number under uniform routing, count (1 - (1 - used / count)^tokens), as the nearest float, or the
    most, min(count, used tokens), where *experts_read* is "all_distinct".

    Raises:
        UsageError: the text is no formula, a symbol has no value, it divides by zero, or a value on the way is beyond
            :data:`MAX_VALUE`.

    >>> value("2*batch*seq + max(seq, 64)", {"batch": 2, "seq": 16}), value("seq**2 // 3", {"seq": 10}), value(1.5)
    (128, 33, Fraction(3, 2))
    >>> [round(float(value("experts(8, 2, batch)", {"batch": 4}, rule)), 2) for rule in EXPERTS_READ]
    [5.47, 8.0]
    """
    if isinstance(size, int):
        return size
    if isinstance(size, float):
        return _number(size)
    return _Evaluation(symbols or {}, size, experts_read)(_parsed(size))


def symbols_of(size: Size) -> frozenset[str]:
    """Return the symbols that a size speaks of; see :func:`value` for what it raises.

    >>> sorted(symbols_of("2*batch*seq"))
    ['batch', 'seq']
    """
    return _names(size) if isinstance(size, str) else frozenset()


class SizeValues:
    """Evaluates many sizes for one choice of the symbols and of the experts read, each formula once."""

    def __init__(self, symbols: Mapping[str, int], experts_read: str = EXPERTS_READ[0]) -> None:
        self.symbols, self.experts_read = dict(symbols), experts_read
        self._known: dict[str, float] = {}

    def __call__(self, size: Size) -> float:
        """Return a size as the nearest float; see :func:`value` for what it raises, and a size below zero."""
        if isinstance(size, str):
            if size not in self._known:
                found = value(size, self.symbols, self.experts_read)
                if found < 0:
                    chosen = ", ".join(f"{name} = {number}" for name, number in self.symbols.items())
                    raise UsageError(f"the size {size!r} is {found} with {chosen}; a size is zero or more")
                self._known[size] = float(found)
            return self._known[size]
        return float(size)


def _number(size: float) -> Number:
    try:
        exact = Fraction(size)
    except (OverflowError, ValueError):
        raise UsageError(f"a size is {size!r}; it must be a finite number") from None
    return int(exact) if exact.denominator == 1 else exact


@lru_cache(20_000)
def _names(text: str) -> frozenset[str]:
    return frozenset(_found(_parsed(text)))


def _found(tree: Tree) -> Iterator[str]:
    waiting = [tree]
    while waiting:  # not by recursion: a long sum leans to the left
        part = waiting.pop()
        if part[0] == "name":
            yield part[1]
        waiting += [inner for inner in part[1:] if isinstance(inner, tuple)]


@lru_cache(20_000)
def _parsed(text: str) -> Tree:
    """Return a formula as nested tuples: an operator and what it is applied to.

    Raises:
        UsageError: it is none, is longer than :data:`MAX_TEXT` or nested more deeply than :data:`MAX_DEPTH`.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"the size {text[:40]!r}… has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    return _Reader(text).whole()


class _Reader:
    """Reads one formula, by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens: list[tuple[str, int]] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._wrong(at, "expected a number, a symbol or an operator")
            self.tokens.append((match[1] or match[2] or match[3], match.end() - len(match[0].lstrip())))
            at = match.end()

    def _wrong(self, column: int, what: str) -> UsageError:
        return UsageError(f"the size {self.text[:80]!r} is no formula, at character {column + 1}: {what}")

    def _next(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _take(self, *wanted: str) -> str:
        found = self._next()
        if found in wanted and found:
            self.at += 1
            return found
        return ""

    def _need(self, wanted: str) -> None:
        if not self._take(wanted):
            raise self._here(f"expected {wanted!r}")

    def _here(self, what: str) -> UsageError:
        column = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)
        return self._wrong(column, what)

    def whole(self) -> Tree:
        """Return the formula, all of it."""
        found = self._sum()
        if self.at < len(self.tokens):
            raise self._here("expected an operator or the end")
        return found

    def _sum(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._here(f"nested more deeply than {MAX_DEPTH} brackets")
        found = self._product()
        while sign := self._take("+", "-"):
            found = (sign, found, self._product())
        self.depth -= 1
        return found

    def _product(self) -> Tree:
        found = self._signed()
        while sign := self._take("*", "//", "/", "%"):
            found = (sign, found, self._signed())
        return found

    def _signed(self) -> Tree:
        negative = False
        while sign := self._take("-", "+"):
            negative ^= sign == "-"
        found = self._power()
        return ("-", ("number", 0), found) if negative else found

    def _power(self) -> Tree:
        base = self._atom()
        if not self._take("**", "^"):
            return base
        exponent = self._next()
        if not exponent.isdigit() or len(exponent) > 2 or int(exponent) > MAX_EXPONENT:
            raise self._here(f"expected a whole power of at most {MAX_EXPONENT}")
        self.at += 1
        return ("**", base, int(exponent))

    def _atom(self) -> Tree:
        token = self._next()
        if not token:
            raise self._here("expected a number or a symbol")
        if token == "(":
            self.at += 1
            inner = self._sum()
            self._need(")")
            return inner
        self.at += 1
        if token[0].isdigit():
            exact = Fraction(token)
            return ("number", int(exact) if exact.denominator == 1 else exact)
        if token in ("max", "min", "experts") and self._next() == "(":
            column, given = self.tokens[self.at - 1][1], self._arguments()
            if token == "experts" and len(given) != EXPERT_ARGUMENTS:
                raise self._wrong(column, "expected experts(count, used, tokens)")
            return (token, *given)
        if token.isidentifier():
            return ("name", token)
        self.at -= 1
        raise self._here("expected a number or a symbol")

    def _arguments(self) -> list[Tree]:
        self._need("(")
        found = [self._sum()]
        while self._take(","):
            found.append(self._sum())
        self._need(")")
        return found


class _Evaluation:
    """Evaluates one formula; recursion is as deep as its brackets, and sums are gone through in a loop."""

    def __init__(self, symbols: Mapping[str, int], text: str, experts_read: str) -> None:
        self.symbols, self.text, self.experts_read = symbols, text, experts_read

    def __call__(self, tree: Tree) -> Number:
        """Return the value of the formula, or of a part of it."""
        pending: list[tuple[str, Tree]] = []
        while tree[0] in _BINARY:  # a long chain of operators leans to the left
            pending.append((tree[0], tree[2]))
            tree = tree[1]
        found = self._leaf(tree)
        for sign, right in reversed(pending):
            other = self(right)
            if sign in ("//", "/", "%") and not other:
                raise UsageError(f"the size {self.text!r} divides by zero")
            found = _bounded(_BINARY[sign](found, other), self.text)
        return found

    def _leaf(self, tree: Tree) -> Number:
        match tree:
            case ("number", number):
                return _bounded(number, self.text)
            case ("name", name):
                if name not in self.symbols:
                    hint = did_you_mean(name, self.symbols)
                    raise UsageError(f"the size {self.text!r} speaks of {name!r}, which has no value{hint}")
                return int(self.symbols[name])
            case ("**", base, exponent):
                return _bounded(self(base) ** exponent, self.text)
            case ("experts", *parts):
                return self._experts(*map(self, parts))
            case (kind, *parts):
                ranked = sorted(map(self, parts), key=Fraction)
                return ranked[-1] if kind == "max" else ranked[0]
        raise AssertionError(tree)

    def _experts(self, count: Number, used: Number, tokens: Number) -> Number:
        if not 0 < used <= count or tokens < 0:
            raise UsageError(f"the size {self.text!r} has {count} experts, of which {tokens} tokens use {used} each")
        most = min(count, used * tokens)
        if used == count or self.experts_read == "all_distinct":
            return most
        return _number(float(count) * (1 - (1 - float(used / count)) ** float(tokens)))


def _bounded(number: Number, text: str) -> Number:
    if not -MAX_VALUE <= number <= MAX_VALUE or (isinstance(number, Fraction) and number.denominator > MAX_VALUE):
        raise UsageError(f"the size {text[:80]!r} is out of range")
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


_BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "/": lambda a, b: Fraction(a) / b,
    "%": lambda a, b: a % b,
}
