"""Export experts of transformers that its code runs on all tokens as runtimes run them: on the tokens that chose them.

Most models of transformers sort tokens by their experts when they are exported. Llama 4 multiplies every token by
every expert, and those that it did not choose by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, MethodType
from typing import Any

__all__ = ["routed_experts"]


@contextmanager
def routed_experts(model: Any) -> Iterator[None]:
    """Let tokens be multiplied by the experts that they chose alone, while it lasts."""
    changed = [part for part in model.modules() if type(part).__name__ in _FORWARDS]
    for part in changed:
        part.forward = MethodType(_FORWARDS[type(part).__name__], part)
    try:
        yield
    finally:
        for part in changed:
            del part.forward


def _router(self: Any, hidden: Any) -> tuple[Any, Any, Any]:
    """Return the shares of the experts that each token chose, which they are, and the scores of all."""
    import torch

    scores = torch.nn.functional.linear(hidden, self.weight)
    chosen, experts = torch.topk(scores, self.top_k, dim=1)
    return torch.sigmoid(chosen.float()).to(scores.dtype), experts, scores


def _mixture(self: Any, hidden: Any) -> tuple[Any, Any]:
    """Run the shared expert on all tokens, and each of the others on those that chose it, scaled by its share."""
    import torch

    tokens = hidden.reshape(-1, self.hidden_dim)
    shares, experts, scores = self.router(tokens)
    owner, order = torch.sort(experts.reshape(-1))
    counts = torch.histc(owner.float(), bins=self.num_experts, min=0, max=self.num_experts - 1)
    ends = torch.cumsum(counts, dim=0, dtype=torch.int32)
    made = self.experts(tokens[order // self.top_k] * shares.reshape(-1)[order, None], ends)
    places = torch.argsort(order)
    routed = made[places].view(-1, self.top_k, self.hidden_dim).sum(dim=1)
    return self.shared_expert(tokens) + routed, scores


def _grouped(self: Any, rows: Any, ends: Any) -> Any:
    """Multiply rows that are sorted by experts, those of each ending at *ends*, by the matrices of their expert."""
    import torch

    gate, up = torch._grouped_mm(rows, self.gate_up_proj, offs=ends).chunk(2, dim=-1)
    return torch._grouped_mm(up * self.act_fn(gate), self.down_proj, offs=ends)


_FORWARDS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"Llama4Router": _router, "Llama4TextMoe": _mixture, "Llama4TextExperts": _grouped}
)
"""What stands for ``forward`` of a class, by its name."""
