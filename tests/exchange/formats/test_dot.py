"""DOT: what is read of files that others wrote, and what is refused, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.formats.dot import read_dot
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.exchange.formats.workload import Workload


def load(text: str, folder: Path) -> Workload:
    path = folder / "net.dot"
    path.write_text(text)
    return read(path)


def test_what_others_write(tmp_path: Path) -> None:
    found = load(
        """// a comment
        strict DiGraph "my net" {
          rankdir=LR; node [shape=box, work="1 ms"]; edge [color=gray]
          # a line for the preprocessor
          in:port:n -> conv1 [size="3 kB"];  /* a
          comment */
          subgraph cluster_0 { label="block 0"; node [work="2 ms"] relu; conv1 -> {relu add} }
          "a \\"b\\" " + "c\\\\d" [label="x", color_class=3, kind=norm; output="2 kB", part=backward]
          relu -> add -> "a \\"b\\" c\\\\d" -> 2.5;
        }""",
        tmp_path,
    )
    graph = found.graph
    assert graph.names == ("in", "conv1", "relu", "add", 'a "b" c\\d', "2.5")
    assert graph.work.tolist() == [0.001, 0.001, 0.002, 0.002, 0.001, 0.001]
    edges = [(graph.names[u], graph.names[v]) for u, v in zip(graph.tails, graph.heads, strict=True)]
    assert ("conv1", "add") in edges
    assert len(edges) == 6
    assert graph.sizes[0] == 3000
    assert (graph.kinds[4], graph.labels[4], graph.colors[4], graph.backward[4]) == ("norm", "x", 3, True)
    assert not found.warnings


def test_attributes_that_nobody_knows_are_named(tmp_path: Path) -> None:
    found = load('digraph { a [wrok="2 ms", shape=box]; a -> b [bytes=3] }', tmp_path)
    assert found.warnings == (f"{tmp_path / 'net.dot'}: attributes that mean nothing to mtpp: wrok, bytes",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("graph { a -- b }", "net.dot:1:7: the graph is undirected; mtpp reads 'digraph'"),
        ("digraph {\n a -- b }", "net.dot:2:4: '--' joins nodes both ways"),
        ("digraph { a [label=<<b>x</b>>] }", "net.dot:1:20: labels in HTML are not read"),
        ('digraph { a [label="x] }', "the closing quotation mark is missing"),
        ("digraph { /* a }", "the end of the comment, '*/', is missing"),
        ("digraph { a -> }", "net.dot:1:16: not DOT: expected a name, found '}'"),
        ("digraph { a -> b", "the closing '}' is missing"),
        ("digraph { a } x", "expected the end after the graph, found 'x'"),
        ("digraph { }", "there are no nodes"),
        ('digraph { "" }', "the name of a node is ''"),
        ('digraph { "a\x1b[31m" }', "characters that can be printed"),
        ('digraph { "a\nb" }', "characters that can be printed"),
        ('digraph { a [work="fast"] }', "work of a is 'fast', which is no number with a unit"),
        ('digraph { a [work="2 ms"] b [work=3] }', "all times of a problem carry one unit"),
        ('digraph { a [color_class="9999999999"] }', "color of a is '9999999999'"),
        ("digraph { a -> b -> a }", "the graph has a cycle: a -> b -> a"),
        ("digraph " + "{ " * 60, "clusters are nested more deeply than 50"),
        ("digraph { a [" + "".join(f"x{i}=1 " for i in range(200)) + "] }", "more than 100 attributes"),
        ('digraph { a [work="' + "9" * 100_000 + '"] }', "which is no number"),
    ],
)
def test_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(text, tmp_path)
    assert said in str(caught.value)
    assert "net.dot" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_sets_that_grow_are_refused_before_they_are_made() -> None:
    """Edges between sets are products of their sizes: a short text could ask for millions of millions."""
    many = "{" + " ".join(f"a{i}" for i in range(2000)) + "}"
    with pytest.raises(UsageError, match="more than 1,000,000 edges"):
        read_dot(f"digraph {{ {many} -> {many.replace('a', 'b')} -> {many.replace('a', 'c')} }}", "x.dot")


def test_a_million_nodes_are_refused() -> None:
    with pytest.raises(UsageError, match="more than 200,000 nodes"):
        read_dot("digraph {" + "\n".join(f"n{i};" for i in range(200_001)) + "}", "x.dot")
