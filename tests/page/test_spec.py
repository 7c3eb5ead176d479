"""The spec on a page: its lines as messages count them, its words as editors colour them."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.page.coloured import coloured_lines
from tests.hostile_names import HOSTILE, hostile_spec

PIECES = st.sampled_from([*HOSTILE[:8], "node", " ", "\n", "\r\n", "\f", "#", '"', "2 ms", "constraint memory", "\x85"])


@given(st.lists(PIECES, max_size=20).map("".join))
def test_lines_are_those_of_messages(text: str) -> None:
    """Every line feed ends a line and nothing else does; without its tags a line is what was written."""
    lines = coloured_lines(text)
    assert len(lines) == text.count("\n") + 1
    for line, written in zip(lines, text.replace("\r\n", "\n").split("\n"), strict=True):
        assert len(unescape(re.sub("<[^>]*>", "", line))) == len(written)


def test_words_have_classes() -> None:
    """Keywords, numbers, texts and comments can be told apart; long lines and long texts are cut or plain."""
    (line,) = coloured_lines('node "a" (work = 2 ms)  # note')
    assert '<span class="k">node</span>' in line
    assert '<span class="c"># note</span>' in line
    assert '<span class="n">2</span>' in line
    assert len(coloured_lines("# " + "x" * 50_000)[0]) < 3_000
    assert "span" not in coloured_lines("# x\n" * 120_000)[0]
    assert any("&lt;script&gt;" in each for each in coloured_lines(hostile_spec()))
