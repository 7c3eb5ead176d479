"""Many architectures of Hugging Face, small, and one large one: they import, or say why not."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf import from_hf
from mtpp_dsl.exchange.model.grouping import group
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers.families import DECODERS, OTHERS

pytestmark = [
    pytest.mark.needs("torch", "transformers"),
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::FutureWarning:torch"),
]


@pytest.mark.parametrize("kind", DECODERS)
def test_decoders_in_both_phases(kind: str) -> None:
    model = from_hf({"model_type": kind, **DECODERS[kind]}, "prefill,decode", batch=2, seq=96, dtype="bf16")
    assert not model.warnings
    assert {one.layer for one in model.operators if one.role == "layer"} == {0, 1}
    assert {"embedding", "head", "norm"} <= {one.role for one in model.operators}
    found = group(model, "layer")
    assert sum(layer is not None for layer in found.layers) == 2
    for phase, tokens in (("prefill", 96), ("decode", 97)):
        kept = sum(
            value(one.cache.get(phase, 0) if not isinstance(one.cache, (int, float, str)) else one.cache, at)
            for one in model.operators
            if (at := {"batch": 2, "seq": 96})
        )
        heads = DECODERS[kind].get("num_key_value_heads", 4)
        assert kept == 2 * 2 * 2 * heads * tokens * 16 * 2


@pytest.mark.parametrize("kind", ["mixtral", "qwen3_moe", "gpt_oss", "llama"])
def test_parts_of_layers(kind: str) -> None:
    model = from_hf({"model_type": kind, **DECODERS[kind]}, "decode", batch=2, seq=96, dtype="bf16")
    parts = ["attention", "ffn", "combine"] if kind == "llama" else ["attention", "router", "experts", "combine"]
    graph, whole = model.graph(group_by="part"), model.graph(group_by="layer")
    assert [graph.kinds[v] for v in range(graph.n) if graph.origin.layers[v] == 1] == parts
    assert graph.params.sum() == whole.params.sum()


@pytest.mark.parametrize("kind", OTHERS)
def test_others_run_forward(kind: str) -> None:
    said = {"model_type": kind, **OTHERS[kind]}
    model = from_hf(said, batch=2, seq=96)
    assert all(one.flop is not None for one in model.operators)
    layers = {one.layer for one in model.operators if one.role == "layer"}
    assert layers == (set(range(4)) if kind == "t5" else {0, 1})
    group(model, "layer")
    with pytest.raises(UsageError, match="has no decoding step here"):
        from_hf(said, "decode")


@pytest.mark.parametrize("kind", ["llama", "mixtral", "gpt2", "bert"])
def test_training_costs_two_more_passes(kind: str) -> None:
    """Of products: two more for each; of attention, whose scores are computed anew, two and a half."""
    said = {"model_type": kind, **(DECODERS | OTHERS)[kind]}
    model = from_hf(said, "train", batch=2, seq=64, dtype="bf16")
    at = {"batch": 2, "seq": 64}
    sums = {
        (attention, backward): sum(
            value(one.flop, at)  # type: ignore[arg-type]
            for one in model.operators
            if (one.kind == "attention") == attention and one.backward == backward
        )
        for attention in (False, True)
        for backward in (False, True)
    }
    assert sums[False, True] == 2 * sums[False, False]
    assert 2 * sums[True, True] == 5 * sums[True, False]


def test_llama_70b() -> None:
    """The operations of a prefill are the analytic figure, symbols and all; the weights are 70.55e9 numbers."""
    said = {"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64}
    said |= {"num_key_value_heads": 8, "num_hidden_layers": 80, "vocab_size": 128256}
    model = from_hf(said, dtype="bf16")
    for b, t in ((1, 2048), (8, 4096)):
        found = sum(value(one.flop, {"batch": b, "seq": t}) for one in model.operators)  # type: ignore[arg-type]
        h = 8192
        each = 80 * (2 * h * h + 2 * h * 1024 + 3 * h * 28672) + h * 128256
        assert found == 2 * b * t * each + 80 * 4 * b * t * t * h
    assert sum(one.bytes for one in model.weights) == 2 * 70_553_706_496
