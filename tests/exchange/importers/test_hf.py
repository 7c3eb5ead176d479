"""Hugging Face configurations as models: their FLOP are the analytic figure, caches and phases, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf import from_hf
from mtpp_dsl.exchange.importers.hf_configurations import configuration
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Amount
from mtpp_dsl.exchange.model.sizes import value

pytestmark = [
    pytest.mark.needs("torch", "transformers"),
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::FutureWarning:torch"),
]

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 300,
}
TOKENS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
LLAMA = {"model_type": "llama", **SIZES, **TOKENS, "num_key_value_heads": 2, "max_position_embeddings": 256}
GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 300, "n_positions": 256, **TOKENS}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None}
SOUND = {
    "d_model": 64,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "is_encoder_decoder": True,
}
BATCH, SEQ = 3, 128


def total(model: Model, what: str, phase: str = "", **symbols: int) -> float:
    at = {"batch": BATCH, "seq": SEQ, **symbols}

    def size(amount: Amount) -> Any:
        return value(amount.get(phase, 0) if isinstance(amount, Mapping) else amount, at)

    return float(sum(size(getattr(operator, what)) for operator in model.operators))


@pytest.fixture(scope="module")
def llama() -> Model:
    return from_hf(LLAMA, "prefill,decode", batch=BATCH, seq=SEQ, dtype="bf16")


def llama_flop(b: int, tokens: int, context: int) -> int:
    """2 for each weight and token, and 4 for each pair of a token with one that it looks at, and a place of heads."""
    h, kv, inner, layers, words = 64, 32, 96, 2, 300
    return 2 * b * tokens * (layers * (2 * h * h + 2 * h * kv + 3 * h * inner) + h * words) + (
        layers * 4 * b * tokens * context * h
    )


@pytest.mark.parametrize(("b", "t"), [(1, 2), (BATCH, SEQ), (32, 4096)])
def test_llama_has_the_analytic_flop(llama: Model, b: int, t: int) -> None:
    assert total(llama, "flop", "prefill", batch=b, seq=t) == llama_flop(b, t, t)
    assert total(llama, "flop", "decode", batch=b, seq=t) == llama_flop(b, 1, t + 1)


def test_caches_of_both_phases(llama: Model) -> None:
    """Keys and values of each layer are kept, and a decoding step reads them once and writes those of one token."""
    per_token = BATCH * 2 * 2 * 2 * 16 * 2
    assert total(llama, "cache", "prefill") == SEQ * per_token
    assert total(llama, "cache", "decode") == (SEQ + 1) * per_token
    attention = [one for one in llama.operators if one.kind == "attention"]
    assert len(attention) == 2
    read = sum(value(one.read["decode"], {"batch": BATCH, "seq": SEQ}) for one in attention)
    query = BATCH * 64 * 2
    assert read == (SEQ + 1) * per_token + 2 * query
    appended = [one for one in llama.operators if one.layer is not None and one.op == "aten.cat.default"]
    written = sum(value(one.write.get("decode", 0), {"batch": BATCH, "seq": SEQ}) for one in appended if one.cache)
    assert written == per_token


def test_phases_are_joined_without_loss(llama: Model) -> None:
    assert llama.phases == ("prefill", "decode")
    assert {one.layer for one in llama.operators if one.role == "layer"} == {0, 1}
    alone = from_hf(LLAMA, "decode", batch=BATCH, seq=SEQ, dtype="bf16")
    for what in ("flop", "read", "write", "cache"):
        assert total(llama, what, "decode") == total(alone, what)
    assert [one.name for one in llama.weights] == [one.name for one in alone.weights]
    sent = {(llama.operators[a].path, llama.operators[b].path) for a, b in llama.edges}
    assert {(alone.operators[a].path, alone.operators[b].path) for a, b in alone.edges} <= sent
    assert llama.n < 1.1 * alone.n


def test_caches_stay_with_their_layers(llama: Model) -> None:
    """The tensors that hold the caches of all layers are no node that sends each layer its own at every step."""
    graph = llama.graph(group_by="layer", phase="decode")
    assert graph.names == ("model.embed_tokens", "model.layers[0]", "model.layers[1]", "model.norm", "lm_head")
    assert set(graph.sizes.tolist()) == {BATCH * 64 * 2}


def test_weights_and_ties() -> None:
    model = from_hf(GPT2, batch=BATCH, seq=SEQ)
    (tied,) = [one for one in model.weights if one.tied]
    assert (tied.name, tied.tied, tied.dtype) == ("transformer.wte.weight", ("lm_head.weight",), "fp32")
    h = 64
    assert sum(one.bytes for one in model.weights) == 4 * (300 * h + 256 * h + 2 * (12 * h * h + 13 * h) + 2 * h)
    assert total(model, "flop") == 2 * BATCH * SEQ * (2 * 12 * h * h + h * 300) + 2 * 4 * BATCH * SEQ * SEQ * h
    assert model.symbols["seq"].most == 256  # learned positions
    with pytest.raises(UsageError, match="--seq 300: this model has positions for 256 tokens"):
        from_hf(GPT2, seq=300)


def test_experts_are_counted_for_the_tokens_that_reach_them() -> None:
    """Each token is multiplied by the matrices of two experts; few tokens read few experts."""
    model = from_hf(MIXTRAL, "prefill", batch=BATCH, seq=SEQ, dtype="bf16")
    assert not model.warnings
    h, kv, inner = 64, 32, 96
    per_token = 2 * (2 * h * h + 2 * h * kv + h * 8 + 2 * 3 * h * inner) + h * 300
    assert total(model, "flop") == 2 * BATCH * SEQ * per_token + 2 * 4 * BATCH * SEQ * SEQ * h
    grouped = [one for one in model.operators if one.op.startswith("aten._grouped_mm")]
    assert len(grouped) == 4
    one = grouped[0]
    assert one.weight_read is not None
    held = sum(model.weights[w].bytes for w in one.weights)
    for tokens, expected, most in ((1, 2, 2), (4, 5.46875, 8), (64, 8, 8)):
        for rule, count in (("expected", expected), ("all_distinct", most)):
            read = value(one.weight_read, {"batch": tokens, "seq": 1}, rule)  # type: ignore[arg-type]
            assert float(read) == pytest.approx(held / 8 * count)


@pytest.mark.long
def test_a_window_limits_caches() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "sliding_window": 32}
    model = from_hf(mistral, "prefill,decode", batch=BATCH, seq=SEQ, dtype="bf16")
    per_token = BATCH * 2 * 2 * 2 * 16 * 2
    assert total(model, "cache", "prefill") == 32 * per_token
    assert total(model, "cache", "prefill", seq=8) == 8 * per_token
    assert total(model, "flop", "decode") == llama_flop(BATCH, 1, 32)
    assert set(model.symbols) == {"batch", "seq"}


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A configuration that names code and kernels is read without them, and no connection is made."""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("a connection")

    monkeypatch.setattr("socket.socket.connect", refuse)
    said = {**LLAMA, "auto_map": {"AutoModelForCausalLM": "evil.Model"}}
    said |= {"_attn_implementation": "kernels-community/x", "quantization_config": {"quant_method": "gptq"}}
    (tmp_path / "config.json").write_text(json.dumps(said))
    model = from_hf(tmp_path, layers=1)
    assert {one.layer for one in model.operators} == {None}  # one layer is no stack
    assert len(model.source.sha256) == 64
    assert "quantization_config" in model.warnings[0]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, 'has no "model_type"'),
        ({"model_type": "lama"}, "has no architecture 'lama'; did you mean 'llama'"),
        ({"model_type": "zzz9", "auto_map": {}}, "the code that its auto_map names is never run"),
        ({**LLAMA, "num_hidden_layers": 10**6}, "num_hidden_layers 1000000; at most 2,000"),
        ({**LLAMA, "num_labels": 10**9}, "num_labels 1000000000; at most 1,000,000"),
        ({"model_type": "swin", "depths": [2, 10**8], "num_heads": [2, 2]}, "the number 100000000; at most 1,000,000"),
        ({**LLAMA, "hidden_size": "wide"}, "transformers "),
        ({**LLAMA, "hidden_size": 10**15}, "hidden_size 1000000000000000; at most"),
        ({**LLAMA, "num_attention_heads": 0}, "transformers "),
        ({"model_type": "whisper", **SOUND}, "WhisperModel reads 'input_features'"),
        (
            {"model_type": "llava_next", "text_config": LLAMA},
            '(?s)it has a "vision_config".*what its "text_config" says',
        ),
        ({"model_type": "gemma3n"}, "Gemma3n.* reads several kinds of input"),
    ],
)
def test_configurations_that_are_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        from_hf(said)
    assert len(str(caught.value)) < 500


def test_calls_that_are_refused(tmp_path: Path) -> None:
    bert = {"model_type": "bert", **SIZES, **TOKENS}
    for said, phases, message in (
        (LLAMA, "prefil", "there is no phase 'prefil'; did you mean 'prefill'"),
        (LLAMA, "decode,decode", "name one twice"),
        (bert, "decode", "BertForMaskedLM has no decoding step here: it does not write token by token"),
        (3, "prefill", "not int"),
        (tmp_path / "absent.json", "prefill", "there is no file"),
        (Path("meta-llama/Llama-3-8B"), "prefill", "nothing is downloaded: get the model's config.json"),
    ):
        with pytest.raises(UsageError, match=message):
            from_hf(said, phases)
    with pytest.raises(UsageError, match="--dtype 'int4': weights are bf16"):
        from_hf(LLAMA, dtype="int4")
    with pytest.raises(UsageError, match=r'^"dtype": "load" of the configuration: weights are bf16'):
        from_hf({**LLAMA, "dtype": "load"})
    for text in ("{", "[]", "{" * 10_000, "\x00"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(UsageError, match=r"config\.json(' is no configuration|:.*not JSON)"):
            from_hf(tmp_path)


def test_too_many_layers_are_refused_before_a_list_of_them_is_made() -> None:
    said = {"model_type": "qwen3", "num_hidden_layers": 2}
    with pytest.raises(UsageError, match="--layers 1,000,000,000: at most 2,000 are read"):
        configuration(said, 10**9)


TINY = {"num_hidden_layers": 1, "hidden_size": 32, "vocab_size": 64, "dtype": "float32"}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 64}


@pytest.mark.parametrize(
    ("said", "phase", "layer"),
    [
        ({"model_type": "recurrent_gemma", **HEADS}, "decode", "RecurrentGemmaRecurrentBlock"),
    ],
)
def test_states_that_nobody_counts_are_named(said: dict[str, Any], phase: str, layer: str) -> None:
    """They were an IndexError of transformers, or ten times the operations without a cache."""
    with pytest.raises(UsageError, match=f"has no {phase} step here: layers such as {layer} keep a state"):
        from_hf({**TINY, **said}, phase)


@pytest.mark.long
def test_experts_in_fp32_are_counted() -> None:
    said = {**TINY, **HEADS, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
    model = from_hf(said, "decode")
    assert not model.warnings
    assert sum(
        value(each.flop, {"batch": 1, "seq": 4}) for each in model.operators if "grouped_mm" in each.op and each.flop
    ) == (2 * 2 * 3 * 32 * 64)


@pytest.mark.long
def test_attention_with_sinks_is_one_operator_that_reads_them() -> None:
    """The sinks of gpt-oss, a number for each head, are weights of the fused attention in both phases."""
    said = {**LLAMA, "model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16}
    model = from_hf(said, "prefill,decode", dtype="bf16")
    fused = [one for one in model.operators if one.kind == "attention"]
    sinks = {i for i, weight in enumerate(model.weights) if weight.name.endswith("sinks")}
    assert len(sinks) == len(fused) == LLAMA["num_hidden_layers"]
    assert all(sinks & set(one.weights) for one in fused)
    assert not model.warnings
