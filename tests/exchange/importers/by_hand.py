"""Scans, short convolutions and latent attention written out with products of matrices, as their papers have them.

They stand in for functions of transformers, give the same numbers, and torch's counter sees each product that a kernel
makes: no more of the last chunk than there is of it, and what one token adds to a state as the product that it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

ABSORBED = "absorbed_by_hand"


@contextmanager
def by_hand(model: Any) -> Iterator[None]:
    """Put them in the place of the functions of transformers that *model* calls."""
    functions = {
        "causal_conv1d_fn": conv,
        "causal_conv1d_update": conv_update,
        "mamba_selective_scan": selective_scan,
        "mamba_selective_state_update": selective_update,
        "mamba2_chunk_scan": scan,
        "mamba2_selective_state_update": scan_update,
        "torch_chunk_gated_delta_rule": delta_rule,
        "torch_recurrent_gated_delta_rule": delta_update,
        "chunk_kimi_delta_attention": delta_rule,
        "recurrent_kimi_delta_attention": delta_update,
    }
    homes = {sys.modules[type(part).__module__] for part in model.modules()}
    before = [(home, name, getattr(home, name)) for home in homes for name in functions if hasattr(home, name)]
    mixtures = [part for part in model.modules() if type(part).__name__ == "Llama4TextMoe"]
    for part in mixtures:
        part.forward = MethodType(routed, part)
    poolers = [part for part in model.modules() if type(part).__name__ == "Gemma4VisionPooler"]
    for part in poolers:
        part._avg_pool_by_positions = MethodType(pooled, part)
    for home, name, _ in before:
        setattr(home, name, functions[name])
    try:
        yield
    finally:
        for home, name, function in before:
            setattr(home, name, function)
        for part in mixtures:
            del part.forward
        for part in poolers:
            del part._avg_pool_by_positions


def pooled(self: Any, hidden: Any, places: Any, length: int) -> tuple[Any, Any]:
    """Average the patches of each square of Gemma 4's tower, without products."""
    import torch

    step = int((hidden.shape[1] // length) ** 0.5)
    columns = int(places[..., 0].max()) // step + 1
    square = (places[..., 1] // step * columns + places[..., 0] // step)[..., None].expand(hidden.shape)
    sums = torch.zeros(hidden.shape[0], length, hidden.shape[2]).scatter_add(1, square, hidden.float())
    return (sums / step**2).to(hidden.dtype), torch.ones(sums.shape[:2], dtype=torch.bool)


def routed(self: Any, hidden: Any) -> tuple[Any, Any]:
    """Run each expert of Llama 4 on the tokens that chose it; of the others the scores are zero."""
    tokens = hidden.reshape(-1, self.hidden_dim)
    shares, scores = self.router(tokens)
    made = self.shared_expert(tokens)
    for number in range(self.num_experts):
        rows = shares[:, number].nonzero()[:, 0]
        gate, up = ((tokens[rows] * shares[rows, number, None]) @ self.experts.gate_up_proj[number]).chunk(2, dim=-1)
        made[rows] += (up * self.experts.act_fn(gate)) @ self.experts.down_proj[number]
    return made, scores


@contextmanager
def absorbed_by_hand(model: Any) -> Iterator[None]:
    """Make latent attention absorb ``kv_b_proj``, for a step of one token."""
    import transformers

    parts = [part for part in model.modules() if hasattr(part, "expand_kv")]
    if parts:
        transformers.AttentionInterface.register(ABSORBED, latent_attention)
        before = model.config._attn_implementation
        model.set_attn_implementation(ABSORBED)
    for part in parts:
        part.expand_kv = lambda latents, keys: (keys, latents)
    try:
        yield
    finally:
        for part in parts:
            del part.expand_kv
        if parts:
            model.set_attn_implementation(before)


def latent_attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_given: Any
) -> Any:
    import torch

    plain = query.shape[-1] - key.shape[-1]
    matrix = module.kv_b_proj.weight.view(query.shape[1], -1, value.shape[-1])
    asked = torch.einsum("bhqn,hnr->bhqr", query[..., :plain], matrix[:, :plain])
    scores = (asked @ value.transpose(2, 3) + query[..., plain:] @ key.transpose(2, 3)) * scaling
    weighed = scores.softmax(-1).to(query.dtype) @ value
    return torch.einsum("bhqr,hvr->bqhv", weighed, matrix[:, plain:]), None


def _activated(made: Any, activation: str | None) -> Any:
    from transformers.activations import ACT2FN

    return made if activation is None else ACT2FN[activation](made)


def conv(x: Any, weight: Any, bias: Any = None, activation: str | None = None, **_given: Any) -> Any:
    import torch.nn.functional as f

    padded = f.pad(x, (weight.shape[-1] - 1, 0))
    return _activated(f.conv1d(padded, weight.unsqueeze(1), bias, groups=x.shape[1]), activation)


def conv_update(x: Any, state: Any, weight: Any, bias: Any = None, activation: str | None = None) -> Any:
    import torch
    import torch.nn.functional as f

    state.copy_(torch.cat([state, x], dim=-1)[..., -state.shape[-1] :])
    return _activated(f.conv1d(state, weight.unsqueeze(1), bias, groups=x.shape[1]), activation)


def selective_scan(
    x: Any,
    dt: Any,
    a: Any,
    b: Any,
    c: Any,
    D: Any,  # noqa: N803
    z: Any,
    delta_bias: Any,
    return_last_state: bool = False,
    **_given: Any,
) -> Any:
    """Gu and Dao 2023, algorithm 2: what a token adds to the states, and what it reads of them, are products."""
    import torch

    state = x.new_zeros(*x.shape[:2], a.shape[1], dtype=torch.float32)
    made = []
    for t in range(x.shape[2]):
        step = [each[..., t] for each in (x, dt, b, c, z)]
        made.append(selective_update(state, step[0], step[1], a, step[2], step[3], D, delta_bias, step[4]))
    whole = torch.stack(made, -1)
    return (whole, state) if return_last_state else whole


def selective_update(
    state: Any,
    x: Any,
    dt: Any,
    a: Any,
    b: Any,
    c: Any,
    D: Any,  # noqa: N803
    dt_bias: Any,
    z: Any,
    **_given: Any,
) -> Any:
    import torch.nn.functional as f

    dt = f.softplus(dt.float() + dt_bias).unsqueeze(2)
    state.copy_(state * (dt * a).exp() + (dt * x.float().unsqueeze(2)) @ b.float().unsqueeze(1))
    read = (state @ c.float().unsqueeze(2)).squeeze(2)
    return ((read + x * D) * f.silu(z.float())).to(x.dtype)


def scan(
    x: Any,
    dt: Any,
    a: Any,
    b: Any,
    c: Any,
    chunk_size: int,
    D: Any,  # noqa: N803
    dt_bias: Any,
    dt_limit: tuple[float, float],
    initial_states: Any = None,
    return_final_states: bool = False,
    **_given: Any,
) -> Any:
    """Dao and Gu 2024, section 6: chunks of a matrix that is nearly that of attention."""
    import torch
    import torch.nn.functional as f

    dt = f.softplus(dt + dt_bias).clamp(*dt_limit).float()
    batch, tokens, heads, width = x.shape
    state = x.new_zeros(batch, heads, width, b.shape[3], dtype=torch.float32)
    made = []
    for at in range(0, tokens, chunk_size):
        xs, ds, bs, cs = (each[:, at : at + chunk_size].float().transpose(1, 2) for each in (x, dt[..., None], b, c))
        sums = (ds * a[:, None, None]).cumsum(2)
        decay = (sums - sums.transpose(2, 3)).exp().tril()
        scores = (cs @ bs.transpose(2, 3)).repeat_interleave(heads // bs.shape[1], 1) * decay
        bs, cs = (each.repeat_interleave(heads // each.shape[1], 1) for each in (bs, cs))
        made.append((scores @ (xs * ds) + sums.exp() * (cs @ state.transpose(2, 3))).transpose(1, 2))
        last = sums[:, :, -1:]
        state = state * last.exp() + (xs * ds * (last - sums).exp()).transpose(2, 3) @ bs
    whole = torch.cat(made, 1) + D[:, None] * x.float()
    return (whole, state) if return_final_states else whole


def scan_update(
    state: Any,
    x: Any,
    dt: Any,
    a: Any,
    b: Any,
    c: Any,
    D: Any,  # noqa: N803
    dt_bias: Any,
    z: Any = None,
    **_given: Any,
) -> Any:
    import torch.nn.functional as f

    dt = f.softplus(dt + dt_bias).float()
    b, c = (each.float().repeat_interleave(x.shape[1] // each.shape[1], 1) for each in (b, c))
    state.copy_(state * (dt[..., None] * a).exp() + (x.float() * dt).unsqueeze(3) @ b.unsqueeze(2))
    made = ((state @ c.unsqueeze(3)).squeeze(3) + x * D).to(x.dtype)
    return made if z is None else made * f.silu(z)


def _prepared(q: Any, k: Any, v: Any, g: Any, beta: Any) -> list[Any]:
    import torch.nn.functional as f

    heads = v.shape[2]
    q, k = (each.float().repeat_interleave(heads // each.shape[2], 2) for each in (q, k))
    q, k = f.normalize(q, dim=-1) * q.shape[-1] ** -0.5, f.normalize(k, dim=-1)
    return [each.float().transpose(1, 2) for each in (q, k, v, g if g.dim() == 4 else g[..., None], beta[..., None])]


def delta_rule(
    query: Any,
    key: Any,
    value: Any,
    g: Any,
    beta: Any,
    chunk_size: int = 64,
    output_final_state: bool = False,
    **_given: Any,
) -> Any:
    """Yang et al. 2024, section 3: the WY form of a chunk's changes of the state."""
    import torch

    parts = _prepared(query, key, value, g, beta)
    state = value.new_zeros(*parts[1].shape[:2], key.shape[3], value.shape[3], dtype=torch.float32)
    made = []
    for at in range(0, query.shape[1], chunk_size):
        q, k, v, log, rate = (each[:, :, at : at + chunk_size] for each in parts)
        sums = log.cumsum(2)
        below = _decayed(k * rate, k, sums).tril(-1)
        inverse = torch.linalg.inv(torch.eye(k.shape[2]) + below)
        fresh = inverse @ (v * rate) - inverse @ (k * rate * sums.exp()) @ state
        made.append((q * sums.exp()) @ state + _decayed(q, k, sums).tril() @ fresh)
        last = sums[:, :, -1:]
        state = state * last.exp().transpose(2, 3) + (k * (last - sums).exp()).transpose(2, 3) @ fresh
    return torch.cat(made, 2).transpose(1, 2).to(value.dtype), state if output_final_state else None


def _decayed(one: Any, other: Any, sums: Any) -> Any:
    """Return the products of each two tokens, less by what decays between them: one rate a head, or one a channel."""
    if sums.shape[3] > 1:  # Kimi Linear
        return (one * sums.exp()) @ (other * (-sums).exp()).transpose(2, 3)
    return one @ other.transpose(2, 3) * (sums - sums.transpose(2, 3)).exp()


def delta_update(
    query: Any,
    key: Any,
    value: Any,
    g: Any,
    beta: Any,
    initial_state: Any = None,
    output_final_state: bool = False,
    **_given: Any,
) -> Any:
    q, k, v, log, rate = _prepared(query, key, value, g, beta)
    state = initial_state.float() * log.exp().transpose(2, 3)
    state = state + k.transpose(2, 3) @ ((v - k @ state) * rate)
    return (q @ state).transpose(1, 2).to(value.dtype), state if output_final_state else None
