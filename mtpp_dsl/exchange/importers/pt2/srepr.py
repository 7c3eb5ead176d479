"""Sizes of an exported program: expressions as sympy's ``srepr`` writes them, read by Python's parser and never run."""

from __future__ import annotations

import ast
import re
from functools import reduce
from operator import add

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol

MAX_TEXT = 2_000
MAX_DEPTH = 40
MAX_POWER = 8
MAX_INTEGER = 10**30

_WRITTEN = re.compile(r"[A-Za-z0-9_.,()='\s-]*")
"""The characters of such expressions."""
_GLUED = re.compile(r"(?<![A-Za-z0-9_'])[0-9]+[A-Za-z_]")
"""A number with letters behind it, such as ``1in``: Python's parser would warn of it."""
_NAME = re.compile(r"[A-Za-z0-9_]{1,100}")


def amount_of(text: str) -> Amount:
    """Return the amount that an expression stands for.

    >>> amount_of("Add(Mul(Integer(2), Symbol('s27', positive=True, integer=True)), Integer(-1))")
    Polynomial('-1 + 2*s27')

    Raises:
        UsageError: it is no such expression, or of operations that are not known here.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"the size {text[:40]!r}… has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    try:
        if not _WRITTEN.fullmatch(text) or _GLUED.search(text):
            raise ValueError
        return _amount(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"the size {text[:80]!r} is not known here") from None


def _amount(tree: ast.expr, depth: int = 1) -> Amount:
    """Return the amount of a call, or of a number; keywords of symbols, such as positive=True, say nothing.

    Raises:
        ValueError: it is of another kind, of an unknown function, or nested more deeply than :data:`MAX_DEPTH`.
    """
    if depth > MAX_DEPTH:
        raise ValueError
    match tree:
        case ast.Constant(value=int(number)) if not isinstance(number, bool) and number < MAX_INTEGER:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))) if number < MAX_INTEGER:
            return -number
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments, keywords=keywords):
            if not all(keyword.arg and isinstance(keyword.value, ast.Constant) for keyword in keywords):
                raise ValueError
            match name, arguments:
                case "Symbol", [ast.Constant(value=str(called))] if _NAME.fullmatch(called):
                    return symbol(called)
            return _applied(name, [_amount(argument, depth + 1) for argument in arguments])
    raise ValueError


def _applied(name: str, amounts: list[Amount]) -> Amount:
    """Return what a function makes of its arguments.

    Raises:
        ValueError: it is not known here, or not of so many arguments.
    """
    match name, amounts:
        case "Integer", [int(number)]:
            return number
        case "Pow", [base, int(exponent)] if 0 <= exponent <= MAX_POWER:
            return product([base] * exponent)
        case "FloorDiv" | "CleanDiv" | "Mod" | "PythonMod", [left, right]:
            return symbol(f"(({size_of(left)}) {'//' if 'Div' in name else '%'} ({size_of(right)}))")
        case "Add", [_, *_]:
            return reduce(add, amounts, 0)
        case "Mul", [_, *_]:
            return product(amounts)
        case "Max" | "Min", [_, *_]:
            return symbol(f"{name.lower()}({', '.join(str(size_of(amount)) for amount in amounts)})")
    raise ValueError
