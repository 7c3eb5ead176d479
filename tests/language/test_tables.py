"""The loop over Lark's tables: it takes what Lark takes, and fails where Lark fails."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.grammar_data import of_lark, states_in_order
from mtpp_dsl.language.syntax.parser import MAX_WORDS, parse, parse_counted
from mtpp_dsl.language.syntax.syntax_errors import EXAMPLES
from mtpp_dsl.language.syntax.tables import Failure, Tables
from tests.tree import ROOT

STARTS = ["start", "statement", "item", "block_item", "expression"]
SPECS = [path.read_text() for path in sorted(Path(ROOT, "examples").glob("*.mtpp"))]
SNIPPETS = [snippet for snippets in EXAMPLES.values() for snippet in snippets]
GAP = re.compile(r"(?:\s|#[^\n]*)*")
INSERTED = [
    *'()[]{}=,:+-*/<>."#\n a1',
    "..",
    "..<",
    "on",
    "then",
    "lets",
    " let ",
    "3 ms",
    "for",
    "if",
    "not",
    "in",
    "ms",
    "time",
    "forall",
    "per_batch",
]


@cache
def lark() -> Lark:
    return Lark.open_from_package(
        "mtpp_dsl.grammars", "mtpp.lark", parser="lalr", start=STARTS, maybe_placeholders=True
    )


@cache
def tables() -> Tables:
    return Tables(of_lark(lark()))


@cache
def number_of_state() -> dict[int, int]:
    """Return the numbers that our tables give to Lark's states."""
    table = lark().parser.parser._parse_table  # type: ignore[union-attr]
    return {state: i for i, state in enumerate(states_in_order(table))}


@cache
def patterns() -> dict[str, re.Pattern[str]]:
    """Return the terminals that are no words, and names and units."""
    found = {str(t.name): t.pattern for t in lark().terminals if t.name not in ("WHITESPACE", "COMMENT")}
    return {name: re.compile(p.to_regexp()) for name, p in found.items() if not p.value.isidentifier()}


@cache
def keywords() -> dict[str, str]:
    return {t.pattern.value: str(t.name) for t in lark().terminals if t.pattern.value.isidentifier()}


@cache
def beginnings() -> set[str]:
    """Return the keywords that begin a statement."""
    return set(lark().parse_interactive(start="statement").choices())


class Shape:
    """Builds nested tuples: the name of the rule, and its parts."""

    def __getitem__(self, rule: str) -> object:
        return lambda start, stop, parts: (rule, start, stop, tuple(parts))


def by_lark(text: str) -> tuple[object, ...]:
    """Return where Lark's parser fails, at which terminal, and what it expects instead; () if it does not.

    It is fed word by word: a word is a keyword where one may come, else a unit if it stands on the line of a number,
    else a name.
    """
    parser = lark().parse_interactive(start="start")
    at = 0
    while True:
        gap = GAP.match(text, at)
        assert gap is not None
        if gap.end() == len(text):
            return refused(parser, Token("$END", ""), len(text))
        expected = {name for name in parser.choices() if name.isupper()}
        units = "UNIT" in expected and "\n" not in gap[0] and "#" not in gap[0]
        at = gap.end()
        found = word(text, at, expected, units, attached=not gap[0])
        if found is None:
            return (at,)
        failure = refused(parser, found, at)
        if failure:
            return failure
        at += len(found)


def refused(parser: InteractiveParser, token: Token, at: int) -> tuple[object, ...]:
    """Give a parser a word; return its failure, if it is one."""
    try:
        parser.feed_token(token)
    except UnexpectedToken:
        return at, token.type, number_of_state()[parser.parser_state.position], frozenset(parser.accepts())
    return ()


def word(text: str, at: int, expected: set[str], units: bool, attached: bool) -> Token | None:
    """Return the word at an offset, by the terminals of the grammar."""
    name = patterns()["NAME"].match(text, at)
    keyword = "" if name is None else keywords().get(name[0], "")
    unit = patterns()["UNIT"].match(text, at)
    if units and unit is not None and (attached or keywords().get(unit[0], "") not in expected):
        return Token("UNIT", unit[0])
    if name is not None:
        begins_line = not text[text.rfind("\n", 0, at) + 1 : at].strip()
        if keyword in expected and (begins_line or "NAME" not in expected or keyword not in beginnings()):
            return Token(keyword, name[0])
        return Token("NAME" if "NAME" in expected else keyword or "NAME", name[0])
    marks = [
        (match.end(), kind, match[0]) for kind, p in patterns().items() if (match := p.match(text, at)) is not None
    ]
    found = [mark for mark in marks if mark[1] in expected] or [
        mark for mark in marks if mark[1] not in ("NAME", "UNIT")
    ]
    return Token(max(found)[1], max(found)[2]) if found else None


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
    assert text[product[3][0][1] : product[3][0][2]] == "( 1 ms + 2 )"


def test_words_are_counted() -> None:
    """No more words are read than asked for."""
    assert parse_counted(Source("s", "let a = 3"), 4)[1] == 4
    assert parse(Source("s", " # nothing\n")) == ()
    with pytest.raises(Exception, match="more than 1,000,000 words and marks"):
        parse_counted(Source("s", "let a = 3"), 3)
