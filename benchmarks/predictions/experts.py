"""Write GGUF files of models with experts and random weights, as large as asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.exchange.importers import gguf_files

BLOCK = 32
"""Numbers that share a scale in the type q8_0."""


@dataclass(frozen=True)
class ExpertSizes:
    """Sizes of a model of attention and experts: each token goes through two of the experts of a layer."""

    layers: int
    width: int
    inner: int
    experts: int
    words: int

    @property
    def tensors(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shapes with the outputs first, and types, by name; norms and routers are in fp32, all others in q8_0."""
        found = dict(gguf_files.llama(self.layers, self.width, self.inner, self.heads, self.heads, self.words, "q8_0"))
        shapes = {"gate": (self.inner, self.width), "up": (self.inner, self.width), "down": (self.width, self.inner)}
        for i in range(self.layers):
            for part, shape in shapes.items():
                del found[f"blk.{i}.ffn_{part}.weight"]
                found[f"blk.{i}.ffn_{part}_exps.weight"] = ((self.experts, *shape), "q8_0")
            found[f"blk.{i}.ffn_gate_inp.weight"] = ((self.experts, self.width), "f32")
        return found

    @property
    def heads(self) -> int:
        """How many heads of attention there are, of 64 numbers."""
        return self.width // 64

    @property
    def metadata(self) -> dict[str, object]:
        """What the header says; there is no tokenizer."""
        more: dict[str, object] = {
            "expert_count": self.experts, "expert_used_count": 2, "embedding_length": self.width,
            "feed_forward_length": self.inner, "vocab_size": self.words, "attention.head_count": self.heads,
            "attention.head_count_kv": self.heads, "rope.dimension_count": 64,
            "attention.layer_norm_rms_epsilon": 1e-5,
        }  # fmt: skip
        facts = gguf_files.metadata("llama", self.layers, **more)
        del facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.scores"]
        return {"general.alignment": BLOCK, "tokenizer.ggml.model": "no_vocab", **facts}


def write(path: Path, sizes: ExpertSizes) -> Path:
    """Write a model with random weights: routers choose other experts for each token."""
    random = np.random.default_rng(0)
    head, _ = gguf_files.header(sizes.metadata, sizes.tensors)
    with path.open("wb") as file:
        file.write(head)
        for shape, kind in sizes.tensors.values():
            file.write(b"\0" * (-file.tell() % BLOCK))
            file.write(_weights(random, shape, kind))
        file.write(b"\0" * (-file.tell() % BLOCK))
    return path


def _weights(random: np.random.Generator, shape: tuple[int, ...], kind: str) -> bytes:
    """Return random numbers of a tensor; norms, which have one dimension, are ones."""
    count = int(np.prod(shape))
    if kind == "f32":
        numbers = np.ones(count) if len(shape) == 1 else random.standard_normal(count) / np.sqrt(shape[-1])
        return numbers.astype("<f4").tobytes()
    blocks = np.zeros(count // BLOCK, dtype=[("scale", "<f2"), ("numbers", "i1", BLOCK)])
    blocks["scale"] = 1.7 / 127 / np.sqrt(shape[-1])
    blocks["numbers"] = random.integers(-127, 128, (count // BLOCK, BLOCK), dtype=np.int8)
    return blocks.tobytes()
