"""Definitions, references, highlights and names anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.core.text.source import Edit, Span
from mtpp_dsl.editor.server.features.definition import definition
from mtpp_dsl.editor.server.features.references import found_symbols, highlights, references
from mtpp_dsl.editor.server.features.rename import RenameRefused, prepare_rename, rename, same
from mtpp_dsl.editor.server.reading import TextReading, reading_of
from tests.tree import ROOT

SPEC = """mtpp 1
param k: int = 3 in 2..9
let slower = { cpu: 5, gpu: 1 }
def twice(x) = 2 * x
phase prefill, decode (weight = 8)
block layer(i, h) {
  node norm (work = { prefill: 2 ms, decode: twice(1 ms) * h })
  node attn[j in 0..<h] (work = { prefill: 1 ms, decode: 1 ms })
  edge norm -> attn
  input x = norm
  output y = attn
}
graph {
  node embed (work = { prefill: 2 ms, decode: 1 ms }, params = k * 1 MiB, memory = 2 * params)
  node "enc/1" (time = { cpu: 3 ms, gpu: 1 ms })
  use layer as dec[i in 0..<k] (h = 2)
  edge embed -> dec[0].x
  edge dec[i].y -> dec[i + 1].x for i in 0..<k - 1
  edge "enc/1" -> embed
}
type mine (memory = 1 GB)
device cpu (type = mine)
device gpu[2] (memory = 3 GB)
interconnect shared (bandwidth = 3 GB/s)
time v on d in decode = slower[d] * 1 ms for v in { dec[0].norm, embed }, d in devices
minimize bottleneck(prefill)
constraint first: load(d, decode) <= 90 ms for d in gpu
constraint pin "enc/1", dec[0].attn on cpu
scenario small {
  param k: int = 2
}
"""


def at(reading: TextReading, text: str) -> tuple[int, int]:
    """Return the line and column of the sign ``|`` in a part of the text."""
    before, _, after = text.partition("|")
    assert reading.text.count(before + after) >= 1, text
    return reading.lines().position(reading.text.index(before + after) + len(before))


def texts(reading: TextReading, locations: list[types.Location]) -> list[tuple[int, str]]:
    """Return the lines of locations of the text itself, from 1, and what stands there."""
    found = []
    for location in locations:
        start = reading.offset(location.range.start.line, location.range.start.character)
        stop = reading.offset(location.range.end.line, location.range.end.character)
        found.append((location.range.start.line + 1, reading.text[start:stop]))
    return sorted(found)


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("params = |k", [2, 30]),
        ("slower[|d]", [25]),
        ("= sl|ower", [3]),
        ("twi|ce(1", [4]),
        ("= 2 * |x", [4]),
        ("edge |embed -> dec", [14]),
        ("-> |dec[0].x", [16]),
        ("dec[0].|x", [10]),
        ("dec[i].|y", [11]),
        ("{ dec[0].|norm", [7]),
        ("edge norm -> |attn", [8]),
        ("* |h }", [6]),
        ("use la|yer", [6]),
        ("(|h = 2)", [6]),
        ("type = mi|ne", [21]),
        ("on |cpu\n", [22]),
        ("{ c|pu: 5", [22]),
        ("time = { |cpu", [22]),
        ("|decode: 1 ms }, params", [5]),
        ("d, |decode)", [5]),
        ('pin "|enc/1', [15]),
        ("in |gpu\n", [23]),
        ("edge dec[|i].y", [18]),
    ],
)
def test_definition(place: str, lines: list[int]) -> None:
    reading = reading_of(SPEC)
    assert reading.problem is not None, reading.diagnostics
    found = definition(reading, *at(reading, place))
    assert [line for line, _ in texts(reading, found)] == lines


def test_references_of_all_sorts() -> None:
    reading = reading_of(SPEC)

    def lines(place: str) -> list[int]:
        return [line for line, _ in texts(reading, references(reading, *at(reading, place)))]

    assert lines("param |k") == [2, 14, 16, 18, 30]
    assert lines("device c|pu") == [3, 15, 22, 28]
    assert lines("device |gpu") == [3, 15, 23, 27]
    assert lines("phase prefill, dec|ode") == [5, 7, 8, 14, 25, 27]
    assert lines("node no|rm") == [7, 9, 10, 25]
    assert lines("dec[|i].y") == [18, 18, 18]
    assert lines("|decode = slower") == [5, 7, 8, 14, 25, 27]
    without = references(reading, *at(reading, "param |k"), declaration=False)
    assert [line for line, _ in texts(reading, without)] == [14, 16, 18]
    assert len(highlights(reading, *at(reading, "node no|rm"))) == 4


def test_names_in_a_statement_that_does_not_parse_are_found() -> None:
    reading = reading_of(SPEC + "constraint pin embed on on gpu (\n")
    (found,) = definition(reading, *at(reading, "pin |embed on on"))
    assert found.range.start.line + 1 == 14


def test_files_and_includes(tmp_path: Path) -> None:
    (tmp_path / "rules.mtpp").write_text("param limit: time = 3 ms\nconstraint cap: load(d) <= limit for d in gpu\n")
    (tmp_path / "net.json").write_text("{}")
    text = 'include "rules.mtpp"\ninclude "devices/nvidia.mtpp"\ndevice gpu[2] (type = l40s)\n'
    text += 'let twice = 2 * limit\nscenario other {\n  graph from "net.json"\n}\nparam data: path = "net.json"\n'
    reading = reading_of(text, path=tmp_path / "spec.mtpp")

    def uris(place: str) -> list[str]:
        return [found.uri.rpartition("/")[2] for found in definition(reading, *at(reading, place))]

    assert uris('include "ru|les') == ["rules.mtpp"]
    assert uris("type = |l40s") == ["nvidia.mtpp"]
    assert uris('path = "n|et') == ["net.json"]
    assert uris("* li|mit") == ["rules.mtpp"]
    assert uris('from "net|') == ["net.json"]
    assert uris('"devices/n|v') == ["nvidia.mtpp"]
    found = references(reading, *at(reading, "device g|pu"))
    assert sorted(location.uri.rpartition("/")[2] for location in found) == ["rules.mtpp", "spec.mtpp"]


def test_the_node_of_a_generator_leads_to_the_graph() -> None:
    reading = reading_of("graph from generator chain (nodes = 4)\ndevice d[2]\nconstraint pin v[0] on d[0]\n")
    (found,) = definition(reading, *at(reading, "pin |v"))
    assert found.range.start.line == 0


# rename


def renamed(reading: TextReading, line: int, column: int, new: str) -> str:
    """Return the text with the name at a place changed."""
    changes = rename(reading, line, column, new)
    edits = []
    for change in changes.get(reading.uri, ()):
        start = reading.offset(change.range.start.line, change.range.start.character)
        stop = reading.offset(change.range.end.line, change.range.end.character)
        edits.append(Edit(Span(reading.source, start, stop), change.new_text))
    return edited(reading.text, edits)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.mtpp")), ids=lambda path: path.stem)
def test_a_renamed_spec_means_the_same(path: Path) -> None:
    """Every name of every example gets another one; the problem stays the same up to the name."""
    reading = reading_of(path.read_text(encoding="utf-8"), path=path)
    assert reading.problem is not None
    done = set()
    for each in reading.index.occurrences:
        if each.role == "definition" and each.symbol not in done and each.span.source is reading.source:
            done.add(each.symbol)
            place = reading.lines().position(each.span.start)
            after = reading_of(renamed(reading, *place, "zzz_1"), path=path)
            assert after.text != reading.text
            assert after.problem is not None, (each.symbol, after.diagnostics)
            assert same(reading.problem, after.problem, each.name, "zzz_1") == "", each.symbol
            assert each.symbol not in {other.symbol for other in after.index.occurrences}


def test_every_name_of_a_spec_with_blocks_and_phases_is_renamed() -> None:
    reading = reading_of(SPEC)
    done = {each.symbol: each for each in reading.index.occurrences if each.role == "definition"}
    assert len(done) > 20
    for each in done.values():
        after = reading_of(renamed(reading, *reading.lines().position(each.span.start), "zzz"))
        assert after.problem is not None, (each, after.diagnostics)


@pytest.mark.parametrize(
    ("place", "new", "reason"),
    [
        ("|minimize", "x", "a word of the language"),
        ("|bottleneck(", "x", "a word of the language"),
        ("2 * |params", "x", "a word of the language"),
        ("param |k", "slower", "a name already, at"),
        ("param |k", "for", "a word of the language"),
        ("param |k", "2x", "no name"),
        ("param |k", "work", "a function"),
        ("dec[|i].y", "k", "a name already, at"),
        ('pin "|enc/1', 'a"b', "quotation marks"),
        ("node em|bed", "a b", "no name"),
        ("= |2 * x", "n", "there is no name here"),
    ],
)
def test_what_is_not_renamed(place: str, new: str, reason: str) -> None:
    reading = reading_of(SPEC)
    with pytest.raises(RenameRefused, match=reason):
        rename(reading, *at(reading, place), new)


def test_a_word_that_nothing_declares_is_no_word_of_the_language() -> None:
    reading = reading_of(SPEC + "constrint pin embd on gpu\n")
    for place in ("|constrint", "pin |embd"):
        with pytest.raises(RenameRefused, match="declared nowhere"):
            prepare_rename(reading, *at(reading, place))


def test_names_of_data_and_of_the_library_are_not_renamed() -> None:
    text = 'include "devices/nvidia.mtpp"\ngraph from generator chain (nodes = 4)\n'
    reading = reading_of(text + "device d[2] (type = l40s)\nconstraint pin v[0] on d[0]\n")
    with pytest.raises(RenameRefused, match="of a data file or a generator"):
        prepare_rename(reading, *at(reading, "pin |v"))
    with pytest.raises(RenameRefused, match="in the library"):
        prepare_rename(reading, *at(reading, "|l40s"))
    with pytest.raises(RenameRefused, match="name of a file"):
        prepare_rename(reading, *at(reading, "devices/|nvidia"))


def test_a_name_that_a_text_compares_is_not_renamed() -> None:
    """The strings would have to change, too: which of them mean the node nobody can tell."""
    spec = "graph { node a (work = 1 ms) node b (work = 2 ms) }\ndevice d[2]\ninterconnect shared (bandwidth = 1)\n"
    spec += 'minimize bottleneck\nconstraint pin v on d[0] for v in nodes if name(v) == "a"\n'
    reading = reading_of(spec)
    with pytest.raises(RenameRefused, match="the spec would mean something else"):
        rename(reading, *at(reading, "node |a"), "c")


def test_a_map_that_is_looked_up_by_devices_is_renamed_with_them_and_other_maps_are_not() -> None:
    spec = "let slow = { cpu: 2, gpu: 1 }\nlet other = { cpu: 3 }\n"
    spec += 'graph { node a (work = slow["cpu"] * 1 ms) }\ndevice cpu\ndevice gpu\n'
    spec += "interconnect shared (bandwidth = 1)\nminimize bottleneck\n"
    reading = reading_of(spec)
    assert reading.problem is not None
    after = renamed(reading, *at(reading, "device c|pu"), "host")
    assert "device host" in after
    assert "{ cpu: 2" in after  # the text "cpu" looks it up, so that the key must stay
    spec = spec.replace('slow["cpu"]', "1").replace(
        "minimize", "time a on d = slow[d] * 1 ms for d in devices\nminimize"
    )
    after = renamed(reading_of(spec), *at(reading_of(spec), "device c|pu"), "host")
    assert "{ host: 2" in after


def test_other_open_texts_are_renamed_with_the_file_that_they_include(tmp_path: Path) -> None:
    (tmp_path / "common.mtpp").write_text("param k: int = 2\ndevice d[k]\n")
    users = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.mtpp"
        path.write_text(f'include "common.mtpp"\nlet {name} = k + 1\n')
        users.append(reading_of(path.read_text(), path=path))
    common = reading_of((tmp_path / "common.mtpp").read_text(), path=tmp_path / "common.mtpp")
    stranger = reading_of("param k: int = 9\n", path=tmp_path / "stranger.mtpp")
    changes = rename(common, 0, 6, "many", others=[*users, stranger])
    assert {uri.rpartition("/")[2]: len(edits) for uri, edits in changes.items()} == {
        "common.mtpp": 2,
        "a.mtpp": 1,
        "b.mtpp": 1,
    }
    with pytest.raises(RenameRefused, match="is a name already, at"):
        rename(common, 0, 6, "b", others=users)
    assert len(references(common, 0, 6, others=[*users, stranger])) == 4


def test_places_are_counted_in_utf_16() -> None:
    reading = reading_of('graph { node "𝛼" node b edge "𝛼" -> b }\n')
    changes = rename(reading, 0, reading.lines().position(reading.text.index("-> b") + 3)[1], "c")
    (edits,) = changes.values()
    assert sorted((each.range.start.character, each.range.end.character) for each in edits) == [(23, 24), (38, 39)]


def test_names_are_found_by_a_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "common.mtpp").write_text("param layers: int = 2\n")
    text = 'include "common.mtpp"\ninclude "devices/nvidia.mtpp"\nlet player = layers + 1\ndevice d[i in 0..1]\n'
    reading = reading_of(text, path=tmp_path / "spec.mtpp")
    found = found_symbols([reading, reading], "LAY")
    assert sorted(each.name for each in found) == ["layers", "player"]
    assert {each.name for each in found_symbols([reading], "")} == {"player", "layers", "d"}


def test_an_option_that_there_is_not_is_no_word_of_the_language() -> None:
    text = "graph { node a (wrok = 1 ms) }"
    with pytest.raises(RenameRefused, match="'wrok' is declared nowhere"):
        renamed(reading_of(text), 0, text.index("wrok"), "x")
