"""Parts of a layer that llama.cpp can keep on a device of their own, and the tensors that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import Layout

PARTS: Mapping[str, str] = MappingProxyType(
    {"experts": r"ffn_.*_exps\.", "shared_experts": r"ffn_.*_shexp\.", "ffn": r"ffn_(up|down|gate)\."}
)
"""The kinds of nodes that may be apart from their layer, each with the pattern of its tensors within the layer."""
_TENSORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "experts": ("ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight"),
        "shared_experts": ("ffn_gate_shexp.weight", "ffn_up_shexp.weight", "ffn_down_shexp.weight"),
        "ffn": ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"),
    }
)
_ATTENTION = tuple(f"attn_{part}.weight" for part in ("norm", "q", "k", "v", "output"))
SMALL = ("ffn_norm.weight", "ffn_gate_inp.weight", "exp_probs_b.bias")
"""Tensors of a layer that count with its attention, and that a pattern for the rest may take along."""


@dataclass(frozen=True)
class LayerPart:
    """Nodes of a layer that may be on another device than the rest of it.

    Attributes:
        layer: the number of the layer.
        kind: one of :data:`PARTS`.
        nodes: their numbers, rising.
    """

    layer: int
    kind: str
    nodes: tuple[int, ...]

    def tensors(self, problem: Problem) -> tuple[str, ...]:
        """Return the names of its tensors: those of the GGUF file that the graph is of, or else the usual ones."""
        origin = problem.graph.origin
        if origin is not None and origin.model.source.kind == "gguf":
            operators = (origin.model.operators[i] for v in self.nodes for i in origin.members[v])
            return tuple(origin.model.weights[w].name for operator in operators for w in operator.weights)
        return tuple(f"blk.{self.layer}.{name}" for name in _TENSORS[self.kind])


def parts_of(problem: Problem, layout: Layout) -> tuple[LayerPart, ...]:
    """Return the parts of the layers of a graph that may be apart: nodes of a kind in :data:`PARTS`.

    Raises:
        UsageError: a layer has nothing else.
    """
    kinds, parts = problem.graph.kinds, []
    for number, nodes in enumerate(layout.layers):
        if all(kinds[v] in PARTS for v in nodes):
            name = problem.graph.names[nodes[0]]
            raise UsageError(f"layer {number} has only {name!r}, and llama.cpp needs a node with its attention")
        for kind in PARTS:
            own = tuple(v for v in nodes if kinds[v] == kind)
            if own:
                parts.append(LayerPart(number, kind, own))
    return tuple(parts)


def has_experts(problem: Problem) -> bool:
    """Return whether the graph is of a model in which each token uses some of the experts."""
    origin = problem.graph.origin
    return origin is not None and any("experts(" in str(one.weight_read) for one in origin.model.operators)


def pattern(layers: Sequence[int], kind: str) -> str:
    r"""Return the pattern that finds the tensors of a kind in some layers, and no others.

    >>> print(pattern([8, 9], "experts"), pattern([3], "ffn"))
    blk\.(8|9)\.ffn_.*_exps\. blk\.3\.ffn_(up|down|gate)\.
    """
    numbers = "|".join(map(str, layers))
    return rf"blk\.{f'({numbers})' if len(layers) > 1 else numbers}\.{PARTS[kind]}"


def rest_of(layout: Layout, parts: Collection[LayerPart]) -> Iterator[tuple[str, str]]:
    """Yield the tensors that are with their layers or outside of them, each with where it is.

    Those that a layer may have or not are among them: the ones of experts, where no node of the graph is experts alone.
    """
    inside = () if any(part.kind == "experts" for part in parts) else _TENSORS["experts"]
    yield "token_embd.weight", "the embedding"
    for number in range(len(layout.layers)):
        own = {part.kind for part in parts if part.layer == number}
        dense = () if own & {"ffn", "experts"} else _TENSORS["ffn"]
        for name in (*_ATTENTION, *dense, *inside):
            yield f"blk.{number}.{name}", f"layer {number}"
    yield "output_norm.weight", "the output"
    yield "output.weight", "the output"
