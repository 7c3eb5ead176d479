"""What would make too many nodes is refused before any is made, and nothing else is."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.language.lowering import graph_items
from mtpp_dsl.language.lowering.blocks import BlockInstance
from mtpp_dsl.language.syntax import tree

REST = "device d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"


@pytest.mark.parametrize(
    "graph",
    [
        "graph { node v[i in 0..<1000, j in 0..<1000, k in 0..<1000] (work = 1) }",
        "graph { node v[1000000] (work = 1) for i in 0..<1000000 }",
        "let n = 2000\ngraph { node v[i in 0..<n, j in 0..<n] (work = 1) }",
        "block b() { node a[i in 0..<2000] (work = 1) }\ngraph { use b() as c[i in 0..<2000] }".replace("()", ""),
        "\n".join(
            ["block b0 { node a (work = 1) }"]
            + [f"block b{i} {{ use b{i - 1} as p\nuse b{i - 1} as q }}" for i in range(1, 41)]
            + ["graph { use b40 as r }"]
        ),
    ],
)
def test_too_many_nodes_are_refused_before_one_is_made(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops within loops, families of blocks, and blocks that double each other are counted, not gone through."""

    def made(*_: object) -> None:
        raise AssertionError("a node was made")

    monkeypatch.setattr(graph_items.GraphItems, "attributes", made)
    with pytest.raises(SpecError, match="the graph would have more than 1,000,000 nodes"):
        mtpp_dsl.load(f"{graph}\n{REST}")


def test_counts_are_at_most_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random families, conditions and blocks with params, the count of an item is never above what it makes."""
    counted = 0

    def watched(made: Callable[..., None]) -> Callable[..., None]:
        def make(items: graph_items.GraphItems, item: tree.NodeItem, instance: BlockInstance) -> None:
            nonlocal counted
            before, least = len(items.nodes), items.counted.nodes(item, instance.local)[0]
            made(items, item, instance)
            assert least <= len(items.nodes) - before, item.span.text
            counted += least

        return make

    for kind in ("node", "use"):
        monkeypatch.setattr(graph_items.GraphItems, kind, watched(getattr(graph_items.GraphItems, kind)))
    for seed in range(80):
        rng = random.Random(seed)
        first = rng.choice([f"0..<{rng.randint(0, 3)}", "0..n", "{1, 2}"])
        second = rng.choice(["0..<2", "0..n", "0..<i", "{1, 2}"])
        inner = rng.choice(["", f"[{rng.randint(1, 3)}]", "[k]", "[n]", "[x in 0..k]", "[x in 0..n]"])
        problem = mtpp_dsl.load(f"""let n = {rng.randint(0, 3)}
block b(k{", n" if seed % 2 else ""}) {{ node a{inner} (work = 1) }}
block c(k) {{ use b as p[m in {first}] {"(n = 1)" if seed % 2 else ""} }}
graph {{
  node first (work = 1)
  node v[i in {first}, j in {second}] (work = 1)
  node u[y in 1..2, z in {first}] (work = 1){rng.choice(["", " if n > 0", " if n > 1"])}
  use c as w[k in {first}]
}}
{REST}""")
        assert problem.graph.n
    assert counted > 500


def test_steps_that_make_nothing_are_refused_before_they_are_taken() -> None:
    """Blocks without nodes that use each other twice, forty deep, are counted; that they are too many is told once."""
    blocks = ["block b0 { node a (work = 1) if 1 > 2 }"]
    blocks += [f"block b{i} {{ use b{i - 1} as p\nuse b{i - 1} as q }}" for i in range(1, 41)]
    with pytest.raises(SpecError) as caught:
        mtpp_dsl.load("\n".join([*blocks, "graph { use b40 as r }", REST]))
    (only,) = caught.value.diagnostics
    assert "takes more than 5,000,000 steps" in only.message
    assert only.span is not None
    assert only.span.text == "use b40 as r"
