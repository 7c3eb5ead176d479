"""Operators of ONNX Runtime (com.microsoft) whose shapes the package onnx does not know.

Before shapes are inferred, each is replaced by standard operators whose outputs have the same shapes and types; the
replacements compute something else, and only their shapes are read. Definitions: ONNX Runtime, ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mtpp_dsl.importers.onnx.files import graphs_of

__all__ = ["DOMAIN", "attributes_of", "with_surrogates"]

DOMAIN = "com.microsoft"

_SAME = {"BiasGelu", "FastGelu", "Gelu", "QuickGelu", "RotaryEmbedding", "BiasAdd", "GroupNorm"}
"""Those whose first output is as their first input."""


def attributes_of(node: Any, onnx: Any) -> dict[str, Any]:
    """Return the attributes of a node that are numbers, texts or lists of them."""
    found = {}
    for attribute in node.attribute:
        if attribute.type in (1, 2, 3, 6, 7, 8):
            found[attribute.name] = onnx.helper.get_attribute_value(attribute)
    return found


def with_surrogates(proto: Any, onnx: Any) -> None:
    """Replace operators of ONNX Runtime in a model, in place."""
    if not any(each.domain == DOMAIN for each in proto.opset_import):
        return
    _replace(proto.graph, onnx)


def _replace(graph: Any, onnx: Any) -> None:
    nodes = []
    for i, node in enumerate(graph.node):
        for _, inner in graphs_of(node):
            _replace(inner, onnx)
        make = _MAKERS.get(node.op_type) if node.domain == DOMAIN else None
        nodes += [node] if make is None else list(make(node, attributes_of(node, onnx), _Maker(onnx, graph, i)))
    del graph.node[:]
    graph.node.extend(nodes)


class _Maker:
    """Makes nodes and constants with names of their own."""

    def __init__(self, onnx: Any, graph: Any, number: int) -> None:
        self.onnx, self.graph, self.number, self.count = onnx, graph, number, 0

    def name(self) -> str:
        """Return a name that no tensor has."""
        self.count += 1
        return f"mtpp surrogate {self.number} {self.count}"

    def node(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
        """Return a node of a standard operator."""
        return self.onnx.helper.make_node(op, inputs, outputs, **attributes)

    def weight(self, kind: int, *dims: int) -> str:
        """Add a tensor without values to the graph, and return its name."""
        name = self.name()
        self.graph.initializer.add(name=name, data_type=kind, dims=list(dims))
        return name

    def numbers(self, *values: int) -> str:
        """Add a list of whole numbers to the graph, and return its name."""
        name = self.name()
        self.graph.initializer.add(name=name, data_type=7, dims=[len(values)], int64_data=list(values))
        return name


def _same(node: Any, _: Mapping[str, Any], make: _Maker) -> Iterator[Any]:
    yield make.node("Identity", [node.input[0]], [node.output[0]])


def _skip(node: Any, _: Mapping[str, Any], make: _Maker) -> Iterator[Any]:
    """Normalisation of a sum: output 0 is the result, output 3 the sum."""
    for place in (0, 3):
        if place < len(node.output) and node.output[place]:
            yield make.node("Identity", [node.input[0]], [node.output[place]])


def _n_bits(node: Any, given: Mapping[str, Any], make: _Maker) -> Iterator[Any]:
    """MatMulNBits: the last axis of K becomes N."""
    k, n = int(given.get("K", 0)), int(given.get("N", 0))
    if min(k, n) < 1 or max(k, n) > 2**40:
        yield node
        return
    row, result = make.name(), node.output[0]
    yield make.node("ReduceSum", [node.input[0], make.numbers(-1)], [row], keepdims=1)
    shape, last, ends = make.name(), make.name(), make.name()
    yield make.node("Shape", [node.input[0]], [shape], end=-1)
    yield make.node("Identity", [make.numbers(n)], [last])
    yield make.node("Concat", [shape, last], [ends], axis=0)
    yield make.node("Expand", [row, ends], [result])


def _fused_matmul(node: Any, given: Mapping[str, Any], make: _Maker) -> Iterator[Any]:
    if any(given.get(name) for name in ("transA", "transB", "transBatchA", "transBatchB")):
        yield node
        return
    yield make.node("MatMul", list(node.input[:2]), [node.output[0]])


def _grouped(node: Any, given: Mapping[str, Any], make: _Maker) -> Iterator[Any]:
    """GroupQueryAttention with separate keys and values: the result is as the queries, the caches as before."""
    if len(node.input) < 3 or not node.input[1]:
        yield node
        return
    yield make.node("Identity", [node.input[0]], [node.output[0]])
    for place in (1, 2):
        if place < len(node.output) and node.output[place] and len(node.input) > place + 2 and node.input[place + 2]:
            yield make.node("Identity", [node.input[place + 2]], [node.output[place]])


_MAKERS: Mapping[str, Callable[[Any, Mapping[str, Any], _Maker], Iterator[Any]]] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _skip),
    "MatMulNBits": _n_bits,
    "FusedMatMul": _fused_matmul,
    "GroupQueryAttention": _grouped,
    "MultiHeadAttention": _same,
}
