"""Read from the paths of modules which layer each is in, and what those before and after the layers are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from mtpp_dsl.exchange.model.parts import Operator

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


def layer_numbers(paths: Sequence[str]) -> list[int | None]:
    """Return for the module path of each operator, in the order in which they run, the number of its layer, or None.

    A stack is the modules whose paths are equal up to their first number, where those numbers are 0, 1, … and there are
    two or more. Layers of several stacks, such as an encoder and a decoder, are numbered on in the order in which the
    stacks begin; of stacks that take turns, modules of one number are one layer.

    >>> layer_numbers(["embed", "enc.0.a", "enc.0.b", "enc.1.a", "dec.0", "dec.1", "norm"])
    [None, 0, 0, 1, 2, 3, None]
    >>> layer_numbers(["attn.0", "mlp.0", "attn.1", "mlp.1"])
    [0, 0, 1, 1]
    """
    firsts = [_first_number(path) for path in paths]
    ranges: dict[str, list[int]] = {}
    numbers: dict[str, set[int]] = {}
    for at, one in enumerate(firsts):
        if one is not None:
            numbers.setdefault(one[0], set()).add(one[1])
            ranges.setdefault(one[0], [at, at])[1] = at
    stacks = [name for name, members in numbers.items() if len(members) > 1 and members == set(range(len(members)))]
    first: dict[str, int] = {}
    begun, following, end = 0, 0, -1
    for name in sorted(stacks, key=lambda name: ranges[name][0]):
        if ranges[name][0] > end:
            begun = following
        first[name] = begun
        following = max(following, begun + len(numbers[name]))
        end = max(end, ranges[name][1])
    return [None if one is None or one[0] not in first else first[one[0]] + one[1] for one in firsts]


def _first_number(path: str) -> tuple[str, int] | None:
    """Return what of a path stands before its first number, and that number; None where there is none."""
    parts = path.split(".")
    for at, part in enumerate(parts):
        if part.isascii() and part.isdigit() and len(part) < 6:
            return ".".join(parts[:at]), int(part)
    return None


def roles(
    paths: Sequence[str], kinds: Sequence[str], layers: Sequence[int | None], weighted: Sequence[bool]
) -> list[str]:
    """Return the role of each operator: "layer" in one, and what its module is where it stands before or after all.

    A module before the layers that looks up rows of weights is an embedding. After them, one that holds weights and
    multiplies is a head, and one that holds weights and does not a norm.

    Args:
        paths: the module path of each operator, in the order in which they run.
        kinds: its kind.
        layers: its layer.
        weighted: whether it reads weights.
    """
    inside = [at for at, layer in enumerate(layers) if layer is not None]
    if not inside:
        return [""] * len(paths)
    of_path: dict[str, str] = {}
    for at, path in enumerate(paths):
        if layers[at] is not None or not weighted[at]:
            continue
        if at < inside[0] and kinds[at] in ("embedding", "conv", "matmul"):
            of_path[path] = "embedding"
        elif at > inside[-1] and kinds[at] in ("matmul", "conv"):
            of_path[path] = "head"
        elif at > inside[-1] and path not in of_path:
            of_path[path] = "norm"
    return ["layer" if layer is not None else of_path.get(path, "") for path, layer in zip(paths, layers, strict=True)]


def with_layers(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return operators, in the order in which they run, with their layers and roles by the paths of their modules."""
    paths = [operator.path for operator in operators]
    layers = layer_numbers(paths)
    weighted = [bool(operator.weights) for operator in operators]
    parts = zip(
        operators, layers, roles(paths, [operator.kind for operator in operators], layers, weighted), strict=True
    )
    return tuple(replace(operator, layer=layer, role=role) for operator, layer, role in parts)
