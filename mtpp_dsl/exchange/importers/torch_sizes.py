"""Sizes of torch, which may speak of symbols, as sizes of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtpp_dsl.exchange.model.sizes import Size

__all__ = ["NotAFormula", "size_of"]

MAX_POWER = 8


class NotAFormula(Exception):
    """A size is no formula over the symbols of the inputs; says which part is not."""


def size_of(number: Any, names: Mapping[str, str]) -> Size:
    """Return a number or a SymInt of torch as a size, with the symbols of torch called as *names* say.

    Raises:
        NotAFormula: it depends on data, or has a function that sizes do not have.
    """
    if isinstance(number, (int, float)):
        return int(number)
    expression = number.node.expr if hasattr(number, "node") else number
    if expression.is_number:
        return int(expression)
    return _text(expression, names)


def _text(expression: Any, names: Mapping[str, str]) -> str:
    """Return a formula of sympy in the words of sizes; every part with an operator is in brackets."""
    parts = expression.args
    kind = type(expression).__name__
    if expression.is_Symbol:
        if str(expression) not in names:
            raise NotAFormula(f"{expression}, which depends on the data")
        return names[str(expression)]
    if expression.is_Integer:
        return str(int(expression)) if expression >= 0 else f"(0 - {-int(expression)})"
    if expression.is_Rational:
        return f"({int(expression.p)} / {int(expression.q)})"
    if kind in ("Mul", "Add"):
        return _chain(expression, names)
    if kind in ("Pow", "PowByNatural") and parts[1].is_Integer and 0 < parts[1] <= MAX_POWER:
        base = _text(parts[0], names)
        return f"{base if parts[0].is_Symbol else f'({base})'}**{int(parts[1])}"
    if kind in ("Max", "Min", "experts"):
        return f"{kind.lower()}({', '.join(_text(part, names) for part in parts)})"
    if kind in ("FloorDiv", "CleanDiv"):
        return f"(({_text(parts[0], names)}) // ({_text(parts[1], names)}))"
    if kind == "CeilDiv":
        low = _text(parts[1], names)
        return f"(({_text(parts[0], names)} + {low} - 1) // ({low}))"
    if kind in ("Mod", "PythonMod"):
        return f"(({_text(parts[0], names)}) % ({_text(parts[1], names)}))"
    if kind in ("Identity", "ToFloat", "TruncToInt"):
        return _text(parts[0], names)
    raise NotAFormula(str(expression)[:80])


def _chain(expression: Any, names: Mapping[str, str]) -> str:
    """Return a sum or a product: terms in a fixed order, numbers first, and differences as such."""
    product = type(expression).__name__ == "Mul"
    parts = sorted(expression.args, key=lambda part: (not part.is_number, str(part)))
    if product:
        return "*".join(f"({text})" if part.is_Add else text for part, text in _texts(parts, names))
    added: list[str] = []
    taken: list[str] = []
    for part in parts:
        first, _ = part.as_coeff_Mul()
        less = bool(first.is_number and first < 0)
        (taken if less else added).append(_text(-part if less else part, names))
    if not added:
        added = ["0"]
    return " - ".join([" + ".join(added), *(f"({text})" if " " in text else text for text in taken)])


def _texts(parts: list[Any], names: Mapping[str, str]) -> list[tuple[Any, str]]:
    return [(part, _text(part, names)) for part in parts]
