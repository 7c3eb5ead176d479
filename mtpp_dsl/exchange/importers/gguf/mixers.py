"""Layers of llama.cpp that mix tokens by a state or by latents: Mamba, gated delta nets, latent attention.

States are of fp32, and the scans of ggml go token by token in both phases. Latent attention whose ``kv_b`` is split
works on latents in both phases, as llama.cpp does.
"""

from __future__ import annotations

from math import prod

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.operators import CACHED, STATE, GgufOperators
from mtpp_dsl.exchange.importers.polynomials import product

__all__ = ["delta_net", "latent_attention", "state_space"]


def state_space(layers: GgufOperators, at: str, stream: int) -> int:
    """Add a layer of Mamba or Mamba-2 (Dao and Gu 2024): 4 operations a number of the state, and token."""
    inner, size = _sizes(layers, at)
    projected = layers.matmul(f"{at}ssm_in", stream)
    mixed = _convolution(layers, at, projected)
    read = [mixed]
    if layers.has(f"{at}ssm_x"):  # Mamba-1: steps and matrices come from the channels
        selected = layers.matmul(f"{at}ssm_x", mixed)
        read = [mixed, layers.matmul(f"{at}ssm_dt", selected, part=True), selected]
    norms = [f"{at}ssm_{part}_norm.weight" for part in ("dt", "b", "c")]
    weights = [f"{at}ssm_a", f"{at}ssm_d", f"{at}ssm_dt.bias", *norms]
    scanned = _scan(layers, f"{at}ssm_scan", "ssm_scan", read, inner, 4 * inner * size, inner * size, weights)
    return _gated(layers, at, [scanned, projected], inner)


def delta_net(layers: GgufOperators, at: str, stream: int) -> int:
    """Add a layer of the gated delta rule (Yang et al. 2024): 6 operations a number of the state, and token."""
    inner, size = _sizes(layers, at)
    if layers.has(f"{at}ssm_in"):
        projected = layers.matmul(f"{at}ssm_in", stream)
        gate = projected
    else:
        projected, gate = layers.matmul(f"{at}attn_qkv", stream), layers.matmul(f"{at}attn_gate", stream)
    rates = [
        layers.matmul(f"{at}ssm_{part}", stream)
        for part in ("ba", "beta_alpha", "beta", "alpha")
        if layers.has(f"{at}ssm_{part}")
    ]
    mixed = _convolution(layers, at, projected)
    weights = [f"{at}ssm_a", f"{at}ssm_dt.bias"]
    kept, name = inner * size, f"{at}delta_net"
    scanned = _scan(layers, name, "gated_delta_net", [mixed, *rates], inner, 6 * kept, kept, weights)
    return _gated(layers, at, [scanned, gate], inner)


def latent_attention(layers: GgufOperators, at: str, stream: int) -> int:
    """Add latent attention (DeepSeek-AI 2024): on latents where ``kv_b`` is split in two, else on keys and values."""
    asked = stream
    if layers.has(f"{at}attn_q_a"):
        asked = layers.norm(
            f"{at}attn_q_a_norm", layers.matmul(f"{at}attn_q_a", stream), _wide(layers, f"{at}attn_q_a")
        )
    query = layers.matmul(f"{at}attn_q_b" if layers.has(f"{at}attn_q_b") else f"{at}attn_q", asked)
    joint = _wide(layers, f"{at}attn_kv_a_mqa")
    rank = layers.need(f"{at}attn_kv_a_norm.weight", 1).shape[0]
    latents = layers.norm(f"{at}attn_kv_a_norm", layers.matmul(f"{at}attn_kv_a_mqa", stream), joint)
    if layers.has(f"{at}attn_kv_b"):
        return _expanded(layers, at, query, latents, rank)
    of_keys, of_values = (layers.need(f"{at}attn_{part}_b.weight", 3) for part in "kv")
    heads, values = of_keys.shape[0], of_values.shape[1]
    if of_keys.shape[1] != rank or of_values.shape[::2] != (heads, rank):
        raise layers.wrong(of_keys.name, of_keys)
    query = _product(layers, f"{at}attn_k_b", [query], heads * joint)
    pairs = 2 * heads * (joint + rank)
    made = _attention(layers, at, [query, latents], pairs, joint, heads * rank)
    made = _product(layers, f"{at}attn_v_b", [made], heads * values)
    return layers.matmul(f"{at}attn_output", made)


def _expanded(layers: GgufOperators, at: str, query: int, latents: int, rank: int) -> int:
    """Add attention on keys and values that ``kv_b`` makes of the new tokens, which the cache then holds."""
    heads = layers.fact("attention.head_count")
    out = layers.need(f"{at}attn_output.weight", 2).shape[1]
    asked = layers.wide[query]
    if not heads or layers.need(f"{at}attn_kv_b.weight", 2).shape[1] != rank:
        raise UsageError(f"{layers.header.name}: layer {at[:-1]!r} has latents of {rank} numbers and {heads} heads")
    made = layers.matmul(f"{at}attn_kv_b", latents, part=True)
    made = _attention(layers, at, [query, made], 2 * (asked + out), asked + out, out)
    return layers.matmul(f"{at}attn_output", made)


def _attention(layers: GgufOperators, at: str, reads: list[int], pairs: int, kept: int, wide: int) -> int:
    """Add attention of *pairs* operations for each pair of tokens, on *kept* numbers of each token in the cache."""
    cached = product([layers.batch, layers.seq, kept, CACHED])
    work = layers.each(lambda phase: product([layers.batch, layers.queries[phase], layers.seq, pairs]))
    cache = dict.fromkeys(layers.phases, cached)
    return layers.operator(f"{at}attn", "flash_attn", "attention", reads, work, wide, cache=cache)


def _product(layers: GgufOperators, name: str, reads: list[int], wide: int) -> int:
    """Add a product of each head with its own matrix."""
    entries = prod(layers.need(f"{name}.weight", 3).shape)
    work = layers.times(layers.tokens, 2 * entries)
    return layers.operator(name, "mul_mat", "matmul", reads, work, wide, [f"{name}.weight"])


def _sizes(layers: GgufOperators, at: str) -> tuple[int, int]:
    """Return the channels of a state, and its numbers in each."""
    inner, size = layers.fact("ssm.inner_size"), layers.fact("ssm.state_size")
    if not inner or not size:
        raise UsageError(f"{layers.header.name}: layer {at[:-1]!r} keeps a state whose size the file does not say")
    return inner, size


def _convolution(layers: GgufOperators, at: str, stream: int) -> int:
    """Add the short convolution of each channel, which keeps all tokens of its length but the newest."""
    table = layers.need(f"{at}ssm_conv1d.weight", 2)
    channels, length = table.shape
    if channels > layers.wide[stream]:
        raise layers.wrong(table.name, table)
    return layers.operator(
        f"{at}ssm_conv1d",
        "ssm_conv",
        "conv",
        [stream],
        layers.times(layers.tokens, 2 * channels * length),
        channels,
        [table.name, f"{at}ssm_conv1d.bias"],
        cache=dict.fromkeys(layers.phases, product([layers.batch, channels * (length - 1) * STATE])),
    )


def _scan(
    layers: GgufOperators, name: str, op: str, reads: list[int], wide: int, work: int, kept: int, weights: list[str]
) -> int:
    """Add a scan of *work* operations for each token, whose state has *kept* numbers."""
    cache = dict.fromkeys(layers.phases, product([layers.batch, kept * STATE]))
    return layers.operator(name, op, "rnn", reads, layers.times(layers.tokens, work), wide, weights, cache=cache)


def _gated(layers: GgufOperators, at: str, parts: list[int], inner: int) -> int:
    """Add the norm and the gate behind a scan, and the product after them."""
    made = layers.norm(f"{at}ssm_norm", parts[0], inner)
    made = layers.operator(f"{at}ssm_gate", "mul", "elementwise", [made, *parts[1:]], {}, inner)
    return layers.matmul(f"{at}ssm_out", made)


def _wide(layers: GgufOperators, name: str) -> int:
    return layers.need(f"{name}.weight", 2).shape[0]
