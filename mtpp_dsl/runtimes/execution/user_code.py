"""Models that are made by the user's own Python, with random numbers that are the same in each process."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.exchange.importers.torch_model import made_by

__all__ = ["make_module"]


def make_module(name: str, seed: int, device: str = "cpu") -> Any:
    """Return the torch module that ``module:callable`` makes, in evaluation mode: **this runs the user's code**.

    Random numbers begin at *seed* before the call, so that weights drawn at random are the same in each process.

    Raises:
        UsageError: there is no such module or callable, it raises, or what it returns is no module.
    """
    torch = need("torch", "torch")
    torch.manual_seed(seed)
    return made_by(name, device=device).eval()
