"""Tests of layers that are parted into attention, router, experts and what combines them."""

from __future__ import annotations

import pytest

from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
from mtpp_dsl.exchange.model.graphs import graph_of
from mtpp_dsl.exchange.model.layer_parts import parts_of_layers
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator, Tensor
from tests.exchange.importers import gguf_files
from tests.small_models import gpt, llama


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model of three layers, the first without experts, with shared ones in the others."""
    facts = gguf_files.metadata("llama", 3, expert_used_count=2)
    path = tmp_path_factory.mktemp("gguf") / "mixed.gguf"
    return from_gguf(gguf_files.write(path, facts, gguf_files.with_experts(3, 64, 96, dense=1, shared=True)))


def test_layers_of_experts_and_others(mixed: Model) -> None:
    graph = mixed.graph(group_by="part")
    names = [name for name in graph.names if name.startswith("blk")]
    assert names == [
        *(f"blk[0].{part}" for part in ("attention", "ffn", "combine")),
        *(
            f"blk[{i}].{part}"
            for i in (1, 2)
            for part in ("attention", "router", "experts", "shared_experts", "combine")
        ),
    ]
    assert [graph.kinds[graph.names.index(name)] for name in names] == [name.partition(".")[2] for name in names]
    experts, shared = (graph.params[graph.names.index(f"blk[1].{part}")] for part in ("experts", "shared_experts"))
    assert experts == 4 * shared == 4 * 3 * 64 * 96 * 4
    assert graph.params.sum() == mixed.graph(group_by="layer").params.sum()
    assert list(map(len, layout_of(graph).layers)) == [3, 5, 5]


def test_a_token_reads_the_experts_that_it_uses(mixed: Model) -> None:
    graph = graph_of(mixed, group_by="part", phase="decode", batch=1, seq=8).graph
    assert graph.costs is not None
    v = graph.names.index("blk[2].experts")
    (item,) = graph.costs.items_of(v)
    hidden = 4 * 64 + 4 * 4  # what it is given, and the weights of the router's choice
    assert graph.costs.read[item] == pytest.approx(graph.params[v] / 2 + hidden)


@pytest.mark.parametrize("model", [gpt(2), llama(2)], ids=["gpt", "llama"])
def test_dense_layers_have_a_network(model: Model) -> None:
    graph = model.graph(group_by="part")
    kinds = [graph.kinds[v] for v in range(graph.n) if graph.origin.layers[v] is not None]
    assert kinds == ["attention", "ffn", "combine"] * 2
    assert graph.params.sum() == model.graph(group_by="layer").params.sum()


def test_what_lies_between_is_of_the_part_around_it() -> None:
    paths = [
        "l.0.attn", "l.0", "l.0.mlp", "l.0.mlp.gate", "l.0.mlp", "l.0.mlp.experts", "l.0.mlp", "l.0.mlp.experts",
        "l.0.mlp", "l.0.mlp.shared_expert", "l.0", "l.1.attn", "l.1.mlp.gate", "l.1",
    ]  # fmt: skip
    expected = [
        "attention", "attention", "attention", "router", "router", "experts", "experts", "experts",
        "combine", "shared_experts", "combine", "attention", "ffn", "combine",
    ]  # fmt: skip
    line = Model(
        tuple(Operator(f"o{v}", path=path, layer=int(path[2]), flop=1) for v, path in enumerate(paths)),
        tuple(Tensor(f"t{v}", v, (v + 1,), 1) for v in range(len(paths) - 1)),
    )
    assert parts_of_layers(line) == expected
