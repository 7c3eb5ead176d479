"""CSV pairs: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.formats.reading import read

NODES = """name,work (ms),output (MiB),kind,time on cpu (s),flop (GFLOP),dtype
conv1,4.5,1,conv,,2,bf16
"relu, 1",0.5,2 KiB,elementwise,inf,,

add1,1.5,,,0.25,,
"""
EDGES = 'source,target,size\nconv1,"relu, 1",\n"relu, 1",add1,3 kB\n'


def load(folder: Path, nodes: str = NODES, edges: str | None = EDGES) -> Graph:
    (folder / "net.nodes.csv").write_bytes(nodes.encode())
    if edges is not None:
        (folder / "net.edges.csv").write_bytes(edges.encode())
    return read(folder / "net.nodes.csv").graph


def test_what_a_spreadsheet_writes(tmp_path: Path) -> None:
    graph = load(tmp_path, "\ufeff" + NODES.replace("\n", "\r\n"))
    assert graph.names == ("conv1", "relu, 1", "add1")
    assert graph.work.tolist() == [0.0045, 0.0005, 0.0015]
    assert graph.output.tolist() == [2**20, 2048, 0]
    assert graph.sizes.tolist() == [2**20, 3000]
    assert graph.times["cpu"].tolist() == [0, np.inf, 0.25]
    assert graph.costs is not None
    assert (graph.costs.owner.tolist(), graph.costs.flop.tolist(), graph.costs.dtypes) == ([0], [2e9], ("bf16",))
    assert (graph.work_unit, graph.size_unit, graph.memory_unit) == ("s", "B", "B")


@pytest.mark.parametrize(
    ("nodes", "edges", "said"),
    [
        ("", EDGES, "net.nodes.csv:1: expected the names of columns, each once: name, work"),
        ("name,wrk\na,1\n", EDGES, "net.nodes.csv:1: there is no column 'wrk'; did you mean 'work'?"),
        ("name,work,work\na,1,1\n", EDGES, "each once"),
        ("name,work\na,1,2\n", EDGES, "net.nodes.csv:2: 3 cells; the header has 2"),
        ("name,work\n,1\n", EDGES, "net.nodes.csv:2: the name of a node is ''"),
        ("name\na\x07b\n", EDGES, "characters that can be printed"),
        ("name\na\na\n", "source,target\n", "two nodes are called 'a'"),
        ('name\n"a\n', EDGES, "not CSV"),
        ("name,work (kg)\na,1\n", "source,target\n", "net.nodes.csv: work cannot be in 'kg', but in ns, us"),
        ("name,work (ms)\na,1e999 s\n", "source,target\n", "work of"),
        ("name,work (ms)\na,-1\n", "source,target\n", "work of node 'a' is -0.001"),
        ("name\na\nb\n", "source,target\na,c\n", "net.edges.csv:2: there is no node 'c'"),
        ("name\na\nb\n", "source,target\na,b\nb,a\n", "the graph has a cycle"),
        ("name\na\n", None, "there is no file"),
        ("name\n" + "a\n" * 3, "from,to\n", "net.edges.csv:1: there is no column 'from'"),
    ],
)
def test_refused(nodes: str, edges: str | None, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, nodes, edges)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_million_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than 200,000 nodes, the most that are read"):
        load(tmp_path, "name\n" + "\n".join(f"n{i}" for i in range(200_002)))
