"""The types of ONNX tensors (TensorProto.DataType) by our names, with the bits of one number."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mtpp_dsl.exchange.model.kinds import TYPES as KNOWN

__all__ = ["TYPES", "bits_of_type", "bytes_of_tensor"]

TYPES: Mapping[int, str] = MappingProxyType(
    {
        0: "",
        1: "fp32",
        2: "uint8",
        3: "int8",
        4: "uint16",
        5: "int16",
        6: "int32",
        7: "int64",
        8: "string",
        9: "bool",
        10: "fp16",
        11: "fp64",
        12: "uint32",
        13: "uint64",
        14: "complex64",
        15: "complex128",
        16: "bf16",
        17: "fp8",
        18: "fp8",
        19: "fp8",
        20: "fp8",
        21: "uint4",
        22: "int4",
        23: "fp4",
        24: "uint8",
        25: "int2",
        26: "int2",
        27: "fp6",
        28: "fp6",
    }
)
"""The number in the file -> our name; an exponent alone (24) is a byte, and numbers of two bits are alike."""


def bits_of_type(number: int) -> int:
    """Return the bits of one number of a type; 0 of texts, whose lengths nobody knows, and where no type is given."""
    name = TYPES[number]
    return int(KNOWN[name]) if name else 0


def bytes_of_tensor(number: int, entries: int) -> int:
    """Return the bytes of a dense tensor, rounded up."""
    return -(-entries * bits_of_type(number) // 8)
