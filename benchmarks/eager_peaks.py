"""How much more memory does eager PyTorch take for activations than is stated of a model? Two nets with skips.

What ``mtpp import`` states is the least that holds every tensor from the operator that makes it to its last reader.
Eager code holds one as long as a variable names it, and kernels take room to work in. Torch's profiler counts what is
allocated in one forward pass on a CPU without gradients.

    python benchmarks/eager_peaks.py
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

import mtpp_dsl
from mtpp_dsl.exchange.model.graphs import working_bytes
from mtpp_dsl.exchange.model.grouping import group
from mtpp_dsl.exchange.model.sizes import value

WIDE, DEEP, SIDE = 16, 3, 64


class Residual(nn.Module):
    """Two convolutions whose input is added to what they make."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(WIDE, WIDE, 3, padding=1) for _ in range(2))

    def forward(self, x: Any) -> Any:
        """Return what the block makes."""
        return torch.relu(self.two(torch.relu(self.one(x))) + x)


class UNet(nn.Module):
    """Convolutions down, and as many up that read what those made."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(WIDE, WIDE, 3, padding=1) for _ in range(DEEP))
        self.up = nn.ModuleList(nn.Conv2d(2 * WIDE, WIDE, 3, padding=1) for _ in range(DEEP))

    def forward(self, x: Any) -> Any:
        """Return what the last convolution makes."""
        kept = []
        for each in self.down:
            x = torch.relu(each(x))
            kept.append(x)
        for each in self.up:
            x = torch.relu(each(torch.cat([x, kept.pop()], 1)))
        return x


def eager(module: nn.Module, x: Any) -> int:
    """Return the most bytes that are allocated at once while a module runs."""
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        module(x)
    live = most = 0
    for event in sorted(found.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        live += event.nbytes() if event.name() == "[memory]" else 0
        most = max(most, live)
    return most


def main() -> None:
    """Print a line for each net."""
    for module in (nn.Sequential(*(Residual() for _ in range(DEEP))), UNet()):
        x = torch.randn(2, WIDE, SIDE, SIDE)
        model = mtpp_dsl.from_torch(module.eval(), (x,))
        stated = max(working_bytes(model, group(model, "operator"), [value(each.bytes, {}) for each in model.tensors]))
        most = eager(module, x)
        print(f"{type(module).__name__}: stated {stated:,.0f} B, eager {most:,} B, {most / stated:.2f} times")


if __name__ == "__main__":
    main()
