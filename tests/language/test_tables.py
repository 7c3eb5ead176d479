"""The loop over Lark's tables: it takes what Lark takes, and fails where Lark fails."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from mtpp_dsl.language.parser import MAX_WORDS, parse, parse_counted
from mtpp_dsl.language.syntax_errors import EXAMPLES
from mtpp_dsl.language.tables import Failure, Tables
from mtpp_dsl.text.source import Source
from tests.tree import ROOT

STARTS = ["start", "statement", "item", "expression"]
SPECS = [path.read_text() for path in sorted(Path(ROOT, "examples").glob("*.mtpp"))]
SNIPPETS = [snippet for snippets in EXAMPLES.values() for snippet in snippets]
INSERTED = [*'()[]{}=,:+-*/<>."#\n a1', "on", "for", "if", "not", "in", "ms", "time", "forall", "per-batch"]


@cache
def lark() -> Lark:
    return Lark.open_from_package(
        "mtpp_dsl.grammars", "mtpp.lark", parser="lalr", start=STARTS, maybe_placeholders=True
    )


@cache
def tables() -> Tables:
    return Tables(lark())


class Shape:
    """Builds nested tuples: the name of the rule, and its parts."""

    def __getitem__(self, rule: str) -> object:
        return lambda start, stop, parts: (rule, start, stop, tuple(parts))


def by_lark(text: str) -> tuple[object, ...]:
    """Return where Lark fails, at which terminal, and what it expects instead; () if it does not."""
    try:
        lark().parse(text, start="start")
    except UnexpectedCharacters as error:
        return (error.pos_in_stream,)
    except UnexpectedToken as error:
        at = len(text) if error.token.type == "$END" else error.token.start_pos
        return at, error.token.type, error.state.position, frozenset(error.accepts)
    return ()


def by_tables(text: str) -> tuple[object, ...]:
    try:
        tables().run(text, "start", 0, len(text), Shape(), MAX_WORDS)  # type: ignore[arg-type]
    except Failure as failure:
        if failure.token is None:
            return (failure.at,)
        at = len(text) if failure.token.kind == "$END" else failure.at
        return at, failure.token.kind, failure.state, failure.expected
    return ()


def mutated(text: str, draw: random.Random) -> str:
    at = draw.randrange(len(text) + 1)
    match draw.randrange(3):
        case 0:
            return text[:at] + text[at + draw.randrange(1, 6) :]
        case 1:
            return text[:at] + draw.choice(INSERTED) + text[at:]
        case _:
            return text[:at]


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_lark(seed: int) -> None:
    """Law: for any text, both accept it or both fail at the same word in the same state, expecting the same."""
    draw = random.Random(seed)
    texts = [mutated(mutated(draw.choice([*SPECS, *SNIPPETS]), draw), draw) for _ in range(40)]
    for text in [*SPECS, *SNIPPETS][seed::8] + texts:
        assert by_tables(text) == by_lark(text), text


def test_offsets() -> None:
    """Every rule gets the offsets of its whole text, brackets included, without spaces and comments around it."""
    text = "# c\n let a = ( 1 ms + 2 ) * 3 # d\n"
    value, words = tables().run(text, "start", 0, len(text), Shape(), 100)  # type: ignore[arg-type]
    assert words == 11
    assert text[value[3][0][1] : value[3][0][2]] == "let a = ( 1 ms + 2 ) * 3"
    product = value[3][0][3][1]
    assert (product[0], text[product[1] : product[2]]) == ("product", "( 1 ms + 2 ) * 3")
    assert text[product[3][0][1] : product[3][0][2]] == "1 ms + 2"


def test_words_are_counted() -> None:
    """No more words are read than asked for."""
    assert parse_counted(Source("s", "let a = 3"), 4)[1] == 4
    assert parse(Source("s", " # nothing\n")) == ()
    with pytest.raises(Exception, match="more than 1,000,000 words and marks"):
        parse_counted(Source("s", "let a = 3"), 3)
