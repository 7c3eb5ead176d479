"""Lines and columns as the protocol counts them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.editor.server.positions import ENCODINGS, Lines, plain
from mtpp_dsl.editor.server.workspace import Document, Replacement

TEXTS = st.text(st.sampled_from("ab\r\n\t\u2028\u0085\x0cé𝛼😀\ud800\ufeff"), max_size=30)


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_positions_lead_back(text: str, encoding: str) -> None:
    """The position of an offset is that offset's, and only CR LF, LF and CR end a line."""
    lines = Lines(text, encoding)
    rows = re.split("\r\n|\r|\n", text)
    assert len(lines) == len(rows)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue
        line, column = lines.position(offset)
        assert column == ENCODINGS[encoding](rows[line][: offset - lines.starts[line]])
        assert lines.offset(line, column) == offset


@pytest.mark.parametrize(("line", "column", "offset"), [(0, 1, 0), (0, 2, 1), (0, 99, 2), (7, 0, 4), (-1, 5, 0)])
def test_places_outside_are_the_nearest(line: int, column: int, offset: int) -> None:
    """A column within a pair of surrogates is its start; one beyond the line its end."""
    assert Lines("😀a\nb").offset(line, column) == offset


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_what_the_language_reads_has_the_same_places(text: str, encoding: str) -> None:
    """Positions in the text as it is read are those in the editor's."""
    lines, read = Lines(text, encoding), Lines(plain(text), encoding)
    assert len(lines) == len(read)
    for line in range(len(lines)):
        if line or not text.startswith("\ufeff") or encoding != "utf-8":
            assert lines.position(lines.end(line)) == read.position(read.end(line))


@given(TEXTS, st.data())
def test_changes_are_those_of_the_editor(text: str, data: st.DataObject) -> None:
    """A change replaces what is between two positions."""
    document = Document("untitled:1", text)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    if any(text[at - 1 : at + 1] == "\r\n" for at in (start, stop)):
        return
    document.change(Replacement("x", (document.lines.position(start), document.lines.position(stop))), 2)
    assert document.text == text[:start] + "x" + text[stop:]
    assert document.version == 2
