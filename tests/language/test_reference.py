"""The evaluator against plain Python on random expressions, and the laws that exact numbers and sets obey."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import hypothesis.strategies as st
from hypothesis import given

from mtpp_dsl.core.base.exact_numbers import exact_number, from_float, settled, survives
from mtpp_dsl.core.base.units import Dimension
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.parser import parse_expression
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, Sequence, Value
from tests.language.reference import Said, conditions, numbers, sequences


def meant(text: str) -> Value:
    """Return what an expression means."""
    return evaluate(parse_expression(Source("expression", text)), SpecScope())


@given(numbers())
def test_numbers_are_exact(said: Said) -> None:
    """The value is the very fraction, and the dimension is right."""
    found = meant(said.text)
    assert isinstance(found, Quantity)
    assert Fraction(found.value) == said.value
    assert isinstance(found.value, int) == (said.value.denominator == 1)
    assert found.dimension == Dimension(*said.dimension)


@given(sequences())
def test_sets_and_lists(said: Said) -> None:
    """Sets have the members of Python's, each once; lists the same members in the same order."""
    found = meant(said.text)
    assert isinstance(found, Sequence)
    members = tuple(member.value for member in found if isinstance(member, Quantity))
    assert len(members) == len(found) == len(said.value)
    assert (found.kind == "set") == isinstance(said.value, frozenset)
    assert (frozenset(members) if found.kind == "set" else members) == said.value
    assert hash(found) == hash(meant(f"{said.inner}"))


@given(conditions())
def test_conditions(said: Said) -> None:
    """Comparisons, membership and what joins them."""
    assert meant(said.text) is bool(said.value)


@given(sequences(), sequences(), sequences())
def test_laws_of_sets(one: Said, two: Said, three: Said) -> None:
    """Union and difference obey their laws, and equality does not look at the order."""
    a, b, c = (f"{{x for x in {said.text}}}" for said in (one, two, three))
    assert meant(f"{a} + {b} == {b} + {a} and ({a} + {b}) + {c} == {a} + ({b} + {c})") is True
    assert meant(f"{a} - ({b} + {c}) == ({a} - {b}) - {c} and {a} + {a} == {a} and {a} - {a} == {{}}") is True
    assert meant(f"all(x in {a} or x in {b} for x in {a} + {b}) and not any(x in {b} for x in {a} - {b})") is True
    assert meant(f"count({{{a}, {a}, {b}}}) == (if {a} == {b} then 1 else 2)") is True


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or 1e-290 < abs(x) < 1e290))
def test_floats_survive(number: float) -> None:
    """A float becomes the decimal that it prints as, or the whole number that it is, and that the float again."""
    exact = from_float(number)
    assert float(exact) == number
    whole = number.is_integer() and abs(number) < 10**18
    assert Fraction(exact) == (Fraction(number) if whole else Fraction(repr(number)))
    assert survives(exact)


@given(st.fractions())
def test_what_survives_floating_point(number: Fraction) -> None:
    """The cheap test says what going there and back says."""
    exact = settled(number)
    assert survives(exact) == (from_float(float(exact)) == exact)


@given(st.from_regex(r"[0-9]{1,8}(\.[0-9]{0,8})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_decimals_are_read_exactly(text: str) -> None:
    """As Python's fractions read them."""
    assert Fraction(exact_number(text)) == Fraction(text.rstrip(".").replace(".e", "e").replace(".E", "E"))


@given(st.integers(0, 10**9), st.sampled_from(["*", "+"]))
def test_long_fractions_are_rounded_far_behind_floating_point(seed: int, operator: str) -> None:
    """A number that has become very long is rounded, by much less than a float is."""
    draw = Random(seed)
    parts = [Fraction(draw.randint(10**8, 10**9), draw.randint(10**8, 10**9)) for _ in range(draw.randint(20, 60))]
    found = meant(f" {operator} ".join(f"({part.numerator} / {part.denominator})" for part in parts))
    true = prod(parts) if operator == "*" else sum(parts, Fraction(0))
    assert isinstance(found, Quantity)
    assert abs(Fraction(found.value) - true) <= abs(true) * Fraction(1, 2**240)
    assert Fraction(found.value).denominator.bit_length() <= 1024
