"""The spec on a page: its lines as messages count them, its words as editors colour them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.page.coloured import coloured_lines
from mtpp_dsl.page.spec import Block, blocks
from mtpp_dsl.page.view import Mark
from mtpp_dsl.plans.evaluation import evaluate
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Result
from mtpp_dsl.reporting import page_of
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


def flat(parts: Iterable[Block]) -> Iterator[Block]:
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
            found[int(line)] = [unescape(re.sub("<[^>]*>", "", note)) for note in notes]
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
