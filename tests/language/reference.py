"""Random expressions with what they mean, computed by Python alone: fractions, frozensets, tuples and dictionaries.

Nothing here knows the evaluator of the language. A number is a pair (value, dimension), where the dimension is the
exponent of time and that of size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import strategies as st

from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS

__all__ = ["Said", "conditions", "numbers", "sequences", "wild"]

UNITS = {
    "": (Fraction(1), (0, 0)),
    "%": (Fraction(1, 100), (0, 0)),
    "ns": (Fraction(1, 10**9), (1, 0)),
    "ms": (Fraction(1, 1000), (1, 0)),
    "s": (Fraction(1), (1, 0)),
    "h": (Fraction(3600), (1, 0)),
    "bit": (Fraction(1, 8), (0, 1)),
    "KiB": (Fraction(1024), (0, 1)),
    "MB": (Fraction(10**6), (0, 1)),
    "GiB/s": (Fraction(2**30), (-1, 1)),
}
COMPARED = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True)
class Said:
    """An expression as text, and what it means."""

    text: str
    value: Any
    dimension: tuple[int, int] = (0, 0)

    @property
    def inner(self) -> str:
        """The text where it is a part of a larger one."""
        return f"({self.text})"


@st.composite
def literals(draw: st.DrawFn, units: tuple[str, ...] = tuple(UNITS)) -> Said:
    """Return a number as it is written: whole, decimal or with an exponent, with a unit or without."""
    digits = draw(st.integers(0, 99_999))
    places = draw(st.integers(0, 4))
    text = str(digits) if not places else f"{digits / 1:.0f}".rjust(places + 1, "0")
    if places:
        text = f"{text[:-places]}.{text[-places:]}"
    value = Fraction(digits, 10**places)
    exponent = draw(st.sampled_from([0, 0, 0, -3, 2]))
    if exponent:
        text, value = f"{text}e{exponent}", value * Fraction(10) ** exponent
    unit = draw(st.sampled_from(units))
    factor, dimension = UNITS[unit]
    return Said(f"{text} {unit}".rstrip(), value * factor, dimension)


def numbers(depth: int = 3) -> st.SearchStrategy[Said]:
    """Return numbers with their dimensions, made by the four operations, conditions and functions of many."""
    return literals() if depth == 0 else st.one_of(literals(), _operation(numbers(depth - 1)), _many(depth - 1))


@st.composite
def _operation(draw: st.DrawFn, of: st.SearchStrategy[Said]) -> Said:
    one = draw(of)
    kind = draw(st.sampled_from("+-*/n?a"))
    if kind == "n":
        return Said(f"-{one.inner}", -one.value, one.dimension)
    if kind == "a":
        return Said(f"abs({one.text})", abs(one.value), one.dimension)
    two = draw(of)
    if kind in "+-":
        if one.dimension != two.dimension:
            two = Said("0", Fraction(0), one.dimension)
        value = one.value + two.value if kind == "+" else one.value - two.value
        return Said(f"{one.inner} {kind} {two.inner}", value, one.dimension)
    if kind == "?":
        condition = draw(st.booleans())
        chosen = one if condition else two
        told = "1 < 2" if condition else "2 < 1"
        return Said(f"if {told} then {one.text} else {two.text}", chosen.value, chosen.dimension)
    if kind == "/" and two.value:
        dimension = (one.dimension[0] - two.dimension[0], one.dimension[1] - two.dimension[1])
        return Said(f"{one.inner} / {two.inner}", one.value / two.value, dimension)
    dimension = (one.dimension[0] + two.dimension[0], one.dimension[1] + two.dimension[1])
    return Said(f"{one.inner} * {two.inner}", one.value * two.value, dimension)


@st.composite
def _many(draw: st.DrawFn, depth: int) -> Said:
    """Return a sum, product, minimum, maximum or count, of a list or of a comprehension over a range."""
    name = draw(st.sampled_from(["sum", "min", "max", "count", "product"]))
    functions: dict[str, Any] = {"sum": sum, "min": min, "max": max, "count": len, "product": _product}
    if draw(st.booleans()):
        first, length = draw(st.integers(-5, 5)), draw(st.integers(1, 6))
        step, shift = draw(st.integers(-3, 3)), draw(st.integers(-3, 3))
        values = [Fraction(i * step + shift) for i in range(first, first + length)]
        text = f"{name}(i * {step} + {shift} for i in {first}..<{first + length})".replace("* -", "* -")
        return Said(text, Fraction(functions[name](values)))
    items = draw(st.lists(literals(("",)), min_size=1, max_size=4))
    values = [item.value for item in items]
    return Said(f"{name}([{', '.join(item.text for item in items)}])", Fraction(functions[name](values)))


def _product(values: list[Fraction]) -> Fraction:
    found = Fraction(1)
    for value in values:
        found *= value
    return found


@st.composite
def sequences(draw: st.DrawFn, depth: int = 2) -> Said:
    """Return a set (a frozenset of Python) or a list (a tuple) of whole numbers, made in many ways."""
    kind = draw(st.sampled_from(["list", "set", "range", "open", "where", "listed", "+", "-", "slice"]))
    items = draw(st.lists(st.integers(-3, 6), max_size=5))
    listed = ", ".join(map(str, items))
    if kind == "list":
        return Said(f"[{listed}]", tuple(items))
    if kind == "set":
        return Said(f"{{{listed}}}", frozenset(items))
    first, last = draw(st.integers(-3, 3)), draw(st.integers(-3, 6))
    if kind == "range":
        return Said(f"({first}..{last})", tuple(range(first, last + 1)))
    if kind == "open":
        return Said(f"({first}..<{last})", tuple(range(first, last)))
    if kind == "where":
        found = frozenset(i for i in range(first, last + 1) if i % 2 == 0)
        return Said(f"{{ i in {first}..{last} if mod(i, 2) == 0 }}", found)
    if kind == "listed":
        pairs = tuple(i * j for i in items for j in range(first, last) if i != j)
        return Said(f"[i * j for i in [{listed}], j in {first}..<{last} if i != j]", pairs)
    if depth == 0:
        return Said("[]", ())
    one, two = draw(sequences(depth - 1)), draw(sequences(depth - 1))
    if kind == "slice":
        chosen = list(range(len(one.value)))[: draw(st.integers(0, 3))] if isinstance(one.value, tuple) else []
        if not isinstance(one.value, tuple):
            return one
        return Said(f"{one.inner}[[{', '.join(map(str, chosen))}]]", tuple(one.value[i] for i in chosen))
    if isinstance(one.value, tuple) and isinstance(two.value, tuple):
        return Said(f"{one.inner} + {two.inner}", one.value + two.value)
    as_sets = [_as_set(one), _as_set(two)]
    left, right = (side.value for side in as_sets)
    text = f"{as_sets[0].inner} {'-' if kind == '-' else '+'} {as_sets[1].inner}"
    return Said(text, left - right if kind == "-" else left | right)


def _as_set(said: Said) -> Said:
    if isinstance(said.value, frozenset):
        return said
    return Said(f"{{x for x in {said.text}}}", frozenset(said.value))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Said:
    """Return comparisons of numbers and of collections, membership, and what joins them."""
    kind = draw(st.sampled_from(["number", "same", "in", "equal", "and", "or", "not", "all", "any"]))
    if kind in ("and", "or") and depth:
        one, two = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        return Said(
            f"{one.inner} {kind} {two.inner}", one.value and two.value if kind == "and" else one.value or two.value
        )
    if kind == "not" and depth:
        one = draw(conditions(depth - 1))
        return Said(f"not {one.inner}", not one.value)
    if kind in ("in", "all", "any"):
        holder = draw(sequences())
        limit = draw(st.integers(-3, 6))
        if kind == "in":
            return Said(f"{limit} in {holder.inner}", limit in holder.value)
        check = all if kind == "all" else any
        return Said(f"{kind}(x < {limit} for x in {holder.text})", check(x < limit for x in holder.value))
    if kind == "equal":
        one, two = draw(sequences()), draw(sequences())
        if type(one.value) is not type(two.value):
            one, two = _as_set(one), _as_set(two)
        return Said(f"{one.inner} == {two.inner}", one.value == two.value)
    one, two = draw(numbers(1)), draw(numbers(1))
    if one.dimension != two.dimension or kind == "same":
        two = one
    operator = draw(st.sampled_from(sorted(COMPARED)))
    return Said(f"{one.inner} {operator} {two.inner}", COMPARED[operator](one.value, two.value))


WORDS = [
    *(
        "1",
        "0",
        "2.5",
        "1e300",
        "1e-300",
        "10%",
        "inf",
        "true",
        "false",
        "a",
        "b",
        "b[1]",
        "h",
        "h[0]",
        "gpu",
        "gpu[1]",
    ),
    *("cpu", "nodes", "devices", "edges", "names", "pair", "third", "k", "x", "i", "nope", "bottleneck", "latency"),
    *("makespan", "on(a, cpu)", "load(cpu)", "[]", "{}", "t", "h[0..1, 2]", "b[0..<2]", "100000000000000000000"),
    *('"a"', '"cpu"', "3 ms", "4 GiB", "5 USD"),
]
FORMS = [
    *("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "-({0})", "({0} < {1})", "({0} == {1})"),
    *("({0} in {1})", "({0} not in {1})", "({0} and {1})", "({0} or {1})", "(not {0})", "[{0}, {1}]", "{{{0}, {1}}}"),
    *("[{0} for x in {1}]", "{{{0} for x in {1}, i in 0..3 if {2}}}", "{{x in {0} if {1}}}", "({0}).source"),
    *("{{({0}): {1}, cpu: {2}}}", "{{({0}): {1} for x in {2}}}", "(if {0} then {1} else {2})", "({0})[{1}]"),
    *("({0}..{1})", "({0}..<{1})", "b[{0}]", "h[{0}, {1}]", "names[{0}]", "pair[{0}]", "k[{0}]"),
]


def wild(draw: Random, depth: int = 4) -> str:
    """Return a random expression that need not make any sense, over the names of the spec of the tests."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(WORDS)
    form = draw.choice([*FORMS, "f1", "f2", "many"])
    parts = [wild(draw, depth - 1) for _ in range(3)]
    if form == "many":
        return f"{draw.choice([*AGGREGATES])}({parts[0]} for x in {parts[1]})"
    if form in ("f1", "f2"):
        name = draw.choice([*FUNCTIONS, *AGGREGATES, "double", "cost", "most", "nothing"])
        return f"{name}({', '.join(parts[: int(form[1])])})"
    return form.format(*parts)
