"""GGUF files of recent families: states, latents, gates and windows, by their sizes."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers.gguf_files import metadata, write

WIDTH, WORDS, BATCH, SEQ = 64, 100, 3, 50
Table = dict[str, tuple[int, ...]]
ATTENTION: Table = {"attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64)}
EXPERTS: Table = {
    "ffn_norm": (64,),
    "ffn_gate_inp": (4, 64),
    **{f"ffn_{part}_exps": (4, 32, 64) for part in ("gate", "up")},
    "ffn_down_exps": (4, 64, 32),
}
PLAIN: Table = {"ffn_up": (96, 64), "ffn_down": (64, 96)}
SCAN: Table = {
    "ssm_in": (2 * 128 + 2 * 16 + 8, 64),
    "ssm_conv1d": (128 + 2 * 16, 4),
    "ssm_conv1d.bias": (160,),
    "ssm_dt.bias": (8,),
    "ssm_a ": (8, 1),
    "ssm_d ": (8, 1),
    "ssm_norm": (1, 128),
    "ssm_out": (64, 128),
}
DELTA: Table = {
    "attn_qkv": (2 * 32 + 64, 64),
    "attn_gate": (64, 64),
    "ssm_ba": (8, 64),
    "ssm_conv1d": (128, 4),
    "ssm_dt.bias": (4,),
    "ssm_a ": (4,),
    "ssm_norm": (16,),
    "ssm_out": (64, 64),
}
LATENT: Table = {
    "attn_q_a": (24, 64),
    "attn_q_a_norm": (24,),
    "attn_q_b": (4 * 24, 24),
    "attn_kv_a_mqa": (32 + 8, 64),
    "attn_kv_a_norm": (32,),
    "attn_output": (64, 64),
}
SPLIT: Table = {**LATENT, "attn_k_b": (4, 32, 16), "attn_v_b": (4, 16, 32)}
OLDER: Table = {
    "ssm_in": (2 * 128, 64),
    "ssm_conv1d": (128, 4),
    "ssm_conv1d.bias": (128,),
    "ssm_x": (8 + 2 * 16, 128),
    "ssm_dt": (128, 8),
    "ssm_dt.bias": (128,),
    "ssm_a ": (128, 16),
    "ssm_d ": (128,),
    "ssm_out": (64, 128),
}
SSM = {"ssm.inner_size": 128, "ssm.state_size": 16, "ssm.group_count": 1, "ssm.time_step_rank": 8, "ssm.conv_kernel": 4}


def imported(path: Path, architecture: str, layers: list[Table], **said: object) -> Model:
    """Return the model of these layers, whose tensors are of fp32."""
    tensors: dict[str, tuple[tuple[int, ...], str]] = {"token_embd.weight": ((WORDS, WIDTH), "f32")}
    for number, layer in enumerate(layers):
        for name, shape in {"attn_norm": (WIDTH,), **layer}.items():
            full = name.strip() if name.endswith((" ", ".bias")) else f"{name}.weight"
            tensors[f"blk.{number}.{full}"] = (shape, "f32")
    tensors["output_norm.weight"] = ((WIDTH,), "f32")
    facts = metadata(
        architecture, len(layers), expert_count=4, expert_used_count=2, **{"attention.head_count": 4, **said}
    )
    model = from_gguf(write(path / "m.gguf", facts, tensors))
    assert sum(one.bytes for one in model.weights) == 4 * sum(prod(shape) for shape, _ in tensors.values())
    assert not model.warnings
    return model


def numbers(model: Model, what: str) -> list[int]:
    """Return an amount of all layers in both phases."""
    of = [(getattr(one, what), one.path) for one in model.operators if one.layer is not None]
    at = {"batch": BATCH, "seq": SEQ}
    return [
        int(sum(value(size if not isinstance(size, dict) else size.get(phase, 0), at) for size, _ in of))
        for phase in ("prefill", "decode")
    ]


def products(*layers: Table, without: str = "") -> int:
    """Return the operations of one token by its matrices; two of four experts."""
    total = 0
    for layer in layers:
        for name, shape in layer.items():
            used = prod(shape) // 2 if name.endswith("_exps") else prod(shape)
            vectors = len(shape) == 1 or "norm" in name or name.endswith((" ", ".bias")) or name == without
            total += 0 if vectors else 2 * used
    return total


def pairs(each: int, context: int = SEQ) -> list[int]:
    """Return the operations of attention of *each* for a pair of tokens."""
    return [BATCH * SEQ * SEQ * each, BATCH * context * each]


def test_mamba(tmp_path: Path) -> None:
    """Its steps and matrices come from the channels."""
    model = imported(tmp_path, "mamba", [OLDER, OLDER], **SSM)
    assert numbers(model, "flop")[1] == BATCH * (products(OLDER, OLDER) + 2 * 4 * 128 * 16)
    assert numbers(model, "cache") == 2 * [BATCH * 2 * 4 * (128 * 16 + 3 * 128)]


@pytest.mark.parametrize(
    ("architecture", "layers", "scans", "kept"),
    [
        ("mamba2", [SCAN, SCAN], 2, 0),
        ("granitehybrid", [{**SCAN, **EXPERTS}, {**ATTENTION, **EXPERTS}], 1, 1),
        ("nemotron_h", [SCAN, PLAIN, ATTENTION], 1, 1),
        ("falcon-h1", [{**SCAN, **ATTENTION, **PLAIN, "ffn_norm": (64,)}], 1, 1),
    ],
)
def test_state_spaces(architecture: str, layers: list[Table], scans: int, kept: int, tmp_path: Path) -> None:
    """A scan multiplies each number of its state four times for a token, and keeps it with three of the convolution."""
    model = imported(tmp_path, architecture, layers, **SSM)
    token = products(*layers) + scans * 4 * 128 * 16
    attended = pairs(4 * 64 * kept)
    assert numbers(model, "flop") == [BATCH * SEQ * token + attended[0], BATCH * token + attended[1]]
    states = BATCH * scans * 4 * (128 * 16 + 3 * 160)
    assert numbers(model, "cache") == 2 * [states + kept * BATCH * SEQ * 64 * 2]


def test_gated_delta_nets(tmp_path: Path) -> None:
    """Qwen3-Next: six products a number of the state; the queries' product of attention holds a gate, too."""
    attention = {**ATTENTION, "attn_q": (128, 64), "attn_q_norm": (16,), "attn_k_norm": (16,)}
    experts = {name: shape for name, shape in EXPERTS.items() if name != "ffn_norm"}
    layers = [
        {**DELTA, **experts, "post_attention_norm": (64,)},
        {**attention, **experts, "post_attention_norm": (64,)},
    ]
    model = imported(tmp_path, "qwen3next", layers, **{**SSM, "ssm.inner_size": 64})
    token = products(*layers) + 6 * 64 * 16
    attended = pairs(4 * 64)
    assert numbers(model, "flop") == [BATCH * SEQ * token + attended[0], BATCH * token + attended[1]]
    assert numbers(model, "cache") == 2 * [BATCH * 4 * (64 * 16 + 3 * 128) + BATCH * SEQ * 64 * 2]


def test_latent_attention(tmp_path: Path) -> None:
    """Split, its cache holds latents, and only attention grows with it; whole, keys and values of all heads."""
    layer = {**SPLIT, **EXPERTS}
    model = imported(tmp_path, "deepseek2", [layer])
    attended = pairs(2 * 4 * (40 + 32))
    token = products(layer)
    assert numbers(model, "flop") == [BATCH * SEQ * token + attended[0], BATCH * token + attended[1]]
    assert numbers(model, "cache") == 2 * [BATCH * SEQ * 40 * 2]
    whole = {**LATENT, "attn_kv_b": (4 * 32, 32), **EXPERTS}
    model = imported(tmp_path, "deepseek2", [whole])
    attended = pairs(2 * (96 + 64))
    assert numbers(model, "flop")[1] == BATCH * products(whole) + attended[1]
    assert numbers(model, "cache") == 2 * [BATCH * SEQ * (96 + 64) * 2]


def test_windows_and_sinks(tmp_path: Path) -> None:
    """gpt-oss: every second layer keeps its window alone."""
    experts = {name: shape for name, shape in EXPERTS.items() if name != "ffn_norm"}
    layer = {**ATTENTION, **experts, "attn_sinks": (4,), "post_attention_norm": (64,)}
    model = imported(tmp_path, "gpt-oss", [layer, layer], **{"attention.sliding_window": 8})
    token = products(layer, layer)
    assert numbers(model, "flop")[1] == BATCH * token + pairs(4 * 64)[1] + pairs(4 * 64, 8)[1]
    assert numbers(model, "cache") == 2 * [BATCH * (SEQ + 8) * 64 * 2]


def test_minimax_m2(tmp_path: Path) -> None:
    layer = {**ATTENTION, **EXPERTS, "attn_q_norm": (64,), "attn_k_norm": (32,), "exp_probs_b.bias": (4,)}
    model = imported(tmp_path, "minimax-m2", [layer, layer])
    assert numbers(model, "flop")[1] == BATCH * products(layer, layer) + 2 * pairs(4 * 64)[1]


def test_what_is_no_language_model_is_refused(tmp_path: Path) -> None:
    tensors = {"v.blk.0.attn_q.weight": ((64, 64), "f32"), "mm.0.weight": ((64, 64), "f32")}
    with pytest.raises(UsageError, match=r"a tower that reads images or sounds.*the file of the language model"):
        from_gguf(write(tmp_path / "mmproj.gguf", metadata("clip", 1), tensors))
    with pytest.raises(UsageError, match="keeps a state whose size the file does not say"):
        imported(tmp_path, "mamba2", [SCAN])


def test_layers_that_predict_further_tokens_are_left_out(tmp_path: Path) -> None:
    """DeepSeek-V3 and GLM-4.5: llama.cpp does not load them, and so they take nothing."""
    plain = {**ATTENTION, **PLAIN, "ffn_norm": (64,)}
    further = {**plain, "nextn.eh_proj": (64, 128), "nextn.enorm": (64,)}
    facts = metadata("glm4moe", 2, **{"attention.head_count": 4, "nextn_predict_layers": 1})
    tensors = {"token_embd.weight": ((WORDS, WIDTH), "f32"), "output_norm.weight": ((WIDTH,), "f32")}
    for number, layer in enumerate([plain, further]):
        tensors |= {f"blk.{number}.{name}.weight": (shape, "f32") for name, shape in layer.items()}
        tensors[f"blk.{number}.attn_norm.weight"] = ((WIDTH,), "f32")
    model = from_gguf(write(tmp_path / "m.gguf", facts, tensors))
    assert {one.layer for one in model.operators} == {0, None}
    assert model.warnings == ("what predicts further tokens (1 layer) is left out, as llama.cpp does",)
    facts["glm4moe.nextn_predict_layers"] = 2
    with pytest.raises(UsageError, match="nextn_predict_layers is 2, of 2 layers"):
        from_gguf(write(tmp_path / "m.gguf", facts, tensors))
