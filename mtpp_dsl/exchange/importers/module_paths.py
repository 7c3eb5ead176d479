"""Read what the path of a module says of its place in the stack of layers."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["layer_of", "role_of"]

_STACKS = {"layers", "layer", "h", "blocks", "block", "blk", "decoder_layers", "encoder_layers", "resblocks"}
"""What lists of layers are called: LLaMA, BERT, GPT-2, ViT, GGUF, CLIP."""
_EMBEDDINGS = re.compile(
    r"(^|\.)(embed_tokens|word_embeddings|wte|wpe|tok_embeddings|token_embd|embeddings?|embed_in)$"
)
_HEADS = re.compile(r"(^|\.)(lm_head|embed_out|output|head|classifier|score)$")
_NORMS = re.compile(r"(^|\.)(norm|ln_f|final_layernorm|final_layer_norm|output_norm)$")


def layer_of(path: str) -> int | None:
    """Return the number of the layer to which a module belongs, None outside a stack of layers.

    >>> layer_of("model.layers.3.mlp.up_proj"), layer_of("transformer.h.11"), layer_of("features.3.conv")
    (3, 11, None)
    """
    parts = path.split(".")
    for stack, number in pairwise(parts):
        if stack in _STACKS and number.isascii() and number.isdigit() and len(number) < 6:
            return int(number)
    return None


def role_of(path: str) -> str:
    """Return which part of a stack of layers a module is: one of :data:`mtpp_dsl.exchange.model.kinds.ROLES`.

    >>> role_of("model.layers.3.mlp"), role_of("model.embed_tokens"), role_of("model.norm"), role_of("lm_head")
    ('layer', 'embedding', 'norm', 'head')
    """
    if layer_of(path) is not None:
        return "layer"
    for role, pattern in (("embedding", _EMBEDDINGS), ("norm", _NORMS), ("head", _HEADS)):
        if pattern.search(path):
            return role
    return ""
