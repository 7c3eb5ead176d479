"""Export the scans of transformers' recurrent layers as single operations, in place of its reference code.

That code stands for kernels of mamba_ssm, fla and causal_conv1d. It goes through chunks in a loop of Python, so that
the number of tokens could not stay open, and makes tensors that the kernels never write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MethodType
from typing import Any

from mtpp_dsl.exchange.importers.torch_scans import register

__all__ = ["fused_scans", "scans_known"]

DELTA_CHUNK = 64
"""Tokens of a chunk of the delta rule, in fla and in transformers."""
SCANS = ("mamba_selective_scan", "mamba2_chunk_scan", "torch_chunk_gated_delta_rule", "chunk_kimi_delta_attention")
"""Functions of transformers that are the scans of a prompt."""
LIGHTNING = "LightningAttention"
"""How the names of classes end whose whole ``forward`` is a scan."""


def scans_known(part: Any) -> bool:
    """Return whether all that a recurrent layer runs is known here as operations.

    Args:
        part: a module of transformers that keeps a state.
    """
    home = sys.modules[type(part).__module__]
    scan = any(hasattr(home, name) for name in SCANS)
    conv = hasattr(home, "causal_conv1d_fn")
    alone = type(part).__name__.endswith("ShortConv") and hasattr(part, "conv")
    return type(part).__name__ == f"MiniMax{LIGHTNING}" or (conv and (alone or (scan and hasattr(part, "conv1d"))))


@contextmanager
def fused_scans(model: Any, decoding: bool) -> Iterator[None]:
    """Put the operations in the place of transformers' reference code while *model* is exported.

    Args:
        model: of transformers.
        decoding: a step of one token, whose convolutions find the tokens before it in their states.
    """
    register()
    functions = _functions(decoding)
    changed: list[tuple[Any, str, Any]] = []
    lightning = [part for part in model.modules() if type(part).__name__ == f"MiniMax{LIGHTNING}"]
    try:
        for home in {sys.modules[type(part).__module__] for part in model.modules()}:
            for name, function in functions.items():
                if hasattr(home, name) and home.__name__.startswith("transformers."):
                    changed.append((home, name, getattr(home, name)))
                    setattr(home, name, function)
        for part in lightning:
            part.forward = MethodType(_lightning_forward, part)
        yield
    finally:
        for home, name, before in changed:
            setattr(home, name, before)
        for part in lightning:
            del part.forward


def _functions(decoding: bool) -> Mapping[str, Any]:
    """Return what stands for each function of transformers, by its name."""

    def convolution(hidden_states: Any, weight: Any, bias: Any = None, activation: Any = None, **_given: Any) -> Any:
        """Return a causal convolution of [batch, channels, tokens]."""
        import torch
        from transformers.activations import ACT2FN

        made = torch.ops.mtpp.causal_conv(hidden_states, weight, bias, not decoding)
        return made if activation is None else ACT2FN[activation](made)

    def step(hidden_states: Any, state: Any, weight: Any, bias: Any = None, activation: Any = None) -> Any:
        """Return a causal convolution of one token and those in the state."""
        import torch

        tokens = torch.cat([state, hidden_states], dim=-1)[..., 1:]
        state.put_after(tokens)
        return convolution(tokens, weight, bias, activation)

    return {
        "causal_conv1d_fn": convolution,
        "causal_conv1d_update": step,
        "mamba_selective_scan": _selective_scan,
        "mamba_selective_state_update": _selective_update,
        "mamba2_chunk_scan": _chunk_scan,
        "mamba2_selective_state_update": _state_update,
        "torch_chunk_gated_delta_rule": _delta_rule,
        "torch_recurrent_gated_delta_rule": _delta_rule,
        "chunk_kimi_delta_attention": _delta_rule,
        "recurrent_kimi_delta_attention": _delta_rule,
    }


def _selective_scan(
    hidden_states: Any,
    dt: Any,
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    D: Any = None,  # noqa: N803
    z: Any = None,
    delta_bias: Any = None,
    return_last_state: bool = False,
    **_given: Any,
) -> Any:
    """Return what Mamba's scan of a prompt gives, as transformers calls it."""
    import torch

    made, state = torch.ops.mtpp.selective_scan(hidden_states, dt, A, B, C, D, z, delta_bias, None)
    return (made, state) if return_last_state else made


def _selective_update(
    state: Any,
    hidden_states: Any,
    dt: Any,
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    D: Any = None,  # noqa: N803
    dt_bias: Any = None,
    z: Any = None,
    **_given: Any,
) -> Any:
    """Return what one token of Mamba's scan gives; the state that it makes goes where the old one was."""
    import torch

    step, rates, keys, reads = (part.unsqueeze(-1) for part in (hidden_states, dt, B, C))
    gate = None if z is None else z.unsqueeze(-1)
    made, after = torch.ops.mtpp.selective_scan(step, rates, A, keys, reads, D, gate, dt_bias, state)
    state.put_after(after)
    return made.squeeze(-1)


def _chunk_scan(
    hidden_states: Any,
    dt: Any,
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    chunk_size: int,
    D: Any = None,  # noqa: N803
    dt_bias: Any = None,
    initial_states: Any = None,
    return_final_states: bool = False,
    **_given: Any,
) -> Any:
    """Return what Mamba-2's scan of chunks gives, as transformers calls it."""
    import torch

    made, state = torch.ops.mtpp.state_space_scan(hidden_states, dt, A, B, C, D, dt_bias, initial_states, chunk_size)
    return (made, state) if return_final_states else made


def _state_update(
    state: Any,
    hidden_states: Any,
    dt: Any,
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    D: Any = None,  # noqa: N803
    dt_bias: Any = None,
    z: Any = None,
    **_given: Any,
) -> Any:
    """Return what one token of Mamba-2's scan gives; the state that it makes goes where the old one was."""
    import torch

    step = hidden_states.unsqueeze(1)
    made, after = torch.ops.mtpp.state_space_scan(step, dt, A, B.unsqueeze(1), C.unsqueeze(1), D, dt_bias, state, 1)
    state.put_after(after)
    made = made.squeeze(1)
    return made if z is None else made * torch.nn.functional.silu(z)


def _delta_rule(
    query: Any,
    key: Any,
    value: Any,
    g: Any,
    beta: Any,
    chunk_size: int = DELTA_CHUNK,
    initial_state: Any = None,
    output_final_state: bool = False,
    **_given: Any,
) -> tuple[Any, Any]:
    """Return what the gated delta rule gives, as transformers calls it."""
    import torch

    made, state = torch.ops.mtpp.delta_rule(query, key, value, g, beta, initial_state, chunk_size)
    return made, state if output_final_state else None


def _lightning_forward(
    self: Any, hidden_states: Any, *_args: Any, past_key_values: Any = None, **_given: Any
) -> tuple[Any, None]:
    """Run a layer of MiniMax's lightning attention: products, the scan, a norm and a gate."""
    import torch

    batch, tokens, _ = hidden_states.shape
    made = self.act_fn(self.qkv_proj(hidden_states))
    made = made.reshape(batch, tokens, self.num_attention_heads, 3 * self.head_dim)
    query, key, value = (part.transpose(1, 2) for part in torch.split(made, self.head_dim, dim=3))
    before = None if past_key_values is None else past_key_values.layers[self.layer_idx].recurrent_states[0]
    made, state = torch.ops.mtpp.lightning_attention(query, key, value, self.slope_rate, before, self.block_size)
    if past_key_values is not None:
        past_key_values.layers[self.layer_idx].update_recurrent_state(state)
    made = made.transpose(1, 2).reshape(batch, tokens, self.num_attention_heads * self.head_dim)
    made = torch.sigmoid(self.output_gate(hidden_states)) * self.norm(made)
    return self.out_proj(made), None
