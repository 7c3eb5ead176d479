"""GGUF files for tests, written from the format's description: headers with empty weights behind them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

SIZES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q8_0": (8, 32, 34), "q4_k": (12, 256, 144), "q6_k": (14, 256, 210)}
"""Number of the type, numbers in a block, bytes of a block (ggml.h)."""
Tensors = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape with the outputs first, and type, by name."""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def field(key: str, value: object) -> bytes:
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    assert isinstance(value, list)
    if value and isinstance(value[0], str):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    if value and isinstance(value[0], float):
        return text(key) + struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    return text(key) + struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def header(metadata: Mapping[str, object], tensors: Tensors, version: int = 3) -> tuple[bytes, int]:
    """Return the header of a file and the bytes of its weights."""
    table, offset = b"", 0
    for name, (shape, kind) in tensors.items():
        number, entries, size = SIZES[kind]
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), number, offset)
        offset += -(-(prod(shape) // entries * size) // 32) * 32
    fields = b"".join(field(key, value) for key, value in metadata.items())
    return b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + fields + table, offset


def write(path: Path, metadata: Mapping[str, object], tensors: Tensors) -> Path:
    """Write a file whose weights are zeros that take no room on the disk."""
    head, weights = header(metadata, tensors)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(-(-len(head) // 32) * 32 + weights)
    return path


def llama(layers: int, width: int, inner: int, heads: int, kv: int, vocabulary: int, kind: str = "q4_k") -> Tensors:
    """Return the table of a LLaMA with these sizes."""
    size = width // heads
    found: dict[str, tuple[tuple[int, ...], str]] = {"token_embd.weight": ((vocabulary, width), kind)}
    for i in range(layers):
        found |= {
            f"blk.{i}.attn_norm.weight": ((width,), "f32"),
            f"blk.{i}.attn_q.weight": ((width, width), kind),
            f"blk.{i}.attn_k.weight": ((kv * size, width), kind),
            f"blk.{i}.attn_v.weight": ((kv * size, width), "q6_k" if kind == "q4_k" else kind),
            f"blk.{i}.attn_output.weight": ((width, width), kind),
            f"blk.{i}.ffn_norm.weight": ((width,), "f32"),
            f"blk.{i}.ffn_gate.weight": ((inner, width), kind),
            f"blk.{i}.ffn_up.weight": ((inner, width), kind),
            f"blk.{i}.ffn_down.weight": ((width, inner), kind),
        }
    found["output_norm.weight"] = ((width,), "f32")
    found["output.weight"] = ((vocabulary, width), "q6_k" if kind == "q4_k" else kind)
    return found


def metadata(architecture: str, layers: int, **more: object) -> dict[str, object]:
    """Return what the header of such a model says."""
    return {
        "general.architecture": architecture,
        f"{architecture}.block_count": layers,
        f"{architecture}.context_length": 8192,
        "tokenizer.ggml.tokens": ["<s>", "</s>", "a"],
        "tokenizer.ggml.scores": [0, 1, 2],
        "general.quantization_version": 2,
        **{f"{architecture}.{key}": value for key, value in more.items()},
    }


def with_experts(
    layers: int, width: int, inner: int, *, count: int = 4, dense: int = 0, shared: bool = False
) -> Tensors:
    """Return the table of a model of which all layers but the first *dense* have experts, in fp32."""
    found = dict(llama(layers, width, inner, 4, 4, 32, "f32"))
    for i in range(dense, layers):
        for part, (first, second) in {"gate": (inner, width), "up": (inner, width), "down": (width, inner)}.items():
            del found[f"blk.{i}.ffn_{part}.weight"]
            found[f"blk.{i}.ffn_{part}_exps.weight"] = ((count, first, second), "f32")
            if shared:
                found[f"blk.{i}.ffn_{part}_shexp.weight"] = ((first, second), "f32")
        found[f"blk.{i}.ffn_gate_inp.weight"] = ((count, width), "f32")
    return found
