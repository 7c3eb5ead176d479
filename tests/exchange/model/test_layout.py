"""Tests of the layers of a graph by the names of its nodes."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.model.layer_stack import layout_of


def chain(*names: str) -> Graph:
    return Graph.create(names, [(v, v + 1) for v in range(len(names) - 1)], work=[1.0] * len(names))


def named(graph: Graph) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the layout by names."""
    layout = layout_of(graph)
    names = graph.names
    return (
        [names[v] for v in layout.before],
        [[names[v] for v in layer] for layer in layout.layers],
        [names[v] for v in layout.after],
    )


def test_finds_layers_and_both_ends() -> None:
    assert named(chain("embed", "layer[0]", "layer[1]", "norm", "head")) == (
        ["embed"],
        [["layer[0]"], ["layer[1]"]],
        ["norm", "head"],
    )


def test_takes_parts_of_layers_and_families_numbered_alike() -> None:
    graph = chain("e", "m.layers[0].a", "m.layers[0].b[7]", "m.layers[1].a", "m.layers[1].b[7]", "o")
    assert named(graph)[1] == [["m.layers[0].a", "m.layers[0].b[7]"], ["m.layers[1].a", "m.layers[1].b[7]"]]
    assert named(chain("attn[0]", "mlp[0]", "attn[1]", "mlp[1]"))[1] == [["attn[0]", "mlp[0]"], ["attn[1]", "mlp[1]"]]


def test_puts_what_feeds_layers_before_and_what_feeds_the_end_after() -> None:
    names = ["mask", "embed", "layer[0]", "layer[1]", "labels", "loss"]
    edges = [(0, 2), (0, 3), (1, 2), (2, 3), (3, 5), (4, 5)]
    before, _, after = named(Graph.create(names, edges, work=[1.0] * 6))
    assert (before, after) == (["mask", "embed"], ["labels", "loss"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "the graph has no layers: call its nodes such as layer"),
        (["layer[0]", "layer[2]"], "there is no layer 1"),
        (["layer[1]", "layer[0]"], "layers are not in order"),
        (["layer[0]", "x", "layer[1]"], "'x' lies between layers"),
        (["encoder.layers[0]", "decoder.layers[0]"], "several stacks of layers"),
        (["attn[0]", "mlp[0]", "attn[1]"], "do not say which ones form a layer"),
    ],
)
def test_says_what_is_missing(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        layout_of(chain(*names))


def test_what_is_outside_the_layers_comes_in_an_order_in_which_it_can_run() -> None:
    names = ["head", "norm", "layer[0]", "table", "ids"]
    graph = Graph.create(names, [(4, 3), (3, 2), (2, 1), (1, 0)], work=[1.0] * 5)
    assert named(graph) == (["ids", "table"], [["layer[0]"]], ["norm", "head"])
