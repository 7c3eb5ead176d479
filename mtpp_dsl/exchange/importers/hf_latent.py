"""Export latent attention as runtimes decode with it: on the cached latents, with ``kv_b_proj`` absorbed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["absorbed", "absorbed_attention"]


@contextmanager
def absorbed(model: Any, decoding: bool) -> Iterator[None]:
    """Hand latents to attention in place of the keys and values that ``kv_b_proj`` makes of all tokens, while it lasts.

    Args:
        model: of transformers.
        decoding: a step of one token; the tokens of a prompt are expanded, which takes fewer operations.
    """
    parts = [part for part in model.modules() if decoding and hasattr(part, "expand_kv") and hasattr(part, "kv_b_proj")]
    for part in parts:
        part.expand_kv = lambda latents, keys: (keys, latents)
        part.absorbs = True
    try:
        yield
    finally:
        for part in parts:
            del part.expand_kv, part.absorbs


def absorbed_attention(module: Any, query: Any, rotary_keys: Any, latents: Any, scale: float) -> Any:
    """Return latent attention of one token (DeepSeek-AI 2024, section 2.1): [batch, 1, heads, width of values].

    The part of ``kv_b_proj`` that makes keys multiplies the query, and the part that makes values multiplies what
    attention to the latents gives. Neither grows with the number of tokens in the cache.

    Args:
        module: the layer of attention.
        query: [batch, heads, 1, width].
        rotary_keys: [batch, 1, tokens, width].
        latents: [batch, 1, tokens, rank].
        scale: of the scores.
    """
    import torch

    batch, heads = query.shape[:2]
    rank, plain = latents.shape[3], query.shape[3] - rotary_keys.shape[3]
    matrix = module.kv_b_proj.weight.view(heads, -1, rank)
    of_keys, of_values = matrix[:, :plain], matrix[:, plain:]
    own, rotary = torch.split(query, [plain, rotary_keys.shape[3]], dim=-1)
    asked = torch.bmm(own.squeeze(2).transpose(0, 1), of_keys).transpose(0, 1).unsqueeze(2)
    attended = torch.ops.mtpp.latent_attention(asked, rotary, latents, rotary_keys, scale)
    made = torch.bmm(attended.squeeze(2).transpose(0, 1), of_values.transpose(1, 2))
    return made.transpose(0, 1).reshape(batch, 1, heads, -1)
