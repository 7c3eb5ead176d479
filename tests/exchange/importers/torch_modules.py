"""Small modules of torch for the tests of importers and of what runs splits; torch is imported when one is made."""

from __future__ import annotations

from typing import Any


def gpt(layers: int = 3, width: int = 32, vocabulary: int = 100, length: int = 64) -> Any:
    """Return a GPT with learned positions, a mask that all layers read and a head tied to the embedding."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any, mask: Any) -> Any:
            b, t, w = x.shape
            q, k, v = self.qkv(self.ln_1(x)).view(b, t, 3, 4, w // 4).permute(2, 0, 3, 1, 4)
            scores = torch.softmax(q @ k.transpose(-1, -2) + mask, -1)
            x = x + self.proj((scores @ v).transpose(1, 2).reshape(b, t, w))
            return x + self.down(nn.functional.gelu(self.up(self.ln_2(x))))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, ids: Any) -> Any:
            t = ids.shape[1]
            mask = torch.full((t, t), float("-inf")).triu(1)
            x = self.wte(ids) + self.wpe(torch.arange(t))
            for block in self.h:
                x = block(x, mask)
            return self.head(self.ln_f(x))

    return Gpt()


def rotary(layers: int = 3, width: int = 32, vocabulary: int = 100) -> Any:
    """Return a decoder with rotary positions, whose cosines and sines all layers read, and gated layers."""
    import torch
    from torch import nn

    heads = 4
    half = width // heads // 2

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

        def forward(self, x: Any, cos: Any, sin: Any) -> Any:
            b, t, w = x.shape
            q, k, v = (each(x).view(b, t, heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))

            def turned(y: Any) -> Any:
                return y * cos + torch.cat([-y[..., half:], y[..., :half]], -1) * sin

            y = nn.functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
            return self.o(y.transpose(1, 2).reshape(b, t, w))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attn = Attention()
            self.norm, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
            self.gate, self.up, self.down = (
                nn.Linear(a, b, bias=False) for a, b in ((width, 64), (width, 64), (64, width))
            )

        def forward(self, x: Any, cos: Any, sin: Any) -> Any:
            x = x + self.attn(self.norm(x), cos, sin)
            y = self.after(x)
            return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))

    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.register_buffer("frequency", 10_000 ** -(torch.arange(half) / half), persistent=False)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.lm_head = nn.RMSNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, ids: Any) -> Any:
            angles = torch.arange(ids.shape[1])[:, None] * self.frequency
            angles = torch.cat([angles, angles], -1)
            x, cos, sin = self.embed(ids), angles.cos(), angles.sin()
            for layer in self.layers:
                x = layer(x, cos, sin)
            return self.lm_head(self.norm(x))

    return Rotary()


def on_meta(make: Any, **sizes: int) -> Any:
    """Return what one of the functions above makes, without memory."""
    import torch

    with torch.device("meta"):
        return make(**sizes).eval()


def tokens(batch: int, seq: int, device: str = "meta") -> Any:
    """Return a batch of tokens."""
    import torch

    return torch.zeros(batch, seq, dtype=torch.long, device=device)


def recurrent(kind: str, **options: Any) -> Any:
    """Return a recurrent layer, "GRU", "LSTM" or "RNN", of 16 inputs and 32 states."""
    import torch

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = getattr(torch.nn, kind)(16, 32, batch_first=True, **options)

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    return Recurrent()


def loop() -> Any:
    """Return a loop over a sequence, which torch.export unrolls."""
    import torch

    class Loop(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            state = x[:, 0]
            for step in range(x.shape[1]):
                state = self.linear(state) + x[:, step]
            return state

    return Loop()


def quantised() -> Any:
    """Return products by whole numbers in buffers, as quantisation keeps its weights."""
    import torch

    class Quantised(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(3):
                self.register_buffer(f"w{i}", torch.zeros(64, 64, dtype=torch.int8))

        def forward(self, x: Any) -> Any:
            for i in range(3):
                x = x @ getattr(self, f"w{i}").to(x.dtype)
            return x

    return Quantised()


def conditional() -> Any:
    """Return one of two products, by ``torch.cond``."""
    import torch

    class Conditional(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda y: self.one(y), lambda y: self.other(y), (x,))

    return Conditional()
