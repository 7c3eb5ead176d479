"""Export models of transformers: attention as one operation, caches as tensors, and one step each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["ATTENTION", "as_step", "register_attention"]

ATTENTION = "mtpp"
"""The name of our attention among those of transformers."""
SINKS = "s_aux"
"""What some models hand to attention: for each head a number that is one more score, of a token without a value."""


def register_attention() -> None:
    """Make our attention known to transformers: one fused operation, with no mask of batch × seq × seq numbers.

    Masks of padding and packed sequences are for batches that have them; causal and sliding masks are in the kernels
    that runtimes use. Queries may share keys and values, which are not copied.
    """
    import transformers

    transformers.AttentionInterface.register(ATTENTION, _attention)
    transformers.AttentionMaskInterface.register(ATTENTION, lambda *_args, **_kwargs: None)


def _attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Any, None]:
    """Return fused attention, as transformers calls it.

    Raises:
        NotImplementedError: the model hands over what only its own attention can use.
    """
    import torch

    real = query.device.type != "meta"
    window = others.get("sliding_window")
    sinks = others.get(SINKS)
    if real and (sinks is not None or others.get("softcap") is not None):
        raise NotImplementedError("attention with sinks or soft caps")
    if real and window is not None and not (isinstance(key.shape[2], int) and key.shape[2] <= window):
        raise NotImplementedError("attention with a sliding window")
    bias = others.get("position_bias")
    mask = attention_mask if bias is None else bias if attention_mask is None else bias + attention_mask
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    one = isinstance(query.shape[2], int) and query.shape[2] == 1
    heads = query.shape[1]
    shared = {} if heads == key.shape[1] else {"enable_gqa": True}
    if one and shared and mask is None:  # queries of one token that share keys and values stand in for tokens
        query = query.reshape(query.shape[0], key.shape[1], heads // key.shape[1], query.shape[3])
        shared = {}
    if sinks is not None and mask is None:  # costs are counted: the kernel reads them, as it would read this mask
        mask = sinks.reshape(1, *query.shape[1:3], 1) if query.shape[1] < heads else sinks.reshape(1, heads, 1, 1)
    made = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        dropout_p=dropout,
        scale=scaling,
        is_causal=bool(causal) and not one and mask is None,
        **shared,
    )
    made = made if made.shape[1] == heads else made.reshape(made.shape[0], heads, 1, made.shape[3])
    return made.transpose(1, 2).contiguous(), None


def cache_class() -> Any:
    """Return the class of one layer's cache: tensors that a step is given, and those with the new token appended."""
    import torch
    from transformers.cache_utils import CacheLayerMixin

    class KeptLayer(CacheLayerMixin):  # type: ignore[misc]
        """Keys and values of one layer; those of earlier steps lie behind each other in one tensor of many layers."""

        def __init__(self, past: Any = None, at: int = 0) -> None:
            super().__init__()
            self.past, self.at = past, at
            self.is_initialized = past is not None

        def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
            """Take the type and device of the first keys."""
            del value_states
            self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

        def update(self, key_states: Any, value_states: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, Any]:
            """Append keys and values, and return all of them."""
            if self.past is None:
                self.keys, self.values = key_states, value_states
            else:
                self.keys = torch.cat([self.past[0][self.at], key_states], dim=-2)
                self.values = torch.cat([self.past[1][self.at], value_states], dim=-2)
            return self.keys, self.values

        def get_seq_length(self) -> Any:
            """Return the number of tokens kept."""
            known = self.keys if self.keys is not None else self.past[0] if self.past is not None else None
            return 0 if known is None else known.shape[-2]

        def get_mask_sizes(self, query_length: Any) -> tuple[Any, int]:
            """Return the length and the offset of a mask."""
            return self.get_seq_length() + query_length, 0

        def get_max_length(self) -> int:
            """Return -1: there is no end."""
            return -1

    return KeptLayer


def as_step(model: Any, phase: str, places: Sequence[tuple[int, int]] = ()) -> Any:
    """Return *model* whose ``forward`` is one step of a phase; its modules and parameters keep their paths.

    "forward": the first of what the model gives. "prefill": with the keys and values of each layer behind it. "decode":
    the same for one token, and a list of keys and values that the step is given. "train": the loss.

    Args:
        model: of transformers; it is changed.
        phase: as above.
        places: for decode, where the keys and values of each layer are: in the tensors 2 * stack and 2 * stack + 1 of
            the list, at the second number. Few tensors of many layers are exported much faster than many tensors.
    """
    from transformers.cache_utils import Cache

    layer = cache_class()
    plain = type(model)

    def forward(self: Any, **inputs: Any) -> Any:
        return plain.forward(self, **inputs, return_dict=True)

    def first(outputs: Any) -> Any:
        return next(value for value in outputs.values() if hasattr(value, "element_size"))

    class Forward(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, second: Any = None) -> Any:
            names = {model.main_input_name: main}
            if second is not None:
                names["decoder_input_ids"] = second
            if "use_cache" in _parameters(plain):
                names["use_cache"] = False
            return first(forward(self, **names))

    class Prefill(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any) -> Any:
            cache = Cache(layer_class_to_replicate=layer)
            returned = forward(self, input_ids=main, past_key_values=cache, use_cache=True)
            return (first(returned), *_kept(cache))

    class Decode(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, past: Any) -> Any:
            cache = Cache(layers=[layer(past[2 * stack : 2 * stack + 2], at) for stack, at in places])
            returned = forward(self, input_ids=main, past_key_values=cache, use_cache=True)
            return (first(returned), *_kept(cache))

    class Train(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, labels: Any) -> Any:
            names = {model.main_input_name: main, "labels": labels}
            if "use_cache" in _parameters(plain):
                names["use_cache"] = False
            return forward(self, **names).loss

    model.__class__ = {"forward": Forward, "prefill": Prefill, "decode": Decode, "train": Train}[phase]
    return model


def _kept(cache: Any) -> list[Any]:
    """Return the keys and values of each layer."""
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def _parameters(kind: Any) -> set[str]:
    import inspect

    return set(inspect.signature(kind.forward).parameters)
