"""Small models of torch that are like those people split: a GPT with tied weights, and one with rotary positions."""

from __future__ import annotations

from itertools import count
from typing import Any

import torch
from torch import nn

VOCABULARY, WIDTH, HEADS, LENGTH = 61, 32, 4, 16
_calls = count()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any, rotate: Any = None, mask: Any = None) -> Any:
        b, t, _ = x.shape
        heads = [part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2)]
        if rotate is not None:
            heads[:2] = [turned(part, *rotate) for part in heads[:2]]
        found = nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask, is_causal=mask is None)
        x = x + self.proj(found.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def turned(x: Any, cos: Any, sin: Any) -> Any:
    one, other = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-other, one), dim=-1) * sin


class Gpt(nn.Module):
    """Learned positions, and one matrix for the embedding and the head."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Any) -> Any:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Rotary(nn.Module):
    """Positions by rotation: every layer reads the same cosines, sines and mask, which no weight is needed for."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids: Any) -> Any:
        size = WIDTH // HEADS
        angles = torch.arange(ids.shape[1])[:, None] / 100.0 ** (torch.arange(0, size, 2) / size)
        rotate = torch.cat((angles, angles), dim=-1).cos(), torch.cat((angles, angles), dim=-1).sin()
        mask = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, rotate, mask)
        return self.lm_head(self.norm(x))


class Writes(nn.Module):
    """Adds in place to what the layer before it made."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        y = self.one(x)
        z = self.two(y)
        y.add_(1.0)
        return y * z


class Spread(nn.Module):
    """Hands on tensors with gaps, several at once, a whole number and the input itself; gives two results."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(8, 12), nn.Linear(4, 4)

    def forward(self, x: Any, scale: Any) -> Any:
        a, b, c = self.one(x).split(4, dim=-1)
        kept = a.transpose(0, 1)
        rank = kept.argmax(-1)
        y = self.two(b * scale) + c
        return {"y": y + x[..., :4], "kept": kept.contiguous() + rank[..., None]}


def gpt() -> nn.Module:
    return Gpt()


def rotary() -> nn.Module:
    return Rotary()


def writes() -> nn.Module:
    return Writes()


def spread() -> nn.Module:
    return Spread()


def others() -> nn.Module:
    """Weights that no seed of torch's decides: others in each process."""
    import os

    model = Gpt()
    with torch.no_grad():
        model.ln_f.bias.fill_(os.getpid() + next(_calls))
    return model


def dies() -> nn.Module:
    """Ends the process in which it is made, unless that is the one of the test."""
    import os
    import sys

    if "torch_pipeline" in " ".join(sys.orig_argv):
        os._exit(3)
    return Gpt()
