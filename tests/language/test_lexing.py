"""The one lexer of specs: it sees the words that the parser sees, and the pieces of broken texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.lexing import brackets, lexemes, without_remarks
from mtpp_dsl.language.syntax.parser import MAX_WORDS, parse_counted

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mtpp"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_sees_the_words_that_the_parser_sees(path: Path) -> None:
    """They are as many, strings among them."""
    text = path.read_text()
    _, count = parse_counted(Source(path.name, text), MAX_WORDS)
    assert sum(word.kind != "COMMENT" for word in lexemes(text)) == count


def test_kinds() -> None:
    """A unit stands behind a number on its line, unless it is a keyword and a space stands between."""
    text = 'let x = 5 GB/s # hm\n y.z <-> 3..<n 2e3 for a/s 10% "a\\"b" 3if\n7\nms "open'
    assert [(word.text, word.kind) for word in lexemes(text) if word.kind not in ("NAME", "MARK")] == [
        ("5", "NUMBER"),
        ("GB/s", "UNIT"),
        ("# hm", "COMMENT"),
        ("3", "NUMBER"),
        ("2e3", "NUMBER"),
        ("10", "NUMBER"),
        ("%", "UNIT"),
        ('"a\\"b"', "STRING"),
        ("3", "NUMBER"),
        ("if", "UNIT"),
        ("7", "NUMBER"),
    ]
    assert [word.text for word in lexemes(text) if word.kind == "MARK"] == ["=", ".", "<->", "..<", "/", '"']
    assert [word.text for word in lexemes(text) if word.begins_line] == ["let", "y", "7", "ms"]
    assert all(text[word.offset : word.stop] == word.text for word in lexemes(text))


def test_what_is_in_strings_and_comments_is_left_out() -> None:
    """Brackets there open nothing."""
    text = 'f("(", [a]) # }\n{ "open ('
    assert "".join(match[0] for match in brackets(text)) == "([]){("
    assert without_remarks(text) == 'f(, [a]) \n{ "open ('
