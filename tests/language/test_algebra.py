"""Expressions and rows made in Python say what the text that they write says, exactly, and refuse what is no row."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl import Builder
from mtpp_dsl.core.constraints import Linear, On
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.language.algebra import (
    Expression,
    bottleneck,
    constant,
    finish,
    latency,
    load,
    makespan,
    memory,
    on,
    output,
    price,
    start,
    used,
    work,
)


def text(given: Any) -> str:
    found: str = given.__mtpp__()
    return found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (on("a", "d") + 2 * load("d") - 1, 'on("a", "d") + 2 * load("d") - 1'),
        (3 - on("a", "d"), '3 - on("a", "d")'),
        (-(on("a", "d") - 1), '-on("a", "d") + 1'),
        (+load("d") / 4, '0.25 * load("d")'),
        (load("d") / 3, '1 / 3 * load("d")'),
        (0.1 * on("a", "d"), '0.1 * on("a", "d")'),
        (np.float64(2) * on("a", "d") + np.int64(3), '2 * on("a", "d") + 3'),
        (np.float32(0.5) * on("a", "d"), '0.5 * on("a", "d")'),
        (Fraction(1, 7) * on("a", "d") + Decimal("0.30"), '1 / 7 * on("a", "d") + 0.3'),
        ("3 ms" - load("d"), '3 ms - load("d")'),
        ("2 ms" * on("a", "d"), '2 ms * on("a", "d")'),
        (2 * ("3 ms" * on("a", "d")), '2 * 3 ms * on("a", "d")'),
        (constant("k") * (on("a", "d") + 1), 'k * on("a", "d") + k'),
        ((constant("k") + 1) * on("a", "d"), '(k + 1) * on("a", "d")'),
        ("k + 1" * on("a", "d"), '(k + 1) * on("a", "d")'),
        (on("a", "d") * work("a") / memory("d"), 'work("a") * on("a", "d") / (memory("d"))'),
        (1e-12 * on("a", "d") + 10**20 * used("d"), '1e-12 * on("a", "d") + 1e20 * used("d")'),
        (sum([on("a", "d"), on("b", "d")]), 'on("a", "d") + on("b", "d")'),
        (bottleneck + makespan + latency, "bottleneck + makespan + latency"),
        (start("a") + finish('b"c'), 'start("a") + finish("b\\"c")'),
    ],
)
def test_written(given: Expression, said: str) -> None:
    """An expression is written as a sum of terms, with exact numbers."""
    assert text(given) == said
    assert repr(given) == f"Expression({said})"


def test_rows() -> None:
    """Comparisons make rows, whichever side the number is on."""
    assert text(on("a", "d") <= 1) == 'on("a", "d") <= 1'
    assert text(1 >= on("a", "d")) == 'on("a", "d") <= 1'  # noqa: SIM300  Python turns it around
    assert text("3 ms" >= load("d")) == 'load("d") <= 3 ms'  # noqa: SIM300
    assert text(np.float64(2) <= load("d")) == 'load("d") >= 2'
    assert text(load("d") == load("e")) == 'load("d") == load("e")'


def test_sums_share_nothing_that_shows() -> None:
    """Expressions that begin alike stay what they were, whatever is added to one of them."""
    first = on("a", "d") + on("b", "d")
    longer, other = first + 1, first + 2
    assert (text(first), text(longer), text(other)) == (
        'on("a", "d") + on("b", "d")',
        'on("a", "d") + on("b", "d") + 1',
        'on("a", "d") + on("b", "d") + 2',
    )
    assert text(bottleneck + 1) == "bottleneck + 1"
    assert text(bottleneck) == "bottleneck"


def test_long_sums() -> None:
    """A sum of many terms takes time in proportion to them."""
    total = sum(on(f"v{i}", "d") for i in range(20_000))
    assert len(total.terms) == 20_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: 0 <= on("a", "d") <= 1, r"add\(\[0 <= e, e <= 1\]\)"),
        (lambda: (on("a", "d") <= 1) and (on("b", "d") <= 1), "neither true nor false"),
        (lambda: (on("a", "d") <= 1) <= 2, "is a row already"),
        (lambda: bool(on("a", "d")), "neither true nor false"),
        (lambda: on("a", "d") < 1, "is no row: write <="),
        (lambda: on("a", "d") > 1, "is no row: write >="),
        (lambda: on("a", "d") != 1, "rows are made by <=, >= and =="),
        (lambda: on("a", "d") * load("d"), "is not linear: one factor has to be without decisions"),
        (lambda: 1 / load("d"), "is not linear: a divisor has to be without decisions"),
        (lambda: load("d") / 0, "is divided by zero"),
        (lambda: load("d") + float("nan"), "nan is no number"),
        (lambda: load("d") <= "3 ms) or (1", "is no expression of the language"),
        (lambda: on(3, "d"), "3 is no string"),  # type: ignore[arg-type]
        (lambda: Builder().add(True), "is no row: compare expressions"),  # type: ignore[arg-type]
        (lambda: Builder().add([]), "there are no rows in this list"),
        (lambda: Builder().add([3 <= 4]), "True is no row"),  # type: ignore[list-item]
        (lambda: Builder().add(on("a", "d") <= 1, "no label"), "'no label' is no name"),
    ],
)
def test_refused(wrong: Any, message: str) -> None:
    """What is no row, or not linear, is refused where it is made, with what to write."""
    with pytest.raises(UsageError, match=message):
        wrong()
    for odd in (lambda: load("d") + {1}, lambda: load("d") <= None, lambda: load("d") * True):
        with pytest.raises(TypeError):
            odd()


def spec() -> Builder:
    builder = Builder().node("a", work="2 ms", output="1 MiB").node("b/c", work="3 ms").edge("a", "b/c")
    builder.device("gpu", count=2, memory="1 GiB").interconnect("shared", bandwidth="8 GiB/s")
    return builder.minimize("bottleneck")


def rows(builder: Builder) -> list[tuple[str, dict[Any, float], str, float]]:
    return [(row.label, dict(row.terms), row.sense, row.rhs) for row in builder.build().of(Linear)]


def test_rows_are_rows_of_the_problem() -> None:
    """add() makes the rows of the language: one, several under one label, several that their keys tell apart."""
    builder = spec().add(on("a", "gpu[0]") + on("b/c", "gpu[0]") <= 1)
    builder.add([on("a", "gpu[0]") == 1, 2 * on("b/c", "gpu[1]") >= 1], "several")
    builder.add({d: load(d) <= "3 ms" for d in ("gpu[0]", "gpu[1]")}, "cap")
    found = rows(builder)
    assert found[:3] == [
        ("row1", {On(0, 0): 1.0, On(1, 0): 1.0}, "<=", 1.0),
        ("several", {On(0, 0): 1.0}, "==", 1.0),
        ("several", {On(1, 1): 2.0}, ">=", 1.0),
    ]
    assert [(label, rhs) for label, _, _, rhs in found[3:]] == [("cap[gpu[0]]", 0.003), ("cap[gpu[1]]", 0.003)]
    by_text = mtpp_dsl.load(builder.text())
    assert by_text.constraints == builder.build().constraints


def test_attributes_of_members() -> None:
    """Weights of nodes and devices stand in rows, and are what the problem says."""
    builder = spec().add(output("a") * on("a", "gpu[0]") <= memory("gpu[0]") / 2, "fits")
    assert rows(builder) == [("fits", {On(0, 0): 2.0**20}, "<=", 2.0**29)]


def test_params_stay_params() -> None:
    """Names of params stand in rows and options, and their values can still be changed."""
    builder = spec()
    most = builder.param("most", 1, type="int", within=range(1, 5))
    builder.add(on("a", "gpu[0]") + on("b/c", "gpu[0]") <= 2 * most - 1, "experts")
    assert rows(builder)[0][3] == 1.0
    assert [row.rhs for row in builder.build(most=2).of(Linear)] == [3.0]
    assert "param most: int = 1 in 1..4" in builder.text()
    with pytest.raises(SpecError, match=r"must be in 1\.\.4"):
        builder.build(most=7)


def test_a_label_is_used_once() -> None:
    """Two rows that results could not tell apart are an error; instances of one label in several statements are not."""
    with pytest.raises(SpecError, match=r"label 'cap' is already used(.|\n)*from add\("):
        spec().add(load("gpu[0]") <= 1, "cap").add(load("gpu[1]") <= 1, "cap").build()
    with pytest.raises(SpecError, match=r"label 'cap\[x\]' is already used"):
        spec().add({"x": load("gpu[0]") <= "1 s"}, "cap").add({"x": load("gpu[1]") <= "1 s"}, "cap").build()
    once = spec().add({"x": load("gpu[0]") <= "1 s"}, "cap").add({"y": load("gpu[1]") <= "1 s"}, "cap")
    assert [row.label for row in once.build().of(Linear)] == ["cap[x]", "cap[y]"]


def test_price_is_a_function() -> None:
    """Functions of the language that a version does not know are its errors, which name the call."""
    with pytest.raises(SpecError, match=r"from add\("):
        spec().add(price("gpu[7]") * used("gpu[0]") <= 3).build()
