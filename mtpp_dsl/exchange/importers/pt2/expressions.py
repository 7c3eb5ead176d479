"""Sizes of an exported program: expressions as sympy's ``srepr`` writes them, read by a bounded reader of our own."""

from __future__ import annotations

import re

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol

__all__ = ["MAX_TEXT", "amount_of"]

MAX_TEXT = 2_000
MAX_DEPTH = 40
MAX_POWER = 8

_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_.]*)|(-?[0-9]{1,30})|'([A-Za-z0-9_]{1,100})'|([(),=]))")


def amount_of(text: str) -> Amount:
    """Return the amount that an expression stands for.

    >>> amount_of("Add(Mul(Integer(2), Symbol('s27', positive=True, integer=True)), Integer(-1))")
    Polynomial('-1 + 2*s27')

    Raises:
        UsageError: it is no such expression, or of operations that are not known here.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"the size {text[:40]!r}… has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    return _Reader(text).whole()


class _Reader:
    """Reads one expression by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at, self.depth = text, [], 0, 0
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.wrong()
            self.tokens.append(match)
            at = match.end()

    tokens: list[re.Match[str]]

    def wrong(self) -> UsageError:
        return UsageError(f"the size {self.text[:80]!r} is not known here")

    def next(self) -> re.Match[str]:
        """Return the next token."""
        if self.at >= len(self.tokens):
            raise self.wrong()
        self.at += 1
        return self.tokens[self.at - 1]

    def whole(self) -> Amount:
        """Return the expression, all of it."""
        found = self.expression()
        if self.at < len(self.tokens) or isinstance(found, str):
            raise self.wrong()
        return found

    def expression(self) -> Amount | str:
        """Return one expression; a quoted name as text."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong()
        token = self.next()
        if token[2]:
            found: Amount | str = int(token[2])
        elif token[3]:
            found = token[3]
        elif token[1]:
            found = self.call(token[1])
        else:
            raise self.wrong()
        self.depth -= 1
        return found

    def call(self, name: str) -> Amount:
        """Return a function applied to its arguments; keywords of symbols, such as positive=True, say nothing."""
        if self.next()[4] != "(":
            raise self.wrong()
        given: list[Amount | str] = []
        while True:
            if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][4] == "=":
                self.at += 3
            else:
                given.append(self.expression())
            end = self.next()[4]
            if end == ")":
                return self.applied(name.rpartition(".")[2], given)
            if end != ",":
                raise self.wrong()

    def applied(self, name: str, given: list[Amount | str]) -> Amount:
        """Return what a function makes of its arguments."""
        if name in ("Symbol", "Integer") and len(given) == 1:
            first = given[0]
            if name == "Symbol" and isinstance(first, str):
                return symbol(first)
            if name == "Integer" and isinstance(first, int):
                return first
            raise self.wrong()
        amounts = [each for each in given if not isinstance(each, str)]
        if len(amounts) < len(given) or not amounts:
            raise self.wrong()
        if name == "Add":
            found: Amount = 0
            for each in amounts:
                found = found + each
            return found
        if name == "Mul":
            return product(amounts)
        if name == "Pow" and len(amounts) == 2 and isinstance(amounts[1], int) and 0 <= amounts[1] <= MAX_POWER:
            return product([amounts[0]] * amounts[1])
        if name in ("Max", "Min"):
            return symbol(f"{name.lower()}({', '.join(str(size_of(each)) for each in amounts)})")
        if name in ("FloorDiv", "CleanDiv", "Mod", "PythonMod") and len(amounts) == 2:
            sign = "//" if "Div" in name else "%"
            return symbol(f"(({size_of(amounts[0])}) {sign} ({size_of(amounts[1])}))")
        raise self.wrong()
