"""Sizes as formulas over symbols."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.sizes import symbols_of, value

SYMBOLS = {"batch": 3, "seq": 7}
LEAF = st.one_of(st.integers(0, 99).map(str), st.sampled_from(["batch", "seq"]))


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> str:
    """Return a formula that is also one of Python's."""
    if depth == 0 or draw(st.booleans()):
        return draw(LEAF)
    left, right = draw(formulas(depth - 1)), draw(formulas(depth - 1))
    form = draw(st.sampled_from(["({}+{})", "{}-{}", "({}*{})", "{} * ({})", "max({}, {})", "min({},{})", "-({})+{}"]))
    power = draw(st.sampled_from(["", "", "**2", "**0"]))
    return form.format(left, right) if not power else f"({form.format(left, right)}){power}"


@given(formulas())
def test_means_what_python_means(text: str) -> None:
    assert value(text, SYMBOLS) == eval(text, {"max": max, "min": min, **SYMBOLS})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 // 2", 3),
        ("7/2", Fraction(7, 2)),
        ("7 % 4 * 2", 6),
        ("1e3*seq", 7000),
        ("--2", 2),
        ("2^3", 8),
        ("-2**2", -4),
        ("experts(8, 2, batch - 2)", 2),
        ("16*experts(8, 2, batch + 1)", Fraction(175, 2)),
        ("experts(4, 4, seq) + experts(4, 2, 0)", 4),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert value(text, SYMBOLS) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a number or a symbol"),
        ("2 batch", "at character 3: expected an operator or the end"),
        ("2**batch", "expected a whole power of at most 8"),
        ("2**9", "expected a whole power"),
        ("2*experts(8, seq)", "at character 3: expected experts(count, used, tokens)"),
        ("experts(8, 9, seq)", "has 8 experts, of which 7 tokens use 9 each"),
        ("batsch", "needs 'batsch', which has no value; did you mean 'batch'?"),
        ("1/(seq-7)", "divides by zero"),
        ("__import__('os')", "expected a number, a symbol or an operator"),
        ("max()", "expected a number or a symbol"),
        ("(" * 51 + "1" + ")" * 51, "nested more deeply than 50"),
        ("1+" * 1500 + "1", "has 3,001 characters"),
        ("((((((10**8)**8)**8)**8)**8)**8)", "out of range"),
        ("*".join(["999999999"] * 150), "out of range"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        value(text, SYMBOLS)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_long_sums_are_read_without_deep_recursion() -> None:
    text = "+".join(["seq"] * 400)
    assert value(text, SYMBOLS) == 2800
    assert symbols_of(text) == {"seq"}
