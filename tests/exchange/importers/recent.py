"""Recent models, of two small layers each: what the import counts, beside their real modules run on a CPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from mtpp_dsl.exchange.importers.hf import from_hf, make_model
from mtpp_dsl.exchange.importers.hf_inputs import InputRequest
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers.by_hand import absorbed_by_hand, by_hand
from tests.exchange.importers.families import SHARED, WIDE
from tests.exchange.importers.vision import IMAGES, VISION, images_apart, prompt

BATCH, SEQ = 2, 20
FEW = {"num_local_experts": 4, "num_experts_per_tok": 2}
SCAN = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_n_groups": 2, "mamba_chunk_size": 16}
LATENT = {
    **WIDE,
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
}
GROUPED = {**LATENT, "q_lora_rank": 24, "n_group": 1, "topk_group": 1}
WINDOW = {**SHARED, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
ROUTED = (
    "n_routed_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "n_shared_experts",
    "first_k_dense_replace",
)
RECENT: dict[str, dict[str, Any]] = {
    "gpt_oss": {**WINDOW, **FEW},
    "deepseek_v2": {**LATENT, "q_lora_rank": None},
    "deepseek_v3": GROUPED,
    "qwen3_next": {
        **SHARED,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 8,
        "layer_types": ["linear_attention", "full_attention"],
    },
    "minimax": {**SHARED, **FEW, "block_size": 16, "layer_types": ["linear_attention", "full_attention"]},
    "minimax_m2": {**SHARED, **FEW, "rotary_dim": 8},
    "mamba": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "state_size": 8,
        "time_step_rank": 4,
        **{name: WIDE[name] for name in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")},
    },
    "jamba": {
        **SHARED,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "mamba_d_state": 8,
        "mamba_dt_rank": 4,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
    },
    "falcon_mamba": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "state_size": 8,
        "time_step_rank": 4,
        **{name: WIDE[name] for name in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")},
    },
    "mamba2": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_heads": 8,
        "head_dim": 16,
        "state_size": 16,
        "n_groups": 2,
        "chunk_size": 16,
        **{name: WIDE[name] for name in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")},
    },
    "granitemoehybrid": {
        **SHARED,
        **FEW,
        **SCAN,
        "shared_intermediate_size": 48,
        "layer_types": ["mamba", "attention"],
    },
    "nemotron_h": {
        **SHARED,
        "mamba_num_heads": 8,
        "mamba_head_dim": 16,
        "ssm_state_size": 16,
        "n_groups": 2,
        "chunk_size": 16,
        "layers_block_type": ["mamba", "attention"],
    },
    "falcon_h1": {**SHARED, **SCAN, "mamba_d_ssm": 128},
    "kimi_linear": {
        **LATENT,
        **FEW,
        "q_lora_rank": None,
        "n_group": 1,
        "topk_group": 1,
        "linear_head_dim": 16,
        "linear_num_heads": 4,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "lfm2": {**SHARED, "layer_types": ["conv", "full_attention"]},
    "gemma3n_text": {
        **WINDOW,
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 300,
        "laurel_rank": 8,
        "num_kv_shared_layers": 0,
        "activation_sparsity_pattern": [0.0, 0.0],
    },
    **dict.fromkeys(("mistral4", "glm4_moe_lite"), GROUPED),
    "glm4_moe": {**SHARED, **{name: LATENT[name] for name in ROUTED}},
    "ernie4_5_moe": {**SHARED, "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32},
    "hunyuan_v1_moe": {**SHARED, "num_experts": 4, "moe_topk": 2},
    **dict.fromkeys(("olmo3", "exaone4", "cohere2"), WINDOW),
    **dict.fromkeys(("seed_oss", "smollm3"), SHARED),
}
"""The configurations; a window, a chunk and a block are shorter than the prompt, which fills the last chunk in part."""
KINDS = (*RECENT, *VISION)
"""All types of models in the table."""
DECAYS = ("query_decay", "key_decay", "diagonal_decay")
"""Buffers of MiniMax that depend on the number of a layer alone, and that its kernels compute."""
TABLES = "inv_freq"
"""How buffers of all models end that every device computes."""
UNREAD = {"llava": r"\.post_layernorm\.", "falcon_mamba": r"\.(dt|b|c)_layernorm\."}
"""Parameters and buffers that a model has and does not read."""
Row = tuple[int, ...]
"""Bytes of the weights, and of the cache after a prompt and after one more token; FLOP of both."""


def settings_of(kind: str) -> dict[str, Any]:
    """Return the configuration of a type of models."""
    return {"model_type": kind, **(RECENT[kind] if kind in RECENT else VISION[kind][0])}


def counted(kind: str) -> Row:
    """Return what the import counts."""
    pictures: dict[str, Any] = {"images": IMAGES, "image_size": VISION[kind][1]} if kind in VISION else {}
    model = from_hf(settings_of(kind), "prefill,decode", batch=BATCH, seq=SEQ, dtype="bf16", **pictures)
    left_out = [warning for warning in model.warnings if re.search(f"left out: .*{UNREAD.get(kind, '^$')}", warning)]
    assert list(model.warnings) == left_out
    weights = sum(one.bytes for one in model.weights)
    return weights, *(total(model, what, phase) for what in ("cache", "flop") for phase in ("prefill", "decode"))


def total(model: Model, what: str, phase: str) -> int:
    """Return the sum of an amount over the operators of a model, in one phase."""
    amounts = [getattr(operator, what) for operator in model.operators]
    sizes = [amount.get(phase, 0) if isinstance(amount, Mapping) else amount for amount in amounts]
    return int(sum(value(size, {"batch": BATCH, "seq": SEQ, "images": IMAGES}) for size in sizes))


def real(kind: str, dtype: str = "bf16") -> Any:
    """Return the module of a configuration, with random weights."""
    import torch

    torch.manual_seed(0)
    module = make_model(settings_of(kind), InputRequest(dtype=dtype), "eager", "cpu").eval()
    module.set_experts_implementation("eager")
    return module


def measured(kind: str) -> Row:
    """Return what the real module has and keeps, and what torch counts of its products."""
    module = real(kind)
    tensors = {
        tensor.data_ptr(): tensor.numel() * tensor.element_size()
        for name, tensor in (*module.state_dict().items(), *module.named_buffers())
        if name.rpartition(".")[2] not in DECAYS and not name.endswith(TABLES)
        if not re.search(UNREAD.get(kind, "^$"), name)
    }
    weights = sum(tensors.values())
    flops, caches, _ = run(module, kind, counted_by_hand=True)
    return weights, *caches, *flops


def run(module: Any, kind: str, counted_by_hand: bool) -> tuple[list[int], list[int], list[Any]]:
    """Run a prompt and one more token; return the FLOP, the bytes of the cache, and the last numbers, of each."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    ids = torch.arange(BATCH * (SEQ + 1)).reshape(BATCH, SEQ + 1) % 300
    flops, caches, numbers = [], [], []
    cache = None
    more = prompt(ids[:, :SEQ], module, VISION[kind][1]) if kind in VISION else {}
    name = "cache_params" if hasattr(module, "backbone") else "past_key_values"
    for tokens in (ids[:, :SEQ], ids[:, SEQ:]):
        with ExitStack() as stack:
            if counted_by_hand:
                stack.enter_context(by_hand(module))
            if counted_by_hand and kind in VISION:
                stack.enter_context(images_apart(module))
            if counted_by_hand and tokens.shape[1] == 1:
                stack.enter_context(absorbed_by_hand(module))
            stack.enter_context(torch.no_grad())
            counter = stack.enter_context(FlopCounterMode(display=False))
            outputs = module(tokens, use_cache=True, **(more if cache is None else {name: cache}))
        cache = outputs[name]
        flops.append(counter.get_total_flops())
        caches.append(held(cache))
        numbers.append(outputs.logits[:, -1].float())
    return flops, caches, numbers


def held(cache: Any) -> int:
    """Return the bytes in a cache of transformers; a window that is full with the newest token, which it lets go."""
    tensors = list(getattr(cache, "linear_cache", ()))
    size = 0
    for layer in cache.layers:
        own = [getattr(layer, "keys", None), getattr(layer, "values", None)]
        window = getattr(layer, "sliding_window", None)
        if window is not None and own[0].shape[-2] == window - 1:
            size += sum(one[..., :1, :].numel() * one.element_size() for one in own)
        tensors += [*own, *getattr(layer, "conv_states", {}).values(), *getattr(layer, "recurrent_states", {}).values()]
    return size + sum(one.numel() * one.element_size() for one in tensors if hasattr(one, "numel"))


HEAD = "| `model_type` | weights | cache after the prompt | after one more token | FLOP of the prompt | of the token |"


def table(rows: Mapping[str, Row]) -> str:
    """Return rows as a table."""
    lines = [f"| `{kind}` | {' | '.join(f'{number:,}' for number in row)} |" for kind, row in rows.items()]
    return "\n".join([HEAD, "| --- " + "| ---: " * 5 + "|", *lines])
