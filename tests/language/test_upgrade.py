"""Texts of earlier versions of the language, and words that are no names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import analyse, load
from mtpp_dsl.language.syntax import upgrade
from mtpp_dsl.language.syntax.upgrade import upgraded, version_of

TEXT = """graph { node a (work = 3 ms) }
device gpu (speed = 1)
interconnect shared (bandwidth = 1 GiB/s)
minimize bottleneck
"""


def test_a_text_of_the_present_version_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is formatted, and the command says that there is nothing to upgrade."""
    path = tmp_path / "spec.mtpp"
    for begin in ("", "mtpp 1\n", "# of today\nmtpp   1\n"):
        text = begin + TEXT
        assert version_of(Source("x", text)) == 1
        assert upgraded(Source("x", text)) == text
        path.write_text(text)
        assert run(["fmt", "--upgrade", str(path)]) == 0
        assert f"{path} is of version 1 of the language, the present one" in capsys.readouterr().err
        assert run(["fmt", "--upgrade", "--check", "--quiet", str(path)]) == 0
        assert capsys.readouterr().err == ""


def test_a_text_of_an_earlier_version_is_rewritten_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it would be in version 3, after one in which nodes were called tasks, and one in which devices were cores."""

    def changed(old: int, word: str, new: str) -> None:
        monkeypatch.setitem(
            upgrade.REWRITES,
            old,
            lambda source: source.text.replace(f"mtpp {old}", f"mtpp {old + 1}").replace(word, new),
        )

    changed(1, "task", "node")
    changed(2, "core", "device")
    monkeypatch.setattr(upgrade, "LANGUAGE_VERSION", 3)
    first = "mtpp 1\n" + TEXT.replace("node", "task").replace("device", "core")
    second = "mtpp 2\n" + TEXT.replace("device", "core")
    for text in (first, second):
        assert upgraded(Source("x", text)) == "mtpp 3\n" + TEXT
    path = tmp_path / "old.mtpp"
    path.write_text(first)
    assert run(["fmt", "--upgrade", "--check", str(path)]) == 1
    assert path.read_text() == first
    assert run(["fmt", "--upgrade", str(path)]) == 0
    assert path.read_text().split() == ["mtpp", "3", *TEXT.split()]
    assert "the present one" not in capsys.readouterr().err


def test_a_version_that_is_not_known_is_refused() -> None:
    """The formatter says what reading the spec says."""
    text = "mtpp 7\n" + TEXT
    with pytest.raises(SpecError) as of_upgrade:
        upgraded(Source("<text>", text))
    with pytest.raises(SpecError) as of_load:
        load(text)
    assert str(of_upgrade.value.diagnostics[0]) == str(of_load.value.diagnostics[0])


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("let edges = 4", False),
        ("param inf: int = 4", False),
        ("let x = [3 for nodes in 0..2]", False),
        ("graph { node nodes (work = 1 ms) }", True),
        ("device on (memory = 1 GiB)", True),
        ("switch used", True),
        ("def on(x) = x", False),
        ("def f(on) = 3", False),
        ("type true (memory = 1 GiB)", False),
        ("phase on, off", False),
    ],
)
def test_what_helps_where_a_word_is_taken_for_a_name(text: str, helps: bool) -> None:
    """The note says what mends the text: a string, where the name may be one."""

    def taken(given: str) -> list[tuple[str, ...]]:
        return [message.notes for message in analyse(f"{given}\n").diagnostics if message.code == "MTPP-E103"]

    (notes,) = taken(text)
    assert len(notes) == helps
    if helps:
        word = notes[0].rpartition(" ")[2]
        mended = re.sub(rf"\b{word[1:-1]}\b", word, text)
        assert taken(mended) == []
        assert not [m for m in analyse(f"{mended}\n").diagnostics if m.code.startswith("MTPP-E00")]
