"""Quick fixes of what is unused, missing or called otherwise: each leaves a text without its message."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.editor.server.features.problems import fixes, problems
from mtpp_dsl.editor.server.reading import TextReading, reading_of

GRAPH = "graph {\n  node a (work = 1 ms, output = 1 MB)\n  node b (work = 1 ms)\n  edge a -> b\n}\n"
PLAIN = "graph { node a (work = 1, output = 2) node b edge a -> b }\ndevice d[2]\n"
DEVICES = "device gpu[2]\n"
JOINED = "interconnect shared (bandwidth = 1 GB/s)\n"
WANTED = "minimize bottleneck\n"


def mended(reading: TextReading, said: str) -> str:
    """Return the text after the one fix whose message has these words."""
    (offer,) = [each for each in fixes(reading, 0, len(reading.text)) if said in each.diagnostics[0].message]
    return edited(reading.text, offer.edits)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("let x = 3\n", ""),
        ("mtpp 1\n  let x = 3  # of before\n", "mtpp 1\n"),
        ("let x = [\n  1,\n  2\n]\ndevice d\n", "device d\n"),
        ("let x = 3 device d\n", "device d\n"),
        ("device d let x = 3", "device d "),
        ("def x(y) = y\n", ""),
    ],
)
def test_what_is_unused_is_removed(text: str, after: str) -> None:
    rest = GRAPH + DEVICES + JOINED + WANTED
    assert mended(reading_of(f"{text}\n{rest}"), "'x' is never used") == f"{after}\n{rest}"


@pytest.mark.parametrize(
    ("text", "lacks", "after"),
    [
        (GRAPH + JOINED + WANTED, "device", f"{GRAPH}device gpu[4]\n{JOINED}{WANTED}"),
        (
            f"{GRAPH}{JOINED}{WANTED}constraint memory\n",
            "device",
            f"{GRAPH}device gpu[4] (memory = 16 GiB)\n{JOINED}{WANTED}constraint memory\n",
        ),
        (
            GRAPH + DEVICES + WANTED,
            "interconnect",
            f"{GRAPH}{DEVICES}interconnect shared (bandwidth = 8 GiB/s)\n{WANTED}",
        ),
        (PLAIN + WANTED, "interconnect", f"{PLAIN}interconnect shared (bandwidth = 8)\n{WANTED}"),
        (
            f"{GRAPH}{DEVICES}{JOINED}constraint acyclic\n",
            "objective",
            f"{GRAPH}{DEVICES}{JOINED}{WANTED}constraint acyclic\n",
        ),
        (f"{WANTED}{DEVICES}{GRAPH}", "interconnect", f"{WANTED}{DEVICES}{GRAPH}{JOINED.replace('1 GB', '8 GiB')}"),
        (
            f"{DEVICES.strip()} {GRAPH}{JOINED}",
            "objective",
            f"{DEVICES.strip()} {GRAPH}{JOINED}{WANTED}",
        ),
    ],
)
def test_a_statement_that_is_missing_is_added_where_it_belongs(text: str, lacks: str, after: str) -> None:
    found = mended(reading_of(text), f"no {lacks}")
    assert found == after
    assert not [each for each in reading_of(found).diagnostics if each.severity == "error"]


def test_what_is_added_comes_behind_an_include_that_brings_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "machines.mtpp").write_text(DEVICES)
    text = f'{GRAPH}include "machines.mtpp"\nconstraint acyclic\n'
    reading = reading_of(text, path=tmp_path / "x.mtpp")
    assert mended(reading, "no objective") == f'{GRAPH}include "machines.mtpp"\n{WANTED}constraint acyclic\n'


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("hww.mtpp", "hw.mtpp"),
        ("hw", "hw.mtpp"),
        ("more.mtpp", "sub/more.mtpp"),
        ("sub/mor.mtpp", "sub/more.mtpp"),
        ("nvidia.mtpp", "devices/nvidia.mtpp"),
        ("devices/nvida.mtpp", "devices/nvidia.mtpp"),
        ("maim.mtpp", ""),
        ("else.mtpp", ""),
        ("", ""),
    ],
)
def test_an_include_of_no_file_names_the_closest(written: str, meant: str, tmp_path: Path) -> None:
    """The text itself is not named: it cannot be meant."""
    (tmp_path / "hw.mtpp").write_text("device d\n")
    (tmp_path / "main.mtpp").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.mtpp").write_text("device d\n")
    reading = reading_of(f'include "{written}"\n', path=tmp_path / "main.mtpp")
    (wrong,) = [each for each in reading.diagnostics if each.severity == "error"]
    assert wrong.message.endswith(f"; did you mean {meant!r}?") == bool(meant)
    if meant:
        assert mended(reading, "no file") == f'include "{meant}"\n'


def test_a_file_that_includes_itself_has_one_error(tmp_path: Path) -> None:
    rest = f"{GRAPH}{DEVICES}{JOINED}{WANTED}constraint c: load(gpu[0]) <= k * 1 ms\n"
    path = tmp_path / "x.mtpp"
    path.write_text(f'include "x.mtpp"\nparam k = 3\n{rest}')
    reading = reading_of(path.read_text(), path=path)
    found = problems(reading)
    assert [each.message.partition("\n")[0] for each in found[reading.uri]] == ["x.mtpp includes itself"]
    assert list(found) == [reading.uri]
    (tmp_path / "y.mtpp").write_text('include "x.mtpp"\n')
    reading = reading_of('include "y.mtpp"\n', path=path)
    (wrong,) = [each for each in reading.diagnostics if each.code == "MTPP-E703"]
    assert wrong.message == "files include each other: x.mtpp -> y.mtpp -> x.mtpp"
