"""Models of torch with random weights that are split: a GPT whose head is large beside its layers, as of small GPTs."""

from __future__ import annotations

from typing import Any

from torch import nn


class Block(nn.Module):
    """A layer of attention and a feed-forward network."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Any) -> Any:
        """Return *x* with what the layer adds to it."""
        batch, length, width = x.shape
        parts = [
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, 2)
        ]
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Layers between an embedding and a head with weights of its own; *inner* has the inner width of each layer."""

    def __init__(self, width: int, heads: int, inner: tuple[int, ...], vocabulary: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.h = nn.ModuleList(Block(width, heads, one) for one in inner)
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Any) -> Any:
        """Return the scores of all words, at each position."""
        x = self.wte(ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def staged() -> Gpt:
    """Return the model that runs in stages: the head is the work of some five layers."""
    return Gpt(256, 4, (1024,) * 8, 16_000)


def offloaded() -> Gpt:
    """Return the model that does not fit: some 190 MB, every third layer with a wider network."""
    return Gpt(512, 8, tuple(4096 if i % 3 else 2048 for i in range(8)), 8_000)


def tiny() -> Gpt:
    """Return a model for tests."""
    return Gpt(32, 4, (64, 128, 64, 128), 300)
