"""Blocks: parts of a graph that are used many times, their ports, and edges over families and sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import load

REST = "device d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
LAYER = """
block layer(i, heads) {
  node norm (work = 1)
  node head[h in 0..<heads] (work = i + h)
  node out (work = 2)
  edge norm -> head -> out
  input in = norm
  output out_port = out
}
"""


def read(graph: str, *statements: str, blocks: str = LAYER) -> Problem:
    """Read a spec of blocks, a graph, and two devices."""
    return load(f"{blocks}\ngraph {{ {graph} }}\n{REST}" + "\n".join(statements))


def errors(graph: str, blocks: str = LAYER) -> list[Diagnostic]:
    """Return what is wrong with a graph of blocks."""
    with pytest.raises(SpecError) as caught:
        read(graph, blocks=blocks)
    return caught.value.diagnostics


def edges(problem: Problem) -> set[tuple[str, str]]:
    """Return the edges by names."""
    names = problem.graph.names
    return {(names[u], names[v]) for u, v in zip(problem.graph.tails, problem.graph.heads, strict=True)}


def equal(one: Problem, two: Problem) -> bool:
    """Return whether two problems have equal graphs, and equal constraints but for their places."""
    arrays = ("tails", "heads", "work", "params", "output", "memory", "sizes", "colors", "backward")
    same = all(np.array_equal(getattr(one.graph, name), getattr(two.graph, name)) for name in arrays)
    texts = ("names", "kinds", "labels", "work_unit", "size_unit")
    return same and all(getattr(one.graph, name) == getattr(two.graph, name) for name in texts)


def test_an_instance_has_its_names() -> None:
    """Nodes of an instance are called by its path; its params count from its subscripts on, then by name."""
    problem = read("use layer[i in 1..2] (heads = 2) edge layer[1].out_port -> layer[2].in")
    assert problem.graph.names == tuple(
        f"layer[{i}].{x}" for i in (1, 2) for x in ("norm", "head[0]", "head[1]", "out")
    )
    assert problem.graph.work.tolist() == [1, 1, 2, 2, 1, 2, 3, 2]
    assert ("layer[1].out", "layer[2].norm") in edges(problem)
    assert ("layer[1].norm", "layer[1].head[1]") in edges(problem)
    assert len(edges(problem)) == 9


def test_other_ways_to_use_a_block() -> None:
    """Under another name, one instance alone, with a size, and under a condition."""
    problem = read(
        "use layer as first (i = 5, heads = 1) use layer as rest[2] (heads = 1) use layer (i = 0, heads = 0) if false"
    )
    assert [n for n in problem.graph.names if n.endswith("norm")] == ["first.norm", "rest[0].norm", "rest[1].norm"]
    assert problem.graph.work[problem.graph.index["first.head[0]"]] == 5
    assert problem.graph.work[problem.graph.index["rest[1].head[0]"]] == 1


@pytest.mark.parametrize(
    ("member", "nodes"),
    [
        ("layer", 8),
        ('"layer[1]"', 4),
        ('"layer[1].head"', 2),
        ('"layer.norm"', 2),
        ('"layer.head[1]"', 2),
        ('"layer[2].in"', 1),
        ('"layer.out_port"', 2),
    ],
)
def test_what_paths_stand_for(member: str, nodes: int) -> None:
    """An instance, a family of them, and what is in them are sets of nodes outside of the graph, too."""
    problem = read("use layer[i in 1..2] (heads = 2)", f"constraint forbid {member} on d[0]")
    assert len(problem.constraints[0].nodes) == nodes  # type: ignore[attr-defined]


@given(st.integers(1, 4), st.integers(0, 3), st.integers(1, 3))
def test_a_block_equals_what_is_written_out(count: int, heads: int, stacks: int) -> None:
    """A block that is used n times, in a block that is used m times, is the graph written by hand."""
    blocks = f"""{LAYER}
    block stack(s) {{
      use layer[i in 0..<{count}] (heads = {heads})
      edge layer[i].out_port -> layer[i + 1].in for i in 0..<{count - 1}
      input in = layer[0].in
      output out = layer[{count - 1}].out_port
    }}"""
    by_blocks = read(
        f"use stack[{stacks}] edge stack[s].out -> stack[s + 1].in for s in 0..<{stacks - 1}", blocks=blocks
    )
    names, lines = [], []
    for s in range(stacks):
        for i in range(count):
            at = f"stack[{s}].layer[{i}]"
            names += [f'node "{at}.norm" (work = 1)']
            names += [f'node "{at}.head[{h}]" (work = {i + h})' for h in range(heads)]
            names += [f'node "{at}.out" (work = 2)']
            for h in range(heads):
                lines += [f'edge "{at}.norm" -> "{at}.head[{h}]" -> "{at}.out"']
            if i:
                lines += [f'edge "stack[{s}].layer[{i - 1}].out" -> "{at}.norm"']
        if s:
            lines += [f'edge "stack[{s - 1}].layer[{count - 1}].out" -> "stack[{s}].layer[0].norm"']
    assert equal(by_blocks, read("\n".join([*names, *lines])))


def test_edges_join_families_and_sets() -> None:
    """An edge between sets joins all pairs; a family over strings has members by name."""
    problem = read('node q[2] node e[x in ["a", "b"]] node z edge q -> e -> z edge {q[0], q[1]} -> z', blocks="")
    assert problem.graph.names == ("q[0]", "q[1]", "e[a]", "e[b]", "z")
    assert len(edges(problem)) == 8
    assert ("e[b]", "z") in edges(problem)


def test_ports_of_several_nodes() -> None:
    """A port may stand for several nodes: an edge to it is one to each."""
    problem = read(
        "node x use b[2] edge x -> b[0].in edge b[0].out -> b[1].in",
        blocks="block b { node p node q input in = p, q output out = {p, q} }",
    )
    assert len(edges(problem)) == 6


@pytest.mark.parametrize(
    ("graph", "place", "message"),
    [
        ("use lair[2]", "lair", "there is no block 'lair'; did you mean 'layer'?"),
        ("use layer[2]", "use layer[2]", "param 'heads' of block 'layer' has no value: use layer (heads = …)"),
        ("use layer[2] (head = 3)", "head", "block 'layer' has no param 'head'; did you mean 'heads'?"),
        ("use layer[2] (heads = 1, i = 3)", "i", "param 'i' of block 'layer' already has a value by the subscript"),
        ("node layer use layer[2] (heads = 1)", "layer", "node 'layer' is already declared"),
        ("use layer (i = 1, heads = 1) use layer (i = 1, heads = 1)", "layer", "node 'layer' is already declared"),
        ("use layer[2] (heads = 1) edge layer[0].in -> layer[1].in", "layer[0].in", "'in' is an input of layer[0]"),
        (
            "use layer[2] (heads = 1) edge layer[0].out_port -> layer[1].out_port",
            "layer[1].out_port",
            "'out_port' is an output of layer[1]",
        ),
        ("use layer[2] (heads = 1) edge layer[0].out -> layer[2].in", "layer[2].in", "there is no node 'layer[2].in'"),
        (
            "use layer[2] (heads = 1) edge layer[0].nrm -> layer[1].in",
            "layer[0].nrm",
            "there is no node 'layer[0].nrm'",
        ),
        ('node e[x in ["a,b"]]', '["a,b"]', "the name of a member has no"),
    ],
)
def test_what_is_wrong_is_said(graph: str, place: str, message: str) -> None:
    """A wrong use of a block is one error, in its place."""
    found = errors(graph)
    assert len(found) == 1
    assert message in found[0].message
    assert found[0].span is not None
    assert found[0].span.text in (place, f"x in {place}", f"[x in {place}]")


def test_errors_inside_show_where_the_block_is_used() -> None:
    """A wrong item of a block is one error, however often the block is used, with the way to the first use."""
    blocks = "block a(k) { node x (work = k * 1 msec) edge x -> y }\nblock b { use a[i in 0..3] }"
    found = errors("use b as outer", blocks)
    assert [d.message.partition(";")[0] for d in found] == [
        "there is no unit 'msec'",
        "there is no node 'y' in block 'a'",
    ]
    assert [place.says for place in found[0].places] == [
        "in outer.a[0], which is used here",
        "in outer, which is used here",
    ]


def test_blocks_that_use_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursion is refused with the chain, and so are expansions beyond the limits, with the number."""
    found = errors("use a", "block a { use b }\nblock b { use a }")
    assert [d.message for d in found] == ["block 'a' uses itself: a -> b -> a"]
    monkeypatch.setattr("mtpp_dsl.language.lowering.graph_items.MAX_NODES", 5_000)
    tower = "block a { node x }\n" + "\n".join(
        f"block {two} {{ use {one}[1000] }}" for one, two in (("a", "b"), ("b", "c"), ("c", "e"))
    )
    found = errors("use e", tower)
    assert found[0].message == "the graph would have more than 5,000 nodes"
    monkeypatch.setattr("mtpp_dsl.language.values.complaints.MAX_STEPS", 20_000)
    empty = tower.replace("node x", "")
    assert "reading the spec takes more than 20,000 steps" in errors("use e", empty)[0].message


def test_names_of_a_block_are_its_own() -> None:
    """Loop variables and nodes from outside mean nothing in a block; its params do."""
    found = errors("node z use a[i in 0..1] for j in 0..0", "block a { node x (work = j) edge x -> z }")
    assert [d.message.partition(";")[0] for d in found] == [
        "nothing is called 'j'",
        "there is no node 'z' in block 'a'",
    ]


def test_edges_are_not_known_in_the_graph() -> None:
    """What speaks of edges is refused where they are being drawn, and not taken for an empty set; nodes are known."""
    for condition in ("count(edges) > 0", "count(successors(x)) > 0"):
        (found,) = errors(f"node x node y edge x -> y if {condition}", "")
        assert found.message.startswith("the edges are not known here")
    problem = read("node x (work = 1) node y edge x -> v for v in nodes if work(v) == 0", blocks="")
    assert edges(problem) == {("x", "y")}


def test_blocks_are_defined_once() -> None:
    """Two blocks of one name in a file, and two params or ports of one name, are errors."""
    found = errors("use a", "block a(i, i) { node x input in = x output in = x }\nblock a { node y }")
    assert [d.message.partition(" at ")[0] for d in found][:2] == [
        "block 'a' has two params 'i'",
        "block 'a' is already defined",
    ]
    assert "two ports 'in'" in errors("use a", "block a { node x input in = x output in = x }")[0].message
    assert (
        "stands for itself"
        in errors(
            "use a", "block a { node x input in = b.in use b }\nblock b { node y input in = in2 input in2 = in2 }"
        )[0].message
    )
