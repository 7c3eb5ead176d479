"""Patterns of words: made from the grammar, and right where a word is a keyword in one place and a name in another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import lexers
from pygments.token import Text, Token

from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, RULES, STATEMENTS
from mtpp_dsl.language.words.colours import vocabulary
from mtpp_dsl.language.words.pygments_lexer import MtppLexer
from tests.tools.highlighting import contents
from tests.tree import ROOT

SPECS = sorted([*(ROOT / "examples").rglob("*.mtpp"), *(ROOT / "mtpp_dsl" / "exchange" / "library").rglob("*.mtpp")])
WORDS = vocabulary()


def kinds(text):
    """Return the pieces of a text that are no white space, each with the last part of its kind."""
    return [(piece, str(kind).rpartition(".")[2]) for kind, piece in MtppLexer().get_tokens(text) if piece.strip()]


def test_files_are_those_of_the_grammar():
    for path, text in contents().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tests.tools.highlighting"


def test_words_are_those_of_the_messages():
    assert set(WORDS.statements) == {*STATEMENTS, *BEGINS_ITEM}
    assert set(WORDS.rules) == set(RULES)


def test_pygments_finds_the_lexer():
    assert lexers.get_lexer_for_filename("x.mtpp").name == lexers.get_lexer_by_name("mtpp").name == "mtpp"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_piece_of_a_spec_is_known(path):
    text = path.read_text(encoding="utf-8")
    pieces = list(MtppLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(piece for _, piece in pieces) == text
    assert not [piece for kind, piece in pieces if kind in (Text, Token.Error) and piece.strip()]


@given(st.text(alphabet=st.sampled_from('abnode  =:"\\#\n(){}[]0123.<>-µ‮\x00é💡')))
def test_any_text_is_its_pieces(text):
    pieces = list(MtppLexer().get_tokens_unprocessed(text))
    assert "".join(piece for _, _, piece in pieces) == text
    assert [offset for offset, _, _ in pieces] == [
        sum(len(piece) for _, _, piece in pieces[:i]) for i in range(len(pieces))
    ]


@pytest.mark.parametrize(
    ("text", "word", "kind"),
    [
        ("node embed (work = 2 ms)", "node", "Declaration"),
        ("  node embed (work = 2 ms)", "embed", "Entity"),
        ("graph { node a edge a -> b }", "edge", "Declaration"),
        ("sum(work(v) for node in nodes)", "node", "Name"),
        ("sum(work(v) for node in nodes)", "nodes", "Constant"),
        ("sum(work(v) for node in nodes)", "work", "Builtin"),
        ("node a (work = 2 ms)", "work", "Attribute"),
        ("node a (work = 2 ms)", "ms", "Type"),
        ("node a (time = {d: 2 ms})", "time", "Attribute"),
        ("time a on d = 3 ms", "time", "Declaration"),
        ("constraint memory on d", "memory", "Pseudo"),
        ("device d (memory = 3 GB)", "memory", "Attribute"),
        ("constraint memory: load(d) <= 3 s", "memory", "Label"),
        ("constraint of_mine on d", "of_mine", "Pseudo"),
        ("constraint exclusive links # all", "links", "Keyword"),
        ("constraint subgraphs at most 3 on d", "at most", "Keyword"),
        ("let links = 3", "links", "Variable"),
        ('import plan "old.json"', "plan", "Keyword"),
        ("minimize price: 3", "price", "Label"),
        ("minimize sum(price(d) for d in devices)", "minimize", "Declaration"),
        ("def f(x) = x + 1", "f", "Function"),
        ('assert (3 < 4), "a \\" b"', '\\"', "Escape"),
        ("graph from generator gpt (layers = 3)", "gpt", "Builtin"),
        ("use layer as l[i] for i in 0..3", "layer", "Class"),
        ("let x = if a then 1 else 2", "then", "Keyword"),
        ("let x = not a in b", "not", "Word"),
    ],
)
def test_a_word_is_what_it_is_in_its_place(text, word, kind):
    assert (word, kind) in kinds(text)


def test_patterns_are_none_that_only_one_engine_understands():
    for text in contents().values():
        assert not re.search(r"\(\?[aiLmsuxP(]|[*+?]\+|\\[AZzGKh]", text)
