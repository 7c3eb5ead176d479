"""Count what layers of transformers keep from step to step: keys and values, states of scans and convolutions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["KeptPart", "cache_kinds", "cache_of", "kept_parts"]

GROWING = ("key", "value")
"""Parts that have a place for each token."""


@dataclass(frozen=True)
class KeptPart:
    """A tensor that a layer keeps.

    Attributes:
        layer: the number of the layer.
        part: "key" or "value"; or the state of a convolution, "conv[0]", or of a scan, "state[0]".
        tensor, at: the tensor of a decoding step that holds it, one of several layers alike, and its place there.
    """

    layer: int
    part: str
    tensor: int = 0
    at: int = 0

    @property
    def grows(self) -> bool:
        """Whether it has a place for each token."""
        return self.part in GROWING


def cache_of(
    model: Any, kinds: Iterable[tuple[Any, ...]], places: Iterable[KeptPart] = (), past: Sequence[Any] = ()
) -> Any:
    """Return a cache of transformers for a step of *model*, with what earlier steps kept.

    Args:
        model: of transformers.
        kinds: what its layers keep, of :func:`cache_kinds`.
        places: which tensor of *past* holds which part of which layer; none: the cache is empty.
        past: each of several layers alike, which stand behind each other.
    """
    from transformers.cache_utils import Cache

    classes = layer_classes()
    layers = [classes[kind](*states) for kind, *states in kinds]
    for place in places:
        while place.layer >= len(layers):
            layers.append(classes["tokens"]())
        layers[place.layer].keep(place.part, past[place.tensor][place.at])
    homes = (sys.modules[kind.__module__] for kind in type(model).__mro__)
    own = next((home.MiniMaxCache for home in homes if hasattr(home, "MiniMaxCache")), None)  # its model asks for it
    cache = Cache(layers=layers) if own is None else own()
    cache.layers, cache.layer_class_to_replicate = layers, classes["tokens"]
    return cache


def cache_kinds(model: Any) -> list[tuple[Any, ...]]:
    """Return what the layers of a model keep, as transformers' own cache says: "tokens", "state", "both" or "none".

    Behind "state" and "both" stands how many states a layer keeps.
    """
    from transformers import cache_utils

    recurrent = getattr(cache_utils, "LinearAttentionCacheLayerMixin", ())
    kinds: list[tuple[Any, ...]] = []
    try:
        layers = cache_utils.DynamicCache(config=model.config).layers
    except Exception:  # of a configuration that its cache does not know: each layer keeps keys and values
        return []
    for layer in layers:
        tokens, state = isinstance(layer, cache_utils.CacheLayerMixin), isinstance(layer, recurrent)
        if state:
            kinds.append(("both" if tokens else "state", layer.number_of_states))
        else:
            kinds.append(("tokens" if tokens else "none",))
    return kinds


def kept_parts(cache: Any) -> list[tuple[KeptPart, Any]]:
    """Return what the layers of a cache keep, with the tensors, layer by layer."""
    return [
        (KeptPart(number, part), tensor)
        for number, layer in enumerate(cache.layers)
        if hasattr(layer, "kept")
        for part, tensor in layer.kept()
    ]


def layer_classes() -> dict[str, Any]:
    """Return the classes of one layer's cache, by what the layer keeps."""
    import torch
    from transformers import cache_utils

    class KeptTokens(cache_utils.CacheLayerMixin):  # type: ignore[misc]
        """Keys and values of one layer."""

        def __init__(self) -> None:
            super().__init__()
            self.past: dict[str, Any] = {}

        def keep(self, part: str, tensor: Any) -> None:
            """Take what earlier steps kept."""
            self.past[part], self.is_initialized = tensor, True

        def kept(self) -> list[tuple[str, Any]]:
            """Return what is kept after the step."""
            return [(name, one) for name, one in (("key", self.keys), ("value", self.values)) if one is not None]

        def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
            """Take the type and device of the first keys."""
            del value_states
            self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

        def update(self, key_states: Any, value_states: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, Any]:
            """Append keys and values, and return all of them."""
            past = self.past
            self.keys = torch.cat([past["key"], key_states], dim=-2) if past else key_states
            self.values = torch.cat([past["value"], value_states], dim=-2) if past else value_states
            return self.keys, self.values

        def get_seq_length(self) -> Any:
            """Return the number of tokens kept."""
            known = self.keys if self.keys is not None else self.past.get("key")
            return 0 if known is None else known.shape[-2]

        def get_mask_sizes(self, query_length: Any) -> tuple[Any, int]:
            """Return the length and the offset of a mask."""
            return self.get_seq_length() + query_length, 0

        def get_max_length(self) -> int:
            """Return -1: there is no end."""
            return -1

    if not hasattr(cache_utils, "LinearAttentionCacheLayerMixin"):
        return dict.fromkeys(("tokens", "state", "both", "none"), KeptTokens)

    class KeptStates(cache_utils.LinearAttentionCacheLayerMixin):  # type: ignore[misc]
        """The states of one layer's convolutions and scans."""

        def __init__(self, number_of_states: int = 1) -> None:
            super().__init__(number_of_states)
            self.record_past = True  # so that a decoding step asks for the state of a convolution, and changes none

        def keep(self, part: str, tensor: Any) -> None:
            """Take what earlier steps kept."""
            name, _, text = part.rstrip("]").partition("[")
            number = int(text)
            states = self.conv_states if name == "conv" else self.recurrent_states
            states[number], self.has_previous_state[number] = tensor, True
            tensor.put_after = lambda after: states.__setitem__(number, after)  # of kernels that change states in place

        def kept(self) -> list[tuple[str, Any]]:
            """Return what is kept after the step."""
            named = (("conv", self.conv_states), ("state", self.recurrent_states))
            return [(f"{name}[{n}]", one) for name, states in named for n, one in states.items() if one is not None]

        def lazy_initialization(
            self, conv_states: Any = None, recurrent_states: Any = None, state_idx: int = 0
        ) -> None:
            """Do nothing: states are what the first step gives."""

        def update_conv_state(self, conv_states: Any, state_idx: int = 0, **given: Any) -> Any:
            """Return the tokens that a convolution reads, and keep the last of them."""
            before, length = self.conv_states[state_idx], given.get("conv_kernel_size")
            if before is None:
                length = length or conv_states.shape[-1]
                self.conv_states[state_idx] = torch.ops.mtpp.last_tokens(conv_states, length)
                return conv_states
            full = torch.cat([before, conv_states], dim=-1)[..., 1:]
            self.conv_states[state_idx] = full
            return full

        def update_recurrent_state(self, recurrent_states: Any, state_idx: int = 0, **_given: Any) -> Any:
            """Keep a state."""
            self.recurrent_states[state_idx] = recurrent_states
            return recurrent_states

    class KeptBoth(KeptStates, KeptTokens):
        """Keys and values beside states: layers of both kinds in parallel."""

        def __init__(self, number_of_states: int = 1) -> None:
            KeptTokens.__init__(self)
            KeptStates.__init__(self, number_of_states)

        def keep(self, part: str, tensor: Any) -> None:
            """Take what earlier steps kept."""
            (KeptTokens if part in GROWING else KeptStates).keep(self, part, tensor)

        def kept(self) -> list[tuple[str, Any]]:
            """Return what is kept after the step."""
            return [*KeptTokens.kept(self), *KeptStates.kept(self)]

        def lazy_initialization(self, *_args: Any, **_given: Any) -> None:
            """Do nothing: what is kept is what the first step gives."""

    return {
        "tokens": KeptTokens,
        "state": KeptStates,
        "both": KeptBoth,
        "none": getattr(cache_utils, "DummyLayer", KeptTokens),
    }
