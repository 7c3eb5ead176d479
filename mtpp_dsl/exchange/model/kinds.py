"""The words that models use: kinds of operators, and types of numbers with their bits."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from mtpp_dsl.core.errors import UsageError, did_you_mean

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "matmul": "products of matrices: linear layers, batched products, einsum, Gemm",
        "conv": "convolutions, transposed ones too",
        "attention": "fused attention: scores, softmax and the product with the values in one",
        "rnn": "recurrent layers: LSTM, GRU, scans of Mamba and of linear attention",
        "norm": "normalisation: of layers, of groups, of batches, RMS",
        "softmax": "softmax and its logarithm",
        "elementwise": "what treats each element alone: sums, products, activations, changes of type",
        "reduce": "sums, means, maxima, cumulative sums along an axis",
        "pool": "pooling",
        "embedding": "looking up rows of a table of weights",
        "index": "gather, scatter and selection by computed indices",
        "copy": "moving data: concatenation, padding, transposed copies",
        "view": "other shapes of the same data, which cost nothing",
        "fill": "constants, ranges, masks: tensors made of nothing",
        "resize": "interpolation and resampling",
        "sort": "sorting, top-k, unique",
        "optimizer": "updates of parameters",
        "other": "anything else",
    }
)
"""What an operator may be, for the efficiency of devices by kind."""

GROUPS = ("", "operator", "module", "part", "layer")
"""What a node of a graph may stand for; "" where it is not given."""

ROLES = ("", "embedding", "layer", "norm", "head", "tower")
"""What part of a stack of layers, or of what reads images for it, an operator belongs to; "" where it is not given."""

_BITS: dict[str, int | float] = {
    **dict.fromkeys(("fp64", "int64", "uint64", "complex64"), 64),
    **dict.fromkeys(("fp32", "tf32", "int32", "uint32"), 32),
    **dict.fromkeys(("bf16", "fp16", "int16", "uint16"), 16),
    **dict.fromkeys(("fp8", "int8", "uint8", "bool"), 8),
    **dict.fromkeys(("fp4", "int4", "uint4", "nf4"), 4),
    "complex128": 128,
    "fp6": 6,
    "int2": 2,
    "string": 0,
    # blocks of llama.cpp, ggml/src/ggml-common.h: bytes of a block, times 8, over its weights
    "q4_0": 18 * 8 / 32,
    "q4_1": 20 * 8 / 32,
    "q5_0": 22 * 8 / 32,
    "q5_1": 24 * 8 / 32,
    "q8_0": 34 * 8 / 32,
    "q8_1": 36 * 8 / 32,
    "q2_k": 84 * 8 / 256,
    "q3_k": 110 * 8 / 256,
    "q4_k": 144 * 8 / 256,
    "q5_k": 176 * 8 / 256,
    "q6_k": 210 * 8 / 256,
    "q8_k": 292 * 8 / 256,
    "iq1_s": 50 * 8 / 256,
    "iq1_m": 56 * 8 / 256,
    "iq2_xxs": 66 * 8 / 256,
    "iq2_xs": 74 * 8 / 256,
    "iq2_s": 82 * 8 / 256,
    "iq3_xxs": 98 * 8 / 256,
    "iq3_s": 110 * 8 / 256,
    "iq4_nl": 18 * 8 / 32,
    "iq4_xs": 136 * 8 / 256,
    "tq1_0": 54 * 8 / 256,
    "tq2_0": 66 * 8 / 256,
    "mxfp4": 17 * 8 / 32,
}

TYPES: Mapping[str, Fraction] = MappingProxyType({name: Fraction(bits) for name, bits in _BITS.items()})
"""The bits that one number takes, by the type; of blocks with scales the scales are counted in."""


def bits_of(dtype: str) -> Fraction:
    """Return the bits that one number of a type takes.

    Raises:
        UsageError: the type is unknown; names those that are near.

    >>> bits_of("bf16"), bits_of("q4_k")
    (Fraction(16, 1), Fraction(9, 2))
    """
    if dtype not in TYPES:
        raise UsageError(f"there is no type of numbers {dtype!r}{did_you_mean(dtype, TYPES)}")
    return TYPES[dtype]
