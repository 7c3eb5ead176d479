"""Configurations of Hugging Face, of two small layers each: one of every family that the page on imports names."""

from __future__ import annotations

from typing import Any

TOKENS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "vocab_size": 300}
WIDE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, **TOKENS}
SHARED = {**WIDE, "num_key_value_heads": 2, "head_dim": 16}
DECODERS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3"), SHARED),
    "mixtral": {**SHARED, "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen3_moe": {**SHARED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    "gpt_oss": {**SHARED, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4096},
    "gpt_neox": WIDE,
    "opt": {"hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 2, "num_attention_heads": 4, **TOKENS},
    "gpt2": {"n_layer": 2, "n_embd": 64, "n_head": 4, **TOKENS},
}
DECODERS["opt"]["word_embed_proj_dim"] = 64
OTHERS: dict[str, dict[str, Any]] = {
    "bert": WIDE,
    "t5": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, **TOKENS},
    "vit": {**WIDE, "image_size": 32, "patch_size": 8},
}
