"""Sizes that speak of symbols: numbers, or formulas such as ``33554432*batch*seq``, read within stated limits."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, cast

from mtpp_dsl.core.errors import UsageError, did_you_mean

Size: TypeAlias = int | float | str
"""A number, or text: a formula over the symbols of a model."""
Number: TypeAlias = int | Fraction

EXPERTS_READ = ("expected", "all_distinct")
"""What ``experts(count, used, tokens)`` is in a size: those read under uniform routing, or the most there can be."""

MAX_TEXT = 2_000
"""Characters of a formula."""
MAX_DEPTH = 50
"""Brackets within brackets."""
MAX_EXPONENT = 8
FUNCTIONS = ("max", "min", "experts")
EXPERT_ARGUMENTS = 3
POWERS = ("**", "^")
SIGNS = ("+", "-", "*", "/", "//", "%")
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
                number = value(size, self.symbols, self.experts_read)
                if number < 0:
                    chosen = ", ".join(f"{name} = {given}" for name, given in self.symbols.items())
                    raise UsageError(f"the size {size!r} is {number} with {chosen}; a size is zero or more")
                self._known[size] = float(number)
            return self._known[size]
        return float(size)


def _number(size: float) -> Number:
    try:
        exact = Fraction(size)
    except (OverflowError, ValueError):
        raise UsageError(f"a size is {size!r}; it must be a finite number") from None
    return _simple(exact)


@lru_cache(20_000)
def _names(text: str) -> frozenset[str]:
    return frozenset(_symbol(node) for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name) and _symbol(node))


def _symbol(name: ast.Name) -> str:
    """Return the symbol that a name of the tree stands for; "" where it is a function."""
    return name.id[1:] if name.id.startswith("_") else ""


@lru_cache(20_000)
def _parsed(text: str) -> ast.expr:
    """Return a formula as a tree of Python's parser, with exact numbers, and a "_" before each symbol.

    Raises:
        UsageError: it is invalid, is longer than :data:`MAX_TEXT` or nested more deeply than :data:`MAX_DEPTH`.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"the size {text[:40]!r}… has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    words = _words(text)
    _check_order(text, words)
    lines = []
    for (word, _), (following, _) in zip(words, [*words[1:], ("", 0)], strict=True):
        function = word in FUNCTIONS and following == "("
        is_symbol = word.isidentifier() and not function  # which may be a word of Python, such as "in"
        lines.append("1" if word[0].isdigit() else f"_{word}" if is_symbol else "**" if word == "^" else word)
    try:
        tree = ast.parse("\\\n".join(lines), mode="eval").body  # a word to a line: a node's line tells its word
    except (SyntaxError, RecursionError, MemoryError):
        raise UsageError(f"the size {text[:80]!r} is nested too deeply") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = _simple(Fraction(words[node.lineno - 1][0]))  # type: ignore[assignment]
        elif (
            isinstance(node, ast.Call) and words[node.lineno - 1][0] == "experts" and len(node.args) != EXPERT_ARGUMENTS
        ):
            raise _wrong(text, words[node.lineno - 1][1], "expected experts(count, used, tokens)")
    return tree


def _words(text: str) -> list[tuple[str, int]]:
    """Return the numbers, symbols, operators and brackets of a formula, with the places where they begin."""
    words: list[tuple[str, int]] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text, at, "expected a number, a symbol or an operator")
        words.append((match[1] or match[2] or match[3], match.end() - len(match[0].lstrip())))
        at = match.end()
    return words


def _check_order(text: str, words: Sequence[tuple[str, int]]) -> None:
    """Refuse words that follow each other as in no formula, and what Python's parser would read beside formulas."""
    opened: list[bool] = []  # of each bracket whether it is a function's
    complete, before, after_power = False, "", False  # whether the words so far end with an operand; the last word
    for word, place in [*words, ("", len(text))]:
        if len(opened) >= MAX_DEPTH:
            raise _wrong(text, place, f"nested more deeply than {MAX_DEPTH} brackets")
        power = before in POWERS
        if not complete:
            if power and not (word.isdigit() and len(word) <= 2 and int(word) <= MAX_EXPONENT):
                raise _wrong(text, place, f"expected a whole power of at most {MAX_EXPONENT}")
            if word == "(":
                opened.append(False)
            elif word[:1].isdigit() or word.isidentifier():
                complete = True
            elif word not in ("+", "-"):
                raise _wrong(text, place, "expected a number or a symbol")
        elif word == ")" and opened:
            opened.pop()
        elif word == "(" and before in FUNCTIONS:
            opened.append(True)
            complete = False
        elif word in SIGNS or (word in POWERS and not after_power) or (word == "," and opened and opened[-1]):
            complete = False
        elif word or opened:
            raise _wrong(text, place, "expected ')'" if opened else "expected an operator or the end")
        after_power, before = power, word


def _wrong(text: str, place: int, what: str) -> UsageError:
    return UsageError(f"the size {text[:80]!r} is no formula, at character {place + 1}: {what}")


class _Evaluation:
    """Evaluates one formula; recursion is as deep as its brackets, and sums are gone through in a loop."""

    def __init__(self, symbols: Mapping[str, int], text: str, experts_read: str) -> None:
        self.symbols, self.text, self.experts_read = symbols, text, experts_read

    def __call__(self, tree: ast.expr) -> Number:
        """Return the value of the formula, or of a part of it."""
        pending: list[tuple[type[ast.operator], ast.expr]] = []
        while isinstance(tree, ast.BinOp) and not isinstance(tree.op, ast.Pow):  # a long chain leans to the left
            pending.append((type(tree.op), tree.right))
            tree = tree.left
        number = self._operand(tree)
        for sign, right in reversed(pending):
            other = self(right)
            if sign in (ast.FloorDiv, ast.Div, ast.Mod) and not other:
                raise UsageError(f"the size {self.text!r} divides by zero")
            number = self._bounded(_BINARY[sign](number, other))
        return number

    def _operand(self, tree: ast.expr) -> Number:
        factor = 1
        while isinstance(tree, ast.UnaryOp):
            factor = -factor if isinstance(tree.op, ast.USub) else factor
            tree = tree.operand
        return factor * self._unsigned(tree)

    def _unsigned(self, tree: ast.expr) -> Number:
        match tree:
            case ast.Constant():
                return self._bounded(_exact(tree))
            case ast.Name():
                name = _symbol(tree)
                if name not in self.symbols:
                    hint = did_you_mean(name, self.symbols)
                    raise UsageError(f"the size {self.text!r} needs {name!r}, which has no value{hint}")
                return int(self.symbols[name])
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant() as exponent):
                return self._bounded(self(base) ** int(_exact(exponent)))
            case ast.Call(func=ast.Name(id="experts"), args=[count, used, tokens]):
                return self._experts(self(count), self(used), self(tokens))
            case ast.Call(func=ast.Name(id="max" | "min" as function), args=arguments):
                return (max if function == "max" else min)(map(self, arguments))
            case ast.BinOp():
                return self(tree)
        raise AssertionError(ast.dump(tree))

    def _experts(self, count: Number, used: Number, tokens: Number) -> Number:
        if not 0 < used <= count or tokens < 0:
            raise UsageError(f"the size {self.text!r} has {count} experts, of which {tokens} tokens use {used} each")
        most = min(count, used * tokens)
        if used == count or self.experts_read == "all_distinct":
            return most
        return _number(float(count) * (1 - (1 - float(used / count)) ** float(tokens)))

    def _bounded(self, number: Number) -> Number:
        if not -MAX_VALUE <= number <= MAX_VALUE or (isinstance(number, Fraction) and number.denominator > MAX_VALUE):
            raise UsageError(f"the size {self.text[:80]!r} is out of range")
        return _simple(number) if isinstance(number, Fraction) else number


def _exact(number: ast.Constant) -> Number:
    """Return the number that :func:`_parsed` put into the tree."""
    exact: Number = cast("Any", number.value)
    return exact


def _simple(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else number


_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: lambda a, b: Fraction(a) / b,
    ast.Mod: operator.mod,
}
