"""Shapes of the outputs of ONNX Runtime's own operators (com.microsoft), which the package onnx does not know.

Definitions: ContribOperators.md of ONNX Runtime. Types are numbers of ONNX's types with whole sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

DOMAIN = "com.microsoft"

Typed: TypeAlias = tuple[int, tuple[int, ...] | None]
"""A type as ONNX numbers them, and a shape; None: unknown. A size of -1 is unknown."""
Attributes: TypeAlias = Mapping[str, Any]


def made_by(op: str, attributes: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    """Return the types of the outputs, as far as they are known."""
    rule = _RULES.get(op)
    try:
        return rule(attributes, read) if rule is not None else []
    except (LookupError, TypeError, ValueError):
        return []


def _shape(read: Sequence[Typed | None], number: int) -> tuple[int, ...]:
    typed = read[number]
    if typed is None or typed[1] is None:
        raise LookupError
    return typed[1]


def _same(_: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    return [read[0]]


def _skip(_: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    """Normalisation of a sum: output 0 is the result, output 3 the sum."""
    return [read[0], None, None, read[0]]


def _n_bits(attributes: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    return [((read[0] or (1, None))[0], (*_shape(read, 0)[:-1], int(attributes["N"])))]


def _product(attributes: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    first, second = _shape(read, 0), _shape(read, 1)
    if attributes.get("transBatchA") or attributes.get("transBatchB") or min(len(first), len(second)) < 2:
        return []
    first = (*first[:-2], first[-1], first[-2]) if attributes.get("transA") else first
    second = (*second[:-2], second[-1], second[-2]) if attributes.get("transB") else second
    batch = np.broadcast_shapes(first[:-2], second[:-2])
    return [((read[0] or (1, None))[0], (*batch, first[-2], second[-1]))]


def _attention(attributes: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    """Attention with its own products for queries, keys and values."""
    if attributes.get("qkv_hidden_sizes"):
        return []
    return [((read[0] or (1, None))[0], (*_shape(read, 0)[:2], _shape(read, 1)[1] // 3))]


def _multi_head(_: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    query, value = _shape(read, 0), _shape(read, 2)
    if len(query) != 3:
        return []
    wide = value[2] if len(value) == 3 else value[1] * value[3]
    return [((read[0] or (1, None))[0], (*query[:2], wide))]


def _grouped(attributes: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    """GroupQueryAttention with separate keys and values: the result is as the queries, the caches grow by the new."""
    outputs: list[Typed | None] = [read[0]]
    heads = int(attributes["kv_num_heads"])
    for number in (1, 2):
        new = _shape(read, number)
        past = read[number + 2] if len(read) > number + 2 else None
        before = past[1][2] if past is not None and past[1] is not None else 0
        outputs.append(((read[number] or (1, None))[0], (new[0], heads, before + new[1], new[2] // heads)))
    return outputs


def _wide(_: Attributes, read: Sequence[Typed | None]) -> list[Typed | None]:
    """Sums and products of quantised tensors: inputs 0 and 3."""
    return [((read[0] or (1, None))[0], tuple(np.broadcast_shapes(_shape(read, 0), _shape(read, 3))))]


_RULES: Mapping[str, Callable[[Attributes, Sequence[Typed | None]], list[Typed | None]]] = {
    **dict.fromkeys(
        (
            "BiasAdd",
            "BiasGelu",
            "FastGelu",
            "Gelu",
            "GroupNorm",
            "QLinearLeakyRelu",
            "QLinearSigmoid",
            "QuickGelu",
            "RotaryEmbedding",
            "SimplifiedLayerNormalization",
        ),
        _same,
    ),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _skip),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), _wide),
    "MatMulNBits": _n_bits,
    "FusedMatMul": _product,
    "Attention": _attention,
    "MultiHeadAttention": _multi_head,
    "GroupQueryAttention": _grouped,
}
