"""Operations that torch lacks: scans, short convolutions, latent attention, attention within images, sums at images.

The kernels of mamba_ssm, fla, causal_conv1d and flash-attn are no operations of torch. These stand for them where a
model is exported: they have shapes and a number of operations, and cannot be run. A scan of several tokens works on
chunks, within which it multiplies each token by each as attention does, and passes a state on; of the last chunk the
tokens count that there are. Mamba's first scan goes token by token. A scan of one token updates the state and reads it.
Products count, and sums and decays do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["NAMESPACE", "SCAN_KINDS", "causal_conv_flop", "delta_rule_flop", "lightning_flop", "register", "scan_flop"]

NAMESPACE = "mtpp"
_SCHEMAS = {
    "state_space_scan": "(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? dt_bias, "
    "Tensor? state, int chunk) -> (Tensor, Tensor)",
    "selective_scan": "(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? z, Tensor? dt_bias, "
    "Tensor? state) -> (Tensor, Tensor)",
    "delta_rule": "(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor? state, int chunk) -> (Tensor, Tensor)",
    "lightning_attention": "(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor? state, int chunk) -> (Tensor, Tensor)",
    "causal_conv": "(Tensor x, Tensor weight, Tensor? bias, bool padded) -> Tensor",
    "last_tokens": "(Tensor x, int count) -> Tensor",
    "latent_attention": "(Tensor query, Tensor rotary_query, Tensor latents, Tensor rotary_keys, float scale) "
    "-> Tensor",
    "image_attention": "(Tensor query, Tensor key, Tensor value, int tokens, int pairs, float? scale) -> Tensor",
    "add_at_images": "(Tensor x, Tensor places, Tensor features) -> Tensor",
}
SCAN_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "state_space_scan": "rnn",
        "selective_scan": "rnn",
        "delta_rule": "rnn",
        "lightning_attention": "rnn",
        "causal_conv": "conv",
        "last_tokens": "copy",
        "latent_attention": "attention",
        "image_attention": "attention",
        "add_at_images": "elementwise",
    }
)
"""The kind of each operation."""


def register() -> None:
    """Make the operations known to torch, once."""
    import torch

    for name, schema in _SCHEMAS.items():
        full = f"{NAMESPACE}::{name}"
        if not hasattr(getattr(torch.ops, NAMESPACE), name):
            torch.library.define(full, schema)
            torch.library.register_fake(full, _SHAPES[name])


def _state_space_scan(
    x: Any, dt: Any, a: Any, b: Any, c: Any, d: Any, dt_bias: Any, state: Any, chunk: int
) -> tuple[Any, Any]:
    """Return what a scan of x [batch, tokens, heads, width] gives, and the state: one of numbers in fp32 a head."""
    del dt, a, c, d, dt_bias, state, chunk
    import torch

    shape = (x.shape[0], x.shape[2], x.shape[3], b.shape[3])
    return x.new_empty(x.shape), x.new_empty(shape, dtype=torch.float32)


def _selective_scan(
    x: Any, dt: Any, a: Any, b: Any, c: Any, d: Any, z: Any, dt_bias: Any, state: Any
) -> tuple[Any, Any]:
    """Return what a scan of x [batch, channels, tokens] gives, and the state: numbers in fp32 of each channel."""
    del dt, b, c, d, z, dt_bias, state
    import torch

    return x.new_empty(x.shape), x.new_empty((x.shape[0], x.shape[1], a.shape[1]), dtype=torch.float32)


def _delta_rule(q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any, chunk: int) -> tuple[Any, Any]:
    del q, g, beta, state, chunk
    import torch

    return v.new_empty(v.shape), v.new_empty((v.shape[0], v.shape[2], k.shape[3], v.shape[3]), dtype=torch.float32)


def _lightning_attention(q: Any, k: Any, v: Any, decay: Any, state: Any, chunk: int) -> tuple[Any, Any]:
    del q, decay, state, chunk
    return v.new_empty(v.shape), v.new_empty((v.shape[0], v.shape[1], k.shape[3], v.shape[3]))


def _causal_conv(x: Any, weight: Any, bias: Any, padded: bool) -> Any:
    del bias
    length = x.shape[2] if padded else x.shape[2] - weight.shape[1] + 1
    return x.new_empty((x.shape[0], x.shape[1], length))


def _last_tokens(x: Any, count: int) -> Any:
    return x.new_empty((x.shape[0], x.shape[1], count))


def _latent_attention(query: Any, rotary_query: Any, latents: Any, rotary_keys: Any, scale: float) -> Any:
    del rotary_query, latents, rotary_keys, scale
    return query.new_empty(query.shape)


def _image_attention(query: Any, key: Any, value: Any, tokens: int, pairs: int, scale: float | None) -> Any:
    del key, tokens, pairs, scale
    return query.new_empty((*query.shape[:3], value.shape[3]))


def _add_at_images(x: Any, places: Any, features: Any) -> Any:
    del places, features
    return x.new_empty(x.shape)


_SHAPES: Mapping[str, Callable[..., Any]] = {
    "state_space_scan": _state_space_scan,
    "selective_scan": _selective_scan,
    "delta_rule": _delta_rule,
    "lightning_attention": _lightning_attention,
    "causal_conv": _causal_conv,
    "last_tokens": _last_tokens,
    "latent_attention": _latent_attention,
    "image_attention": _image_attention,
    "add_at_images": _add_at_images,
}


def scan_flop(name: str, args: tuple[Any, ...]) -> Any:
    """Return the FLOP of a call of one of the operations, from its arguments; they may be symbolic."""
    count = _FLOP.get(name)
    return 0 if count is None else count(*args)


def squares(tokens: Any, chunk: int) -> Any:
    """Return the pairs of tokens of one chunk, of all chunks of a sequence.

    >>> squares(70, 32)
    2084
    """
    return tokens // chunk * chunk**2 + (tokens % chunk) * (tokens % chunk)


def _one(tokens: Any) -> bool:
    """Return whether a scan is a decoding step."""
    return isinstance(tokens, int) and tokens == 1


def state_space_flop(x: Any, dt: Any, a: Any, b: Any, c: Any, d: Any, dt_bias: Any, state: Any, chunk: int) -> Any:
    """Return the FLOP of Mamba-2's scan (Dao and Gu 2024, section 6): C Bᵀ once for each group of heads."""
    del dt, a, c, d, dt_bias, state
    batch, tokens, heads, width = x.shape
    groups, size = (b.shape[1] if b.dim() == 3 else b.shape[2]), b.shape[-1]
    through = 4 * batch * tokens * heads * width * size
    return through if _one(tokens) else 2 * batch * (groups * size + heads * width) * squares(tokens, chunk) + through


def selective_flop(x: Any, dt: Any, a: Any, b: Any, c: Any, d: Any, z: Any, dt_bias: Any, state: Any) -> Any:
    """Return the FLOP of Mamba's scan (Gu and Dao 2023, section 3.2), token by token: B x, and C with the state."""
    del dt, b, c, d, z, dt_bias, state
    batch, channels, tokens = x.shape
    return 4 * batch * channels * tokens * a.shape[1]


def delta_rule_flop(q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any, chunk: int) -> Any:
    """Return the FLOP of the gated delta rule (Yang et al. 2024): K Kᵀ, Q Kᵀ, and the WY form of keys and values.

    The inverse of a triangular matrix of a chunk is not counted.
    """
    del q, g, beta, state
    batch, tokens, heads, width = v.shape
    size = k.shape[3]
    through = 6 * batch * tokens * heads * width * size
    within = 2 * batch * heads * (3 * size + 2 * width)
    return through if _one(tokens) else within * squares(tokens, chunk) + through


def lightning_flop(q: Any, k: Any, v: Any, decay: Any, state: Any, chunk: int) -> Any:
    """Return the FLOP of lightning attention (Qin et al. 2024): q, k, v are [batch, heads, tokens, width]."""
    del q, decay, state
    batch, heads, tokens, width = v.shape
    size = k.shape[3]
    through = 4 * batch * heads * tokens * width * size
    return through if _one(tokens) else 2 * batch * heads * (size + width) * squares(tokens, chunk) + through


def causal_conv_flop(x: Any, weight: Any, bias: Any, padded: bool) -> Any:
    """Return the FLOP of a short convolution of each channel with its own weights."""
    del bias
    length = x.shape[2] if padded else x.shape[2] - weight.shape[1] + 1
    return 2 * x.shape[0] * x.shape[1] * length * weight.shape[1]


def latent_flop(query: Any, rotary_query: Any, latents: Any, rotary_keys: Any, scale: float) -> Any:
    """Return the FLOP of attention of query [batch, heads, tokens, rank] to latents [batch, 1, context, rank]."""
    del scale, rotary_keys
    batch, heads, tokens, rank = query.shape
    return 2 * batch * heads * tokens * latents.shape[2] * (2 * rank + rotary_query.shape[3])


def image_flop(query: Any, key: Any, value: Any, tokens: int, pairs: int, scale: float | None) -> Any:
    """Return the FLOP of attention within images of *tokens* tokens, of which *pairs* pairs look at each other.

    The tokens of all images stand behind each other in query [1, heads, tokens, width].
    """
    del key, scale
    heads, all_tokens, width = query.shape[1:]
    return 2 * heads * (width + value.shape[3]) * pairs * (all_tokens // tokens)


_FLOP: Mapping[str, Callable[..., Any]] = {
    "state_space_scan": state_space_flop,
    "selective_scan": selective_flop,
    "delta_rule": delta_rule_flop,
    "lightning_attention": lightning_flop,
    "causal_conv": causal_conv_flop,
    "latent_attention": latent_flop,
    "image_attention": image_flop,
}
