"""Texts of before version 1 was settled: refused with the way out, and rewritten by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import analyse, load
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.language.syntax.upgrade import upgraded

BASE = """graph { node a (work = 3 ms) node b[i in 0..2] (work = 1 ms) edge a -> b[0] }
device gpu[2] (speed = 1)
interconnect links (bandwidth = 1 GiB/s, latency = 0 us)
"""
LATER = BASE + "maximize throughput (batch = 4)\n"

OLD = [
    (BASE + "maximize throughput (batch = 4, transfer = per-input)\n", "transfer = per_input"),
    (BASE + 'maximize throughput (batch = 4, transfer = # c\n "per-batch")\n', 'transfer = # c\n "per_batch"'),
    (LATER + "let x = 5\n  ms\nconstraint c: load(gpu[0]) <= x\n", "let x = 5 ms\nconstraint c"),
    (LATER + "let x = max(5\n  ms, 6 ms)\n", "let x = max(5 ms, 6 ms)\n"),
    (LATER + "let x = 8 # about\n MiB\n", "let x = 8 MiB # about\n"),
    (LATER + "let x = sum(1 for i in 0..1if true)\n", "0..1 if true"),
    (LATER + "let x = 1/2 ms\n", "1/(2 ms)"),
    (LATER + "param used: int = 3\nlet x = used + 1\n", "param used_: int = 3\nlet x = used_ + 1"),
    (LATER + "let inf = 3\nlet inf_ = inf * 2\n", "let inf__ = 3\nlet inf_ = inf__ * 2"),
    (LATER + "constraint separate b[edges], a for edges in 1..2\n", "b[edges_], a for edges_ in 1..2"),
]


@pytest.mark.parametrize(("text", "new"), OLD, ids=[new for _, new in OLD])
def test_what_was_allowed_before(text: str, new: str, tmp_path: Path) -> None:
    """The error names 'mtpp fmt --upgrade', which writes a text that is read; a second time changes nothing."""
    with pytest.raises(SpecError) as caught:
        load(text)
    assert any(
        "'mtpp fmt --upgrade FILE'" in note for diagnostic in caught.value.diagnostics for note in diagnostic.notes
    )
    assert new in upgraded(Source("x", text))
    assert upgraded(Source("x", upgraded(Source("x", text)))) == upgraded(Source("x", text))
    path = tmp_path / "old.mtpp"
    path.write_text(text)
    assert run(["fmt", "--upgrade", "--check", str(path)]) == 1
    assert path.read_text() == text
    assert run(["fmt", "--upgrade", str(path)]) == 0
    load(path)
    assert run(["fmt", "--upgrade", "--check", str(path)]) == 0


NEW = [
    "let x = per-batch",
    "let w = {per: 3, s: 5\n, ms: 3}",
    "let x = a * 1 MiB/2 ms\nlet y = 1/(2 ms) + k / 2",
    "let s = [3,\n s]\nassert k > 3\nparam ms: int = 4",
    "edge_ is no statement",
]


@pytest.mark.parametrize("text", NEW[:-1])
def test_what_is_allowed_stays(text: str) -> None:
    """A text of version 1 is not touched."""
    parse(Source("x", text))
    assert upgraded(Source("x", text)) == text


def test_what_does_not_parse_is_an_error() -> None:
    """A broken text is not rewritten."""
    with pytest.raises(SpecError):
        upgraded(Source("x", NEW[-1]))


def test_the_six_specs_parse(specs: Path) -> None:
    """The acceptance specs are texts of version 1 as they stand."""
    for path in sorted(specs.glob("*.mtpp")):
        assert upgraded(Source(path.name, path.read_text())) == path.read_text()


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("let edges = 4", "underscore"),
        ("param inf: int = 4", "underscore"),
        ("let x = [3 for nodes in 0..2]", "underscore"),
        ("graph { node nodes (work = 1 ms) }", "string"),
        ("device on (memory = 1 GiB)", "string"),
        ("switch used", "string"),
        ("def on(x) = x", ""),
        ("def f(on) = 3", ""),
        ("type true (memory = 1 GiB)", ""),
        ("phase on, off", ""),
    ],
)
def test_what_helps_where_a_word_is_taken_for_a_name(text: str, helps: str) -> None:
    """The note says what mends the text, and nothing where the name has to be changed by hand."""

    def taken(given: str) -> list[tuple[str, ...]]:
        return [each.notes for each in analyse(f"{given}\n").diagnostics if each.code == "MTPP-E103"]

    (notes,) = taken(text)
    assert len(notes) == bool(helps)
    if helps == "underscore":
        assert "'mtpp fmt --upgrade FILE'" in notes[0]
        assert taken(upgraded(Source("x", text))) == []
    elif helps:
        word = notes[0].rpartition(" ")[2]
        mended = re.sub(rf"\b{word[1:-1]}\b", word, text)
        assert taken(mended) == []
        assert not [each for each in analyse(f"{mended}\n").diagnostics if each.code.startswith("MTPP-E00")]
