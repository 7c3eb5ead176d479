"""Export models of transformers: attention as one operation, caches as tensors, and one step each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.exchange.importers.hf_caches import KeptPart, cache_kinds, cache_of, kept_parts
from mtpp_dsl.exchange.importers.hf_latent import absorbed_attention
from mtpp_dsl.exchange.importers.hf_towers import IMAGE_ATTENTION, Within

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
    transformers.AttentionInterface.register(IMAGE_ATTENTION, _image_attention)
    for name in (ATTENTION, IMAGE_ATTENTION):
        transformers.AttentionMaskInterface.register(name, lambda *_args, **_kwargs: None)


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

    if getattr(module, "absorbs", False):
        return absorbed_attention(module, query, key, value, scaling or 1.0), None
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


def _image_attention(
    _module: Any, query: Any, key: Any, value: Any, *, cu_seq_lens_q: Within, scaling: float | None, **_others: Any
) -> tuple[Any, None]:
    """Return attention within images that stand behind each other in query [1, heads, tokens, width]."""
    import torch

    within = cu_seq_lens_q
    made = torch.ops.mtpp.image_attention(query, key, value, within.tokens, within.pairs, scaling)
    return made.transpose(1, 2).contiguous(), None


def as_step(model: Any, phase: str, places: Sequence[KeptPart] = (), kept: list[KeptPart] | None = None) -> Any:
    """Return *model* whose ``forward`` is one step of a phase; its modules and parameters keep their paths.

    "forward": the first of what the model gives. "prefill": with what each layer keeps behind it. "decode": the same
    for one token, and a list of tensors that earlier steps kept, which the step is given. "train": the loss. A prompt
    and a loss may come with images.

    Args:
        model: of transformers; it is changed.
        phase: as above.
        places: for decode, where in the list what each layer keeps is. Few tensors of many layers are exported much
            faster than many tensors.
        kept: a list that is filled, when the step runs, with what the tensors are that it gives to be kept.
    """
    plain, kinds = type(model), cache_kinds(model)

    def forward(self: Any, **inputs: Any) -> Any:
        return plain.forward(self, **inputs, return_dict=True)

    def first(outputs: Any) -> Any:
        return next(value for value in outputs.values() if hasattr(value, "element_size"))

    def pictures(pixels: Any) -> dict[str, Any]:
        return {} if pixels is None else {"pixel_values": pixels}

    def keeping(self: Any, main: Any, cache: Any, pixels: Any = None) -> Any:
        name = "cache_params" if "cache_params" in _parameters(plain) else "past_key_values"
        returned = forward(self, **{"input_ids": main, name: cache, "use_cache": True, **pictures(pixels)})
        parts = kept_parts(cache)
        if kept is not None:
            kept[:] = [part for part, _ in parts]
        return (first(returned), *(tensor for _, tensor in parts))

    class Forward(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, second: Any = None) -> Any:
            names = {model.main_input_name: main}
            if second is not None:
                names["decoder_input_ids"] = second
            if "use_cache" in _parameters(plain):
                names["use_cache"] = False
            return first(forward(self, **names))

    class Prefill(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, pixels: Any = None) -> Any:
            return keeping(self, main, cache_of(model, kinds), pixels)

    class Decode(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, past: Any) -> Any:
            return keeping(self, main, cache_of(model, kinds, places, past))

    class Train(plain):  # type: ignore[misc, valid-type]
        def forward(self, main: Any, labels: Any, pixels: Any = None) -> Any:
            names = {model.main_input_name: main, "labels": labels, **pictures(pixels)}
            if "use_cache" in _parameters(plain):
                names["use_cache"] = False
            return forward(self, **names).loss

    model.__class__ = {"forward": Forward, "prefill": Prefill, "decode": Decode, "train": Train}[phase]
    return model


def _parameters(kind: Any) -> set[str]:
    import inspect

    return set(inspect.signature(kind.forward).parameters)
