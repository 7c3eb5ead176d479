"""Texts drawn from the grammar: each is read and laid out without a change of meaning; broken, each has its errors."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark

from mtpp_dsl.core.errors import MtppError, SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.language.syntax.partial import parse_partial
from tests.own_time import within

NAMES = ["a", "b", "gpu", "i", "work", "x_1", "time", "node", "use", "input", "plan", "ms", "s", "load", "nodes"]
TERMINALS = {
    "NAME": NAMES,
    "STRING": ['"a"', '"t.csv"', '"x y"', r'"\"#"'],
    "NUMBER": ["0", "1", "3", "0.25", "1_000", "2e3"],
    "UNIT": ["ms", "GiB/s", "%", "USD/h", "zz"],
    "COMPARISON": ["<=", ">=", "==", "!=", "<", ">"],
    "STAR": ["*", "/"],
    "COMMENT": [" "],
    "WHITESPACE": [" "],
}
REFUSED = {"MTPP-E002", "MTPP-E007", "MTPP-E012", "MTPP-E901"}
"""What the grammar lets pass: 'param a: x from …', named arguments of functions, unknown rules, deep nesting."""
SPEC = """graph { node a (work = 2 ms, output = 1 MiB) node b[i in 0..2] (work = 1 ms) edge a -> b[0] -> b[1] -> b[2] }
device gpu[2] (memory = 1 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""


@cache
def lark() -> Lark:
    return Lark.open_from_package(
        "mtpp_dsl.grammars", "mtpp.lark", parser="lalr", start="statement", maybe_placeholders=True
    )


@cache
def words() -> dict[str, list[str]]:
    """Return what stands for each terminal."""
    return {str(t.name): [t.pattern.value] for t in lark().terminals if t.pattern.type == "str"} | TERMINALS


@cache
def expansions() -> dict[str, list[list[str]]]:
    """Return the rules of the grammar, without conveniences: the symbols of each expansion."""
    found: dict[str, list[list[str]]] = {}
    for rule in lark().rules:
        found.setdefault(str(rule.origin.name), []).append([str(symbol.name) for symbol in rule.expansion])
    return found


@cache
def depths() -> dict[str, int]:
    """Return how deep the least text of each symbol is."""
    found = dict.fromkeys(words(), 0)
    while len(found) < len(words()) + len(expansions()):
        for name, choices in expansions().items():
            known = [
                max((found[s] for s in choice), default=0) for choice in choices if all(s in found for s in choice)
            ]
            if known and name not in found:
                found[name] = 1 + min(known)
    return found


def drawn(draw: random.Random, symbol: str, depth: int) -> str:
    """Return a text of a symbol, in which rules are nested *depth* deep and no more than they must."""
    if symbol in words():
        return draw.choice(words()[symbol]) + " "
    choices = expansions()[symbol]
    least = [max((depths()[part] for part in choice), default=0) for choice in choices]
    fitting = [choice for choice, needed in zip(choices, least, strict=True) if needed <= max(depth, min(least))]
    return "".join(drawn(draw, part, depth - 1) for part in draw.choice(fitting))


def broken(draw: random.Random, text: str) -> str:
    """Return a text of which something is cut out, or in which something is put."""
    pieces = text.split(" ")
    at = draw.randrange(len(pieces))
    pieces[at : at + draw.randrange(3)] = [draw.choice(["", "(", "}", "let", "for", "=", "\n", "3", "asert"])]
    return " ".join(pieces)


def holds(text: str) -> None:
    """Hold that a text is read and laid out; parse(fmt(x)) = parse(x), and fmt(fmt(x)) = fmt(x)."""
    source = Source("x", text)
    try:
        before = parse(source)
    except SpecError as error:
        codes = {found.code for found in error.diagnostics}
    else:
        codes = set()
    assert codes <= REFUSED, text
    if codes:
        return
    formatted = format_spec(source)
    assert parse(Source("x", formatted)) == before
    assert format_spec(Source("x", formatted)) == formatted


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_what_the_grammar_makes_is_read(seed: int) -> None:
    """Round trips, no crash, and no text that takes more than two seconds of processor time."""
    draw = random.Random(seed)
    for _ in range(80):
        text = drawn(draw, "statement", draw.choice([10, 12, 15]))
        with within(2, text):
            holds(text)


@settings(max_examples=3)
@given(st.data())
def test_what_hypothesis_makes_of_the_grammar_is_read(data: st.DataObject) -> None:
    """The same of texts that shrink."""
    spaced = {name: st.sampled_from(found).map(lambda word: f"{word} ") for name, found in words().items()}
    holds(data.draw(from_lark(lark(), start="statement", explicit=spaced)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_broken_has_errors_with_places(seed: int) -> None:
    """Within the text, each with a code; nothing crashes, and nothing takes long."""
    draw = random.Random(seed)
    for _ in range(60):
        text = "\n".join(drawn(draw, "statement", 14) for _ in range(3))
        text = broken(draw, broken(draw, text))
        with within(2, text):
            for found in parse_partial(Source("x", text)).diagnostics:
                assert found.code
                assert found.span is not None
                assert 0 <= found.span.start <= found.span.stop <= len(text)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_what_the_grammar_makes_means_something_or_not(seed: int) -> None:
    """Whatever a statement says of a sound spec, only our own errors come out."""
    draw = random.Random(seed)
    for _ in range(60):
        text = SPEC + drawn(draw, "statement", 16)
        with within(3, text), suppress(MtppError):
            load(text)
