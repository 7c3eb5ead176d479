"""The spec on a page: its lines as messages count them, its words as editors colour them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.show.page.spec import coloured_lines
from mtpp_dsl.show.page.spec_blocks import SpecBlock, blocks
from mtpp_dsl.show.page.view import Mark
from mtpp_dsl.show.reporting import page_of
from tests.hostile_names import HOSTILE, hostile_spec
from tests.show.page.plain import plain

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


def flat(parts: Iterable[SpecBlock]) -> Iterator[SpecBlock]:
    """Yield the blocks that consist of no others."""
    for part in parts:
        yield from flat(part.parts) if part.parts else (part,)


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 60)), max_size=8))
def test_every_line_is_in_one_block(spans: list[tuple[int, int]]) -> None:
    """However statements lie in each other, every line is shown once, in its order, and no mark is said twice."""
    marks = [Mark(first, first + length, "graph", (i,)) for i, (first, length) in enumerate(spans)]
    found = list(blocks(marks, 1, 40))
    shown = [line for block in flat(found) for line in range(block.first, block.last + 1)]
    assert shown == list(range(1, 41))


GRAPH = """mtpp 1
block pair { node x (work = 1 ms, output = 1 MB) node y (work = 1 ms, output = 1 MB) edge x -> y }
graph {
  node a (work = 1 ms, output = 3 MB)
  node v[i in 0..3] (work = 2 ms, output = 1 MB)
  use pair as twin
  node z (work = 4 ms) node w (work = 5 ms)
  edge a -> v[0]
  edge v[0] -> v[2]
  edge v[i] -> v[i + 1] for i in 0..2
  edge a -> z
  edge a -> w
  edge v[3] -> twin.x
  edge twin.y -> z
}
device d[2]
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
"""


def test_lines_of_a_graph_say_where_their_nodes_are(tmp_path: Path) -> None:
    """Beside each line of a graph stands where its nodes are and what they take, or what its edges send and where."""
    (tmp_path / "spec.mtpp").write_text(GRAPH, encoding="utf-8")
    problem = mtpp_dsl.load(tmp_path / "spec.mtpp")
    second = {"v[2]", "v[3]", "w", "z"}
    plan = Plan.create(problem, [int(name in second) for name in problem.graph.names])
    result = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="by hand").of(problem)
    page = page_of(problem, result)
    found = {}
    for line, block in re.findall(r'id="line-(\d+)"(.*?)(?=<div class="statement|</section>)', page, re.DOTALL):
        notes = re.findall(r"<li>(.*?)</li>", block, re.DOTALL)
        if notes:
            found[int(line)] = [words_of(note) for note in notes]
    assert found[3] == ["9 nodes, 10 edges"]
    assert found[4] == ["on d[0], 1 ms"]
    assert found[5] == ["4 nodes on d[0..1], 8 ms in sum"]
    assert found[6] == ["2 nodes on d[0], 2 ms in sum"]
    assert found[7] == ["z: on d[1], 4 ms", "w: on d[1], 5 ms"]
    assert found[8] == ["stays on d[0]"]
    assert found[9] == ["d[0] → d[1], 1 MB"]
    assert found[10] == ["1 of 3 edges leads to another device, 1 MB"]
    assert found[11] == ["d[0] → d[1], 3 MB"]
    assert found[13] == ["d[1] → d[0], 1 MB"]
    assert found[14] == ["d[0] → d[1], 1 MB"]


MAIN = """mtpp 1
include "cluster/devices.mtpp"
include "devices/nvidia.mtpp"
graph {
  node a (work = 3 ms, output = 2 MB, params = 3 GB)
  node b (work = 2 ms)
  edge a -> b
}
constraint memory
minimize bottleneck
"""
DEVICES = """include "joins.mtpp"
device fast[2] (memory = 8 GB)
constraint pin a on fast[0]
"""
JOINS = "# one bus\ninterconnect shared (bandwidth = 4 GB/s)\n"


def included_spec(folder: Path) -> Path:
    """Write a spec whose devices, and what joins them, are in files that it includes."""
    (folder / "cluster").mkdir()
    (folder / "cluster" / "devices.mtpp").write_text(DEVICES, encoding="utf-8")
    (folder / "cluster" / "joins.mtpp").write_text(JOINS, encoding="utf-8")
    (folder / "spec.mtpp").write_text(MAIN, encoding="utf-8")
    return folder / "spec.mtpp"


def solved_page(problem: mtpp_dsl.Problem, assignment: list[int], **options: Any) -> str:
    """Return the page of a plan that is known."""
    plan = Plan.create(problem, assignment)
    result = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="by hand").of(problem)
    return page_of(problem, result, **options)


def words_of(markup: str) -> str:
    """Return the text of some markup, with plain spaces."""
    return plain(unescape(re.sub("<[^>]*>", "", markup)))


def test_included_files_stand_below_with_their_notes(tmp_path: Path) -> None:
    """Files that are included are folded under the name the spec has for them, their lines with notes of their own."""
    page = solved_page(mtpp_dsl.load(included_spec(tmp_path)), [0, 1], what_if=2.0)
    shown = page[page.index('<section id="spec"') :].partition("</section>")[0]
    folds = re.findall(r'<details id="(file-\d)"><summary>(.*?)</summary>(.*?)</details>', shown, re.DOTALL)
    assert [(each, words_of(called)) for each, called, _ in folds] == [
        ("file-1", "cluster/devices.mtpp, included, 3 lines"),
        ("file-2", "joins.mtpp, included, 2 lines"),
    ]
    assert "Included in line 2 of" in words_of(folds[0][2])
    assert 'href="#line-2"' in folds[0][2]
    assert 'href="#file-1-line-1"' in folds[1][2]
    assert 'href="#file-1">shown below' in shown
    notes = words_of(folds[0][2])
    assert "2 devices, loads up to" in notes
    assert "without it no plan is better" in notes
    assert 'id="file-2-line-2"' in folds[1][2]
    assert '<a href="#network">devices read and write for' in folds[1][2]
    assert "Included from the library of mtpp: devices/nvidia.mtpp." in words_of(shown)
    assert "type h100" not in words_of(shown)
    explained = page[page.index('<section id="explained"') :].partition("</section>")[0]
    assert re.search(r'<a href="#file-1-line-3">[^<]*devices.mtpp:3</a>', explained)
    addresses = set(re.findall(r'href="#([^"]+)"', page))
    assert addresses <= set(re.findall(r'id="([^"]+)"', page))


def test_nodes_of_an_included_graph_lead_to_its_lines(tmp_path: Path) -> None:
    """The data of the graph says in which file, and in which line of it, a node is made."""
    included_spec(tmp_path)
    (tmp_path / "outer.mtpp").write_text('include "spec.mtpp"\n', encoding="utf-8")
    page = solved_page(mtpp_dsl.load(tmp_path / "outer.mtpp"), [0, 1])
    found = re.search(r'"lines":(\[\{.*?\}\])', page)
    assert found is not None
    (file,) = json.loads(found[1])
    assert (file["file"], file["anchor"]) == ("spec.mtpp", "file-1-line-")
    assert 'id="file-1-line-5"' in page


def test_interconnect_of_a_scenario_is_the_one_that_is_said(tmp_path: Path) -> None:
    """Where a file that a scenario includes says anew what joins the devices, the note is there and not beside both."""
    spec = included_spec(tmp_path)
    (tmp_path / "slow.mtpp").write_text("interconnect shared (bandwidth = 1 MB/s)\n", encoding="utf-8")
    spec.write_text(MAIN + 'scenario slow { include "slow.mtpp" }\n', encoding="utf-8")
    page = solved_page(mtpp_dsl.load(spec, scenario="slow"), [0, 1])
    assert page.count("devices read and write for") == 1
    assert page.index('id="file-3"') < page.index("devices read and write for")


@pytest.mark.parametrize("name", ["cluster/devices.mtpp", "cluster/joins.mtpp"])
@pytest.mark.parametrize("gone", [True, False])
def test_included_files_that_have_changed_are_not_shown(tmp_path: Path, name: str, gone: bool) -> None:
    """Of included files that are others now, or gone, the page says so, and shows none of their lines."""
    problem = mtpp_dsl.load(included_spec(tmp_path))
    (tmp_path / name).unlink() if gone else (tmp_path / name).write_text("# new words\n", encoding="utf-8")
    page = words_of(solved_page(problem, [0, 1]))
    assert f"{name} changed since this answer was found, or is gone: included files are not shown" in page
    assert "new words" not in page
    assert "device fast[2] (memory" not in page
    assert "node a (work = 3 ms" in page


def test_spec_that_has_changed_is_not_shown(tmp_path: Path) -> None:
    """Of a spec that is another one now the page says so."""
    problem = mtpp_dsl.load(included_spec(tmp_path))
    (tmp_path / "spec.mtpp").write_text("# new words\n", encoding="utf-8")
    page = words_of(solved_page(problem, [0, 1]))
    assert "spec.mtpp has changed since this answer was found, or is gone: it is not shown." in page
    assert "new words" not in page


def test_included_files_that_only_a_search_finds(tmp_path: Path) -> None:
    """Files in a folder of the search are shown where the page knows it; elsewhere it says that they are left out."""
    spec = included_spec(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cluster").rename(tmp_path / "elsewhere" / "cluster")
    problem = mtpp_dsl.load(spec, search=[tmp_path / "elsewhere"])
    assert "device fast[2] (memory" in words_of(solved_page(problem, [0, 1], search=[tmp_path / "elsewhere"]))
    page = words_of(solved_page(problem, [0, 1]))
    assert "What the spec includes or reads was not found again: included files are not shown" in page
    assert "device fast[2] (memory" not in page
