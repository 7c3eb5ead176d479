"""Specs with words left out, doubled, exchanged or cut: reading them always ends, and says where something is wrong."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.lowering.lower import analyse
from tests.tree import ROOT

SPECS = [
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "examples").glob("*.mtpp"))
    if path.stat().st_size < 3000
]
WORD = re.compile(r'"[^"\n]*"|#[^\n]*|[A-Za-z_]\w*|\d+|\S|\n')
STRAY = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "=",
    "for",
    "if",
    "in",
    "node",
    "graph",
    "let",
    "constraint",
    '"',
    "..",
    "0",
    "ms",
]


def mutated(text: str, seed: int, changes: int) -> str:
    """Return a text with words left out, doubled, exchanged or put in."""
    draw = random.Random(seed)
    words = [(match.start(), match.end()) for match in WORD.finditer(text)]
    for _ in range(changes):
        first, second = draw.choice(words), draw.choice(words)
        a, b = sorted((first, second))
        match draw.randrange(5):
            case 0:
                text = text[: a[0]] + text[a[1] :]
            case 1:
                text = text[: a[1]] + " " + text[a[0] :]
            case 2 if a[1] <= b[0]:
                text = text[: a[0]] + text[slice(*b)] + text[a[1] : b[0]] + text[slice(*a)] + text[b[1] :]
            case 3:
                text = text[: a[0]] + draw.choice(STRAY) + " " + text[a[0] :]
            case _:
                text = text[: b[1]]
        words = [(match.start(), match.end()) for match in WORD.finditer(text)] or [(0, 0)]
    return text


def sound(span: Span | None) -> bool:
    """Return whether a place is within its text."""
    return span is None or 0 <= span.start <= span.stop <= len(span.source.text)


def check(text: str) -> None:
    """Hold what is true of every text."""
    found = analyse(text + "\n")
    assert (found.problem is None) == bool(found.errors), "a text with an error never gives a problem"
    for each in found.diagnostics:
        assert str(each)
        assert each.code in CODES
        assert sound(each.span)
        assert all(sound(place.span) for place in each.places)
        assert each.fix is None or all(sound(edit.span) for edit in each.fix.edits)
    places = [each.span.start for each in found.diagnostics if each.span and each.span.source is found.source]
    assert places == sorted(places)
    assert all(sound(statement.span) for statement in found.statements)


@settings(max_examples=60)
@given(st.sampled_from(SPECS), st.integers(0, 2**32), st.integers(1, 4))
def test_mutated_specs(text: str, seed: int, changes: int) -> None:
    """Nothing but messages comes out, each in its place."""
    check(mutated(text, seed, changes))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", SPECS)
def test_many_mutated_specs(text: str) -> None:
    """The same for many of each."""
    for seed in range(40):
        check(mutated(text, seed, 1 + seed % 5))


@pytest.mark.parametrize("text", SPECS)
def test_a_spec_that_is_typed(text: str) -> None:
    """A text that ends anywhere is read, as an editor does it."""
    draw = random.Random(3)
    for _ in range(5):
        check(text[: draw.randrange(len(text))])


def test_fixes_never_hurt() -> None:
    """Made one by one, fixes that are called safe leave no more syntax errors than there were."""
    for seed in range(40):
        text = mutated(SPECS[seed % len(SPECS)], seed, 2)
        before = analyse(text + "\n")
        for fix in (each.fix for each in before.errors if each.fix is not None and each.fix.safe):
            (edit,) = fix.edits
            after = analyse(before.source.text[: edit.span.start] + edit.text + before.source.text[edit.span.stop :])
            syntax = [sum(each.code < "MTPP-E1" for each in found.errors) for found in (before, after)]
            assert syntax[1] <= syntax[0], (text, fix)
