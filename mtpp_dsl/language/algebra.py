"""Linear expressions over the decisions of a plan, for rows and objectives that are made in Python.

They are made of what this module offers, by ``+``, ``-``, ``*``, ``/`` and ``sum``, and compared by ``<=``, ``>=`` and
``==``, which gives a row for :meth:`mtpp_dsl.Builder.add`. Numbers are exact. Quantities are text, as in a spec.

>>> from mtpp_dsl.algebra import load, on
>>> sum(on(v, "gpu[0]") for v in ("a", "b")) <= 1
Row(on("a", "gpu[0]") + on("b", "gpu[0]") <= 1)
>>> 2 * load("cpu") - "3 ms" >= load("gpu[0]")
Row(2 * load("cpu") - 3 ms >= load("gpu[0]"))
"""

from __future__ import annotations

from fractions import Fraction
from threading import Lock
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, TypeAlias

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.language.words.written import exact, expression, number, quoted

__all__ = [
    "Expression",
    "Given",
    "Row",
    "bottleneck",
    "constant",
    "finish",
    "latency",
    "load",
    "makespan",
    "memory",
    "moved",
    "on",
    "output",
    "params",
    "power",
    "price",
    "speed",
    "start",
    "time",
    "used",
    "work",
]

_SHARING = Lock()
"""Held while a sum takes over the terms of what it begins with."""


class Term(NamedTuple):
    """A number times a text, which is "" for the number alone; *decides* says whether a decision is in the text."""

    number: Fraction
    text: str
    decides: bool


class Expression:
    """A sum of terms: of decisions, of quantities, and of names of the spec.

    It is never changed. Sums share their terms with what they are a sum of, so that a sum of n terms takes n steps.
    """

    __slots__ = ("_count", "_terms")
    __array_ufunc__: ClassVar[None] = None  # numbers of numpy leave operators to this class
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # == makes a row

    def __init__(self, terms: list[Term], count: int) -> None:
        self._terms, self._count = terms, count

    @property
    def terms(self) -> list[Term]:
        """What is added up."""
        return self._terms[: self._count]

    @property
    def decides(self) -> bool:
        """Whether it depends on a decision."""
        return any(term.decides for term in self.terms)

    def __mtpp__(self) -> str:
        """Return it as the language writes it."""
        text = ""
        for term in self.terms:
            sign = ("-" if term.number < 0 else "") if not text else (" - " if term.number < 0 else " + ")
            text += sign + _written(abs(term.number), term.text)
        return text or "0"

    def __repr__(self) -> str:
        return f"Expression({self.__mtpp__()})"

    def __add__(self, other: Given) -> Expression:
        return self._plus(_given(other)) if _known(other) else NotImplemented

    def __radd__(self, other: Given) -> Expression:
        return _given(other)._plus(self) if _known(other) else NotImplemented

    def __sub__(self, other: Given) -> Expression:
        return self._plus(-_given(other)) if _known(other) else NotImplemented

    def __rsub__(self, other: Given) -> Expression:
        return _given(other)._plus(-self) if _known(other) else NotImplemented

    def __neg__(self) -> Expression:
        return _made(Term(-term.number, term.text, term.decides) for term in self.terms)

    def __pos__(self) -> Expression:
        return self

    def __mul__(self, other: Given) -> Expression:
        return _product(self, _given(other)) if _known(other) else NotImplemented

    def __rmul__(self, other: Given) -> Expression:
        return _product(_given(other), self) if _known(other) else NotImplemented

    def __truediv__(self, other: Given) -> Expression:
        return _quotient(self, _given(other)) if _known(other) else NotImplemented

    def __rtruediv__(self, other: Given) -> Expression:
        return _quotient(_given(other), self) if _known(other) else NotImplemented

    def __le__(self, other: Given) -> Row:
        return Row(self, "<=", _given(other)) if _known(other) else NotImplemented

    def __ge__(self, other: Given) -> Row:
        return Row(self, ">=", _given(other)) if _known(other) else NotImplemented

    def __eq__(self, other: object) -> Row:  # type: ignore[override]
        return Row(self, "==", _given(other)) if _known(other) else NotImplemented

    def __ne__(self, _: object) -> NoReturn:
        raise UsageError(f"{self!r} != … is no row: rows are made by <=, >= and ==")

    def __lt__(self, _: Given) -> NoReturn:
        raise UsageError(f"{self!r} < … is no row: write <=, which is what a solver can hold")

    def __gt__(self, _: Given) -> NoReturn:
        raise UsageError(f"{self!r} > … is no row: write >=, which is what a solver can hold")

    def __bool__(self) -> NoReturn:
        raise UsageError(f"{self!r} is neither true nor false before there is a plan")

    def _plus(self, other: Expression) -> Expression:
        added = other.terms
        if len(added) == 1 and added[0].number == 0 and not added[0].text:
            return self
        if self._count == 1 and self._terms[0].number == 0 and not self._terms[0].text:
            return other
        with _SHARING:
            if self._count < len(self._terms):  # somebody else has gone on from here
                return _made([*self.terms, *added])
            self._terms.extend(added)
            return Expression(self._terms, len(self._terms))


Given: TypeAlias = Expression | float | str
"""What can be added to an expression: an expression, a number, or text such as "3 ms"."""


class Row:
    """An inequality or an equation between two expressions; :meth:`mtpp_dsl.Builder.add` makes it a constraint."""

    __slots__ = ("left", "right", "sense")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, left: Expression, sense: Literal["<=", "==", ">="], right: Expression) -> None:
        self.left, self.sense, self.right = left, sense, right

    def __mtpp__(self) -> str:
        """Return it as the language writes it."""
        return f"{self.left.__mtpp__()} {self.sense} {self.right.__mtpp__()}"

    def __repr__(self) -> str:
        return f"Row({self.__mtpp__()})"

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"{self!r} is neither true nor false before there is a plan. Python cannot chain rows: in place of "
            "0 <= e <= 1, and of `and`, give both to add: builder.add([0 <= e, e <= 1])"
        )

    def _no_chain(self, _: object) -> NoReturn:
        raise UsageError(f"{self!r} is a row already, and is compared with nothing: give add a list of two rows")

    __eq__ = __ne__ = __le__ = __ge__ = __lt__ = __gt__ = _no_chain


def _made(terms: Any) -> Expression:
    sums = list(terms)
    return Expression(sums, len(sums))


def _known(other: object) -> bool:
    return isinstance(other, (Expression, str)) or exact(other) is not None


def _given(other: object) -> Expression:
    """Return what an expression is combined with as an expression."""
    if isinstance(other, Expression):
        return other
    if isinstance(other, str):
        return constant(other)
    known = exact(other)
    if not isinstance(known, Fraction):
        return _made([Term(Fraction(-1 if str(other).startswith("-") else 1), "inf", False)])
    return _made([Term(known, "", False)])


def _written(factor: Fraction, text: str) -> str:
    if not text:
        return number(factor)
    return text if factor == 1 else f"{number(factor)} * {text}"


def _grouped(factor: Expression) -> tuple[Fraction, str]:
    """Return an expression as a number times one text that stands in a product."""
    terms = factor.terms
    if len(terms) == 1:
        return terms[0].number, terms[0].text
    return Fraction(1), f"({factor.__mtpp__()})"


def _product(one: Expression, two: Expression) -> Expression:
    if one.decides and two.decides:
        raise UsageError(
            f"({one.__mtpp__()}) * ({two.__mtpp__()}) is not linear: one factor has to be without decisions"
        )
    fixed, varied = (two, one) if one.decides else (one, two)
    times, text = _grouped(fixed)
    return _made(
        Term(times * term.number, " * ".join(filter(None, (text, term.text))), term.decides) for term in varied.terms
    )


def _quotient(one: Expression, two: Expression) -> Expression:
    if two.decides:
        raise UsageError(
            f"({one.__mtpp__()}) / ({two.__mtpp__()}) is not linear: a divisor has to be without decisions"
        )
    by, text = _grouped(two)
    if by == 0:
        raise UsageError(f"{one!r} is divided by zero")
    under = f" / ({text})" if text else ""
    return _made(
        Term(term.number / by, f"{term.text or '1'}{under}" if under else term.text, term.decides) for term in one.terms
    )


def constant(text: str) -> Expression:
    """Return what a text of the language means, such as a quantity or the name of a ``param``.

    >>> 2 * constant("3 ms")
    Expression(2 * 3 ms)

    Raises:
        UsageError: it is no expression of the language.
    """
    written = expression(text)
    simple = written.replace(" ", "").replace(".", "").replace("_", "").isalnum()
    return _made([Term(Fraction(1), written if simple else f"({written})", False)])


def _decision(function: str, *members: str) -> Expression:
    return _made([Term(Fraction(1), f"{function}({', '.join(map(quoted, members))})", True)])


def _attribute(function: str, *members: str) -> Expression:
    return _made([Term(Fraction(1), f"{function}({', '.join(map(quoted, members))})", False)])


def on(node: str, device: str) -> Expression:
    """Return 1 where *node* is on *device*, else 0."""
    return _decision("on", node, device)


def load(device: str) -> Expression:
    """Return the load of *device*: its work, and the transfers that it pays for."""
    return _decision("load", device)


def used(device: str) -> Expression:
    """Return 1 where any node is on *device*, else 0."""
    return _decision("used", device)


def start(node: str) -> Expression:
    """Return when *node* starts, where plans say when."""
    return _decision("start", node)


def finish(node: str) -> Expression:
    """Return when *node* ends, where plans say when."""
    return _decision("finish", node)


def moved(node: str) -> Expression:
    """Return 1 where *node* is not where the imported plan has it, else 0."""
    return _decision("moved", node)


bottleneck = _made([Term(Fraction(1), "bottleneck", True)])
"""The largest load."""
makespan = _made([Term(Fraction(1), "makespan", True)])
"""When the last node ends."""
latency = _made([Term(Fraction(1), "latency", True)])
"""The sum of all loads, and of transfers that are in no load."""


def work(node: str) -> Expression:
    """Return the work of *node*, as the graph gives it."""
    return _attribute("work", node)


def params(node: str) -> Expression:
    """Return the size of the parameters of *node*."""
    return _attribute("params", node)


def output(node: str) -> Expression:
    """Return the size of the tensor that *node* produces."""
    return _attribute("output", node)


def memory(member: str) -> Expression:
    """Return the memory that a node takes, or that a device has."""
    return _attribute("memory", member)


def time(node: str, device: str) -> Expression:
    """Return what *node* takes on *device*."""
    return _attribute("time", node, device)


def speed(device: str) -> Expression:
    """Return the speed of *device*."""
    return _attribute("speed", device)


def price(device: str) -> Expression:
    """Return the price of *device*."""
    return _attribute("price", device)


def power(device: str) -> Expression:
    """Return the power of *device*."""
    return _attribute("power", device)
